/* Convolutions and dense layers with products of binary16 or bfloat16; x and y are float32, or of these.
 *
 * A window is rounded to 16 bits in the core's scratch, two numbers a word, or copied, or read where it
 * lies; then four sums of two
 * halves each are kept in registers: 5 loads and 4 fused multiply-adds for 8 multiply-accumulates.
 * After some words both halves go to a sum of float32, so how far it is off does not grow with
 * the window. `match_aie.workload.short_floats` has every rounding.
 */
#include "ma_bfloat.h"
#include "ma_half.h"
#include "ma_kernel.h"

/* What numbers are: a constant wherever it is an argument. */
enum ma_short { MA_BINARY16, MA_BFLOAT16 };

/* Words between two additions to the sum of float32. */
enum { MA_SHORT_PAIRS = 16 };

static inline uint16_t ma_short_of(enum ma_short is, float value)
{
    return is == MA_BFLOAT16 ? ma_bfloat_of(value) : ma_half_of(value);
}

static inline uint32_t ma_short_pair(enum ma_short is, float a, float b)
{
    return is == MA_BFLOAT16 ? ma_bfloat_pair(a, b) : ma_half_pair(a, b);
}

static inline uint32_t ma_short_fused2(enum ma_short is, uint32_t x, uint32_t w, uint32_t sum)
{
    return is == MA_BFLOAT16 ? ma_bfloat_fused2(x, w, sum) : ma_half_fused2(x, w, sum);
}

/* `sum` and both halves of `pair`, one after the other. */
static inline float ma_short_added(enum ma_short is, float sum, uint32_t pair)
{
    return is == MA_BFLOAT16 ? (sum + ma_bfloat_first(pair)) + ma_bfloat_second(pair)
                             : (sum + ma_half_first(pair)) + ma_half_second(pair);
}

/* Rounds `count` numbers; their halves begin on any even address. */
static inline void ma_short_copy(
    enum ma_short is, uint16_t *to, const float *from, int32_t count)
{
    if (((uintptr_t)to & 2) && count > 0) {
        *to++ = ma_short_of(is, *from++);
        --count;
    }
    for (int32_t pairs = count >> 1; pairs > 0; --pairs, to += 2, from += 2) {
        ma_store4(to, ma_short_pair(is, from[0], from[1]));
    }
    if (count & 1) {
        *to = ma_short_of(is, *from);
    }
}

/* Copies `count` numbers of 16 bits, likewise. */
static inline void ma_short_take(uint16_t *to, const uint16_t *from, int32_t count)
{
    if (((uintptr_t)to & 2) && count > 0) {
        *to++ = *from++;
        --count;
    }
    for (int32_t pairs = count >> 1; pairs > 0; --pairs, to += 2, from += 2) {
        ma_store4(to, ma_load4((const uint8_t *)from));
    }
    if (count & 1) {
        *to = *from;
    }
}

/* `count` elements of x, which `narrow` says are of 16 bits already. */
static inline void ma_short_read(
    enum ma_short is, int32_t narrow, uint16_t *to, const uint8_t *from, int32_t count)
{
    if (narrow) {
        ma_short_take(to, (const uint16_t *)(const void *)from, count);
    } else {
        ma_short_copy(is, to, (const float *)(const void *)from, count);
    }
}

/* Stores `zero`, which is 0, `count` times: of a constant compilers make calls of memset. */
static inline void ma_short_fill(uint16_t *to, uint32_t zero, int32_t count)
{
    if (((uintptr_t)to & 2) && count > 0) {
        *to++ = (uint16_t)zero;
        --count;
    }
    for (int32_t pairs = count >> 1; pairs > 0; --pairs, to += 2) {
        ma_store4(to, zero);
    }
    if (count & 1) {
        *to = (uint16_t)zero;
    }
}

/* Everything that the window of output pixel `pixel` sees; what lies outside is zero. */
static inline void ma_short_gather(
    enum ma_short is, const struct ma_window *t, int32_t pixel, uint16_t *to)
{
    const struct ma_seen view = ma_seen_of(t, pixel);
    const int32_t channels = t->channels, row = t->filter_columns * channels;
    const int32_t down = t->dilation_rows * t->in_line, apart = t->dilation_columns * t->in_pixel;
    const int32_t before = view.columns.first, inside = view.columns.last - before;
    const int32_t narrow = t->lo, together = apart == (narrow ? 2 : 4) * channels;
    const uint32_t zero = (uint32_t)t->pad_value;
    for (int32_t f = 0; f < t->filter_rows; ++f, to += row) {
        if (f < view.rows.first || f >= view.rows.last || inside == 0) {
            ma_short_fill(to, zero, row);
            continue;
        }
        const uint8_t *const line
            = (const uint8_t *)t->x + (view.start + f * down + before * apart);
        uint16_t *const at = to + before * channels;
        ma_short_fill(to, zero, before * channels);
        if (together) {
            ma_short_read(is, narrow, at, line, inside * channels);
        } else {
            for (int32_t g = 0; g < inside; ++g) {
                ma_short_read(is, narrow, at + g * channels, line + g * apart, channels);
            }
        }
        ma_short_fill(at + inside * channels, zero, row - (before + inside) * channels);
    }
}

