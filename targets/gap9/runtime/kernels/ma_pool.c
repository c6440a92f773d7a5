/* Pooling, four channels at a time. */
#include "ma_kernel.h"

static inline uint32_t ma_load_channels(const uint8_t *from, int32_t channels)
{
    return channels == 4 ? ma_load4(from) : ma_load_part(from, channels);
}

static inline uint32_t ma_maximum(const struct ma_window *t, const struct ma_seen *view, int32_t c,
    int32_t channels, int is_signed)
{
    const uint8_t *x = (const uint8_t *)t->x + c;
    uint32_t most = ma_splat4(t->lo);
    for (int32_t fy = view->rows.first; fy < view->rows.last; ++fy) {
        for (int32_t fx = view->columns.first; fx < view->columns.last; ++fx) {
            const uint8_t *from = x + ma_position(t, view, fy, fx);
            most = ma_max4(most, ma_load_channels(from, channels), is_signed);
        }
    }
    return ma_min4(most, ma_splat4(t->hi), is_signed);
}

/* Shares the pixels and blocks of four channels of a pool among the cores. */
static inline struct ma_share ma_pool_share(const struct ma_window *t, int32_t per_position)
{
    const int32_t positions = t->filter_rows * t->filter_columns;
    return ma_divide(t->batch * t->out_rows * t->out_columns, ma_up(t->channels, 4), 64,
        per_position * positions + 64);
}

static inline void ma_max_pool(const struct ma_window *t, int variant)
{
    const struct ma_share share = ma_pool_share(t, 3);
    uint8_t *const y = (uint8_t *)t->y;
    for (int32_t pixel = share.units.first; pixel < share.units.last; ++pixel) {
        const struct ma_seen view = ma_seen_of(t, pixel);
        uint8_t *const to = y + ma_out(t, pixel);
        for (int32_t block = share.blocks.first; block < share.blocks.last; ++block) {
            const int32_t c = 4 * block, channels = ma_min(4, t->channels - c);
            if (channels == 4) {
                ma_store4(to + c, ma_maximum(t, &view, c, 4, variant & MA_SIGNED));
            } else {
                const uint32_t most = ma_maximum(t, &view, c, channels, variant & MA_SIGNED);
                ma_store_part(to + c, most, channels);
            }
        }
    }
}

MA_WINDOW_KERNEL(ma_max_pool, ma_max_pool)

/* Sums of four channels over the positions inside. */
static inline void ma_sum(const struct ma_window *t, const struct ma_seen *view, int32_t c,
    int32_t channels, int32_t sum[4], int is_signed)
{
    const uint8_t *x = (const uint8_t *)t->x + c;
    for (int32_t fy = view->rows.first; fy < view->rows.last; ++fy) {
        for (int32_t fx = view->columns.first; fx < view->columns.last; ++fx) {
            const uint32_t word = ma_load_channels(x + ma_position(t, view, fy, fx), channels);
            for (int32_t j = 0; j < 4; ++j) {
                sum[j] = ma_dot4(word, 1u << (8 * j), sum[j], is_signed);
            }
        }
    }
}

/* The average of real values: float32 sums down each column and then across. */
static inline float ma_real_average(const struct ma_window *t, const struct ma_seen *view,
    int32_t c, int32_t count, int is_signed)
{
    const uint8_t *x = (const uint8_t *)t->x + c;
    float total = 0x0p+0f;
    for (int32_t fx = view->columns.first; fx < view->columns.last; ++fx) {
        float column = 0x0p+0f;
        for (int32_t fy = view->rows.first; fy < view->rows.last; ++fy) {
            const int32_t value = ma_lane(x[ma_position(t, view, fy, fx)], 0, is_signed);
            column += (float)(value - t->pad_value) * t->scale_x;
        }
        total += column;
    }
    return (total / (float)count) / t->scale_y;
}

/* sum / count, halves away from zero. */
static inline int32_t ma_away(int32_t sum, int32_t count)
{
    return sum < 0 ? -((count / 2 - sum) / count) : (sum + count / 2) / count;
}

/* Averages in fixed point, of sums from which `zero` is to be taken. */
static inline void ma_average_fixed(const struct ma_window *t, uint8_t *y, const int32_t sum[4],
    int32_t zero, int32_t channels, int variant)
{
    const struct ma_tail tail = ma_tail_of(t);
    const struct ma_factors of = ma_factors_of(tail, 0, variant);
    for (int32_t j = 0; j < channels; ++j) {
        const int32_t centred = sum[j] - zero;
        y[j] = (uint8_t)ma_requantise(tail, centred, of.multiplier, of.offset, variant);
    }
}

/* An average of which the sum over the image, less its zero points, is `centred`: of whole sums or
 * halves away from zero. */
static inline int32_t ma_average_of(const struct ma_window *t, int32_t centred, int32_t count)
{
    if (t->average == MA_AVERAGE_AWAY) {
        return ma_clip(ma_away(centred, count) + t->zero_y, t->lo, t->hi);
    }
    const float factor = t->scale_x / (t->scale_y * (float)count);
    return ma_saturate((float)centred * factor, t->zero_y, t->lo, t->hi);
}

/* Channels from c on, of a pixel whose first channel is at `to`. */
static inline void ma_average_block(const struct ma_window *t, const struct ma_seen *view,
    uint8_t *to, int32_t c, int32_t channels, int variant)
{
    const int32_t inside =
        (view->rows.last - view->rows.first) * (view->columns.last - view->columns.first);
    const int32_t count = t->count_padding ? t->filter_rows * t->filter_columns : inside;
    const int32_t zero = inside * t->pad_value;
    uint8_t *const y = to + c;
    int32_t sum[4] = {0, 0, 0, 0};
    if (t->average == MA_AVERAGE_FLOAT) {
        for (int32_t j = 0; j < channels; ++j) {
            const float real = ma_real_average(t, view, c + j, count, variant & MA_SIGNED);
            y[j] = (uint8_t)ma_saturate(real, t->zero_y, t->lo, t->hi);
        }
        return;
    }
    if (channels == 4) {
        ma_sum(t, view, c, 4, sum, variant & MA_SIGNED);
    } else {
        ma_sum(t, view, c, channels, sum, variant & MA_SIGNED);
    }
    if (t->average == MA_AVERAGE_FIXED) {
        ma_average_fixed(t, y, sum, zero, channels, variant);
        return;
    }
    for (int32_t j = 0; j < channels; ++j) {
        y[j] = (uint8_t)ma_average_of(t, sum[j] - zero, count);
    }
}

static inline void ma_average_pool(const struct ma_window *t, int variant)
{
    const struct ma_share share = ma_pool_share(t, t->average == MA_AVERAGE_FLOAT ? 48 : 6);
    for (int32_t pixel = share.units.first; pixel < share.units.last; ++pixel) {
        const struct ma_seen view = ma_seen_of(t, pixel);
        uint8_t *const to = (uint8_t *)t->y + ma_out(t, pixel);
        for (int32_t block = share.blocks.first; block < share.blocks.last; ++block) {
            const int32_t c = 4 * block, channels = ma_min(4, t->channels - c);
            ma_average_block(t, &view, to, c, channels, variant);
        }
    }
}

MA_WINDOW_KERNEL(ma_average_pool, ma_average_pool)
