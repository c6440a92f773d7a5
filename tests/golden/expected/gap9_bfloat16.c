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
    _Alignas(64) int8_t net_layer0_weight[336];
    uint8_t pad_0_[48];
    int8_t net_layer1_weight[72];
    uint8_t pad_1_[56];
};
_Static_assert(offsetof(struct net_constants, net_layer0_weight) == 0, "net_layer0_weight");
_Static_assert(offsetof(struct net_constants, net_layer1_weight) == 384, "net_layer1_weight");
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

static void net_f0_transpose(const float *restrict in_0, float *restrict out_0) {
    for (int32_t i_0 = 0; i_0 < 5; ++i_0) {
        for (int32_t i_1 = 0; i_1 < 5; ++i_1) {
            for (int32_t i_2 = 0; i_2 < 3; ++i_2) {
                out_0[i_0 * 15 + i_1 * 3 + i_2] = in_0[i_2 * 25 + i_0 * 5 + i_1];
            }
        }
    }
}

static void net_f1_transpose1(const float *restrict in_0, float *restrict out_0) {
    for (int32_t i_0 = 0; i_0 < 6; ++i_0) {
        for (int32_t i_1 = 0; i_1 < 5; ++i_1) {
            for (int32_t i_2 = 0; i_2 < 5; ++i_2) {
                out_0[i_0 * 25 + i_1 * 5 + i_2] = in_0[i_1 * 30 + i_2 * 6 + i_0];
            }
        }
    }
}

static const struct ma_facts net_layer0_facts[] = {
    {4, 4, 300, 448, 0},
    {1, 56, 336, 752, 0},
    {4, 2, 300, 1088, 0},
};

static const int32_t net_layer0_axes_image[][MA_AXES] = {
    {1, 5, 5, 3},
    {300, 60, 12, 4},
    {0, 0, 0, 0},
    {0, 1, 1, 0},
    {6, 0, 0, 0},
    {56, 0, 0, 0},
    {1, 5, 5, 6},
    {300, 60, 12, 2},
};
static MA_NEAR int32_t net_layer0_axes[sizeof net_layer0_axes_image / sizeof *net_layer0_axes_image][MA_AXES];

static const struct ma_block net_layer0_blocks_image[] = {
    {300, {1, 1, 1}, {0, 0, 0}, {0, 0, 0}},
    {336, {1, 1, 1}, {0, 0, 0}, {0, 0, 0}},
};
static MA_NEAR struct ma_block net_layer0_blocks[sizeof net_layer0_blocks_image / sizeof *net_layer0_blocks_image];

static const struct ma_view net_layer0_views_image[] = {
    {448, net_layer0_axes[0], net_layer0_axes[1], net_layer0_axes[2], net_layer0_axes[3]},
    {752, net_layer0_axes[4], net_layer0_axes[5], net_layer0_axes[2], net_layer0_axes[2]},
    {1088, net_layer0_axes[6], net_layer0_axes[7], net_layer0_axes[2], net_layer0_axes[2]},
};
static MA_NEAR struct ma_view net_layer0_views[sizeof net_layer0_views_image / sizeof *net_layer0_views_image];

static const ma_seen net_layer0_seen_image[] = {
    &net_layer0_views[0], &net_layer0_views[1], &net_layer0_views[2],
};
static MA_NEAR ma_seen net_layer0_seen[sizeof net_layer0_seen_image / sizeof *net_layer0_seen_image];

static const struct ma_move net_layer0_moves_image[] = {
    {448, 0, 0, &net_layer0_blocks[0]},
    {752, 0, 1, &net_layer0_blocks[1]},
};
static MA_NEAR struct ma_move net_layer0_moves[sizeof net_layer0_moves_image / sizeof *net_layer0_moves_image];

static const struct ma_visit net_layer0_visits_image[] = {
    {&net_layer0_seen[0], &net_layer0_moves[0], NULL, 0, 2, 1, 0},
};
static MA_NEAR struct ma_visit net_layer0_visits[sizeof net_layer0_visits_image / sizeof *net_layer0_visits_image];

static const struct ma_table net_layer0_table_image = {
    .visit = net_layer0_visits,
    .visits = 1,
    .operands = 3,
    .l1_bytes = 1472,
    .scratch = 0,
    .settles = 1,
    .facts = net_layer0_facts,
};
static MA_NEAR struct ma_table net_layer0_table;

