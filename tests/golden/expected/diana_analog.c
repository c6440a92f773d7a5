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
#include "ma_diana_tile.h"

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
    _Alignas(64) int8_t net_layer0_weight[256];
    int8_t net_layer0_offset[64];
    int8_t net_layer1_weight[9216];
    int8_t net_layer1_multiplier[512];
    int8_t net_layer1_offset[512];
};
_Static_assert(offsetof(struct net_constants, net_layer0_weight) == 0, "net_layer0_weight");
_Static_assert(offsetof(struct net_constants, net_layer0_offset) == 256, "net_layer0_offset");
_Static_assert(offsetof(struct net_constants, net_layer1_weight) == 320, "net_layer1_weight");
_Static_assert(offsetof(struct net_constants, net_layer1_multiplier) == 9536, "net_layer1_multiplier");
_Static_assert(offsetof(struct net_constants, net_layer1_offset) == 10048, "net_layer1_offset");
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

static inline int8_t net_s_min_i8(int8_t a, int8_t b) {
    return a < b ? a : b;
}

static inline int8_t net_s_max_i8(int8_t a, int8_t b) {
    return a > b ? a : b;
}

static void net_f0_transpose(const int8_t *restrict in_0, int8_t *restrict out_0) {
    for (int32_t i_0 = 0; i_0 < 6; ++i_0) {
        for (int32_t i_1 = 0; i_1 < 6; ++i_1) {
            for (int32_t i_2 = 0; i_2 < 16; ++i_2) {
                out_0[i_0 * 96 + i_1 * 16 + i_2] = in_0[i_2 * 36 + i_0 * 6 + i_1];
            }
        }
    }
}

static void net_f1_tir_clip(const int8_t *restrict in_0, int8_t *restrict out_0) {
    for (int32_t i_0 = 0; i_0 < 6; ++i_0) {
        for (int32_t i_1 = 0; i_1 < 6; ++i_1) {
            for (int32_t i_2 = 0; i_2 < 16; ++i_2) {
                const int32_t v_0 = i_0 * 96 + i_1 * 16 + i_2;
                out_0[v_0] = net_s_max_i8(net_s_min_i8(in_0[v_0], 63), -63);
            }
        }
    }
}

static void net_f2_transpose1(const int8_t *restrict in_0, int8_t *restrict out_0) {
    for (int32_t i_0 = 0; i_0 < 6; ++i_0) {
        for (int32_t i_1 = 0; i_1 < 6; ++i_1) {
            for (int32_t i_2 = 0; i_2 < 16; ++i_2) {
                out_0[i_2 * 36 + i_0 * 6 + i_1] = in_0[i_0 * 96 + i_1 * 16 + i_2];
            }
        }
    }
}

static const struct ma_facts net_layer0_facts[] = {
    {4, 1, 576, 0, 0},
    {1, 256, 256, 262144, 0},
    {1, 64, 64, 262400, 0},
    {4, 1, 576, 576, 0},
};

static const int32_t net_layer0_axes[][MA_AXES] = {
    {1, 6, 6, 16},
    {576, 96, 16, 1},
    {0, 0, 0, 0},
    {1, 0, 0, 0},
    {256, 0, 0, 0},
    {64, 0, 0, 0},
};

static const struct ma_block net_layer0_blocks[] = {
    {576, {1, 1, 1}, {0, 0, 0}, {0, 0, 0}},
    {256, {1, 1, 1}, {0, 0, 0}, {0, 0, 0}},
    {64, {1, 1, 1}, {0, 0, 0}, {0, 0, 0}},
};

static const struct ma_view net_layer0_views[] = {
    {0, net_layer0_axes[0], net_layer0_axes[1], net_layer0_axes[2], net_layer0_axes[2]},
    {262144, net_layer0_axes[3], net_layer0_axes[4], net_layer0_axes[2], net_layer0_axes[2]},
    {262400, net_layer0_axes[3], net_layer0_axes[5], net_layer0_axes[2], net_layer0_axes[2]},
    {576, net_layer0_axes[0], net_layer0_axes[1], net_layer0_axes[2], net_layer0_axes[2]},
};

