/* Walks the tiles of a layer: moves operands between L2 and L1 and calls a kernel on each tile.
 *
 * The numbers (loops, cuts, places in L1) are the layer's program, made by the compiler; this is
 * the loop around them. While the kernel works on a tile, the next one is loaded and the last one
 * is stored.
 */
#ifndef MA_TILES_H
#define MA_TILES_H

#include <stdint.h>

#include "ma_platform.h"

#define MA_DIMS 8 /* loop dimensions: B, G, K, C, OY, OX, FY, FX */
#define MA_AXES 4
#define MA_TERMS 2
#define MA_LOOPS 12
#define MA_OPERANDS 8

/* Index of a tensor axis: sum of coefficient[i] * (index of loop dimension dim[i]) + offset; an
 * axis without terms belongs whole to every tile.
 * `unit` elements lie in one row of a packed constant; `stride` is bytes between rows in L2. */
struct ma_axis {
    int32_t terms, dim[MA_TERMS], coefficient[MA_TERMS];
    int32_t offset, size, unit, stride;
};

/* An operand: it is moved in every iteration of the first `cut` loops. */
struct ma_operand {
    int32_t cut, copies, rank, itemsize;
    uint32_t l1, copy_bytes, l2_bytes;
    struct ma_axis axes[MA_AXES];
};

struct ma_loop {
    int32_t dim, step;
};

/* A layer's program; its last operand is the output. */
struct ma_program {
    int32_t loops, operands;
    int32_t sizes[MA_DIMS];
    struct ma_loop loop[MA_LOOPS];
    struct ma_operand operand[MA_OPERANDS];
    uint32_t l1_bytes, scratch;
};

/* What a kernel sees of an operand: its address in L1, rows along every axis, bytes between them,
 * index of the first one in the tensor, and how many positions before it lie in the padding. */
struct ma_view {
    uint8_t *at;
    int32_t extent[MA_AXES], stride[MA_AXES], start[MA_AXES], before[MA_AXES];
};

/* One call of the kernel. */
struct ma_tile {
    int32_t start[MA_DIMS], length[MA_DIMS];
    struct ma_view view[MA_OPERANDS];
    uint8_t *scratch;
};

/* Starts the kernel on a tile, and returns a ticket for `wait`; `context` is the caller's. Where
 * `wait` is NULL the kernel has done its work when it returns. */
struct ma_kernel {
    uint32_t (*start)(const struct ma_tile *tile, const void *context);
    void (*wait)(uint32_t ticket);
    const void *context;
};

/* Ranges that the first `depth` loops leave of every dimension. */
struct ma_ranges {
    int32_t start[MA_DIMS], length[MA_DIMS];
};

static inline void ma_ranges_at(
    const struct ma_program *p, const int32_t *at, int32_t depth, struct ma_ranges *r)
{
    for (int32_t d = 0; d < MA_DIMS; ++d) {
        r->start[d] = 0;
        r->length[d] = p->sizes[d];
    }
    for (int32_t i = 0; i < depth; ++i) {
        const int32_t d = p->loop[i].dim, left = r->start[d] + r->length[d] - at[i];
        r->start[d] = at[i];
        r->length[d] = left < p->loop[i].step ? left : p->loop[i].step;
    }
}

/* Goes to the next tile. Returns the outermost loop that moved on, or -1 after the last tile. */
static inline int32_t ma_advance(const struct ma_program *p, int32_t *at)
{
    struct ma_ranges r;
    for (int32_t i = p->loops - 1; i >= 0; --i) {
        const int32_t d = p->loop[i].dim;
        ma_ranges_at(p, at, i, &r);
        if (at[i] + p->loop[i].step < r.start[d] + r.length[d]) {
            at[i] += p->loop[i].step;
            for (int32_t j = i + 1; j < p->loops; ++j) {
                ma_ranges_at(p, at, j, &r);
                at[j] = r.start[p->loop[j].dim];
            }
            return i;
        }
    }
    return -1;
}

/* What `ranges` touches of an operand, clipped to the tensor; strides are those of L2. */
static inline void ma_region(
    const struct ma_operand *o, const struct ma_ranges *ranges, struct ma_view *view)
{
    for (int32_t a = 0; a < o->rank; ++a) {
        const struct ma_axis *const axis = &o->axes[a];
        if (!axis->terms) {
            view->before[a] = view->start[a] = 0;
            view->extent[a] = axis->size;
            view->stride[a] = axis->stride;
            continue;
        }
        int32_t first = axis->offset, last = axis->offset;
        for (int32_t i = 0; i < axis->terms; ++i) {
            const int32_t start = ranges->start[axis->dim[i]];
            first += axis->coefficient[i] * start;
            last += axis->coefficient[i] * (start + ranges->length[axis->dim[i]] - 1);
        }
        view->before[a] = first < 0 ? -first : 0;
        first = first < 0 ? 0 : first;
        last = last >= axis->size * axis->unit ? axis->size * axis->unit - 1 : last;
        view->start[a] = first / axis->unit;
        view->extent[a] = last < first ? 0 : last / axis->unit - first / axis->unit + 1;
        view->stride[a] = axis->stride;
    }
}

