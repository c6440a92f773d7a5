/* Products of two matrices that both arrive at run time, as in attention.
 *
 * Four columns of the second one are turned into rows in the core's scratch; then 2 x 4 sums are kept
 * in registers, as convolutions do (ma_conv2d.c). What zero points add is taken off the sums.
 */
#include "ma_kernel.h"

/* Up to four columns of x1 as rows of words. */
struct ma_strip {
    uint8_t *word;
    int32_t words, sum[4]; /* words of a column, what a column adds up to */
};

/* Four elements of each of `columns` columns; zeros where there are no more rows. */
static inline void ma_turned(const struct ma_product *t, const uint8_t *x1, int32_t rows,
    int32_t columns, uint32_t flip, uint32_t word[4])
{
    for (int32_t r = 0; r < 4; ++r) {
        word[r] = 0;
        if (r < rows) {
            const uint8_t *const from = x1 + r * t->x1_row;
            word[r] = (columns == 4 ? ma_load4(from) : ma_load_part(from, columns)) ^ flip;
        }
    }
    ma_transpose4(word);
}

/* Columns of x1 [inner][...] from `x1` on into the strip. */
static inline void ma_turn_strip(const struct ma_product *t, struct ma_strip *strip,
    const uint8_t *x1, int32_t columns, uint32_t flip)
{
    for (int32_t k = 0; k < 4; ++k) {
        strip->sum[k] = 0;
    }
    for (int32_t i = 0; i < strip->words; ++i) {
        const int32_t left = t->inner - 4 * i;
        uint32_t word[4];
        if (left >= 4 && columns == 4) {
            ma_turned(t, x1 + 4 * i * t->x1_row, 4, 4, flip, word);
        } else {
            ma_turned(t, x1 + 4 * i * t->x1_row, ma_min(4, left), columns, flip, word);
        }
        for (int32_t k = 0; k < 4; ++k) {
            ma_store4(strip->word + 4 * (k * strip->words + i), word[k]);
            strip->sum[k] = ma_dot4(0x01010101u, word[k], strip->sum[k], 1);
        }
    }
}

/* Sums of `rows` (1 or 2) rows of x with `columns` (1 or 4) columns; with sums of the rows in
 * `seen[p].sum` where `centred` says that x1 has a zero point. */
struct ma_seen_row {
    const uint8_t *x;
    int32_t sum;
};

static inline void ma_step(int32_t acc[2][4], struct ma_seen_row seen[2], const uint32_t x[2],
    const uint8_t *strip, int32_t words, int32_t rows, int32_t columns, int centred, int is_signed)
{
    for (int32_t k = 0; k < columns; ++k) {
        const uint32_t w = ma_load4(strip + 4 * k * words);
        for (int32_t p = 0; p < rows; ++p) {
            acc[p][k] = ma_dot4(x[p], w, acc[p][k], is_signed);
        }
    }
    for (int32_t p = 0; p < rows && centred; ++p) {
        seen[p].sum = ma_dot4(x[p], 0x01010101u, seen[p].sum, is_signed);
    }
}

static inline void ma_product_sums(const struct ma_product *t, int32_t acc[2][4],
    struct ma_seen_row seen[2], const struct ma_strip *strip, int32_t from, int32_t rows,
    int32_t columns, int centred, int is_signed)
{
    const int32_t whole = t->inner / 4, part = t->inner % 4, words = strip->words;
    const uint8_t *const first = strip->word + 4 * from * words;
    for (int32_t p = 0; p < rows; ++p) {
        seen[p].sum = 0;
        for (int32_t k = 0; k < columns; ++k) {
            acc[p][k] = 0;
        }
    }
    for (int32_t i = 0; i < whole; ++i) {
        const uint32_t x[2]
            = {ma_load4(seen[0].x + 4 * i), rows == 2 ? ma_load4(seen[1].x + 4 * i) : 0};
        ma_step(acc, seen, x, first + 4 * i, words, rows, columns, centred, is_signed);
    }
    if (part) {
        const uint32_t x[2] = {ma_load_part(seen[0].x + 4 * whole, part),
            rows == 2 ? ma_load_part(seen[1].x + 4 * whole, part) : 0};
        ma_step(acc, seen, x, first + 4 * whole, words, rows, columns, centred, is_signed);
    }
}

