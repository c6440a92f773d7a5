/* Layers side by side: a controller that goes from one walk over tiles to another, in two lanes.
 *
 * Each does what `ma_run_table` does, cut where a kernel has been started; both kernels are queued,
 * so that units work while the controller is with the other layer. In which order it goes from one
 * to the other is decided by the compiler, and is the order of calls in the network's C: nothing is
 * asked of a clock. What the two have in L1 and in L2 is apart.
 */
#ifndef MA_BESIDE_H
#define MA_BESIDE_H

#include "ma_tiles.h"

/* A layer on its way. `ahead` is what it starts to load for those that are entered after it; NULL of
 * the first one. */
struct ma_lane {
    const struct ma_table *table;
    struct ma_kernel kernel;
    struct ma_ahead *ahead;
    uint8_t *l1;
    const struct ma_visit *visit;
    struct ma_waits waits;
    struct ma_pending pending;
    ma_dma storing[2];
    uint32_t number;
    void *l2[MA_OPERANDS];
};

/* Before it is entered. */
static inline void ma_lane_begin(struct ma_lane *lane, uint32_t number, struct ma_ahead *ahead)
{
    lane->number = number;
    lane->ahead = ahead;
}

/* Waits for the kernel that runs, if any, and starts to store its tile. */
static inline void ma_lane_settle(struct ma_lane *lane)
{
    if (lane->pending.visit) {
        ma_settle_visit(&lane->pending, &lane->kernel, lane->l1,
            lane->l2[lane->table->operands - 1], lane->storing);
        ma_happened(lane->number, "end");
    }
}

/* Enters a layer, and starts its first loads; `l1` was opened for both layers. What the layer before
 * both has begun to load for it is in `before`, NULL where that is nothing. */
static inline void ma_lane_open(struct ma_lane *lane, const struct ma_table *table,
    void *const *l2, const struct ma_kernel *kernel, struct ma_ahead *before, uint8_t *l1)
{
    const struct ma_visit *const first = table->visit;
    lane->table = table;
    lane->kernel = *kernel;
    lane->l1 = l1;
    lane->visit = first;
    lane->pending = (struct ma_pending){NULL, 0};
    lane->storing[0] = lane->storing[1] = 0;
    void *const volatile *const from = l2; /* no call of memcpy for them */
    for (uint32_t i = 0; i < table->operands; ++i) {
        lane->l2[i] = from[i];
    }
    ma_happened(lane->number, "open");
    ma_declare(table->facts, table->operands, l2, l1);
    ma_ahead_take(before, &lane->waits);
    ma_loads(&lane->waits, l1, l2, first->loads, (uint32_t)first->doubled + first->single);
}

/* Starts the kernel on the next tile; then stores the tile before, and loads the one after. */
static inline void ma_lane_next(struct ma_lane *lane)
{
    const struct ma_table *const p = lane->table;
    const struct ma_visit *const v = lane->visit++;
    const struct ma_tile tile
        = {v->view, lane->l1, lane->l1 + p->scratch, &lane->waits, p->operands, p->facts};
    if (v != p->visit && v->single) {
        ma_lane_settle(lane);
        ma_loads(&lane->waits, lane->l1, lane->l2, v->loads + v->doubled, v->single);
    }
    if (v->opens) {
        if (p->settles) {
            ma_lane_settle(lane);
        }
        ma_dma_wait(lane->storing[v->copy]);
        lane->storing[v->copy] = 0;
    }
    const uint32_t ticket = lane->kernel.start(&tile, lane->kernel.context);
    ma_happened(lane->number, "start");
    ma_lane_settle(lane);
    lane->pending = (struct ma_pending){v, ticket};
    if (v + 1 != p->visit + p->visits) {
        ma_loads(&lane->waits, lane->l1, lane->l2, v[1].loads, v[1].doubled);
    }
    if (ma_ahead_due(lane->ahead)) {
        ma_happened(lane->number, "ahead");
        ma_ahead_start(lane->ahead, lane->l1);
    }
}

/* Tells the emulation what the layer leaves in L1. */
static inline void ma_lane_made(const struct ma_lane *lane)
{
#ifndef MA_CHIP
    const struct ma_facts *const y = &lane->table->facts[lane->table->operands - 1];
    if (!lane->visit[-1].store) {
        ma_l1_made(lane->l1 + y->l1, y->l2_bytes);
    }
#else
    (void)lane;
#endif
}

/* Waits for the last kernel, and for all that leaves L1. What stays there may be read now: by the
 * next layer of the lane, too, which may be entered while the other lane goes on. */
static inline void ma_lane_close(struct ma_lane *lane)
{
    ma_lane_settle(lane);
    ma_dma_wait(lane->storing[0]);
    ma_dma_wait(lane->storing[1]);
    ma_lane_made(lane);
    ma_happened(lane->number, "close");
}

#endif