/* Strides of a dense tile in L1, in bytes. Returns the bytes of the tile. */
static inline int32_t ma_dense(const struct ma_operand *o, struct ma_view *view)
{
    int32_t bytes = o->itemsize;
    for (int32_t a = o->rank - 1; a >= 0; --a) {
        view->stride[a] = bytes;
        bytes *= view->extent[a];
    }
    return bytes;
}

/* A region as lines, as long as they are contiguous on both sides. Returns its offset in L2. */
static inline int32_t ma_lines(
    const struct ma_operand *o, const struct ma_view *region, struct ma_block *block)
{
    int32_t offset = 0, levels = 0;
    uint32_t dense = (uint32_t)o->itemsize;
    *block = (struct ma_block){dense, {1, 1, 1}, {0, 0, 0}, {0, 0, 0}};
    for (int32_t a = o->rank - 1; a >= 0; --a) {
        const uint32_t extent = (uint32_t)region->extent[a];
        const uint32_t stride = (uint32_t)o->axes[a].stride;
        offset += region->start[a] * o->axes[a].stride;
        if (extent == 1) {
            continue;
        }
        if (levels == 0 && stride == block->bytes) {
            block->bytes *= extent;
        } else if (levels && stride == block->stride[levels - 1] * block->count[levels - 1]) {
            block->count[levels - 1] *= extent;
        } else {
            block->count[levels] = extent;
            block->stride[levels] = stride;
            block->l1_stride[levels] = dense;
            ++levels;
        }
        dense *= extent;
    }
    return offset;
}

/* Where the tiles of one operand are. */
struct ma_state {
    uint8_t *l2;
    int32_t copy;
    ma_dma loading;
    ma_dma storing[2];
    struct ma_view tile;
};

struct ma_walk {
    const struct ma_program *program;
    uint8_t *l1;
    struct ma_state state[MA_OPERANDS];
    struct ma_view next[MA_OPERANDS];
};

static inline uint8_t *ma_place(const struct ma_walk *w, int32_t i, int32_t copy)
{
    const struct ma_operand *const o = &w->program->operand[i];
    return w->l1 + o->l1 + (uint32_t)copy * o->copy_bytes;
}

static inline int32_t ma_other(const struct ma_walk *w, int32_t i)
{
    return w->program->operand[i].copies == 2 ? 1 - w->state[i].copy : 0;
}

/* Starts to load the tile of operand i that belongs to the loops at `at`, into its other copy. */
static inline void ma_fetch(struct ma_walk *w, int32_t i, const int32_t *at)
{
    const struct ma_operand *const o = &w->program->operand[i];
    struct ma_ranges ranges;
    struct ma_block block;
    ma_ranges_at(w->program, at, o->cut, &ranges);
    ma_region(o, &ranges, &w->next[i]);
    const int32_t from = ma_lines(o, &w->next[i], &block);
    const int32_t bytes = ma_dense(o, &w->next[i]);
    w->next[i].at = ma_place(w, i, ma_other(w, i));
    w->state[i].loading =
        bytes ? ma_dma_load(w->next[i].at, w->state[i].l2 + from, &block) : 0;
}

/* Starts to load what changes when loop `turn` moves on; single-buffered operands with `single`. */
static inline void ma_prefetch(struct ma_walk *w, const int32_t *at, int32_t turn, int32_t single)
{
    for (int32_t i = 0; i + 1 < w->program->operands; ++i) {
        const struct ma_operand *const o = &w->program->operand[i];
        if (turn < o->cut && (o->copies == 1) == single) {
            ma_fetch(w, i, at);
        }
    }
}

/* Waits for what was loaded for the tile at which loop `turn` moved on, and takes it up. */
static inline void ma_take(struct ma_walk *w, int32_t turn)
{
    for (int32_t i = 0; i + 1 < w->program->operands; ++i) {
        if (turn < w->program->operand[i].cut) {
            ma_dma_wait(w->state[i].loading);
            w->state[i].loading = 0;
            w->state[i].copy = ma_other(w, i);
            w->state[i].tile = w->next[i];
        }
    }
}

/* The output tile of the loops at `at`: its place is free once the tile before it is stored. */
static inline void ma_output(struct ma_walk *w, const int32_t *at)
{
    const int32_t i = w->program->operands - 1;
    const struct ma_operand *const o = &w->program->operand[i];
    struct ma_state *const s = &w->state[i];
    struct ma_ranges ranges;
    s->copy = ma_other(w, i);
    ma_dma_wait(s->storing[s->copy]);
    s->storing[s->copy] = 0;
    ma_ranges_at(w->program, at, o->cut, &ranges);
    ma_region(o, &ranges, &s->tile);
    ma_dense(o, &s->tile);
    s->tile.at = ma_place(w, i, s->copy);
}