/* `rows` (1 or 2) rows with `columns` (1 or 4) columns of the strip from `from` on, to y. */
static inline void ma_product_block(const struct ma_product *t, const struct ma_strip *strip,
    const uint8_t *x, uint8_t *y, int32_t from, int32_t rows, int32_t columns, int is_signed)
{
    struct ma_seen_row seen[2] = {{x, 0}, {x + t->x_row, 0}};
    const int32_t zero_x1 = t->unsigned_x1 ? t->zero_x1 - 128 : t->zero_x1;
    const int32_t both = t->inner * t->zero_x * zero_x1;
    int32_t acc[2][4];
    if (zero_x1) {
        ma_product_sums(t, acc, seen, strip, from, rows, columns, 1, is_signed);
    } else {
        ma_product_sums(t, acc, seen, strip, from, rows, columns, 0, is_signed);
    }
    /* In variables: a byte that is stored may be a field of t, as far as C knows. */
    const int32_t multiplier = t->multiplier[0], offset = t->offset[0], shift = t->shift;
    const int32_t lo = t->lo, hi = t->hi, zero_x = t->zero_x, y_row = t->y_row;
    const int32_t sums[2] = {zero_x1 * seen[0].sum - both, zero_x1 * seen[1].sum - both};
    for (int32_t k = 0; k < columns; ++k) {
        const int32_t column = zero_x * strip->sum[from + k];
        for (int32_t p = 0; p < rows; ++p) {
            const int32_t scaled = ma_wrapping_multiply(acc[p][k] - column - sums[p], multiplier);
            const int32_t value = ma_add_shift(scaled, offset, shift);
            y[p * y_row + from + k] = (uint8_t)ma_clip(value, lo, hi);
        }
    }
}

/* All columns of the strip with rows [first, last) of one batch. */
static inline void ma_product_rows(const struct ma_product *t, const struct ma_strip *strip,
    const uint8_t *x, uint8_t *y, struct ma_range rows, int32_t columns, int is_signed)
{
    for (int32_t row = rows.first; row < rows.last; row += 2) {
        const uint8_t *const from = x + row * t->x_row;
        uint8_t *const to = y + row * t->y_row;
        const int32_t here = ma_min(2, rows.last - row);
        if (columns == 4 && here == 2) {
            ma_product_block(t, strip, from, to, 0, 2, 4, is_signed);
        } else if (columns == 4) {
            ma_product_block(t, strip, from, to, 0, 1, 4, is_signed);
        } else {
            for (int32_t k = 0; k < columns; ++k) {
                ma_product_block(t, strip, from, to, k, here, 1, is_signed);
            }
        }
    }
}

static inline void ma_product(const struct ma_product *t, int is_signed)
{
    const int32_t words = ma_up(t->inner, 4), strips = ma_up(t->columns, 4);
    const struct ma_share share
        = ma_divide(t->batch * strips, ma_up(t->rows, 2), 20 * words + 60, 14 * words + 100);
    const struct ma_range rows
        = {2 * share.blocks.first, ma_min(t->rows, 2 * share.blocks.last)};
    const uint32_t flip = t->unsigned_x1 ? 0x80808080u : 0;
    struct ma_strip strip = {t->scratch + ma_core() * 16 * words, words, {0, 0, 0, 0}};
    for (int32_t unit = share.units.first; unit < share.units.last; ++unit) {
        const int32_t batch = unit / strips, k = 4 * (unit % strips);
        const int32_t columns = ma_min(4, t->columns - k);
        ma_turn_strip(t, &strip, t->x1 + batch * t->x1_batch + k, columns, flip);
        ma_product_rows(t, &strip, t->x + batch * t->x_batch, t->y + batch * t->y_batch + k, rows,
            columns, is_signed);
    }
}

void ma_product_u8(const void *product) { ma_product(product, 0); }
void ma_product_i8(const void *product) { ma_product(product, 1); }
