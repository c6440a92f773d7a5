/* Walks the tiles of a layer: moves operands between L2 and L1 and calls a kernel on each tile.
 *
 * The numbers (loops, cuts, places in L1) are the layer's program, made by the compiler; this is
 * the loop around them. While the kernel works on a tile, the next one is loaded and the last one
 * is stored. The controller does this between kernels, so it computes only what moves: an axis
 * that no loop divides has its place in the table.
 */
#ifndef MA_TILES_H
#define MA_TILES_H

#include <stdint.h>

#include "ma_platform.h"

#define MA_AXES 4
#define MA_TERMS 2
#define MA_LOOPS 12
#define MA_OPERANDS 8

/* A loop over a dimension of `size`, or over an iteration of loop `parent` (-1 for none). */
struct ma_loop {
    int32_t step, size, parent;
};

/* Part of an axis that loops divide: it spans [first, last] and, for every term, coefficient *
 * (what loop `loop` is at) more; of `last` also coefficient * (that iteration's length - 1). */
struct ma_span {
    int32_t terms, first, last, loop[MA_TERMS], coefficient[MA_TERMS];
};

/* An axis in L2: rows, elements that a row holds, bytes between rows; `tile` is what the loops
 * outside the operand's cut leave of it, `kernel` what all loops do. */
struct ma_axis {
    int32_t size, unit, stride;
    struct ma_span tile, kernel;
};

/* What is seen of an operand: its address in L1, rows along every axis, bytes between them, index
 * of the first one in the tensor, and how many positions before it lie in the padding. */
struct ma_view {
    uint8_t *at;
    int32_t extent[MA_AXES], stride[MA_AXES], start[MA_AXES], before[MA_AXES];
};

/* An operand: it is moved in every iteration of the first `cut` loops; where `parts`, the kernel
 * works on less than its tile. */
struct ma_operand {
    int32_t cut, copies, rank, itemsize, parts;
    uint32_t l1, copy_bytes, l2_bytes;
    struct ma_axis axes[MA_AXES];
};

/* A layer's program; its last operand is the output. */
struct ma_program {
    int32_t loops, operands;
    uint32_t l1_bytes, scratch;
    struct ma_loop loop[MA_LOOPS];
    struct ma_operand operand[MA_OPERANDS];
};

/* One call of the kernel. Transfers of its operands may still be under way: a kernel that is
 * started without waiting (see below) calls ma_tile_arrive before it touches them. */
struct ma_tile {
    const struct ma_view *view[MA_OPERANDS];
    uint8_t *scratch;
    struct ma_walk *walk;
};

/* Starts the kernel on a tile, and returns a ticket for `wait`; `context` is the caller's. Where
 * `wait` is NULL the operands are there when it is called, and it has done its work when it
 * returns. */
struct ma_kernel {
    uint32_t (*start)(const struct ma_tile *tile, const void *context);
    void (*wait)(uint32_t ticket);
    const void *context;
};

/* Where the tiles of one operand are. */
struct ma_state {
    uint8_t *l2;
    int32_t copy, from, bytes;
    ma_dma loading, storing[2];
    struct ma_view tile, next, part;
    struct ma_block block;
};

struct ma_walk {
    const struct ma_program *program;
    uint8_t *l1;
    int32_t turn;
    int32_t at[MA_LOOPS], length[MA_LOOPS], end[MA_LOOPS];
    struct ma_state state[MA_OPERANDS];
};

static inline int32_t ma_least(int32_t a, int32_t b)
{
    return a < b ? a : b;
}

/* Puts loop i at the begin of its range. */
static inline void ma_begin(struct ma_walk *w, int32_t i)
{
    const struct ma_loop *const loop = &w->program->loop[i];
    const int32_t p = loop->parent;
    w->at[i] = p < 0 ? 0 : w->at[p];
    w->end[i] = p < 0 ? loop->size : w->at[p] + w->length[p];
    w->length[i] = ma_least(loop->step, w->end[i] - w->at[i]);
}

