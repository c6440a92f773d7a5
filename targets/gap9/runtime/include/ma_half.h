/* Half precision (binary16), two numbers in one register: what the cluster's float kernels multiply.
 *
 * GAP9's cores have binary16 in their integer registers (their compiler says __gap9__): every function
 * here is one instruction there, two where it says so. Elsewhere it is portable C of equal meaning,
 * in float32 arithmetic. Roundings are to the nearest, halves to even; a NaN is a quiet one.
 * The first number of a pair is the lower half of its word.
 */
#ifndef MA_HALF_H
#define MA_HALF_H

#include <stdint.h>
#include <string.h>

#ifndef MA_FVEC
#ifdef __gap9__
#define MA_FVEC 1
#else
#define MA_FVEC 0
#endif
#endif

static inline uint32_t ma_half_bits(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, 4);
    return bits;
}

static inline float ma_half_float(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, 4);
    return value;
}

#if MA_FVEC
/* The instructions, by their names: arguments are registers, the last of ma_vfmac_h is read and written.
 * Compilers make a product and a sum of one another's; here it has to be one. */
#ifndef ma_vfmac_h
#define ma_vfmac_h(x, w, sum) __asm__("vfmac.h %0, %1, %2" : "+r"(sum) : "r"(x), "r"(w))
#define ma_vfcpka_h_s(to, a, b) __asm__("vfcpka.h.s %0, %1, %2" : "=r"(to) : "r"(a), "r"(b))
#define ma_fcvt_h_s(to, a) __asm__("fcvt.h.s %0, %1" : "=r"(to) : "r"(a))
#define ma_fcvt_s_h(to, a) __asm__("fcvt.s.h %0, %1" : "=r"(to) : "r"(a))
#endif
#else

/* A float32 rounded to binary16. */
static inline uint32_t ma_half_rounded(float value)
{
    const uint32_t bits = ma_half_bits(value), sign = bits >> 16 & 0x8000u;
    const uint32_t magnitude = bits & 0x7fffffffu;
    if (magnitude > 0x7f800000u) {
        return 0x7e00u;
    }
    if (magnitude >= 0x477ff000u) { /* halfway between the largest number and the next */
        return sign | 0x7c00u;
    }
    if (magnitude < 0x38800000u) {
        /* Below 2^-14 the last bit is 2^-24: a float32 from 0.5 on has it as its last, too. */
        return sign | (ma_half_bits(ma_half_float(magnitude) + 0x1p-1f) - 0x3f000000u);
    }
    const uint32_t up = magnitude + 0xfffu + (magnitude >> 13 & 1);
    return sign | ((up - 0x38000000u) >> 13);
}

/* A binary16 as float32: exact. */
static inline float ma_half_widened(uint32_t half)
{
    const uint32_t sign = (half & 0x8000u) << 16, magnitude = half & 0x7fffu;
    if (magnitude > 0x7c00u) {
        return ma_half_float(0x7fc00000u);
    }
    if (magnitude == 0x7c00u) {
        return ma_half_float(sign | 0x7f800000u);
    }
    if (magnitude < 0x400u) {
        const float small = (float)(int32_t)magnitude * 0x1p-24f;
        return ma_half_float(sign | ma_half_bits(small));
    }
    return ma_half_float(sign | ((magnitude << 13) + 0x38000000u));
}

/* x * w + sum, rounded once to binary16. The product has 22 bits, exact in float32. What the sum
 * loses there is known exactly, and kept as an odd last bit, so that rounding again is right. */
static inline uint32_t ma_half_fused(uint32_t x, uint32_t w, uint32_t sum)
{
    const float total = ma_half_widened(sum);
    const float product = ma_half_widened(x) * ma_half_widened(w);
    const float found = product + total, other = found - product;
    const float lost = (product - (found - other)) + (total - other);
    uint32_t bits = ma_half_bits(found);
    if ((lost > 0 || lost < 0) && !(bits & 1)) {
        bits += (lost > 0) == (found > 0) ? 1u : -1u;
    }
    return ma_half_rounded(ma_half_float(bits));
}
#endif

/* Both numbers of x times those of w, added to those of `sum`, each rounded once: vfmac.h. */
static inline uint32_t ma_half_fused2(uint32_t x, uint32_t w, uint32_t sum)
{
#if MA_FVEC
    ma_vfmac_h(x, w, sum);
    return sum;
#else
    return ma_half_fused(x & 0xffffu, w & 0xffffu, sum & 0xffffu)
        | ma_half_fused(x >> 16, w >> 16, sum >> 16) << 16;
#endif
}

/* Two float32 as a pair: vfcpka.h.s. */
static inline uint32_t ma_half_pair(float a, float b)
{
#if MA_FVEC
    uint32_t pair;
    ma_vfcpka_h_s(pair, a, b);
    return pair;
#else
    return ma_half_rounded(a) | ma_half_rounded(b) << 16;
#endif
}

/* One float32: fcvt.h.s. */
static inline uint16_t ma_half_of(float value)
{
#if MA_FVEC
    uint32_t half;
    ma_fcvt_h_s(half, value);
    return (uint16_t)half;
#else
    return (uint16_t)ma_half_rounded(value);
#endif
}

/* The first of a pair as float32, of the second with a shift before: fcvt.s.h. */
static inline float ma_half_first(uint32_t pair)
{
#if MA_FVEC
    float value;
    ma_fcvt_s_h(value, pair);
    return value;
#else
    return ma_half_widened(pair & 0xffffu);
#endif
}

/* The value, of a NaN the only one that these cores make; others have NaNs of either sign. */
static inline float ma_half_quiet(float value)
{
#if defined(__riscv)
    return value;
#else
    return value == value ? value : __builtin_nanf("");
#endif
}

static inline float ma_half_second(uint32_t pair) { return ma_half_first(pair >> 16); }

#endif
