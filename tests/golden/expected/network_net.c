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
    _Alignas(64) int8_t net_fc1_weight[20];
    uint8_t pad_0_[44];
    int32_t net_fc1_bias[4];
    uint8_t pad_1_[48];
    int8_t net_fc2_weight[24];
    uint8_t pad_2_[40];
    int32_t net_fc2_bias[2];
    uint8_t pad_3_[56];
};
_Static_assert(offsetof(struct net_constants, net_fc1_weight) == 0, "net_fc1_weight");
_Static_assert(offsetof(struct net_constants, net_fc1_bias) == 64, "net_fc1_bias");
_Static_assert(offsetof(struct net_constants, net_fc2_weight) == 128, "net_fc2_weight");
_Static_assert(offsetof(struct net_constants, net_fc2_bias) == 192, "net_fc2_bias");
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

static void net_narrow(const int32_t *restrict x, int8_t *restrict y,
                         uint8_t *restrict copy) {
    memcpy(copy, x, 48);
    for (int i = 0; i < 12; ++i) {
        y[i] = (int8_t)(x[i] > 127 ? 127 : x[i] < -128 ? -128 : x[i]);
    }
}

static void net_fc1(const int8_t *restrict x, const int8_t *restrict weight,
                         const int32_t *restrict bias, int32_t *restrict y) {
    for (int b = 0; b < 3; ++b) {
        for (int k = 0; k < 4; ++k) {
            int32_t sum = bias[k];
            for (int c = 0; c < 5; ++c) {
                sum += x[b * 5 + c] * weight[c * 4 + k];
            }
            y[b * 4 + k] = sum;
        }
    }
}

static void net_fc2(const int8_t *restrict x, const int8_t *restrict weight,
                         const int32_t *restrict bias, int32_t *restrict y) {
    for (int b = 0; b < 1; ++b) {
        for (int k = 0; k < 2; ++k) {
            int32_t sum = bias[k];
            for (int c = 0; c < 12; ++c) {
                sum += x[b * 12 + c] * weight[k * 12 + c];
            }
            y[b * 2 + k] = sum;
        }
    }
}

static void net_steps(uint8_t *arena, const void *const in[], void *const out[]) {
    /* 0: fc 1 (fake dense) */
    net_fc1(in[0], net_weights.net_fc1_weight, net_weights.net_fc1_bias, (void *)(arena + 0));
    NET_TRACE(0, 1, (void *)(arena + 0), 48);
    /* 1: narrow (fallback) */
    net_narrow((void *)(arena + 0), (void *)(arena + 64), (void *)(arena + 128));
    NET_TRACE(1, 2, (void *)(arena + 64), 12);
    /* 2: fc 2 (fake dense) */
    net_fc2((void *)(arena + 64), net_weights.net_fc2_weight, net_weights.net_fc2_bias, out[0]);
    NET_TRACE(2, 4, out[0], 8);
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
    net_steps(arena, in, out);
    return 0;
}

int net_run(const void *const in[], void *const out[]) {
    static _Alignas(NET_ALIGNMENT) uint8_t arena[NET_ARENA_BYTES];
    return net_run_in(arena, in, out);
}
