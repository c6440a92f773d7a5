/* The tiles of a layer: operands move between L2 and L1, and a kernel is called on each tile.
 *
 * The compiler works everything out: what is moved when, from where to where, and what the kernel
 * sees. This is the loop around it, in two forms: layers of few tiles have a list of them (struct
 * ma_table, here); of more, loops that compute them (struct ma_program, ma_walk.h). Both do the
 * same things in the same order: while the kernel works on a tile, the next one is loaded and the
 * last one is stored.
 */
#ifndef MA_TILES_H
#define MA_TILES_H

#include <stddef.h>
#include <stdint.h>

#include "ma_platform.h"

/* Lists that lie in L1, on chips whose headers say how: copies of constants, made by MA_PLACE. */
#ifndef MA_NEAR
#define MA_NEAR
#endif
#define MA_PLACE(list) ma_l1_place(&(list), &(list##_image), sizeof(list))

#define MA_AXES 4
#define MA_OPERANDS 7

/* What is seen of an operand: its place in L1, rows along every axis, bytes between them, index
 * of the first one in the tensor, and how many positions before it lie in the padding. */
struct ma_view {
    uint32_t at;
    const int32_t *extent, *stride, *start, *before;
};

typedef const struct ma_view *ma_seen;

/* A transfer of an operand: places in L1 and, from its begin, in L2. */
struct ma_move {
    uint32_t l1, l2, operand;
    const struct ma_block *block;
};

/* What only the emulation looks at: an operand's axes, bytes of an element, bytes in L2. Where other
 * layers put it into L1 (`found`), it is whole, and lies at `l1`. */
struct ma_facts {
    int32_t rank, itemsize;
    uint32_t l2_bytes, l1, found;
};

/* Transfers that are under way. */
struct ma_waits {
    uint32_t count;
    ma_dma transfer[MA_OPERANDS];
};

/* What goes from layer to layer where they share L1: transfers for the layer that starts next; and
 * while a layer runs, `count` loads that it starts for the next one, and its operands in L2. Where the
 * next ones are two side by side, `other` has the same for the second of them. */
struct ma_ahead {
    struct ma_ahead *other;
    struct ma_waits waits;
    uint32_t count;
    const struct ma_move *loads;
    const void *const *l2;
    const struct ma_facts *facts;
};

/* One call of the kernel. Transfers of its operands may still be under way: a kernel that is
 * started without waiting (see below) calls ma_tile_arrive before it touches them. */
struct ma_tile {
    const struct ma_view *const *view;
    uint8_t *l1, *scratch;
    struct ma_waits *waits;
    uint32_t operands;
    const struct ma_facts *facts;
};

/* Partial sums of what the kernel sees of the output, in L1, where it sums a part at a time: as many
 * elements from row to row as in the output. Nothing is in them before the `first` part; after the
 * `last` one the output is due. */
struct ma_sums {
    int32_t *at;
    uint32_t first, last;
};

/* Starts the kernel on a tile, and returns a ticket for `wait`; `context` is the caller's. Where
 * `wait` is NULL the operands are there when it is called, and it has done its work when it
 * returns. */
struct ma_kernel {
    uint32_t (*start)(const struct ma_tile *tile, const void *context);
    void (*wait)(uint32_t ticket);
    const void *context;
};

/* One tile: what of every operand the kernel sees; the transfers to begin with, `doubled` of which
 * start while the tile before is worked on and `single` after it; how the output leaves, NULL where
 * it does not. `copy` of the output's place, and whether it is another tile of it (`opens`). */
struct ma_visit {
    const struct ma_view *const *view;
    const struct ma_move *loads, *store;
    uint8_t doubled, single, opens, copy;
};

/* A layer as a list of tiles. `settles` says that the output has one place only. */
struct ma_table {
    const struct ma_visit *visit;
    uint32_t visits, operands, l1_bytes, scratch, settles;
    const struct ma_facts *facts;
};