static const ma_seen net_layer0_seen[] = {
    &net_layer0_views[0], &net_layer0_views[1], &net_layer0_views[2], &net_layer0_views[3],
};

static const struct ma_move net_layer0_moves[] = {
    {0, 0, 0, &net_layer0_blocks[0]},
    {262144, 0, 1, &net_layer0_blocks[1]},
    {262400, 0, 2, &net_layer0_blocks[2]},
    {576, 0, 3, &net_layer0_blocks[0]},
};

static const struct ma_visit net_layer0_visits[] = {
    {&net_layer0_seen[0], &net_layer0_moves[0], &net_layer0_moves[3], 0, 3, 1, 0},
};

static const struct ma_table net_layer0_table = {
    .visit = net_layer0_visits,
    .visits = 1,
    .operands = 4,
    .l1_bytes = 262464,
    .scratch = 0,
    .settles = 1,
    .facts = net_layer0_facts,
};

static uint32_t net_layer0_start(const struct ma_tile *t, const void *context)
{
    struct ma_diana_job job = {
        .kind = MA_DIANA_CONV2D,
        .weight = ma_at(t, t->view[1]),
        .offset = ma_at(t, t->view[2]),
        .filter = 1,
        .stride = 1,
        .shift = 9,
        .relu = 0,
    };
    (void)context;
    ma_diana_image(&job, t, t->view[0], t->view[3]);
    return 0;
}

/* conv2d: x int8[1,6,6,16], weight int8[16,1,1,16], offset int32[16] -> y int8[1,6,6,16] */
static void net_layer0(const int8_t *restrict x, const int8_t *restrict weight, const int32_t *restrict offset, int8_t *restrict y)
{
    const struct ma_kernel kernel = {net_layer0_start, NULL, NULL};
    void *const l2[] = {
        (void *)(uintptr_t)x,
        (void *)(uintptr_t)weight,
        (void *)(uintptr_t)offset,
        (void *)(uintptr_t)y,
    };
    ma_run_table(&net_layer0_table, l2, &kernel, NULL);
}

static const struct ma_facts net_layer1_facts[] = {
    {4, 1, 576, 0, 0},
    {1, 9216, 9216, 262144, 0},
    {1, 512, 512, 271360, 0},
    {1, 512, 512, 271872, 0},
    {4, 1, 576, 576, 0},
};

static const int32_t net_layer1_axes[][MA_AXES] = {
    {1, 6, 6, 16},
    {576, 96, 16, 1},
    {0, 0, 0, 0},
    {0, 1, 1, 0},
    {1, 0, 0, 0},
    {9216, 0, 0, 0},
    {512, 0, 0, 0},
};

static const struct ma_block net_layer1_blocks[] = {
    {576, {1, 1, 1}, {0, 0, 0}, {0, 0, 0}},
    {9216, {1, 1, 1}, {0, 0, 0}, {0, 0, 0}},
    {512, {1, 1, 1}, {0, 0, 0}, {0, 0, 0}},
};

static const struct ma_view net_layer1_views[] = {
    {0, net_layer1_axes[0], net_layer1_axes[1], net_layer1_axes[2], net_layer1_axes[3]},
    {262144, net_layer1_axes[4], net_layer1_axes[5], net_layer1_axes[2], net_layer1_axes[2]},
    {271360, net_layer1_axes[4], net_layer1_axes[6], net_layer1_axes[2], net_layer1_axes[2]},
    {271872, net_layer1_axes[4], net_layer1_axes[6], net_layer1_axes[2], net_layer1_axes[2]},
    {576, net_layer1_axes[0], net_layer1_axes[1], net_layer1_axes[2], net_layer1_axes[2]},
};

static const ma_seen net_layer1_seen[] = {
    &net_layer1_views[0], &net_layer1_views[1], &net_layer1_views[2], &net_layer1_views[3], &net_layer1_views[4],
};

static const struct ma_move net_layer1_moves[] = {
    {0, 0, 0, &net_layer1_blocks[0]},
    {262144, 0, 1, &net_layer1_blocks[1]},
    {271360, 0, 2, &net_layer1_blocks[2]},
    {271872, 0, 3, &net_layer1_blocks[2]},
    {576, 0, 4, &net_layer1_blocks[0]},
};