static uint32_t net_layer0_start(const struct ma_tile *t, const void *context)
{
    struct ma_window window;
    ma_window_open(&window);
    window.weight = (const int8_t *)ma_at(t, t->view[1]);
    window.scratch = t->scratch;
    window.lo = 0;
    window.hi = 1;
    window.filter_rows = 3;
    window.filter_columns = 3;
    window.stride_rows = 1;
    window.stride_columns = 1;
    window.dilation_rows = 1;
    window.dilation_columns = 1;
    window.count_padding = 0;
    window.scale_x = 0x0.0p+0f;
    window.scale_y = __builtin_inff();
    (void)context;
    ma_window_image(&window, t, &(*t->view[0]), &(*t->view[2]), 2);
    ma_fork(ma_bfloat_conv2d, &window);
    return 0;
}

_Static_assert(sizeof(void *) > 4 || sizeof net_layer0_axes + sizeof net_layer0_views + sizeof net_layer0_seen + sizeof net_layer0_visits + sizeof net_layer0_table + sizeof net_layer0_blocks + sizeof net_layer0_moves <= 392, "lists");

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

/* conv2d: x float32[1,5,5,3], weight float32[6,3,3,3] -> y bfloat16[1,5,5,6] */
static void net_layer0(const float *restrict x, const float *restrict weight, uint16_t *restrict y, struct ma_ahead *ahead)
{
    const struct ma_kernel kernel = {net_layer0_start, NULL, NULL};
    void *const l2[] = {
        (void *)(uintptr_t)x,
        (void *)(uintptr_t)weight,
        (void *)(uintptr_t)y,
    };
    ma_run_table(&net_layer0_table, l2, &kernel, ahead);
}

static const struct ma_facts net_layer1_facts[] = {
    {4, 2, 300, 1088, 1},
    {1, 12, 72, 1392, 1},
    {4, 4, 600, 448, 0},
};

static const int32_t net_layer1_axes_image[][MA_AXES] = {
    {1, 5, 5, 6},
    {300, 60, 12, 2},
    {0, 0, 0, 0},
    {6, 0, 0, 0},
    {12, 0, 0, 0},
    {600, 120, 24, 4},
};
static MA_NEAR int32_t net_layer1_axes[sizeof net_layer1_axes_image / sizeof *net_layer1_axes_image][MA_AXES];

static const struct ma_block net_layer1_blocks_image[] = {
    {72, {1, 1, 1}, {0, 0, 0}, {0, 0, 0}},
    {600, {1, 1, 1}, {0, 0, 0}, {0, 0, 0}},
};
static MA_NEAR struct ma_block net_layer1_blocks[sizeof net_layer1_blocks_image / sizeof *net_layer1_blocks_image];

static const struct ma_view net_layer1_views_image[] = {
    {1088, net_layer1_axes[0], net_layer1_axes[1], net_layer1_axes[2], net_layer1_axes[2]},
    {1392, net_layer1_axes[3], net_layer1_axes[4], net_layer1_axes[2], net_layer1_axes[2]},
    {448, net_layer1_axes[0], net_layer1_axes[5], net_layer1_axes[2], net_layer1_axes[2]},
};
static MA_NEAR struct ma_view net_layer1_views[sizeof net_layer1_views_image / sizeof *net_layer1_views_image];

static const ma_seen net_layer1_seen_image[] = {
    &net_layer1_views[0], &net_layer1_views[1], &net_layer1_views[2],
};
static MA_NEAR ma_seen net_layer1_seen[sizeof net_layer1_seen_image / sizeof *net_layer1_seen_image];

static const struct ma_move net_layer1_moves_image[] = {
    {448, 0, 2, &net_layer1_blocks[1]},
};
static MA_NEAR struct ma_move net_layer1_moves[sizeof net_layer1_moves_image / sizeof *net_layer1_moves_image];

static const struct ma_move net_layer1_ahead_image[] = {
    {1392, 0, 1, &net_layer1_blocks[0]},
};
static MA_NEAR struct ma_move net_layer1_ahead[sizeof net_layer1_ahead_image / sizeof *net_layer1_ahead_image];

static const struct ma_visit net_layer1_visits_image[] = {
    {&net_layer1_seen[0], NULL, &net_layer1_moves[0], 0, 0, 1, 0},
};
static MA_NEAR struct ma_visit net_layer1_visits[sizeof net_layer1_visits_image / sizeof *net_layer1_visits_image];

static const struct ma_table net_layer1_table_image = {
    .visit = net_layer1_visits,
    .visits = 1,
    .operands = 3,
    .l1_bytes = 1472,
    .scratch = 0,
    .settles = 1,
    .facts = net_layer1_facts,
};
static MA_NEAR struct ma_table net_layer1_table;