/* Sums of a window with `channels` (1 or 4) rows of weights. */
static inline void ma_short_sums(enum ma_short is, const uint8_t *x, const uint8_t *weight,
    int32_t words, int32_t channels, float sum[4])
{
    for (int32_t j = 0; j < channels; ++j) {
        sum[j] = 0x0p+0f;
    }
    for (int32_t first = 0; first < words; first += MA_SHORT_PAIRS) {
        const int32_t last = ma_min(words, first + MA_SHORT_PAIRS);
        uint32_t pair[4] = {0, 0, 0, 0};
        for (int32_t i = first; i < last; ++i) {
            const uint32_t seen = ma_load4(x + 4 * i);
            for (int32_t j = 0; j < channels; ++j) {
                pair[j] = ma_short_fused2(
                    is, seen, ma_load4(weight + 4 * (j * words + i)), pair[j]);
            }
        }
        for (int32_t j = 0; j < channels; ++j) {
            sum[j] = ma_short_added(is, sum[j], pair[j]);
        }
    }
}

/* The same as functions of their own: beside all that a kernel keeps, compilers have no registers left
 * for the loops over words. */
#define MA_SHORT_SUMS(name, is, channels)                                     \
    __attribute__((noinline)) static void name(                               \
        const uint8_t *x, const uint8_t *weight, int32_t words, float sum[4]) \
    {                                                                         \
        ma_short_sums(is, x, weight, words, channels, sum);                   \
    }
MA_SHORT_SUMS(ma_half_four, MA_BINARY16, 4)
MA_SHORT_SUMS(ma_half_one, MA_BINARY16, 1)
MA_SHORT_SUMS(ma_bfloat_four, MA_BFLOAT16, 4)
MA_SHORT_SUMS(ma_bfloat_one, MA_BFLOAT16, 1)

/* What becomes of a sum, in registers: fields would be loaded again after every store. */
struct ma_short_after {
    const float *bias; /* NULL where there is none */
    float lo, hi;
    int32_t narrow; /* y is of 16 bits */
};

/* Stores `channels` sums from element `to` of y on; the first is channel `k`. */
static inline void ma_short_put(enum ma_short is, const struct ma_short_after *by,
    const float sum[4], void *y, int32_t to, int32_t k, int32_t channels)
{
    for (int32_t j = 0; j < channels; ++j) {
        const float value = by->bias ? sum[j] + by->bias[k + j] : sum[j];
        const float inside = value < by->lo ? by->lo : value > by->hi ? by->hi : value;
        if (by->narrow) {
            ((uint16_t *)y)[to + j] = ma_short_of(is, inside);
        } else {
            ((float *)y)[to + j] = ma_half_quiet(inside);
        }
    }
}

static inline void ma_short_conv2d(enum ma_short is, const struct ma_window *t)
{
    const int32_t taps = t->filter_rows * t->filter_columns * t->channels, words = ma_up(taps, 2);
    const int32_t pixels = t->batch * t->out_rows * t->out_columns;
    const int direct = t->lo && ma_is_direct16(t);
    uint8_t *const scratch = t->scratch + (direct ? 0 : ma_core() * 4 * words);
    const struct ma_share share
        = ma_divide(pixels, ma_up(t->out_channels, 4), 2 * words + 100, 10 * words + 100);
    const int32_t last = ma_min(t->out_channels, 4 * share.blocks.last);
    const uint8_t *const weight = (const uint8_t *)t->weight;
    const struct ma_short_after by
        = {t->wide ? (const float *)(const void *)t->offset : NULL, t->scale_x, t->scale_y, t->hi};
    if (!direct) {
        ma_store4(scratch + 4 * (words - 1), 0);
    }
    for (int32_t pixel = share.units.first; pixel < share.units.last; ++pixel) {
        const int32_t to = ma_out(t, pixel);
        const uint8_t *seen = scratch;
        float sum[4];
        if (direct) {
            seen = (const uint8_t *)t->x + ma_seen_of(t, pixel).start;
        } else {
            ma_short_gather(is, t, pixel, (uint16_t *)(void *)scratch);
        }
        int32_t k = 4 * share.blocks.first;
        for (; k + 4 <= last; k += 4) {
            (is == MA_BFLOAT16 ? ma_bfloat_four : ma_half_four)(
                seen, weight + 4 * k * words, words, sum);
            ma_short_put(is, &by, sum, t->y, to + k, k, 4);
        }
        for (; k < last; ++k) {
            (is == MA_BFLOAT16 ? ma_bfloat_one : ma_half_one)(
                seen, weight + 4 * k * words, words, sum);
            ma_short_put(is, &by, sum, t->y, to + k, k, 1);
        }
    }
}

void ma_half_conv2d(const void *window) { ma_short_conv2d(MA_BINARY16, window); }
void ma_bfloat_conv2d(const void *window) { ma_short_conv2d(MA_BFLOAT16, window); }