/* Where in L1 what is seen of an operand begins. */
static inline uint8_t *ma_at(const struct ma_tile *tile, const struct ma_view *view)
{
    return tile->l1 + view->at;
}

/* No transfer may touch what a kernel works on; only the emulation looks. */
static inline void ma_tile_settled(const struct ma_tile *tile)
{
#ifndef MA_CHIP
    for (uint32_t i = 0; i < tile->operands; ++i) {
        const struct ma_view *const view = tile->view[i];
        int32_t bytes = tile->facts[i].itemsize;
        for (int32_t a = 0; a < tile->facts[i].rank; ++a) {
            bytes += (view->extent[a] - 1) * view->stride[a];
        }
        ma_l1_settled(ma_at(tile, view), bytes > 0 ? (uint32_t)bytes : 0);
    }
#else
    (void)tile;
#endif
}

/* Tells the emulation where operands lie in L2, and which ones other layers put into L1. */
static inline void ma_declare(
    const struct ma_facts *facts, uint32_t operands, void *const *l2, const uint8_t *l1)
{
#ifndef MA_CHIP
    for (uint32_t i = 0; i < operands; ++i) {
        if (facts[i].found) {
            ma_l1_found(l1 + facts[i].l1, facts[i].l2_bytes);
        }
        ma_l2_operand(l2[i], facts[i].l2_bytes);
    }
#else
    (void)facts;
    (void)operands;
    (void)l2;
    (void)l1;
#endif
}

/* Waits for what a tile needs that is still under way. */
static inline void ma_tile_arrive(const struct ma_tile *tile)
{
    struct ma_waits *const waits = tile->waits;
    const ma_dma *transfer = waits->transfer;
    for (const ma_dma *const end = transfer + waits->count; transfer != end; ++transfer) {
        ma_dma_wait(*transfer);
    }
    waits->count = 0;
    ma_tile_settled(tile);
}

/* Starts transfers into L1. */
static inline void ma_loads(struct ma_waits *waits, uint8_t *l1, void *const *l2,
    const struct ma_move *move, uint32_t count)
{
    ma_dma *transfer = waits->transfer + waits->count;
    waits->count += count;
    /* By integers: where there is nothing to load `move` is NULL, to which C adds not even 0. */
    const struct ma_move *const end
        = (const struct ma_move *)((uintptr_t)move + count * sizeof *move);
    for (; move != end; ++move) {
        const uint8_t *const from = (const uint8_t *)l2[move->operand] + move->l2;
        *transfer++ = ma_dma_load(l1 + move->l1, from, move->block);
    }
}

/* Lets the layer that starts now begin `count` loads for the layer after it. */
static inline void ma_ahead_next(struct ma_ahead *ahead, const struct ma_move *loads,
    uint32_t count, const struct ma_facts *facts, const void *const *l2)
{
    ahead->loads = loads;
    ahead->count = count;
    ahead->facts = facts;
    ahead->l2 = l2;
}

/* Begins them, once. */
static inline void ma_ahead_start(struct ma_ahead *ahead, uint8_t *l1)
{
    for (; ahead; ahead = ahead->other) {
        if (!ahead->count) {
            continue;
        }
        for (uint32_t i = 0; i < ahead->count; ++i) {
            const struct ma_move *const move = &ahead->loads[i];
            ma_l2_operand(ahead->l2[move->operand], ahead->facts[move->operand].l2_bytes);
            ahead->waits.transfer[i] = ma_dma_load(
                l1 + move->l1, (const uint8_t *)ahead->l2[move->operand] + move->l2, move->block);
            ma_l1_made(l1 + move->l1, ahead->facts[move->operand].l2_bytes);
        }
        ahead->waits.count = ahead->count;
        ahead->count = 0;
    }
}

/* Whether there are any to begin. */
static inline int ma_ahead_due(const struct ma_ahead *ahead)
{
    while (ahead && !ahead->count) {
        ahead = ahead->other;
    }
    return ahead != NULL;
}