/* Starts to store a finished output tile. */
static inline void ma_put(struct ma_walk *w, const struct ma_view *tile, int32_t copy)
{
    const int32_t i = w->program->operands - 1;
    struct ma_block block;
    const int32_t to = ma_lines(&w->program->operand[i], tile, &block);
    w->state[i].storing[copy] = ma_dma_store(w->state[i].l2 + to, tile->at, &block);
}

/* Starts the kernel on the tile of the loops at `at`: the parts of the operands' tiles it needs. */
static inline uint32_t ma_compute(
    const struct ma_walk *w, const int32_t *at, const struct ma_kernel *kernel)
{
    struct ma_tile tile;
    struct ma_ranges ranges;
    ma_ranges_at(w->program, at, w->program->loops, &ranges);
    for (int32_t d = 0; d < MA_DIMS; ++d) {
        tile.start[d] = ranges.start[d];
        tile.length[d] = ranges.length[d];
    }
    tile.scratch = w->l1 + w->program->scratch;
    for (int32_t i = 0; i < w->program->operands; ++i) {
        const struct ma_view *const held = &w->state[i].tile;
        struct ma_view *const view = &tile.view[i];
        ma_region(&w->program->operand[i], &ranges, view);
        int32_t bytes = w->program->operand[i].itemsize;
        view->at = held->at;
        for (int32_t a = 0; a < w->program->operand[i].rank; ++a) {
            view->stride[a] = held->stride[a];
            view->at += (view->start[a] - held->start[a]) * held->stride[a];
            bytes += (view->extent[a] - 1) * held->stride[a];
        }
        ma_l1_settled(view->at, bytes > 0 ? (uint32_t)bytes : 0);
    }
    return kernel->start(&tile, kernel->context);
}

static inline void ma_open(struct ma_walk *w, const struct ma_program *p, void *const *l2)
{
    *w = (struct ma_walk){.program = p, .l1 = ma_l1_open(p->l1_bytes)};
    for (int32_t i = 0; i < p->operands; ++i) {
        w->state[i].l2 = (uint8_t *)l2[i];
        ma_l2_operand(l2[i], p->operand[i].l2_bytes);
    }
}

/* A tile on which the kernel was started, and whether its output is then complete. */
struct ma_pending {
    int32_t begun, finished, copy;
    uint32_t ticket;
    struct ma_view output;
};

/* Waits for the kernel, and starts to store the output where that is complete. */
static inline void ma_settle(
    struct ma_walk *w, const struct ma_kernel *kernel, struct ma_pending *pending)
{
    if (!pending->begun) {
        return;
    }
    if (kernel->wait) {
        kernel->wait(pending->ticket);
    }
    if (pending->finished) {
        ma_put(w, &pending->output, pending->copy);
    }
    pending->begun = 0;
}

/* Whether a single-buffered operand is loaded again when loop `turn` moves on. */
static inline int32_t ma_reloads(const struct ma_program *p, int32_t turn)
{
    for (int32_t i = 0; i + 1 < p->operands; ++i) {
        if (p->operand[i].copies == 1 && turn < p->operand[i].cut) {
            return 1;
        }
    }
    return 0;
}

/* Runs a layer; `l2` holds the operands' addresses in L2, the output's last. */
static inline void ma_run_tiles(
    const struct ma_program *p, void *const *l2, const struct ma_kernel *kernel)
{
    struct ma_walk w;
    struct ma_pending pending = {0};
    int32_t at[MA_LOOPS] = {0}, next[MA_LOOPS] = {0};
    const struct ma_operand *const y = &p->operand[p->operands - 1];
    struct ma_state *const out = &w.state[p->operands - 1];
    int32_t turn = -1;
    ma_open(&w, p, l2);
    ma_prefetch(&w, at, turn, 0);
    ma_prefetch(&w, at, turn, 1);
    for (;;) {
        const int32_t after = ma_advance(p, next);
        ma_take(&w, turn);
        if (turn < y->cut || turn < 0) {
            if (y->copies == 1) {
                ma_settle(&w, kernel, &pending);
            }
            ma_output(&w, at);
        }
        if (!kernel->wait && after >= 0) {
            ma_prefetch(&w, next, after, 0); /* the tile before this one is done with its copies */
        }
        const uint32_t ticket = ma_compute(&w, at, kernel);
        ma_settle(&w, kernel, &pending);
        pending = (struct ma_pending){1, after < y->cut, out->copy, ticket, out->tile};
        if (!kernel->wait) {
            ma_settle(&w, kernel, &pending);
        } else if (after >= 0) {
            ma_prefetch(&w, next, after, 0);
        }
        if (after < 0) {
            break;
        }
        if (ma_reloads(p, after)) {
            ma_settle(&w, kernel, &pending);
            ma_prefetch(&w, next, after, 1);
        }
        for (int32_t i = 0; i < p->loops; ++i) {
            at[i] = next[i];
        }
        turn = after;
    }
    ma_settle(&w, kernel, &pending);
    ma_dma_wait(out->storing[0]);
    ma_dma_wait(out->storing[1]);
    ma_l1_close(w.l1);
}

#endif
