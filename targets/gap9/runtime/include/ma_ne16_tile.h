/* The kernel of a layer on NE16, for ma_run_tiles: operands x, weight, multiplier, offset, y. */
#ifndef MA_NE16_TILE_H
#define MA_NE16_TILE_H

#include <stddef.h>

#include "ma_ne16.h"
#include "ma_walk.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What the layer's tiles share; a dense layer's rows are the pixels of an image of one line. */
struct ma_ne16_kernel {
    struct ma_ne16_layer layer;
    uint32_t dense, bordered;
};

/* Where outputs begin that see padding before the image, none, and after it; and their end. */
struct ma_ne16_bands {
    uint32_t at[4];
};

static inline struct ma_ne16_bands ma_ne16_cut(uint32_t outputs, uint32_t before, uint32_t inputs,
                                               uint32_t stride)
{
    const uint32_t after = ma_ne16_after(before, inputs, (outputs - 1) * stride + 3);
    return (struct ma_ne16_bands){{0, before != 0, outputs - (after != 0), outputs}};
}

/* One image whose padding means another value than 0: nine vectors of offsets, a part each. */
static inline uint32_t ma_ne16_bordered(const struct ma_ne16_layer *layer, const uint8_t *x,
                                        const struct ma_tile *tile, uint8_t *y,
                                        const struct ma_ne16_shape *whole,
                                        const struct ma_ne16_arrival *arrival)
{
    const int32_t *const offset = (const int32_t *)(const void *)ma_at(tile, tile->view[3]);
    const struct ma_ne16_bands rows = ma_ne16_cut(whole->rows, whole->top, whole->in_rows,
                                                  layer->stride);
    const struct ma_ne16_bands columns = ma_ne16_cut(whole->columns, whole->left,
                                                     whole->in_columns, layer->stride);
    uint32_t ticket = 0;
    for (uint32_t part = 0; part < 9; ++part) {
        const uint32_t down = ma_ne16_threes(part + 1) - 1, across = part - 3 * down;
        const uint32_t row = rows.at[down], column = columns.at[across];
        const uint32_t up = layer->stride * row, left = layer->stride * column;
        struct ma_ne16_shape shape = *whole;
        shape.rows = rows.at[down + 1] - row;
        shape.columns = columns.at[across + 1] - column;
        if (!shape.rows || !shape.columns)
            continue;
        const uint32_t above = up > whole->top ? up - whole->top : 0;
        const uint32_t before = left > whole->left ? left - whole->left : 0;
        shape.top = whole->top > up ? whole->top - up : 0;
        shape.left = whole->left > left ? whole->left - left : 0;
        shape.in_rows -= above;
        shape.in_columns -= before;
        ticket = ma_ne16_tile(layer, x + above * whole->in_line + before * whole->in_pixel,
                              ma_at(tile, tile->view[1]), ma_at(tile, tile->view[2]),
                              offset + part * whole->outputs,
                              y + row * whole->out_line + column * whole->out_pixel, &shape,
                              arrival);
        arrival = NULL;
    }
    return ticket;
}

static inline void ma_ne16_arrive(const void *tile)
{
    ma_tile_arrive((const struct ma_tile *)tile);
}

/* Queues the jobs of a tile, image by image, and programs the first one before the operands are
 * there; the ticket is the last one's number. */
static inline uint32_t ma_ne16_start(const struct ma_tile *tile, const void *context)
{
    /* On the stack, which is in L1: every job looks at it, and constants are far away in L2. */
    const struct ma_ne16_kernel copy = *(const struct ma_ne16_kernel *)context;
    const struct ma_ne16_kernel *const kernel = &copy;
    const struct ma_view *const x = tile->view[0], *const y = tile->view[4];
    const uint8_t *const from = ma_at(tile, x), *const weight = ma_at(tile, tile->view[1]);
    const uint8_t *const scale = ma_at(tile, tile->view[2]);
    const int32_t *const offset = (const int32_t *)(const void *)ma_at(tile, tile->view[3]);
    uint8_t *const to = ma_at(tile, y);
    const struct ma_ne16_arrival arrival = {ma_ne16_arrive, tile};
    struct ma_ne16_shape shape;
    uint32_t ticket = 0;
    if (kernel->dense) {
        shape = (struct ma_ne16_shape){
            1, (uint32_t)y->extent[0], (uint32_t)y->extent[1],
            1, (uint32_t)x->extent[0], (uint32_t)x->extent[1], 0, 0,
            (uint32_t)(x->stride[0] * x->extent[0]), (uint32_t)x->stride[0],
            (uint32_t)(y->stride[0] * y->extent[0]), (uint32_t)y->stride[0],
        };
        return ma_ne16_tile(&kernel->layer, from, weight, scale, offset, to, &shape, &arrival);
    }
    shape = (struct ma_ne16_shape){
        (uint32_t)y->extent[1], (uint32_t)y->extent[2], (uint32_t)y->extent[3],
        (uint32_t)x->extent[1], (uint32_t)x->extent[2], (uint32_t)x->extent[3],
        (uint32_t)x->before[1], (uint32_t)x->before[2],
        (uint32_t)x->stride[1], (uint32_t)x->stride[2],
        (uint32_t)y->stride[1], (uint32_t)y->stride[2],
    };
    for (int32_t image = 0; image < y->extent[0]; ++image) {
        if (kernel->bordered) {
            ticket = ma_ne16_bordered(&kernel->layer, from + image * x->stride[0], tile,
                                      to + image * y->stride[0], &shape,
                                      image ? NULL : &arrival);
            continue;
        }
        ticket = ma_ne16_tile(&kernel->layer, from + image * x->stride[0], weight, scale, offset,
                              to + image * y->stride[0], &shape, image ? NULL : &arrival);
    }
    return ticket;
}

#ifdef __cplusplus
}
#endif

#endif
