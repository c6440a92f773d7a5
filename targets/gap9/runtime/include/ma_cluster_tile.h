/* From what a layer's walk over tiles gives (ma_tiles.h) to what the cluster's kernels take. */
#ifndef MA_CLUSTER_TILE_H
#define MA_CLUSTER_TILE_H

#include "ma_cluster.h"
#include "ma_walk.h"

/* Nothing is said of the tile yet. Field by field: of a whole structure compilers make a call of
 * memset, which may go byte by byte. */
static inline void ma_window_open(struct ma_window *w)
{
    w->weight = NULL;
    w->multiplier = w->offset = NULL;
    w->scratch = NULL;
    w->in_rows = w->in_columns = w->out_rows = w->out_columns = 0;
    w->in_line = w->in_pixel = w->out_line = w->out_pixel = 0;
    w->filter_rows = w->filter_columns = 0;
    w->stride_rows = w->stride_columns = 0;
    w->dilation_rows = w->dilation_columns = 0;
    w->pad_top = w->pad_left = w->pad_value = 0;
    w->shift = w->lo = w->hi = 0;
    w->wide = w->average = w->count_padding = w->zero_y = 0;
    w->scale_x = w->scale_y = 0;
}

static inline void ma_elements_open(struct ma_elements *e)
{
    e->x = e->x1 = e->table = NULL;
    e->multiplier = e->offset = NULL;
    e->y = NULL;
    e->rows = e->columns = 0;
    e->x_row = e->x1_row = e->y_row = 0;
    e->shift = e->lo = e->hi = 0;
    e->zero_x = e->zero_x1 = e->zero_y = 0;
    e->scale_x = e->scale_y = 0;
}

/* Puts the tile of an image layer into `w`: x and y [batch][row][column][channel], with elements of
 * y of `y_bytes`. */
static inline void ma_window_image(struct ma_window *w, const struct ma_tile *t,
    const struct ma_view *x, const struct ma_view *y, int32_t y_bytes)
{
    w->x = ma_at(t, x);
    w->y = ma_at(t, y);
    w->batch = y->extent[0];
    w->in_rows = x->extent[1];
    w->in_columns = x->extent[2];
    w->channels = x->extent[3];
    w->out_rows = y->extent[1];
    w->out_columns = y->extent[2];
    w->out_channels = y->extent[3];
    w->in_image = x->stride[0];
    w->in_line = x->stride[1];
    w->in_pixel = x->stride[2];
    w->out_image = y->stride[0] / y_bytes;
    w->out_line = y->stride[1] / y_bytes;
    w->out_pixel = y->stride[2] / y_bytes;
    w->pad_top = x->before[1];
    w->pad_left = x->before[2];
}

/* Puts the tile of a dense layer into `w`: x[batch][channels], y[batch][out_channels]. */
static inline void ma_window_rows(struct ma_window *w, const struct ma_tile *t,
    const struct ma_view *x, const struct ma_view *y, int32_t y_bytes)
{
    w->x = ma_at(t, x);
    w->y = ma_at(t, y);
    w->batch = y->extent[0];
    w->channels = x->extent[1];
    w->out_channels = y->extent[1];
    w->in_image = x->stride[0];
    w->out_image = y->stride[0] / y_bytes;
}

/* Axes of element-wise operands, neighbours merged where they are contiguous in all of them. */
struct ma_axes {
    int32_t count, extent[MA_AXES], stride[3][MA_AXES]; /* innermost first */
};

static inline void ma_merge(struct ma_axes *axes, const struct ma_view *const view[3], int32_t rank)
{
    axes->count = 0;
    for (int32_t a = rank - 1; a >= 0; --a) {
        const int32_t last = axes->count - 1;
        int32_t joins = last >= 0;
        for (int32_t i = 0; i < 3 && joins; ++i) {
            joins = view[i]->stride[a] == axes->stride[i][last] * axes->extent[last];
        }
        if (joins) {
            axes->extent[last] *= view[0]->extent[a];
            continue;
        }
        if (axes->count && view[0]->extent[a] == 1) {
            continue;
        }
        axes->extent[axes->count] = view[0]->extent[a];
        for (int32_t i = 0; i < 3; ++i) {
            axes->stride[i][axes->count] = view[i]->stride[a];
        }
        ++axes->count;
    }
    for (int32_t a = axes->count; a < MA_AXES; ++a) {
        axes->extent[a] = 1;
        for (int32_t i = 0; i < 3; ++i) {
            axes->stride[i][a] = 0;
        }
    }
}

/* Forks `kernel` over the elements of views of `rank` axes; x1 is x where there is no second
 * operand. Elements of x and y have `x_bytes` and `y_bytes`. Waits for it, unless another layer runs
 * `beside`: then returns the ticket of the last start. */
static inline uint32_t ma_fork_elements(void (*kernel)(const void *), struct ma_elements *e,
    const struct ma_tile *t, const struct ma_view *x, const struct ma_view *x1,
    const struct ma_view *y, int32_t rank, int32_t x_bytes, int32_t y_bytes, int32_t beside)
{
    const struct ma_view *const view[3] = {x, x1, y};
    struct ma_axes axes;
    uint32_t ticket = 0;
    ma_merge(&axes, view, rank);
    e->columns = axes.extent[0];
    e->rows = axes.extent[1];
    e->x_row = axes.stride[0][1] / x_bytes;
    e->x1_row = axes.stride[1][1] / x_bytes;
    e->y_row = axes.stride[2][1] / y_bytes;
    for (int32_t i = 0; i < axes.extent[3]; ++i) {
        for (int32_t j = 0; j < axes.extent[2]; ++j) {
            e->x = ma_at(t, x) + i * axes.stride[0][3] + j * axes.stride[0][2];
            e->x1 = ma_at(t, x1) + i * axes.stride[1][3] + j * axes.stride[1][2];
            e->y = ma_at(t, y) + i * axes.stride[2][3] + j * axes.stride[2][2];
            if (beside) {
                ticket = ma_fork_start(kernel, e, sizeof *e);
            } else {
                ma_fork(kernel, e);
            }
        }
    }
    return ticket;
}

/* Bytes of scratch of a recurrent layer: state, update gates; codes of both, and of states twice. */
static inline int32_t ma_codes_bytes(int32_t units) { return (units + 3) & ~3; }

/* All steps of a recurrent layer, of `parts` kernels each, x and y so many bytes apart; returns the
 * ticket of the last start where another layer runs `beside`. Every step begins when all cores are
 * done with the one before. */
static inline uint32_t ma_fork_steps(void (*const kernel[])(const void *), int32_t parts,
    struct ma_recurrent *r, int32_t steps, int32_t x_step, int32_t y_step, uint8_t *scratch,
    int32_t beside)
{
    const int32_t codes = ma_codes_bytes(r->units);
    int8_t *const code = (int8_t *)(scratch + 8 * r->units);
    uint32_t ticket = 0;
    r->state = (float *)(void *)scratch;
    r->update = r->state + r->units;
    r->reset = code + 2 * codes;
    for (int32_t step = 0; step < steps; ++step) {
        r->begins = step == 0;
        r->seen = code + step % 2 * codes;
        r->next = code + (step + 1) % 2 * codes;
        for (int32_t part = 0; part < parts; ++part) {
            if (beside) {
                ticket = ma_fork_start(kernel[part], r, sizeof *r);
            } else {
                ma_fork(kernel[part], r);
            }
        }
        r->x += x_step;
        r->y = (float *)(void *)((uint8_t *)r->y + y_step);
    }
    return ticket;
}

#endif