/* Goes to the next tile. Returns the outermost loop that moved on, or -1 after the last tile. */
static inline int32_t ma_advance(struct ma_walk *w)
{
    for (int32_t i = w->program->loops - 1; i >= 0; --i) {
        const int32_t step = w->program->loop[i].step;
        if (w->at[i] + step < w->end[i]) {
            w->at[i] += step;
            w->length[i] = ma_least(step, w->end[i] - w->at[i]);
            for (int32_t j = i + 1; j < w->program->loops; ++j) {
                ma_begin(w, j);
            }
            return i;
        }
    }
    return -1;
}

/* Sets one axis of a view to `span`, clipped to the tensor. Returns whether its extent changed. */
static inline int32_t ma_clip_axis(const struct ma_walk *w, const struct ma_axis *axis,
    const struct ma_span *span, struct ma_view *view, int32_t a)
{
    int32_t first = span->first, last = span->last;
    for (int32_t i = 0; i < span->terms; ++i) {
        const int32_t l = span->loop[i], move = span->coefficient[i] * w->at[l];
        first += move;
        last += move + span->coefficient[i] * (w->length[l] - 1);
    }
    view->before[a] = first < 0 ? -first : 0;
    first = first < 0 ? 0 : first;
    if (axis->unit == 1) {
        last = ma_least(last, axis->size - 1);
    } else {
        first /= axis->unit;
        last = ma_least(last / axis->unit, axis->size - 1);
    }
    const int32_t extent = last < first ? 0 : last - first + 1;
    const int32_t changed = extent != view->extent[a];
    view->start[a] = first;
    view->extent[a] = extent;
    return changed;
}

/* The axes of a view that loops divide, or all of them. Returns whether any extent changed. */
static inline int32_t ma_region(const struct ma_walk *w, const struct ma_operand *o,
    struct ma_view *view, int32_t kernel, int32_t all)
{
    int32_t changed = 0;
    for (int32_t a = 0; a < o->rank; ++a) {
        const struct ma_span *const span = kernel ? &o->axes[a].kernel : &o->axes[a].tile;
        if (span->terms || all) {
            changed |= ma_clip_axis(w, &o->axes[a], span, view, a);
        }
    }
    return changed;
}

/* Strides of a dense tile in L1, in bytes; and its block, as lines that are contiguous on both
 * sides. */
static inline void ma_lay_out(const struct ma_operand *o, struct ma_state *s, struct ma_view *view)
{
    struct ma_block *const block = &s->block;
    int32_t levels = 0;
    uint32_t dense = (uint32_t)o->itemsize;
    *block = (struct ma_block){dense, {1, 1, 1}, {0, 0, 0}, {0, 0, 0}};
    for (int32_t a = o->rank - 1; a >= 0; --a) {
        const uint32_t extent = (uint32_t)view->extent[a];
        const uint32_t stride = (uint32_t)o->axes[a].stride;
        view->stride[a] = (int32_t)dense;
        if (extent != 1) {
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
        }
        dense *= extent;
    }
    s->bytes = (int32_t)dense;
}

/* The tile of an operand at the place of the loops; `s->from` is its offset in L2. */
static inline void ma_place_tile(
    const struct ma_walk *w, const struct ma_operand *o, struct ma_state *s, struct ma_view *view)
{
    if (ma_region(w, o, view, 0, 0)) {
        ma_lay_out(o, s, view);
    }
    s->from = 0;
    for (int32_t a = 0; a < o->rank; ++a) {
        s->from += view->start[a] * o->axes[a].stride;
    }
}

static inline uint8_t *ma_copy_at(const struct ma_walk *w, int32_t i, int32_t copy)
{
    const struct ma_operand *const o = &w->program->operand[i];
    return w->l1 + o->l1 + (copy ? o->copy_bytes : 0);
}

static inline int32_t ma_other(const struct ma_walk *w, int32_t i)
{
    return w->program->operand[i].copies == 2 ? 1 - w->state[i].copy : 0;
}

