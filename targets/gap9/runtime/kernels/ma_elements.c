/* Element by element: sums and products of two tensors, conversions, softmax, tables. */
#include "ma_kernel.h"

/* Elements of a row, or of all rows where these lie one after the other everywhere. */
struct ma_mine {
    int32_t rows, columns;
    struct ma_range range;
};

/* This core's columns of every row, multiples of 4 but for the last. */
static inline struct ma_mine ma_mine(const struct ma_elements *t, int32_t terms)
{
    const int32_t n = t->columns;
    const int dense = t->rows == 1
        || (t->x_row == n && t->y_row == n && (terms == 1 || t->x1_row == n));
    const int32_t rows = dense ? 1 : t->rows, columns = dense ? t->rows * n : n;
    const struct ma_range words = ma_part(ma_up(columns, 4), ma_core(), ma_cores());
    return (struct ma_mine){
        rows, columns, {ma_min(columns, 4 * words.first), ma_min(columns, 4 * words.last)}};
}

static inline int32_t ma_element(const void *from, int32_t index, int is_signed)
{
    return is_signed ? ((const int8_t *)from)[index] : ((const uint8_t *)from)[index];
}

/* Four elements. With Xpulp one load, and an instruction to take a byte out of it: a quarter of the
 * accesses to L1. Other cores take two for that, and load bytes. */
static inline void ma_four(const uint8_t *from, int is_signed, int32_t to[4])
{
#if MA_XPULP
    ma_lanes(ma_load4(from), is_signed, to);
#else
    for (int32_t j = 0; j < 4; ++j) {
        to[j] = ma_element(from, j, is_signed);
    }
#endif
}

/* The factors of a sum of two, and how it is shifted and clipped. */
struct ma_sum {
    int32_t left, right, offset, shift, lo, hi;
};

/* One element of a sum, of which `left` is the first product. */
static inline int32_t ma_sum_of(const struct ma_sum *s, int32_t left, int32_t b, int from_zero)
{
    const int32_t both = ma_multiply_add(b, s->right, left);
    const int32_t value = ma_add_shift(both, s->offset, s->shift);
    return from_zero ? ma_clip_from_zero(value, s->hi) : ma_clip(value, s->lo, s->hi);
}

/* Four elements of a sum, stored as a word. Products come first: a core may wait for one that the next
 * instruction needs. */
MA_INLINE void ma_add_four(const struct ma_sum *s, const uint8_t *x, const uint8_t *x1,
    uint8_t *y, int is_signed, int is_signed1, int from_zero)
{
    int32_t a[4], b[4], left[4], value[4];
    ma_four(x, is_signed, a);
    for (int32_t j = 0; j < 4; ++j) {
        left[j] = ma_wrapping_multiply(a[j], s->left);
    }
    ma_four(x1, is_signed1, b);
    for (int32_t j = 0; j < 4; ++j) {
        value[j] = ma_sum_of(s, left[j], b[j], from_zero);
    }
    ma_store4(y, ma_pack4(value[0], value[1], value[2], value[3]));
}

/* `count` elements of a row: eight in a turn of the loop, whose end takes plain cores six cycles. */
MA_INLINE void ma_add_row(const struct ma_sum *s, const uint8_t *x, const uint8_t *x1,
    uint8_t *y, int32_t count, int is_signed, int is_signed1, int from_zero)
{
    for (int32_t left = count >> 3; left > 0; --left, x += 8, x1 += 8, y += 8) {
        ma_add_four(s, x, x1, y, is_signed, is_signed1, from_zero);
        ma_add_four(s, x + 4, x1 + 4, y + 4, is_signed, is_signed1, from_zero);
    }
    if (count & 4) {
        ma_add_four(s, x, x1, y, is_signed, is_signed1, from_zero);
        x += 4;
        x1 += 4;
        y += 4;
    }
    for (int32_t i = 0; i < (count & 3); ++i) {
        const int32_t left = ma_wrapping_multiply(ma_element(x, i, is_signed), s->left);
        y[i] = (uint8_t)ma_sum_of(s, left, ma_element(x1, i, is_signed1), from_zero);
    }
}

MA_INLINE void ma_add(const struct ma_elements *t, int is_signed, int is_signed1)
{
    const struct ma_mine mine = ma_mine(t, 2);
    const int32_t first = mine.range.first, count = mine.range.last - first;
    const struct ma_sum sum = {
        t->multiplier[0], t->multiplier[1], t->offset[0], t->shift, t->lo, t->hi};
    for (int32_t row = 0; row < mine.rows; ++row) {
        const uint8_t *const x = (const uint8_t *)t->x + row * t->x_row + first;
        const uint8_t *const x1 = (const uint8_t *)t->x1 + row * t->x1_row + first;
        uint8_t *const y = (uint8_t *)t->y + row * t->y_row + first;
        if (t->lo == 0) {
            ma_add_row(&sum, x, x1, y, count, is_signed, is_signed1, 1);
        } else {
            ma_add_row(&sum, x, x1, y, count, is_signed, is_signed1, 0);
        }
    }
}

void ma_add_u8_u8(const void *elements) { ma_add(elements, 0, 0); }
void ma_add_u8_i8(const void *elements) { ma_add(elements, 0, 1); }
void ma_add_i8_u8(const void *elements) { ma_add(elements, 1, 0); }
void ma_add_i8_i8(const void *elements) { ma_add(elements, 1, 1); }

/* The factors of a product of two, and how it is shifted and clipped. */
struct ma_scaled {
    int32_t zero_x, zero_x1, multiplier, offset, shift, lo, hi;
};

