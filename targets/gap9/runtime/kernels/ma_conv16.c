/* Convolutions and dense layers of 16-bit inputs, with weights in 16 bits.
 *
 * Two windows are gathered into the core's scratch, or read where they lie (one pixel of an even number
 * of channels), uint16 as int16 of 32768 less; then 2 x 4 sums are kept in registers: 6 loads and 8 dot
 * products for 16 multiply-accumulates. A depthwise filter has a
 * product at a time. Sums wrap at 32 bits; what is stored is y = clip(((acc + offset) * multiplier +
 * half) >> shift + zero_y) of a product of 64 bits, with shifts of 33 bits and more: its upper half is
 * enough, since what is below it never carries.
 */
#include "ma_kernel.h"

/* Behind a sum, in registers: of the upper half of its product; y has 16 bits, else 8. */
struct ma_after {
    int32_t half, shift, zero, lo, hi, wide;
};

static inline struct ma_after ma_after_of(const struct ma_window *t)
{
    const int32_t shift = t->shift - 32;
    return (struct ma_after){1 << (shift - 1), shift, t->zero_y, t->lo, t->hi, t->wide};
}

/* Stores element `index` of y. */
static inline void ma_put16(const struct ma_after *by, void *y, int32_t index, int32_t sum,
    int32_t multiplier, int32_t offset)
{
    const int32_t acc = ma_wrapping_add(sum, offset);
    const int32_t high = (int32_t)(((int64_t)acc * multiplier) >> 32);
    const int32_t value = ma_clip(((high + by->half) >> by->shift) + by->zero, by->lo, by->hi);
    if (by->wide) {
        ((uint16_t *)y)[index] = (uint16_t)value;
    } else {
        ((uint8_t *)y)[index] = (uint8_t)value;
    }
}

/* `bytes` (even) from anywhere, each element's highest bit turned where `flip` says so. */
static inline void ma_copy16(uint8_t *to, const uint8_t *from, int32_t bytes, uint32_t flip)
{
    int32_t i = 0;
    for (; i + 4 <= bytes; i += 4) {
        ma_store4(to + i, ma_load4(from + i) ^ flip);
    }
    if (i < bytes) {
        ma_store_part(to + i, ma_load_part(from + i, 2) ^ flip, 2);
    }
}

static inline void ma_fill16(uint8_t *to, uint32_t pad, int32_t bytes)
{
    int32_t i = 0;
    for (; i + 4 <= bytes; i += 4) {
        ma_store4(to + i, pad);
    }
    if (i < bytes) {
        ma_store_part(to + i, pad, 2);
    }
}

/* One filter row of a window; its columns lie side by side, or they are copied one by one. */
static inline void ma_gather_row16(const struct ma_window *t, const uint8_t *line,
    struct ma_range inside, uint32_t pad, uint32_t flip, uint8_t *to)
{
    const int32_t pixel = 2 * t->channels, apart = t->dilation_columns * t->in_pixel;
    const int32_t columns = inside.last - inside.first;
    ma_fill16(to, pad, inside.first * pixel);
    if (apart == pixel) {
        ma_copy16(to + inside.first * pixel, line + inside.first * pixel, columns * pixel, flip);
    } else {
        for (int32_t f = inside.first; f < inside.last; ++f) {
            ma_copy16(to + f * pixel, line + f * apart, pixel, flip);
        }
    }
    ma_fill16(to + inside.last * pixel, pad, (t->filter_columns - inside.last) * pixel);
}

/* Everything that the window of output pixel `pixel` sees. */
static inline void ma_gather16(
    const struct ma_window *t, int32_t pixel, uint32_t flip, uint8_t *to)
{
    const struct ma_seen view = ma_seen_of(t, pixel);
    const uint32_t pad = ((uint32_t)(uint16_t)t->pad_value * 0x00010001u) ^ flip;
    const int32_t row = 2 * t->channels * t->filter_columns, down = t->dilation_rows * t->in_line;
    for (int32_t f = 0; f < t->filter_rows; ++f, to += row) {
        if (f < view.rows.first || f >= view.rows.last) {
            ma_fill16(to, pad, row);
        } else {
            ma_gather_row16(
                t, (const uint8_t *)t->x + view.start + f * down, view.columns, pad, flip, to);
        }
    }
}

/* Sums of `pixels` (1 or 2) windows, of words turned by `flip`, with `channels` (1 or 4) rows. */
static inline void ma_sums16(int32_t acc[2][4], const uint8_t *const seen[2], uint32_t flip,
    const int8_t *weight, int32_t words, int32_t pixels, int32_t channels)
{
    for (int32_t p = 0; p < pixels; ++p) {
        for (int32_t k = 0; k < channels; ++k) {
            acc[p][k] = 0;
        }
    }
    for (int32_t i = 0; i < words; ++i) {
        const uint32_t x0 = ma_load4(seen[0] + 4 * i) ^ flip;
        const uint32_t x1 = pixels == 2 ? ma_load4(seen[1] + 4 * i) ^ flip : 0;
        for (int32_t k = 0; k < channels; ++k) {
            const uint32_t w = ma_load4(weight + 4 * (k * words + i));
            acc[0][k] = ma_dot2(x0, w, acc[0][k]);
            if (pixels == 2) {
                acc[1][k] = ma_dot2(x1, w, acc[1][k]);
            }
        }
    }
}

