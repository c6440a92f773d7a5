/* What emitted layers call: the array, and the vector unit behind it. */
#pragma once

#include "ma_walk.h"

/* A tile of 8-bit elements: bytes from row to row and from column to column. */
struct systolic_tile {
    uint8_t *at;
    int32_t rows, columns, channels, line, pixel, zero, is_signed;
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
    int32_t k_step, c_step, fy, fx, sy, sx, dy, dx, top, left, depthwise, per_channel, lo, hi;
};

void systolic_run(const struct systolic_job *job);

/* Images are [1, rows, columns, channels]; rows of a dense layer are columns of one row. */
static inline struct systolic_tile systolic_tile(
    const struct ma_tile *t, uint32_t i, uint32_t rank, int32_t zero, int32_t is_signed)
{
    const struct ma_view *const v = t->view[i];
    const uint32_t image = rank == 4, column = image ? 2 : 0;
    return (struct systolic_tile){ma_at(t, v), image ? v->extent[1] : 1, v->extent[column],
        v->extent[rank - 1], image ? v->stride[1] : 0, v->stride[column], zero, is_signed};
}