/* One element of a product. */
static inline int32_t ma_product_of(struct ma_scaled s, int32_t a, int32_t b)
{
    const int32_t product = ma_wrapping_multiply((a - s.zero_x) * (b - s.zero_x1), s.multiplier);
    return ma_clip(ma_add_shift(product, s.offset, s.shift), s.lo, s.hi);
}

/* Elements `range` of a row: four at a time, stored as a word. */
static inline void ma_mul_row(struct ma_scaled s, const uint8_t *x, const uint8_t *x1, uint8_t *y,
    struct ma_range range, int is_signed, int is_signed1)
{
    int32_t i = range.first;
    for (; i + 4 <= range.last; i += 4) {
        int32_t a[4], b[4], value[4];
        ma_four(x + i, is_signed, a);
        ma_four(x1 + i, is_signed1, b);
        for (int32_t j = 0; j < 4; ++j) {
            value[j] = ma_product_of(s, a[j], b[j]);
        }
        ma_store4(y + i, ma_pack4(value[0], value[1], value[2], value[3]));
    }
    for (; i < range.last; ++i) {
        y[i] = (uint8_t)ma_product_of(
            s, ma_element(x, i, is_signed), ma_element(x1, i, is_signed1));
    }
}

static inline void ma_mul(const struct ma_elements *t, int is_signed, int is_signed1)
{
    const struct ma_mine mine = ma_mine(t, 2);
    const struct ma_scaled scaled = {t->zero_x, t->zero_x1, t->multiplier[0], t->offset[0],
        t->shift, t->lo, t->hi};
    for (int32_t row = 0; row < mine.rows; ++row) {
        ma_mul_row(scaled, (const uint8_t *)t->x + row * t->x_row,
            (const uint8_t *)t->x1 + row * t->x1_row, (uint8_t *)t->y + row * t->y_row, mine.range,
            is_signed, is_signed1);
    }
}

void ma_mul_u8_u8(const void *elements) { ma_mul(elements, 0, 0); }
void ma_mul_u8_i8(const void *elements) { ma_mul(elements, 0, 1); }
void ma_mul_i8_u8(const void *elements) { ma_mul(elements, 1, 0); }
void ma_mul_i8_i8(const void *elements) { ma_mul(elements, 1, 1); }

void ma_table(const void *elements)
{
    const struct ma_elements *t = elements;
    const struct ma_mine mine = ma_mine(t, 1);
    const uint8_t *const table = t->table;
    for (int32_t row = 0; row < mine.rows; ++row) {
        const uint8_t *const x = (const uint8_t *)t->x + row * t->x_row;
        uint8_t *const y = (uint8_t *)t->y + row * t->y_row;
        int32_t i = mine.range.first;
        for (; i + 4 <= mine.range.last; i += 4) {
            const uint32_t word = ma_load4(x + i);
            ma_store4(y + i, ma_pack4(table[word & 0xff], table[word >> 8 & 0xff],
                                 table[word >> 16 & 0xff], table[word >> 24]));
        }
        for (; i < mine.range.last; ++i) {
            y[i] = table[x[i]];
        }
    }
}

void ma_quantize(const void *elements)
{
    const struct ma_elements *t = elements;
    const struct ma_mine mine = ma_mine(t, 1);
    for (int32_t row = 0; row < mine.rows; ++row) {
        const float *const x = (const float *)t->x + row * t->x_row;
        uint8_t *const y = (uint8_t *)t->y + row * t->y_row;
        for (int32_t i = mine.range.first; i < mine.range.last; ++i) {
            y[i] = (uint8_t)ma_saturate(x[i] / t->scale_y, t->zero_y, t->lo, t->hi);
        }
    }
}

static inline void ma_dequantize(const struct ma_elements *t, int is_signed)
{
    const struct ma_mine mine = ma_mine(t, 1);
    for (int32_t row = 0; row < mine.rows; ++row) {
        const uint8_t *const x = (const uint8_t *)t->x + row * t->x_row;
        float *const y = (float *)t->y + row * t->y_row;
        for (int32_t i = mine.range.first; i < mine.range.last; ++i) {
            y[i] = (float)(ma_element(x, i, is_signed) - t->zero_x) * t->scale_x;
        }
    }
}

MA_ELEMENTS_KERNEL(ma_dequantize, ma_dequantize)

/* One row; its sum is in index order, so a row is one core's. */
static inline void ma_softmax_row(const struct ma_elements *t, int32_t row, int is_signed)
{
    const uint8_t *const x = (const uint8_t *)t->x + row * t->x_row;
    const float *const table = t->table;
    uint8_t *const y = (uint8_t *)t->y + row * t->y_row;
    int32_t most = ma_element(x, 0, is_signed);
    float total = 0x0p+0f;
    for (int32_t i = 1; i < t->columns; ++i) {
        most = ma_max(most, ma_element(x, i, is_signed));
    }
    for (int32_t i = 0; i < t->columns; ++i) {
        total += table[most - ma_element(x, i, is_signed)];
    }
    for (int32_t i = 0; i < t->columns; ++i) {
        const float e = table[most - ma_element(x, i, is_signed)];
        y[i] = (uint8_t)ma_saturate((e / total) / t->scale_y, t->zero_y, t->lo, t->hi);
    }
}

static inline void ma_softmax(const struct ma_elements *t, int is_signed)
{
    const struct ma_range mine = ma_part(t->rows, ma_core(), ma_cores());
    for (int32_t row = mine.first; row < mine.last; ++row) {
        ma_softmax_row(t, row, is_signed);
    }
}

MA_ELEMENTS_KERNEL(ma_softmax, ma_softmax)
