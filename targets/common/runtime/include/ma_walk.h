/* Walks the tiles of a layer that has many: computes what ma_tiles.h finds in a table.
 *
 * The numbers (loops, cuts, places in L1, how a tile lies) are the layer's program, made by the
 * compiler; this is the loop around them. The controller does this between kernels, so it computes
 * only what moves: the rest it points to in the table.
 */
#ifndef MA_WALK_H
#define MA_WALK_H

#include "ma_tiles.h"

#define MA_TERMS 2
#define MA_LOOPS 12

/* A loop over a dimension of `size`, or over an iteration of loop `parent` (-1 for none). */
struct ma_loop {
    int32_t step, size, parent;
};

/* An axis in L2 that loops divide: rows less one, elements that a row holds, bytes between rows. Its
 * part spans [begin, end] and, for every term, coefficient * (what loop `loop` is at) more; of `end`
 * also coefficient * (that iteration's length - 1). */
struct ma_span {
    int32_t axis, last, unit, stride;
    int32_t terms, begin, end, loop[MA_TERMS], coefficient[MA_TERMS];
};

/* An operand: it is moved in every iteration of the first `cut` loops.
 *
 * `tile` are the axes that the loops outside the cut divide. Where the kernel works on less than
 * the tile, `part` are those that any loop divides; else there are none. The rest is known: bytes
 * between the rows in L2, the usual tile's rows, bytes between them in L1 and its block; of axes
 * that no loop divides also the first row, the padding before it, and their share of the address.
 */
struct ma_operand {
    int32_t cut, copies, rank, itemsize, tiles, parts;
    uint32_t l1, copy_bytes, l2_bytes, bytes;
    int32_t from, far[MA_AXES], extent[MA_AXES], stride[MA_AXES], start[MA_AXES], before[MA_AXES];
    struct ma_block block;
    struct ma_span tile[MA_AXES], part[MA_AXES];
};

/* What changes when a loop moves on, a bit for each operand: the inputs that are loaded while the
 * kernel works (two copies), those that are loaded after it, and those with another view; and
 * whether the output's tile is another one. */
struct ma_turn {
    uint32_t doubled, single, seen, output;
};

/* A layer's program; its last operand is the output, which leaves L1 where `stores` says so. turn[0]
 * is the begin, turn[1 + i] loop i. */
struct ma_program {
    int32_t loops, operands;
    uint32_t l1_bytes, scratch, stores;
    struct ma_loop loop[MA_LOOPS];
    struct ma_turn turn[1 + MA_LOOPS];
    struct ma_operand operand[MA_OPERANDS];
};

/* A tile in L1, or a kernel's part of it; arrays hold what the table does not. */
struct ma_spot {
    struct ma_view view;
    int32_t extent[MA_AXES], start[MA_AXES], before[MA_AXES];
};

/* `edge` is where an unusual block goes; `storing` is the output's transfer. */
struct ma_copy {
    struct ma_spot spot;
    int32_t from, stride[MA_AXES];
    uint32_t bytes;
    const struct ma_block *block;
    struct ma_block *edge;
    ma_dma storing;
};

/* Where the tiles of one operand are: the one in use, and where the next one goes. */
struct ma_state {
    uint8_t *l2;
    struct ma_copy *now, *next;
    struct ma_copy tile[2];
    struct ma_spot part;
};

