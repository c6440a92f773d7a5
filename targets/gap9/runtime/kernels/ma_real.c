/* Layers of float32 tensors on the cores' FPUs.
 *
 * Every sum is one chain of fused multiply-adds in ascending order: on cores with an FPU fmaf is an
 * instruction, elsewhere a function of equal result.
 */
#include "ma_kernel.h"

#include <math.h>

/* What an activation leaves: between lo and hi; NaN stays. */
static inline float ma_between(const struct ma_window *t, float value)
{
    return value < t->scale_x ? t->scale_x : value > t->scale_y ? t->scale_y : value;
}

/* Stores output element `index` of channel `k`. */
static inline void ma_real_put(const struct ma_window *t, int32_t index, int32_t k, float sum)
{
    const float *const bias = (const float *)(const void *)t->offset;
    ((float *)t->y)[index] = ma_between(t, t->wide ? sum + bias[k] : sum);
}

/* Positions of x are in bytes. */
static inline const float *ma_real_at(
    const struct ma_window *t, const struct ma_seen *view, int32_t fy, int32_t fx)
{
    return (const float *)(const void *)((const uint8_t *)t->x + ma_position(t, view, fy, fx));
}

/* Sums of a window with `channels` (1 or 4) rows of weights from channel `k` on. */
static inline void ma_real_sums(const struct ma_window *t, const struct ma_seen *view, int32_t k,
    int32_t channels, float sum[4])
{
    const int32_t row = t->filter_rows * t->filter_columns * t->channels;
    const float *const weight = (const float *)(const void *)t->weight + k * row;
    for (int32_t j = 0; j < channels; ++j) {
        sum[j] = 0x0p+0f;
    }
    for (int32_t fy = view->rows.first; fy < view->rows.last; ++fy) {
        for (int32_t fx = view->columns.first; fx < view->columns.last; ++fx) {
            const float *const x = ma_real_at(t, view, fy, fx);
            const float *const w = weight + (fy * t->filter_columns + fx) * t->channels;
            for (int32_t c = 0; c < t->channels; ++c) {
                for (int32_t j = 0; j < channels; ++j) {
                    sum[j] = fmaf(x[c], w[j * row + c], sum[j]);
                }
            }
        }
    }
}

/* Pixels and blocks of four channels of a core. */
static inline struct ma_share ma_real_share(const struct ma_window *t, int32_t each)
{
    const int32_t taps = t->filter_rows * t->filter_columns;
    return ma_divide(t->batch * t->out_rows * t->out_columns, ma_up(t->out_channels, 4), 64,
        each * taps + 32);
}

void ma_real_conv2d(const void *window)
{
    const struct ma_window *const t = window;
    const struct ma_share share = ma_real_share(t, 10 * t->channels);
    for (int32_t pixel = share.units.first; pixel < share.units.last; ++pixel) {
        const struct ma_seen view = ma_seen_of(t, pixel);
        const int32_t to = ma_out(t, pixel);
        const int32_t last = ma_min(t->out_channels, 4 * share.blocks.last);
        float sum[4];
        int32_t k = 4 * share.blocks.first;
        for (; k + 4 <= last; k += 4) {
            ma_real_sums(t, &view, k, 4, sum);
            for (int32_t j = 0; j < 4; ++j) {
                ma_real_put(t, to + k + j, k + j, sum[j]);
            }
        }
        for (; k < last; ++k) {
            ma_real_sums(t, &view, k, 1, sum);
            ma_real_put(t, to + k, k, sum[0]);
        }
    }
}

/* What a window of one channel comes to. */
typedef float ma_real_pixel(
    const struct ma_window *t, const struct ma_seen *view, int32_t channel);

static inline float ma_real_filtered(
    const struct ma_window *t, const struct ma_seen *view, int32_t channel)
{
    const int32_t row = t->filter_rows * t->filter_columns;
    const float *const weight = (const float *)(const void *)t->weight + channel * row;
    float sum = 0x0p+0f;
    for (int32_t fy = view->rows.first; fy < view->rows.last; ++fy) {
        for (int32_t fx = view->columns.first; fx < view->columns.last; ++fx) {
            const float x = ma_real_at(t, view, fy, fx)[channel];
            sum = fmaf(x, weight[fy * t->filter_columns + fx], sum);
        }
    }
    return sum;
}

