/* net: written by match_aie; this file belongs to you.
 *
 * Build with -std=c11 -ffp-contract=off -fno-strict-aliasing: fused multiply-adds would change
 * rounded bits, and the arena holds tensors of different element types one after the other.
 */
#if defined(__ARM_FEATURE_SVE) && defined(__GNUC__) && !defined(__clang__)
/* GCC 12 stores wrong bytes where SVE's vectors are longer than 128 bits. */
#pragma GCC target("+nosve")
#endif
#include "net.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include "ma_near.h"
#include "ma_beside.h"
#include "ma_cluster_tile.h"
#include "ma_ne16_tile.h"

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "constants lie in memory least significant byte first, which this machine reads otherwise"
#endif
#if defined(__FAST_MATH__) || defined(__ASSOCIATIVE_MATH__) || defined(__RECIPROCAL_MATH__) ||     (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__)
#error "-ffast-math, what is part of it, and -Ofast change rounded bits: compile without"
#endif
/* 16 says that _Float16 keeps its bits, too. */
#if FLT_EVAL_METHOD != 0 && FLT_EVAL_METHOD != 16
#error "this compiler keeps more bits of a float than float has: on x86 compile with -msse2 -mfpmath=sse"
#endif
#ifdef __clang__
#pragma STDC FP_CONTRACT OFF
#endif

/* Defined in net_weights.S. */
struct net_constants {
    _Alignas(64) int32_t net_layer0_table[256];
    int32_t net_layer0_multiplier[1];
    uint8_t pad_1_[60];
};
_Static_assert(offsetof(struct net_constants, net_layer0_table) == 0, "net_layer0_table");
_Static_assert(offsetof(struct net_constants, net_layer0_multiplier) == 1024, "net_layer0_multiplier");
_Static_assert(sizeof(struct net_constants) == NET_WEIGHT_BYTES, "constants");

#ifdef __ELF__
__attribute__((visibility("hidden")))
#endif
extern const struct net_constants net_weights;

#ifdef MATCH_AIE_TRACE
static _Thread_local void (*net_trace)(int, int, const void *, size_t);

void net_set_trace(void (*trace)(int step, int tensor, const void *data, size_t bytes)) {
    net_trace = trace;
}
#define NET_TRACE(step, tensor, data, bytes) \
    do { if (net_trace) net_trace(step, tensor, data, bytes); } while (0)
#else
#define NET_TRACE(step, tensor, data, bytes) ((void)0)
#endif

static const struct ma_facts net_layer0_facts[] = {
    {2, 1, 480, 0, 0},
    {1, 4, 1024, 480, 0},
    {1, 4, 4, 1504, 0},
    {2, 1, 480, 1520, 0},
};

static const int32_t net_layer0_axes_image[][MA_AXES] = {
    {24, 20, 0, 0},
    {20, 1, 0, 0},
    {0, 0, 0, 0},
    {256, 0, 0, 0},
    {4, 0, 0, 0},
    {1, 0, 0, 0},
};
static MA_NEAR int32_t net_layer0_axes[sizeof net_layer0_axes_image / sizeof *net_layer0_axes_image][MA_AXES];

static const struct ma_block net_layer0_blocks_image[] = {
    {480, {1, 1, 1}, {0, 0, 0}, {0, 0, 0}},
    {1024, {1, 1, 1}, {0, 0, 0}, {0, 0, 0}},
    {4, {1, 1, 1}, {0, 0, 0}, {0, 0, 0}},
};
static MA_NEAR struct ma_block net_layer0_blocks[sizeof net_layer0_blocks_image / sizeof *net_layer0_blocks_image];

static const struct ma_view net_layer0_views_image[] = {
    {0, net_layer0_axes[0], net_layer0_axes[1], net_layer0_axes[2], net_layer0_axes[2]},
    {480, net_layer0_axes[3], net_layer0_axes[4], net_layer0_axes[2], net_layer0_axes[2]},
    {1504, net_layer0_axes[5], net_layer0_axes[4], net_layer0_axes[2], net_layer0_axes[2]},
    {1520, net_layer0_axes[0], net_layer0_axes[1], net_layer0_axes[2], net_layer0_axes[2]},
};
static MA_NEAR struct ma_view net_layer0_views[sizeof net_layer0_views_image / sizeof *net_layer0_views_image];

static const ma_seen net_layer0_seen_image[] = {
    &net_layer0_views[0], &net_layer0_views[1], &net_layer0_views[2], &net_layer0_views[3],
};
static MA_NEAR ma_seen net_layer0_seen[sizeof net_layer0_seen_image / sizeof *net_layer0_seen_image];

static const struct ma_move net_layer0_moves_image[] = {
    {0, 0, 0, &net_layer0_blocks[0]},
    {480, 0, 1, &net_layer0_blocks[1]},
    {1504, 0, 2, &net_layer0_blocks[2]},
    {1520, 0, 3, &net_layer0_blocks[0]},
};
static MA_NEAR struct ma_move net_layer0_moves[sizeof net_layer0_moves_image / sizeof *net_layer0_moves_image];