/* Takes up what the layer before has begun to load. */
static inline void ma_ahead_take(struct ma_ahead *ahead, struct ma_waits *waits)
{
    waits->count = 0;
    if (ahead) {
        const volatile ma_dma *const from = ahead->waits.transfer; /* no call of memcpy for them */
        for (uint32_t i = 0; i < ahead->waits.count; ++i) {
            waits->transfer[i] = from[i];
        }
        waits->count = ahead->waits.count;
        ahead->waits.count = 0;
    }
}

/* A tile on which the kernel was started, and how the output leaves that is then complete. */
struct ma_pending {
    const struct ma_visit *visit;
    uint32_t ticket;
};

/* Waits for the kernel, and starts to store the output where that is complete. */
static inline void ma_settle_visit(struct ma_pending *pending, const struct ma_kernel *kernel,
    uint8_t *l1, uint8_t *y, ma_dma storing[2])
{
    const struct ma_visit *const visit = pending->visit;
    if (!visit) {
        return;
    }
    pending->visit = NULL;
    if (kernel->wait) {
        kernel->wait(pending->ticket);
    }
    const struct ma_move *const store = visit->store;
    if (store) {
        storing[visit->copy] = ma_dma_store(y + store->l2, l1 + store->l1, store->block);
    }
}

/* Runs a layer; `l2` holds the operands' addresses in L2, the output's last. `ahead` is what layers
 * share that have L1 together, NULL for a layer that is alone. */
static inline void ma_run_table(const struct ma_table *p, void *const *l2,
    const struct ma_kernel *kernel, struct ma_ahead *ahead)
{
    uint8_t *const l1 = ma_l1_open(p->l1_bytes), *const y = l2[p->operands - 1];
    const struct ma_visit *v = p->visit, *const end = v + p->visits;
    struct ma_waits waits;
    struct ma_pending pending = {NULL, 0};
    struct ma_tile tile = {v->view, l1, l1 + p->scratch, &waits, p->operands, p->facts};
    ma_dma storing[2] = {0, 0};
    if (!l1) {
        return;
    }
    ma_declare(p->facts, p->operands, l2, l1);
    ma_ahead_take(ahead, &waits);
    ma_loads(&waits, l1, l2, v->loads, (uint32_t)v->doubled + v->single);
    for (;;) {
        const struct ma_visit *const next = v + 1;
        tile.view = v->view;
        if (v->opens) {
            if (p->settles) {
                ma_settle_visit(&pending, kernel, l1, y, storing);
            }
            ma_dma_wait(storing[v->copy]);
            storing[v->copy] = 0;
        }
        if (kernel->wait) { /* queued: starts it, stores the tile before, loads the next one */
            const uint32_t ticket = kernel->start(&tile, kernel->context);
            ma_settle_visit(&pending, kernel, l1, y, storing);
            pending = (struct ma_pending){v, ticket};
        } else {
            ma_tile_arrive(&tile);
        }
        if (next != end) {
            ma_loads(&waits, l1, l2, next->loads, next->doubled);
        }
        ma_ahead_start(ahead, l1);
        if (!kernel->wait) { /* works on this tile while the next one is loaded, then stores it */
            ma_tile_settled(&tile);
            pending = (struct ma_pending){v, kernel->start(&tile, kernel->context)};
            ma_settle_visit(&pending, kernel, l1, y, storing);
        }
        if (next == end) {
            break;
        }
        if (next->single) {
            ma_settle_visit(&pending, kernel, l1, y, storing);
            ma_loads(&waits, l1, l2, next->loads + next->doubled, next->single);
        }
        v = next;
    }
    ma_settle_visit(&pending, kernel, l1, y, storing);
    ma_dma_wait(storing[0]);
    ma_dma_wait(storing[1]);
    ma_l1_close(l1);
}

#endif