static inline float ma_real_maximum(
    const struct ma_window *t, const struct ma_seen *view, int32_t channel)
{
    float most = -INFINITY;
    for (int32_t fy = view->rows.first; fy < view->rows.last; ++fy) {
        for (int32_t fx = view->columns.first; fx < view->columns.last; ++fx) {
            const float x = ma_real_at(t, view, fy, fx)[channel];
            most = x > most || x != x ? x : most;
        }
    }
    return most;
}

static inline float ma_real_average(
    const struct ma_window *t, const struct ma_seen *view, int32_t channel)
{
    const int32_t inside
        = (view->rows.last - view->rows.first) * (view->columns.last - view->columns.first);
    const int32_t count = t->count_padding ? t->filter_rows * t->filter_columns : inside;
    float sum = 0x0p+0f;
    for (int32_t fy = view->rows.first; fy < view->rows.last; ++fy) {
        for (int32_t fx = view->columns.first; fx < view->columns.last; ++fx) {
            sum += ma_real_at(t, view, fy, fx)[channel];
        }
    }
    return sum / (float)count;
}

/* Channel by channel. */
static inline void ma_real_each(const struct ma_window *t, ma_real_pixel *of, int32_t each)
{
    const struct ma_share share = ma_real_share(t, each);
    for (int32_t pixel = share.units.first; pixel < share.units.last; ++pixel) {
        const struct ma_seen view = ma_seen_of(t, pixel);
        const int32_t to = ma_out(t, pixel), last = ma_min(t->out_channels, 4 * share.blocks.last);
        for (int32_t k = 4 * share.blocks.first; k < last; ++k) {
            ma_real_put(t, to + k, k, of(t, &view, k));
        }
    }
}

void ma_real_depthwise(const void *window) { ma_real_each(window, ma_real_filtered, 32); }
void ma_real_max_pool(const void *window) { ma_real_each(window, ma_real_maximum, 32); }
void ma_real_average_pool(const void *window) { ma_real_each(window, ma_real_average, 32); }

/* exp(x - max) over its sum. */
static inline void ma_real_softmax_row(const float *x, float *y, int32_t columns)
{
    float most = x[0], total = 0x0p+0f;
    for (int32_t i = 1; i < columns; ++i) {
        most = x[i] > most ? x[i] : most;
    }
    for (int32_t i = 0; i < columns; ++i) {
        y[i] = expf(x[i] - most);
        total += y[i];
    }
    for (int32_t i = 0; i < columns; ++i) {
        y[i] = y[i] / total;
    }
}

/* In two passes: the mean, then what is left of it. */
static inline void ma_real_norm_row(const struct ma_real_rows *t, const float *x, float *y)
{
    float total = 0x0p+0f, squares = 0x0p+0f;
    for (int32_t i = 0; i < t->columns; ++i) {
        total += x[i];
    }
    const float mean = total / (float)t->columns;
    for (int32_t i = 0; i < t->columns; ++i) {
        const float centred = x[i] - mean;
        squares += centred * centred;
    }
    const float scale = 0x1p+0f / sqrtf(squares / (float)t->columns + t->epsilon);
    for (int32_t i = 0; i < t->columns; ++i) {
        y[i] = (x[i] - mean) * scale * t->weight[i] + t->bias[i];
    }
}

void ma_real_add(const void *elements)
{
    const struct ma_elements *const t = elements;
    const struct ma_share share = ma_divide(t->rows, t->columns, 20, 12);
    const float lo = t->scale_x, hi = t->scale_y;
    for (int32_t row = share.units.first; row < share.units.last; ++row) {
        const float *const x = (const float *)t->x + row * t->x_row;
        const float *const x1 = (const float *)t->x1 + row * t->x1_row;
        float *const y = (float *)t->y + row * t->y_row;
        for (int32_t i = share.blocks.first; i < share.blocks.last; ++i) {
            const float value = x[i] + x1[i];
            y[i] = value < lo ? lo : value > hi ? hi : value;
        }
    }
}

void ma_real_softmax(const void *rows)
{
    const struct ma_real_rows *const t = rows;
    const struct ma_range mine = ma_part(t->rows, ma_core(), ma_cores());
    for (int32_t row = mine.first; row < mine.last; ++row) {
        ma_real_softmax_row(t->x + row * t->x_row, t->y + row * t->y_row, t->columns);
    }
}

void ma_real_norm(const void *rows)
{
    const struct ma_real_rows *const t = rows;
    const struct ma_range mine = ma_part(t->rows, ma_core(), ma_cores());
    for (int32_t row = mine.first; row < mine.last; ++row) {
        ma_real_norm_row(t, t->x + row * t->x_row, t->y + row * t->y_row);
    }
}