static uint32_t net_layer1_start(const struct ma_tile *t, const void *context)
{
    struct ma_window window;
    ma_window_open(&window);
    window.weight = (const int8_t *)ma_at(t, t->view[1]);
    window.scratch = t->scratch;
    window.lo = 1;
    window.hi = 0;
    window.filter_rows = 1;
    window.filter_columns = 1;
    window.stride_rows = 1;
    window.stride_columns = 1;
    window.dilation_rows = 1;
    window.dilation_columns = 1;
    window.count_padding = 0;
    window.scale_x = -__builtin_inff();
    window.scale_y = __builtin_inff();
    (void)context;
    ma_window_image(&window, t, &(*t->view[0]), &(*t->view[2]), 4);
    ma_fork(ma_bfloat_conv2d, &window);
    return 0;
}

_Static_assert(sizeof(void *) > 4 || sizeof net_layer1_axes + sizeof net_layer1_views + sizeof net_layer1_seen + sizeof net_layer1_visits + sizeof net_layer1_table + sizeof net_layer1_blocks + sizeof net_layer1_moves + sizeof net_layer1_ahead <= 360, "lists");

static void net_layer1_place(void)
{
    MA_PLACE(net_layer1_axes);
    MA_PLACE(net_layer1_views);
    MA_PLACE(net_layer1_seen);
    MA_PLACE(net_layer1_visits);
    MA_PLACE(net_layer1_table);
    MA_PLACE(net_layer1_blocks);
    MA_PLACE(net_layer1_moves);
    MA_PLACE(net_layer1_ahead);
}

/* conv2d: x bfloat16[1,5,5,6], weight float32[6,1,1,6] -> y float32[1,5,5,6] */
static void net_layer1(const uint16_t *restrict x, const float *restrict weight, float *restrict y, struct ma_ahead *ahead)
{
    const struct ma_kernel kernel = {net_layer1_start, NULL, NULL};
    void *const l2[] = {
        (void *)(uintptr_t)x,
        (void *)(uintptr_t)weight,
        (void *)(uintptr_t)y,
    };
    ma_run_table(&net_layer1_table, l2, &kernel, ahead);
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
    net_layer1_place();
}

static void net_group_1(void *argument) {
    const struct net_call *const call = argument;
    uint8_t *const arena = call->arena;
    const void *const *const in = call->in;
    void *const *const out = call->out;
    struct ma_ahead ahead = {0};
    (void)arena;
    (void)in;
    (void)out;
    /* 1: conv_0 (cluster real_conv2d_relu) */
    ma_step_begin(1);
    ma_l1_keep(1088, 300);
    ma_l1_keep(1392, 72);
    ma_ahead_next(&ahead, net_layer1_ahead, 1, net_layer1_facts, (const void *const[]){NULL, (const void *)net_weights.net_layer1_weight, NULL});
    net_layer0((void *)(arena + 0), (const void *)net_weights.net_layer0_weight, NULL, &ahead);
    ma_step_end(1);
    NET_TRACE(1, 2, ma_l1_at(1088), 300);
    if (ma_fault()) {
        return;
    }
    /* 2: conv_2 (cluster real_conv2d) */
    ma_step_begin(2);
    net_layer1(NULL, (const void *)net_weights.net_layer1_weight, (void *)(arena + 0), &ahead);
    ma_step_end(2);
    NET_TRACE(2, 3, (void *)(arena + 0), 600);
}

static int net_steps(uint8_t *arena, const void *const in[], void *const out[]) {
    static uint32_t known;
    if (ma_l1_lost(&known) && ma_offload(net_place, NULL)) {
        known = 0; /* nothing was placed */
        return 1;
    }
    /* 0: conv_0 (fallback) */
    ma_step_begin(0);
    net_f0_transpose(in[0], (void *)(arena + 0));
    ma_step_end(0);
    NET_TRACE(0, 1, (void *)(arena + 0), 300);
    if (ma_offload(net_group_1, &(struct net_call){arena, in, out})) {
        return 1;
    }
    /* 3: conv_2 (fallback) */
    ma_step_begin(3);
    net_f1_transpose1((void *)(arena + 0), out[0]);
    ma_step_end(3);
    NET_TRACE(3, 4, out[0], 600);
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
    static _Alignas(NET_ALIGNMENT) uint8_t arena[NET_ARENA_BYTES];
    return net_run_in(arena, in, out);
}