/* Starts to load what changes when loop `turn` moves on: operands with that many `copies`. */
static inline void ma_prefetch(struct ma_walk *w, int32_t turn, int32_t copies)
{
    for (int32_t i = 0; i + 1 < w->program->operands; ++i) {
        const struct ma_operand *const o = &w->program->operand[i];
        struct ma_state *const s = &w->state[i];
        if (turn < o->cut && o->copies == copies) {
            ma_place_tile(w, o, s, &s->next);
            s->next.at = ma_copy_at(w, i, ma_other(w, i));
            s->loading = s->bytes ? ma_dma_load(s->next.at, s->l2 + s->from, &s->block) : 0;
        }
    }
}

/* Takes up the tiles of the inputs that are new where loop `turn` moved on. */
static inline void ma_take(struct ma_walk *w, int32_t turn)
{
    for (int32_t i = 0; i + 1 < w->program->operands; ++i) {
        if (turn < w->program->operand[i].cut) {
            struct ma_state *const s = &w->state[i];
            s->copy = ma_other(w, i);
            s->tile = s->next;
        }
    }
    w->turn = turn;
}

/* No transfer may touch what a kernel works on. */
static inline void ma_tile_settled(const struct ma_tile *tile)
{
    const struct ma_program *const p = tile->walk->program;
    for (int32_t i = 0; i < p->operands; ++i) {
        const struct ma_view *const view = tile->view[i];
        int32_t bytes = p->operand[i].itemsize;
        for (int32_t a = 0; a < p->operand[i].rank; ++a) {
            bytes += (view->extent[a] - 1) * view->stride[a];
        }
        ma_l1_settled(view->at, bytes > 0 ? (uint32_t)bytes : 0);
    }
}

/* Waits for what a tile needs that is still under way. */
static inline void ma_tile_arrive(const struct ma_tile *tile)
{
    struct ma_walk *const w = tile->walk;
    for (int32_t i = 0; i + 1 < w->program->operands; ++i) {
        if (w->turn < w->program->operand[i].cut) {
            ma_dma_wait(w->state[i].loading);
            w->state[i].loading = 0;
        }
    }
    ma_tile_settled(tile);
}

/* The output tile at the place of the loops: its own place is free once what is there is stored. */
static inline void ma_output(struct ma_walk *w)
{
    const int32_t i = w->program->operands - 1;
    struct ma_state *const s = &w->state[i];
    s->copy = ma_other(w, i);
    ma_dma_wait(s->storing[s->copy]);
    s->storing[s->copy] = 0;
    ma_place_tile(w, &w->program->operand[i], s, &s->tile);
    s->tile.at = ma_copy_at(w, i, s->copy);
}

/* The part of an operand's tile that the kernel works on. */
static inline const struct ma_view *ma_part_of(struct ma_walk *w, int32_t i)
{
    const struct ma_operand *const o = &w->program->operand[i];
    struct ma_state *const s = &w->state[i];
    if (!o->parts) {
        return &s->tile;
    }
    ma_region(w, o, &s->part, 1, 0);
    s->part.at = s->tile.at;
    for (int32_t a = 0; a < o->rank; ++a) {
        s->part.stride[a] = s->tile.stride[a];
        s->part.at += (s->part.start[a] - s->tile.start[a]) * s->tile.stride[a];
    }
    return &s->part;
}

/* Puts all loops at their begin, and every operand's tile and part with them. */
static inline void ma_open(struct ma_walk *w, const struct ma_program *p, void *const *l2)
{
    w->program = p;
    w->l1 = ma_l1_open(p->l1_bytes);
    for (int32_t i = 0; i < p->loops; ++i) {
        ma_begin(w, i);
    }
    for (int32_t i = 0; i < p->operands; ++i) {
        const struct ma_operand *const o = &p->operand[i];
        struct ma_state *const s = &w->state[i];
        struct ma_view *const view = i + 1 < p->operands ? &s->next : &s->tile;
        s->l2 = (uint8_t *)l2[i];
        s->copy = 1;
        s->loading = s->storing[0] = s->storing[1] = 0;
        for (int32_t a = 0; a < o->rank; ++a) {
            view->extent[a] = s->part.extent[a] = 0;
        }
        ma_region(w, o, view, 0, 1);
        ma_lay_out(o, s, view);
        if (o->parts) {
            ma_region(w, o, &s->part, 1, 1);
        }
        ma_l2_operand(l2[i], o->l2_bytes);
    }
}