/* Some channels, from `k` on, of one or two pixels that begin at elements `to` of y. */
static inline void ma_channels16(const struct ma_window *t, const struct ma_after *by,
    const uint8_t *const seen[2], uint32_t flip, const int32_t to[2], int32_t words, int32_t k,
    int32_t pixels, int32_t channels)
{
    int32_t acc[2][4];
    ma_sums16(acc, seen, flip, t->weight + 4 * k * words, words, pixels, channels);
    for (int32_t p = 0; p < pixels; ++p) {
        for (int32_t j = 0; j < channels; ++j) {
            ma_put16(by, t->y, to[p] + k + j, acc[p][j], t->multiplier[k + j], t->offset[k + j]);
        }
    }
}

static inline void ma_conv16(const struct ma_window *t, uint32_t flip)
{
    const int32_t words = ma_up(t->filter_rows * t->filter_columns * t->channels, 2);
    const int32_t pixels = t->batch * t->out_rows * t->out_columns;
    const int direct = ma_is_direct16(t);
    const uint32_t turn = direct ? flip : 0;
    uint8_t *const scratch = t->scratch + (direct ? 0 : ma_core() * 8 * words);
    const uint8_t *seen[2] = {scratch, scratch + 4 * words};
    const struct ma_share share = ma_divide(
        ma_up(pixels, 2), ma_up(t->out_channels, 4), 6 * words + 100, 14 * words + 120);
    const int32_t last = ma_min(t->out_channels, 4 * share.blocks.last);
    const struct ma_after by = ma_after_of(t);
    for (int32_t unit = share.units.first; unit < share.units.last; ++unit) {
        const int32_t pixel = 2 * unit, here = ma_min(2, pixels - pixel);
        int32_t to[2] = {0, 0};
        for (int32_t p = 0; p < here; ++p) {
            if (direct) {
                seen[p] = (const uint8_t *)t->x + ma_seen_of(t, pixel + p).start;
            } else {
                ma_store4(scratch + 4 * (p * words + words - 1), 0);
                ma_gather16(t, pixel + p, flip, scratch + 4 * p * words);
            }
            to[p] = ma_out(t, pixel + p);
        }
        int32_t k = 4 * share.blocks.first;
        for (; k + 4 <= last; k += 4) {
            if (here == 2) {
                ma_channels16(t, &by, seen, turn, to, words, k, 2, 4);
            } else {
                ma_channels16(t, &by, seen, turn, to, words, k, 1, 4);
            }
        }
        for (; k < last; ++k) {
            if (here == 2) {
                ma_channels16(t, &by, seen, turn, to, words, k, 2, 1);
            } else {
                ma_channels16(t, &by, seen, turn, to, words, k, 1, 1);
            }
        }
    }
}

void ma_conv16_i16(const void *window) { ma_conv16(window, 0); }
void ma_conv16_u16(const void *window) { ma_conv16(window, 0x80008000u); }

/* Element of x at `from`, less its zero point. */
static inline int32_t ma_centred16(const uint8_t *from, int32_t zero, int is_signed)
{
    const uint16_t value = *(const uint16_t *)(const void *)from;
    return (is_signed ? (int16_t)value : value) - zero;
}

/* The sum of one channel of a pixel: what lies outside the image adds nothing. */
static inline int32_t ma_depthwise_sum16(const struct ma_window *t, const struct ma_seen *view,
    int32_t k, const int8_t *weight, int is_signed)
{
    const int16_t *const w = (const int16_t *)(const void *)weight;
    int32_t acc = 0;
    for (int32_t fy = view->rows.first; fy < view->rows.last; ++fy) {
        for (int32_t fx = view->columns.first; fx < view->columns.last; ++fx) {
            const uint8_t *const x
                = (const uint8_t *)t->x + ma_position(t, view, fy, fx) + 2 * k;
            const int32_t product = ma_wrapping_multiply(
                ma_centred16(x, t->pad_value, is_signed), w[fy * t->filter_columns + fx]);
            acc = ma_wrapping_add(acc, product);
        }
    }
    return acc;
}

static inline void ma_depthwise16(const struct ma_window *t, int is_signed)
{
    const int32_t taps = t->filter_rows * t->filter_columns, row = 4 * ma_up(taps, 2);
    const int32_t pixels = t->batch * t->out_rows * t->out_columns;
    const struct ma_share share
        = ma_divide(pixels, ma_up(t->out_channels, 4), 100, 4 * (8 * taps + 40));
    const int32_t last = ma_min(t->out_channels, 4 * share.blocks.last);
    const struct ma_after by = ma_after_of(t);
    for (int32_t pixel = share.units.first; pixel < share.units.last; ++pixel) {
        const struct ma_seen view = ma_seen_of(t, pixel);
        const int32_t to = ma_out(t, pixel);
        for (int32_t k = 4 * share.blocks.first; k < last; ++k) {
            const int32_t sum = ma_depthwise_sum16(t, &view, k, t->weight + k * row, is_signed);
            ma_put16(&by, t->y, to + k, sum, t->multiplier[k], t->offset[k]);
        }
    }
}

void ma_depthwise16_i16(const void *window) { ma_depthwise16(window, 1); }
void ma_depthwise16_u16(const void *window) { ma_depthwise16(window, 0); }