static const struct ma_visit net_layer1_visits[] = {
    {&net_layer1_seen[0], &net_layer1_moves[0], &net_layer1_moves[4], 0, 4, 1, 0},
};

static const struct ma_table net_layer1_table = {
    .visit = net_layer1_visits,
    .visits = 1,
    .operands = 5,
    .l1_bytes = 272384,
    .scratch = 0,
    .settles = 1,
    .facts = net_layer1_facts,
};

static uint32_t net_layer1_start(const struct ma_tile *t, const void *context)
{
    struct ma_diana_job job = {
        .kind = MA_DIANA_ANALOG,
        .weight = ma_at(t, t->view[1]),
        .multiplier = ma_at(t, t->view[2]),
        .offset = ma_at(t, t->view[3]),
        .filter = 3,
        .stride = 1,
        .shift = 7,
        .relu = 1,
        .gain = 30,
    };
    (void)context;
    ma_diana_image(&job, t, t->view[0], t->view[4]);
    return 0;
}

/* conv2d: x int8[1,6,6,16], weight int8[16,3,3,16], multiplier int32[16], offset int32[16] -> y int8[1,6,6,16] */
static void net_layer1(const int8_t *restrict x, const int8_t *restrict weight, const int32_t *restrict multiplier, const int32_t *restrict offset, int8_t *restrict y)
{
    const struct ma_kernel kernel = {net_layer1_start, NULL, NULL};
    void *const l2[] = {
        (void *)(uintptr_t)x,
        (void *)(uintptr_t)weight,
        (void *)(uintptr_t)multiplier,
        (void *)(uintptr_t)offset,
        (void *)(uintptr_t)y,
    };
    ma_run_table(&net_layer1_table, l2, &kernel, NULL);
}

struct net_call {
    uint8_t *arena;
    const void *const *in;
    void *const *out;
};

static void net_group_1(void *argument) {
    const struct net_call *const call = argument;
    uint8_t *const arena = call->arena;
    const void *const *const in = call->in;
    void *const *const out = call->out;
    (void)arena;
    (void)in;
    (void)out;
    /* 1: conv12 (digital conv2d_bias) */
    ma_step_begin(1);
    net_layer0((void *)(arena + 0), net_weights.net_layer0_weight, (const void *)net_weights.net_layer0_offset, (void *)(arena + 576));
    ma_step_end(1);
    NET_TRACE(1, 2, (void *)(arena + 576), 576);
}

static void net_group_3(void *argument) {
    const struct net_call *const call = argument;
    uint8_t *const arena = call->arena;
    const void *const *const in = call->in;
    void *const *const out = call->out;
    (void)arena;
    (void)in;
    (void)out;
    /* 3: conv30 (analog analog_conv2d_bias_clip) */
    ma_step_begin(3);
    net_layer1((void *)(arena + 0), net_weights.net_layer1_weight, (const void *)net_weights.net_layer1_multiplier, (const void *)net_weights.net_layer1_offset, (void *)(arena + 576));
    ma_step_end(3);
    NET_TRACE(3, 4, (void *)(arena + 576), 576);
}

static int net_steps(uint8_t *arena, const void *const in[], void *const out[]) {
    /* 0: conv12 (fallback) */
    ma_step_begin(0);
    net_f0_transpose(in[0], (void *)(arena + 0));
    ma_step_end(0);
    NET_TRACE(0, 1, (void *)(arena + 0), 576);
    if (ma_offload(net_group_1, &(struct net_call){arena, in, out})) {
        return 1;
    }
    /* 2: quantizelinear18 (fallback) */
    ma_step_begin(2);
    net_f1_tir_clip((void *)(arena + 576), (void *)(arena + 0));
    ma_step_end(2);
    NET_TRACE(2, 3, (void *)(arena + 0), 576);
    if (ma_offload(net_group_3, &(struct net_call){arena, in, out})) {
        return 1;
    }
    /* 4: quantizelinear36 (fallback) */
    ma_step_begin(4);
    net_f2_transpose1((void *)(arena + 576), out[0]);
    ma_step_end(4);
    NET_TRACE(4, 5, out[0], 576);
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
