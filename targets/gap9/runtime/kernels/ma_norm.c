/* Layer norm of rows of bytes, in integers; `match_aie/workload/fixed_norm.py` says what and why.
 *
 * Bytes are read as int8: of uint8, 128 less than they are, which moves a row and its mean alike.
 */
#include "ma_kernel.h"

enum { MA_VARIANCE_BITS = 8, MA_ROOT_BITS = 29, MA_DIVIDEND_BITS = 29 };

/* What a row is multiplied by, and what is taken off. */
struct ma_row {
    int32_t factor, moved, shift;
};

static inline int32_t ma_bit_length(int32_t n)
{
    int32_t bits = 0;
    for (; n; n >>= 1) {
        ++bits;
    }
    return bits;
}

/* The integer square root of a number below 2^30. */
static inline int32_t ma_root(int32_t of)
{
    int32_t root = 0, rest = of;
    for (int32_t bit = 1 << 28; bit; bit >>= 2) {
        const int32_t tried = root + bit;
        root >>= 1;
        if (rest >= tried) {
            rest -= tried;
            root += bit;
        }
    }
    return root;
}

/* `t / 2^shift` to the nearest integer, halves to even; `half` is 2^(shift - 1), `below` bits. */
static inline int32_t ma_nearest(int32_t t, int32_t shift, int32_t half, int32_t below)
{
    const int32_t down = t >> shift;
    return down + ((t & below) + (down & 1) > half);
}

/* Half of 2^shift; more than any rest where nothing is shifted. */
static inline int32_t ma_half(int32_t shift) { return shift ? 1 << (shift - 1) : 1; }

/* Sums of a row and of its squares, four elements at a time. */
static inline void ma_row_sums(
    const uint8_t *x, int32_t columns, uint32_t flip, int32_t *total, int32_t *squares)
{
    int32_t i = 0;
    for (; i + 4 <= columns; i += 4) {
        const uint32_t word = ma_load4(x + i) ^ flip;
        *total = ma_dot4(word, 0x01010101u, *total, 1);
        *squares = ma_dot4(word, word, *squares, 1);
    }
    for (; i < columns; ++i) {
        const int32_t value = (int8_t)(x[i] ^ (uint8_t)flip);
        *total += value;
        *squares += value * value;
    }
}

/* From a row's sums; `bits` are those of the number of columns. */
static inline struct ma_row ma_row_of(
    const struct ma_norm *t, int32_t bits, int32_t total, int32_t squares)
{
    const int32_t n = t->columns;
    const int64_t spread = (int64_t)n * squares - (int64_t)total * total;
    const int64_t least = (int64_t)ma_max(n - 1, 1) << MA_VARIANCE_BITS;
    int64_t variance = spread * (1 << MA_VARIANCE_BITS) + t->epsilon;
    int32_t halvings = 0;
    variance = variance < least ? least : variance;
    for (; variance >= (int64_t)1 << (MA_ROOT_BITS + 1); variance >>= 2) {
        ++halvings;
    }
    for (; variance < (int64_t)1 << (MA_ROOT_BITS - 1); variance <<= 2) {
        --halvings;
    }
    const int32_t inverse = ((1 << MA_DIVIDEND_BITS) - 1) / ma_root((int32_t)variance);
    const int32_t rest = total % n;
    const int32_t beyond = rest < 0 ? rest + n : rest; /* of a mean that is rounded down */
    const int32_t mean = (total - beyond) / n;
    const int32_t factor = (n * inverse) >> bits;
    const int32_t fraction = 13 - (ma_bit_length(n - 1) + 1) / 2;
    return (struct ma_row){
        factor,
        factor * mean + ((beyond * inverse) >> bits),
        MA_DIVIDEND_BITS - MA_VARIANCE_BITS / 2 + halvings - bits - fraction,
    };
}

static inline void ma_norm_row(const struct ma_norm *t, int32_t row, int32_t bits, uint32_t flip)
{
    const uint8_t *const x = t->x + row * t->x_row;
    uint8_t *const y = t->y + row * t->y_row;
    int32_t total = 0, squares = 0;
    ma_row_sums(x, t->columns, flip, &total, &squares);
    const struct ma_row by = ma_row_of(t, bits, total, squares);
    const int32_t first = ma_half(by.shift), below = (1 << by.shift) - 1;
    /* In variables: a byte that is stored may be a field of t, as far as C knows. */
    const int32_t *const multiplier = t->multiplier, *const offset = t->offset;
    const int32_t columns = t->columns, shift = t->shift, lo = t->lo, hi = t->hi;
    const int32_t half = ma_half(shift), under = (1 << shift) - 1;
    for (int32_t i = 0; i < columns; ++i) {
        const int32_t value = (int8_t)(x[i] ^ (uint8_t)flip);
        const int32_t real = ma_nearest(value * by.factor - by.moved, by.shift, first, below);
        const int32_t normal = ma_clip(real, INT16_MIN, INT16_MAX);
        const int32_t sum = normal * multiplier[i] + offset[i];
        y[i] = (uint8_t)ma_clip(ma_nearest(sum, shift, half, under), lo, hi);
    }
}

void ma_norm(const void *norm)
{
    const struct ma_norm *const t = norm;
    const struct ma_range mine = ma_part(t->rows, ma_core(), ma_cores());
    const int32_t bits = ma_bit_length(t->columns);
    const uint32_t flip = t->unsigned_x ? 0x80808080u : 0;
    for (int32_t row = mine.first; row < mine.last; ++row) {
        ma_norm_row(t, row, bits, flip);
    }
}
