/* From what a layer's walk over tiles gives (ma_tiles.h) to jobs of the digital array. */
#ifndef MA_DIANA_TILE_H
#define MA_DIANA_TILE_H

#include "ma_diana.h"
#include "ma_walk.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Runs `job` on the tile of an image layer: x and y [batch][row][column][channel]. */
static inline void ma_diana_image(struct ma_diana_job *job, const struct ma_tile *t,
    const struct ma_view *x, const struct ma_view *y)
{
    job->in_rows = (uint32_t)x->extent[1];
    job->in_columns = (uint32_t)x->extent[2];
    job->in_channels = (uint32_t)x->extent[3];
    job->out_rows = (uint32_t)y->extent[1];
    job->out_columns = (uint32_t)y->extent[2];
    job->out_channels = (uint32_t)y->extent[3];
    job->in_line = (uint32_t)x->stride[1];
    job->in_pixel = (uint32_t)x->stride[2];
    job->out_line = (uint32_t)y->stride[1];
    job->out_pixel = (uint32_t)y->stride[2];
    job->top = (uint32_t)x->before[1];
    job->left = (uint32_t)x->before[2];
    for (int32_t image = 0; image < y->extent[0]; ++image) {
        job->x = ma_at(t, x) + image * x->stride[0];
        job->y = ma_at(t, y) + image * y->stride[0];
        ma_diana_run(job);
    }
}

/* Runs `job` on the tile of a dense layer: x[batch][inputs], y[batch][outputs]. */
static inline void ma_diana_rows(struct ma_diana_job *job, const struct ma_tile *t,
    const struct ma_view *x, const struct ma_view *y)
{
    job->in_rows = job->in_columns = job->out_rows = job->out_columns = 1;
    job->in_channels = (uint32_t)x->extent[1];
    job->out_channels = (uint32_t)y->extent[1];
    for (int32_t row = 0; row < y->extent[0]; ++row) {
        job->x = ma_at(t, x) + row * x->stride[0];
        job->y = ma_at(t, y) + row * y->stride[0];
        ma_diana_run(job);
    }
}

/* Runs `job` on the tile of an `add`: dense tiles of equal shapes, one element after the other. */
static inline void ma_diana_elements(struct ma_diana_job *job, const struct ma_tile *t,
    const struct ma_view *x, const struct ma_view *x1, const struct ma_view *y, int32_t rank)
{
    uint32_t elements = 1;
    for (int32_t a = 0; a < rank; ++a) {
        elements *= (uint32_t)y->extent[a];
    }
    job->x = ma_at(t, x);
    job->x1 = ma_at(t, x1);
    job->y = ma_at(t, y);
    job->in_rows = job->in_columns = job->out_rows = job->out_columns = 1;
    job->in_channels = job->out_channels = elements;
    ma_diana_run(job);
}

#ifdef __cplusplus
}
#endif

#endif