/* A tile on which the kernel was started, and whether its output is then complete. */
struct ma_pending {
    int32_t begun, finished, copy, from;
    uint32_t ticket;
    uint8_t *at;
    struct ma_block block;
};

/* Waits for the kernel, and starts to store the output where that is complete. */
static inline void ma_settle(
    struct ma_walk *w, const struct ma_kernel *kernel, struct ma_pending *pending)
{
    struct ma_state *const y = &w->state[w->program->operands - 1];
    if (!pending->begun) {
        return;
    }
    if (kernel->wait) {
        kernel->wait(pending->ticket);
    }
    if (pending->finished) {
        y->storing[pending->copy]
            = ma_dma_store(y->l2 + pending->from, pending->at, &pending->block);
    }
    pending->begun = 0;
}

/* Remembers a kernel that was started; `after` is the loop that moves on next. */
static inline void ma_remember(
    const struct ma_walk *w, struct ma_pending *pending, uint32_t ticket, int32_t after)
{
    const int32_t i = w->program->operands - 1;
    const struct ma_state *const y = &w->state[i];
    pending->begun = 1;
    pending->finished = after < w->program->operand[i].cut;
    pending->ticket = ticket;
    if (pending->finished) {
        pending->copy = y->copy;
        pending->from = y->from;
        pending->at = y->tile.at;
        pending->block = y->block;
    }
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

/* Where the kernel waits: loads the next tile first, then works on this one, then stores it.
 * Returns the loop that moved on. */
static inline int32_t ma_step_waiting(struct ma_walk *w, const struct ma_kernel *kernel,
    const struct ma_tile *tile, struct ma_pending *pending)
{
    ma_tile_arrive(tile);
    const int32_t after = ma_advance(w);
    if (after >= 0) {
        ma_prefetch(w, after, 2); /* the tile before this one is done with its copies */
        ma_tile_settled(tile);
    }
    ma_remember(w, pending, kernel->start(tile, kernel->context), after);
    ma_settle(w, kernel, pending);
    return after;
}

/* Where the kernel is queued: starts it, stores the tile before it, then loads the next one. */
static inline int32_t ma_step_queued(struct ma_walk *w, const struct ma_kernel *kernel,
    const struct ma_tile *tile, struct ma_pending *pending)
{
    const uint32_t ticket = kernel->start(tile, kernel->context);
    ma_settle(w, kernel, pending);
    const int32_t after = ma_advance(w);
    ma_remember(w, pending, ticket, after);
    if (after >= 0) {
        ma_prefetch(w, after, 2);
    }
    return after;
}

/* Runs a layer; `l2` holds the operands' addresses in L2, the output's last. */
static inline void ma_run_tiles(
    const struct ma_program *p, void *const *l2, const struct ma_kernel *kernel)
{
    struct ma_walk w;
    struct ma_pending pending;
    struct ma_tile tile;
    const struct ma_operand *const y = &p->operand[p->operands - 1];
    int32_t turn = -1;
    ma_open(&w, p, l2);
    pending.begun = 0;
    tile.scratch = w.l1 + p->scratch;
    tile.walk = &w;
    ma_prefetch(&w, turn, 2);
    ma_prefetch(&w, turn, 1);
    for (;;) {
        ma_take(&w, turn);
        if (turn < y->cut) {
            if (y->copies == 1) {
                ma_settle(&w, kernel, &pending);
            }
            ma_output(&w);
        }
        for (int32_t i = 0; i < p->operands; ++i) {
            tile.view[i] = ma_part_of(&w, i);
        }
        turn = kernel->wait ? ma_step_queued(&w, kernel, &tile, &pending)
                            : ma_step_waiting(&w, kernel, &tile, &pending);
        if (turn < 0) {
            break;
        }
        if (ma_reloads(p, turn)) {
            ma_settle(&w, kernel, &pending);
            ma_prefetch(&w, turn, 1);
        }
    }
    ma_settle(&w, kernel, &pending);
    ma_dma_wait(w.state[p->operands - 1].storing[0]);
    ma_dma_wait(w.state[p->operands - 1].storing[1]);
    ma_l1_close(w.l1);
}

#endif
