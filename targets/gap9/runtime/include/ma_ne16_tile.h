/* The kernel of a layer on NE16, for ma_run_tiles: operands x, weight, multiplier, offset, y. */
#ifndef MA_NE16_TILE_H
#define MA_NE16_TILE_H

#include "ma_ne16.h"
#include "ma_tiles.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What the layer's tiles share; a dense layer's rows are the pixels of an image of one line. */
struct ma_ne16_kernel {
    struct ma_ne16_layer layer;
    uint32_t dense;
};

/* Queues the jobs of a tile, image by image; the ticket is the last one's number. */
static inline uint32_t ma_ne16_start(const struct ma_tile *tile, const void *context)
{
    const struct ma_ne16_kernel *const kernel = (const struct ma_ne16_kernel *)context;
    const struct ma_view *const x = &tile->view[0], *const y = &tile->view[4];
    const int32_t *const offset = (const int32_t *)(const void *)tile->view[3].at;
    struct ma_ne16_shape shape;
    uint32_t ticket = 0;
    if (kernel->dense) {
        shape = (struct ma_ne16_shape){
            1, (uint32_t)y->extent[0], (uint32_t)y->extent[1],
            1, (uint32_t)x->extent[0], (uint32_t)x->extent[1], 0, 0,
            (uint32_t)(x->stride[0] * x->extent[0]), (uint32_t)x->stride[0],
            (uint32_t)(y->stride[0] * y->extent[0]), (uint32_t)y->stride[0],
        };
        return ma_ne16_tile(&kernel->layer, x->at, tile->view[1].at, tile->view[2].at, offset,
                            y->at, &shape);
    }
    shape = (struct ma_ne16_shape){
        (uint32_t)y->extent[1], (uint32_t)y->extent[2], (uint32_t)y->extent[3],
        (uint32_t)x->extent[1], (uint32_t)x->extent[2], (uint32_t)x->extent[3],
        (uint32_t)x->before[1], (uint32_t)x->before[2],
        (uint32_t)x->stride[1], (uint32_t)x->stride[2],
        (uint32_t)y->stride[1], (uint32_t)y->stride[2],
    };
    for (int32_t image = 0; image < y->extent[0]; ++image) {
        ticket = ma_ne16_tile(&kernel->layer, x->at + image * x->stride[0], tile->view[1].at,
                              tile->view[2].at, offset, y->at + image * y->stride[0], &shape);
    }
    return ticket;
}

#ifdef __cplusplus
}
#endif

#endif