static const struct ma_visit net_layer0_visits_image[] = {
    {&net_layer0_seen[0], &net_layer0_moves[0], &net_layer0_moves[3], 0, 3, 1, 0},
};
static MA_NEAR struct ma_visit net_layer0_visits[sizeof net_layer0_visits_image / sizeof *net_layer0_visits_image];

static const struct ma_table net_layer0_table_image = {
    .visit = net_layer0_visits,
    .visits = 1,
    .operands = 4,
    .l1_bytes = 2000,
    .scratch = 0,
    .settles = 1,
    .facts = net_layer0_facts,
};
static MA_NEAR struct ma_table net_layer0_table;

static uint32_t net_layer0_start(const struct ma_tile *t, const void *context)
{
    struct ma_elements elements;
    ma_elements_open(&elements);
    elements.table = ma_at(t, t->view[1]);
    elements.multiplier = (const int32_t *)(const void *)ma_at(t, t->view[2]);
    elements.zero_x = 100;
    elements.shift = 5;
    elements.lo = 0;
    elements.hi = 255;
    elements.zero_y = 0;
    elements.scale_x = 0x1.99999ap-5f;
    elements.scale_y = 0x1p-8f;
    (void)context;
    elements.x = ma_at(t, t->view[0]);
    elements.y = ma_at(t, t->view[3]);
    elements.rows = (*t->view[0]).extent[0];
    elements.columns = (*t->view[0]).extent[1];
    elements.x_row = (*t->view[0]).stride[0];
    elements.y_row = (*t->view[3]).stride[0];
    ma_fork(ma_softmax_narrow_u8, &elements);
    return 0;
}

_Static_assert(sizeof(void *) > 4 || sizeof net_layer0_axes + sizeof net_layer0_views + sizeof net_layer0_seen + sizeof net_layer0_visits + sizeof net_layer0_table + sizeof net_layer0_blocks + sizeof net_layer0_moves <= 456, "lists");

static void net_layer0_place(void)
{
    MA_PLACE(net_layer0_axes);
    MA_PLACE(net_layer0_views);
    MA_PLACE(net_layer0_seen);
    MA_PLACE(net_layer0_visits);
    MA_PLACE(net_layer0_table);
    MA_PLACE(net_layer0_blocks);
    MA_PLACE(net_layer0_moves);
}

/* softmax: x uint8[24,20], table int32[256], multiplier int32[1] -> y uint8[24,20] */
static void net_layer0(const uint8_t *restrict x, const int32_t *restrict table, const int32_t *restrict multiplier, uint8_t *restrict y)
{
    const struct ma_kernel kernel = {net_layer0_start, NULL, NULL};
    void *const l2[] = {
        (void *)(uintptr_t)x,
        (void *)(uintptr_t)table,
        (void *)(uintptr_t)multiplier,
        (void *)(uintptr_t)y,
    };
    ma_run_table(&net_layer0_table, l2, &kernel, NULL);
}

struct net_call {
    uint8_t *arena;
    const void *const *in;
    void *const *out;
};

/* Lists of tiles, to the inner memory. */
static void net_place(void *argument) {
    (void)argument;
    net_layer0_place();
}

static void net_group_0(void *argument) {
    const struct net_call *const call = argument;
    uint8_t *const arena = call->arena;
    const void *const *const in = call->in;
    void *const *const out = call->out;
    (void)arena;
    (void)in;
    (void)out;
    /* 0: softmax1 (cluster softmax) */
    ma_step_begin(0);
    net_layer0(in[0], net_weights.net_layer0_table, net_weights.net_layer0_multiplier, out[0]);
    ma_step_end(0);
    NET_TRACE(0, 1, out[0], 480);
}

static int net_steps(uint8_t *arena, const void *const in[], void *const out[]) {
    (void)arena;
    static uint32_t known;
    if (ma_l1_lost(&known) && ma_offload(net_place, NULL)) {
        known = 0; /* nothing was placed */
        return 1;
    }
    if (ma_offload(net_group_0, &(struct net_call){arena, in, out})) {
        return 1;
    }
    return 0;
}

const char *net_fault(void) {
    return ma_fault();
}

const size_t *net_sizes(void) {
    static const size_t sizes[] = {
        NET_ALIGNMENT, NET_ARENA_BYTES, NET_INPUTS, NET_OUTPUTS,
        NET_INPUT_0_BYTES,
        NET_OUTPUT_0_BYTES,
    };
    return sizes;
}

int net_run_in(void *arena, const void *const in[], void *const out[]) {
    return ma_network(net_steps, arena, in, out);
}

int net_run(const void *const in[], void *const out[]) {
    return net_run_in(NULL, in, out);
}
