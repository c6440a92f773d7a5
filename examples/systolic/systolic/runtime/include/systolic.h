/* What emitted layers call: the array, and the vector unit behind it. */
#pragma once

#include "ma_walk.h"

/* A tile of 8-bit elements: bytes from row to row, column to column, block of channels to block. */
struct systolic_tile {
    uint8_t *at;
    int32_t rows, columns, channels, line, pixel, block, zero, is_signed;
};

/* y = clip(rint(sum * scale)), sums over channels of x and a filter; padding is the zero point.
 * Weights lie in blocks of 16 x 16, k_step and c_step bytes apart. What is not the last part of a
 * sum goes to sums.at, and comes from there again. An addition has x1 and no weights. */
struct systolic_job {
    struct systolic_tile x, x1, y;
    const uint8_t *weight;
    const int32_t *bias;
    const float *scale;
    float scale_x, scale_x1, scale_y;
    struct ma_sums sums;
    int32_t k_step, c_step, fy, fx, sy, sx, dy, dx, top, left, outputs, depthwise, scales, lo, hi;
};

void systolic_run(const struct systolic_job *job);

/* Images are [1, rows, columns, channels] or [1, blocks, rows, columns, 16], others [rows, ...]. */
static inline struct systolic_tile systolic_tile(
    const struct ma_tile *t, uint32_t i, uint32_t rank, int32_t zero, int32_t sign)
{
    const struct ma_view *const v = t->view[i];
    const uint32_t image = rank > 3, blocks = rank > 4, row = image + blocks, column = row + image;
    const int32_t channels = blocks ? 16 * v->extent[1] : v->extent[rank - 1];
    return (struct systolic_tile){ma_at(t, v), image ? v->extent[row] : 1, v->extent[column],
        channels, v->stride[row], v->stride[column], blocks ? v->stride[1] : 16, zero, sign};
}
