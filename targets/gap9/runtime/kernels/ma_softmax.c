/* Softmax of rows of bytes, in integers; `match_aie/workload/fixed_softmax.py` says what and why.
 *
 * A row is one core's. Bytes are compared and subtracted four at a time, as if they were unsigned:
 * of int8, the highest bit is turned. No byte of `most - x` borrows from the next, as none is
 * negative.
 */
#include "ma_kernel.h"

enum { MA_KEPT_BITS = 15, MA_DIVIDEND_BITS = 29 };

/* What a row's exponentials are multiplied by, how far the products are shifted; the output's zero
 * point and limit, which are not loaded again behind a store. */
struct ma_share_of {
    uint32_t factor;
    int32_t shift, zero, most;
};

/* Bits of a number above 0. */
static inline int32_t ma_bits(uint32_t n)
{
    int32_t bits = 1;
    for (int32_t half = 16; half; half >>= 1) {
        if (n >> half) {
            n >>= half;
            bits += half;
        }
    }
    return bits;
}

/* The largest byte of a row, its highest bit turned where bytes are signed. */
static inline uint32_t ma_row_most(const uint8_t *x, int32_t columns, uint32_t flip)
{
    uint32_t four = 0, most = 0;
    int32_t i = 0;
    for (; i + 4 <= columns; i += 4) {
        four = ma_max4(four, ma_load4(x + i) ^ flip, 0);
    }
    for (int32_t lane = 0; lane < 4; ++lane) {
        most = (uint32_t)ma_max((int32_t)most, ma_lane(four, lane, 0));
    }
    for (; i < columns; ++i) {
        most = (uint32_t)ma_max((int32_t)most, x[i] ^ (uint8_t)flip);
    }
    return most;
}

/* The sum of a row's exponentials; `most` in all four bytes. */
static inline uint32_t ma_row_total(
    const uint8_t *x, int32_t columns, uint32_t flip, uint32_t most, const uint32_t *table)
{
    uint32_t total = 0;
    int32_t i = 0;
    for (; i + 4 <= columns; i += 4) {
        const uint32_t below = most - (ma_load4(x + i) ^ flip);
        for (int32_t lane = 0; lane < 4; ++lane) {
            total += table[ma_lane(below, lane, 0)];
        }
    }
    for (; i < columns; ++i) {
        total += table[(most & 0xffu) - (x[i] ^ (flip & 0xffu))];
    }
    return total;
}

/* By a row's sum; where a shift leaves nothing of any product, the factor is 0. */
static inline struct ma_share_of ma_share_by(const struct ma_elements *t, uint32_t total, int wide)
{
    const int32_t bits = ma_bits(total), most = wide ? 47 : 31, shift = t->shift + bits;
    const uint32_t kept = total >> (bits - MA_KEPT_BITS);
    const uint32_t inverse = ((1u << MA_DIVIDEND_BITS) - 1) / kept;
    const uint32_t factor = (inverse * (uint32_t)t->multiplier[0]) >> MA_KEPT_BITS;
    return (struct ma_share_of){
        shift > most ? 0 : factor, ma_min(shift, most), t->zero_y, t->hi};
}

/* One result, halves up. Of products of 32 bits the sum stays below 2^32. */
static inline int32_t ma_share_put(struct ma_share_of by, uint32_t e, int wide)
{
    const int32_t value = wide
        ? (int32_t)(((uint64_t)e * by.factor + ((uint64_t)1 << (by.shift - 1))) >> by.shift)
        : (int32_t)((e * by.factor + (1u << (by.shift - 1))) >> by.shift);
    return ma_min(value + by.zero, by.most);
}

static inline void ma_integer_softmax_row(
    const struct ma_elements *t, int32_t row, uint32_t flip, int wide)
{
    const uint8_t *const x = (const uint8_t *)t->x + row * t->x_row;
    const uint32_t *const table = t->table;
    uint8_t *const y = (uint8_t *)t->y + row * t->y_row;
    const int32_t columns = t->columns;
    const uint32_t most = ma_row_most(x, columns, flip) * 0x01010101u;
    const struct ma_share_of by
        = ma_share_by(t, ma_row_total(x, columns, flip, most, table), wide);
    int32_t i = 0;
    for (; i + 4 <= columns; i += 4) {
        const uint32_t below = most - (ma_load4(x + i) ^ flip);
        int32_t value[4];
        for (int32_t lane = 0; lane < 4; ++lane) {
            value[lane] = ma_share_put(by, table[ma_lane(below, lane, 0)], wide);
        }
        ma_store4(y + i, ma_pack4(value[0], value[1], value[2], value[3]));
    }
    for (; i < columns; ++i) {
        const uint32_t below = (most & 0xffu) - (x[i] ^ (flip & 0xffu));
        y[i] = (uint8_t)ma_share_put(by, table[below], wide);
    }
}

static inline void ma_integer_softmax(const struct ma_elements *t, int is_signed, int wide)
{
    const struct ma_range mine = ma_part(t->rows, ma_core(), ma_cores());
    const uint32_t flip = is_signed ? 0x80808080u : 0;
    for (int32_t row = mine.first; row < mine.last; ++row) {
        ma_integer_softmax_row(t, row, flip, wide);
    }
}

void ma_softmax_narrow_u8(const void *elements) { ma_integer_softmax(elements, 0, 0); }
void ma_softmax_narrow_i8(const void *elements) { ma_integer_softmax(elements, 1, 0); }
void ma_softmax_wide_u8(const void *elements) { ma_integer_softmax(elements, 0, 1); }
void ma_softmax_wide_i8(const void *elements) { ma_integer_softmax(elements, 1, 1); }