/* An input's unusual block is `edge[0]` until it is on its way; the output has one per copy. */
struct ma_walk {
    const struct ma_program *program;
    struct ma_ahead *ahead;
    uint8_t *l1;
    struct ma_waits waits;
    const struct ma_view *view[MA_OPERANDS];
    struct ma_block edge[3];
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

/* Goes to the next tile. Returns what changes with it, or NULL after the last tile. */
static inline const struct ma_turn *ma_advance(struct ma_walk *w)
{
    for (int32_t i = w->program->loops - 1; i >= 0; --i) {
        const int32_t step = w->program->loop[i].step;
        if (w->at[i] + step < w->end[i]) {
            w->at[i] += step;
            w->length[i] = ma_least(step, w->end[i] - w->at[i]);
            for (int32_t j = i + 1; j < w->program->loops; ++j) {
                ma_begin(w, j);
            }
            return &w->program->turn[1 + i];
        }
    }
    return NULL;
}

/* Sets one axis of a spot to its part, clipped to the tensor. Returns its first row. */
static inline int32_t ma_clip(
    const struct ma_walk *w, const struct ma_span *span, struct ma_spot *spot)
{
    const int32_t a = span->axis;
    int32_t l = span->loop[0], c = span->coefficient[0], begin = span->begin + c * w->at[l];
    int32_t end = span->end + c * (w->at[l] + w->length[l] - 1);
    if (span->terms > 1) {
        l = span->loop[1];
        c = span->coefficient[1];
        begin += c * w->at[l];
        end += c * (w->at[l] + w->length[l] - 1);
    }
    spot->before[a] = begin < 0 ? -begin : 0;
    begin = begin < 0 ? 0 : begin;
    if (span->unit != 1) {
        begin /= span->unit;
        end /= span->unit;
    }
    end = ma_least(end, span->last);
    spot->start[a] = begin;
    spot->extent[a] = end < begin ? 0 : end - begin + 1;
    return begin;
}

/* Lays out a dense tile that is not the usual one: strides in L1, in bytes; and its block, as lines
 * that are contiguous on both sides. */
static inline void ma_lay_out(const struct ma_operand *o, struct ma_copy *t)
{
    struct ma_block *const block = t->edge;
    int32_t levels = 0;
    uint32_t dense = (uint32_t)o->itemsize;
    block->bytes = dense;
    for (int32_t i = 0; i < 3; ++i) {
        block->count[i] = 1;
        block->stride[i] = block->l1_stride[i] = 0;
    }
    for (int32_t a = o->rank - 1; a >= 0; --a) {
        const uint32_t extent = (uint32_t)t->spot.extent[a], stride = (uint32_t)o->far[a];
        t->stride[a] = (int32_t)dense;
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
    t->bytes = dense;
}

/* The tile of an operand at the place of the loops. */
static inline void ma_place_tile(
    const struct ma_walk *w, const struct ma_operand *o, struct ma_copy *t)
{
    int32_t unusual = 0, from = o->from;
    for (const struct ma_span *s = o->tile; s != o->tile + o->tiles; ++s) {
        from += ma_clip(w, s, &t->spot) * s->stride;
        unusual |= t->spot.extent[s->axis] ^ o->extent[s->axis];
    }
    t->from = from;
    t->bytes = o->bytes;
    t->block = &o->block;
    t->spot.view.stride = o->stride;
    if (unusual) {
        ma_lay_out(o, t);
        t->block = t->edge;
        t->spot.view.stride = t->stride;
    }
}

static inline uint32_t ma_copy_at(const struct ma_operand *o, int32_t copy)
{
    return o->l1 + (copy ? o->copy_bytes : 0);
}

/* Starts to load the next tiles of `inputs`, a bit for each. */
static inline void ma_prefetch(struct ma_walk *w, uint32_t inputs)
{
    const struct ma_operand *o = w->program->operand;
    for (struct ma_state *s = w->state; inputs; inputs >>= 1, ++o, ++s) {
        if (inputs & 1) {
            struct ma_copy *const t = s->next;
            ma_place_tile(w, o, t);
            if (t->bytes) {
                w->waits.transfer[w->waits.count++]
                    = ma_dma_load(w->l1 + t->spot.view.at, s->l2 + t->from, t->block);
            }
        }
    }
}

static inline void ma_swap(struct ma_state *s)
{
    struct ma_copy *const now = s->next;
    s->next = s->now;
    s->now = now;
}

/* Takes up the inputs' tiles that are new. */
static inline void ma_take(struct ma_walk *w, const struct ma_turn *turn)
{
    struct ma_state *s = w->state;
    for (uint32_t inputs = turn->doubled; inputs; inputs >>= 1, ++s) {
        if (inputs & 1) {
            ma_swap(s);
        }
    }
}

/* The output tile at the place of the loops: its own place is free once what is there is stored. */
static inline void ma_output(struct ma_walk *w)
{
    const int32_t i = w->program->operands - 1;
    struct ma_state *const s = &w->state[i];
    ma_swap(s);
    ma_dma_wait(s->now->storing);
    s->now->storing = 0;
    ma_place_tile(w, &w->program->operand[i], s->now);
}

/* What of an operand's tile the kernel works on. */
static inline const struct ma_view *ma_part_of(
    const struct ma_walk *w, const struct ma_operand *o, struct ma_state *s)
{
    const struct ma_view *const tile = &s->now->spot.view;
    if (!o->parts) {
        return tile;
    }
    uint32_t at = tile->at;
    for (const struct ma_span *p = o->part; p != o->part + o->parts; ++p) {
        const int32_t rows = ma_clip(w, p, &s->part) - tile->start[p->axis];
        at += (uint32_t)(rows * tile->stride[p->axis]);
    }
    s->part.view.at = at;
    s->part.view.stride = tile->stride;
    return &s->part.view;
}

/* The views of the inputs in `seen`, a bit for each. */
static inline void ma_see(struct ma_walk *w, uint32_t seen)
{
    const struct ma_operand *o = w->program->operand;
    const struct ma_view **view = w->view;
    for (struct ma_state *s = w->state; seen; seen >>= 1, ++o, ++s, ++view) {
        if (seen & 1) {
            *view = ma_part_of(w, o, s);
        }
    }
}

/* One by one: of a loop, compilers make a call of memcpy, which may go byte by byte. */
static inline void ma_copy_axes(int32_t *to, const int32_t *from)
{
    const int32_t first = from[0], second = from[1], third = from[2], fourth = from[3];
    to[0] = first;
    to[1] = second;
    to[2] = third;
    to[3] = fourth;
}

/* Copies what no loop divides from the table, and points a view there. */
static inline void ma_spot_open(
    const struct ma_operand *o, struct ma_spot *spot, uint32_t at, int32_t moves)
{
    spot->view = (struct ma_view){at, o->extent, o->stride, o->start, o->before};
    if (moves) {
        spot->view.extent = spot->extent;
        spot->view.start = spot->start;
        spot->view.before = spot->before;
        ma_copy_axes(spot->extent, o->extent);
        ma_copy_axes(spot->start, o->start);
        ma_copy_axes(spot->before, o->before);
    }
}

/* Sets up an operand's tiles and part. */
static inline void ma_operand_open(
    struct ma_walk *w, const struct ma_operand *o, struct ma_state *s, int32_t output)
{
    s->now = &s->tile[0];
    s->next = &s->tile[o->copies - 1];
    s->tile[0].storing = s->tile[1].storing = 0;
    for (int32_t copy = 0; copy < o->copies; ++copy) {
        struct ma_copy *const t = &s->tile[copy];
        t->edge = &w->edge[output ? 1 + copy : 0];
        ma_spot_open(o, &t->spot, ma_copy_at(o, copy), o->tiles);
    }
    if (o->parts) {
        ma_spot_open(o, &s->part, 0, o->parts);
    }
}

/* Puts all loops at their begin, and every operand with them. */
static inline void ma_open(
    struct ma_walk *w, const struct ma_program *p, void *const *l2, struct ma_ahead *ahead)
{
    w->program = p;
    w->ahead = ahead;
    w->l1 = ma_l1_open(p->l1_bytes);
    ma_ahead_take(ahead, &w->waits);
    for (int32_t i = 0; i < p->loops; ++i) {
        ma_begin(w, i);
    }
    for (int32_t i = 0; i < p->operands; ++i) {
        w->state[i].l2 = (uint8_t *)l2[i];
        ma_operand_open(w, &p->operand[i], &w->state[i], i + 1 == p->operands);
    }
}

/* A tile on which the kernel was started, and the output that is then complete, if any. */
struct ma_started {
    int32_t begun;
    uint32_t ticket;
    struct ma_copy *finished;
};

/* Waits for the kernel, and starts to store the output where that is complete. */
static inline void ma_settle(
    const struct ma_walk *w, const struct ma_kernel *kernel, struct ma_started *pending)
{
    if (!pending->begun) {
        return;
    }
    pending->begun = 0;
    if (kernel->wait) {
        kernel->wait(pending->ticket);
    }
    struct ma_copy *const y = pending->finished;
    if (y) {
        uint8_t *const l2 = w->state[w->program->operands - 1].l2;
        y->storing = ma_dma_store(l2 + y->from, w->l1 + y->spot.view.at, y->block);
    }
}

/* Remembers a kernel that was started; `after` is what changes next. */
static inline void ma_remember(const struct ma_walk *w, struct ma_started *pending, uint32_t ticket,
    const struct ma_turn *after)
{
    pending->begun = 1;
    pending->ticket = ticket;
    pending->finished = NULL;
    if ((!after || after->output) && w->program->stores) {
        pending->finished = w->state[w->program->operands - 1].now;
    }
}

/* Where the kernel waits: loads the next tile first, then works on this one, then stores it.
 * Returns what changes next. */
static inline const struct ma_turn *ma_step_waiting(struct ma_walk *w,
    const struct ma_kernel *kernel, const struct ma_tile *tile, struct ma_started *pending)
{
    ma_tile_arrive(tile);
    const struct ma_turn *const after = ma_advance(w);
    if (after) {
        ma_prefetch(w, after->doubled); /* the tile before this one is done with its copies */
        ma_tile_settled(tile);
    }
    ma_ahead_start(w->ahead, w->l1);
    ma_remember(w, pending, kernel->start(tile, kernel->context), after);
    ma_settle(w, kernel, pending);
    return after;
}

/* Where the kernel is queued: starts it, stores the tile before it, then loads the next one. */
static inline const struct ma_turn *ma_step_queued(struct ma_walk *w,
    const struct ma_kernel *kernel, const struct ma_tile *tile, struct ma_started *pending)
{
    const uint32_t ticket = kernel->start(tile, kernel->context);
    ma_settle(w, kernel, pending);
    const struct ma_turn *const after = ma_advance(w);
    ma_remember(w, pending, ticket, after);
    if (after) {
        ma_prefetch(w, after->doubled);
    }
    ma_ahead_start(w->ahead, w->l1);
    return after;
}

/* Runs a layer, as ma_run_table does. */
static inline void ma_run_tiles(const struct ma_program *p, const struct ma_facts *facts,
    void *const *l2, const struct ma_kernel *kernel, struct ma_ahead *ahead)
{
    const struct ma_turn *turn = p->turn;
    struct ma_walk w;
    struct ma_started pending = {0, 0, NULL};
    struct ma_state *const y = &w.state[p->operands - 1];
    ma_open(&w, p, l2, ahead);
    if (!w.l1) {
        return;
    }
    const struct ma_tile tile
        = {w.view, w.l1, w.l1 + p->scratch, &w.waits, (uint32_t)p->operands, facts};
    ma_declare(facts, tile.operands, l2, w.l1);
    ma_prefetch(&w, turn->doubled);
    ma_prefetch(&w, turn->single);
    for (;;) {
        ma_take(&w, turn);
        if (turn->output) {
            if (y->now == y->next) {
                ma_settle(&w, kernel, &pending);
            }
            ma_output(&w);
        }
        ma_see(&w, turn->seen);
        w.view[p->operands - 1] = ma_part_of(&w, &p->operand[p->operands - 1], y);
        turn = kernel->wait ? ma_step_queued(&w, kernel, &tile, &pending)
                            : ma_step_waiting(&w, kernel, &tile, &pending);
        if (!turn) {
            break;
        }
        if (turn->single) {
            ma_settle(&w, kernel, &pending);
            ma_prefetch(&w, turn->single);
        }
    }
    ma_settle(&w, kernel, &pending);
    ma_dma_wait(y->tile[0].storing);
    ma_dma_wait(y->tile[1].storing);
    ma_l1_close(w.l1);
}

#endif
