/* bfloat16, two numbers in one register: the upper half of a float32 each.
 *
 * As ma_half.h has binary16: one instruction of GAP9's cores each, elsewhere portable C of equal meaning.
 * A product has the range of no float32, so that C takes doubles; compilers bring them in software.
 */
#ifndef MA_BFLOAT_H
#define MA_BFLOAT_H

#include "ma_half.h"

#if MA_FVEC
#ifndef ma_vfmac_ah
#define ma_vfmac_ah(x, w, sum) __asm__("vfmac.ah %0, %1, %2" : "+r"(sum) : "r"(x), "r"(w))
#define ma_vfcpka_ah_s(to, a, b) __asm__("vfcpka.ah.s %0, %1, %2" : "=r"(to) : "r"(a), "r"(b))
#define ma_fcvt_ah_s(to, a) __asm__("fcvt.ah.s %0, %1" : "=r"(to) : "r"(a))
#endif
#endif

/* The first of a pair as float32, and the second: their bits. */
static inline float ma_bfloat_first(uint32_t pair) { return ma_half_float(pair << 16); }
static inline float ma_bfloat_second(uint32_t pair) { return ma_half_float(pair & 0xffff0000u); }

#if !MA_FVEC
/* A float32 rounded to bfloat16. */
static inline uint32_t ma_bfloat_rounded(float value)
{
    const uint32_t bits = ma_half_bits(value);
    return value == value ? (bits + 0x7fffu + (bits >> 16 & 1)) >> 16 : 0x7fc0u;
}

/* x * w + sum, rounded once. The product has 16 bits, exact in a double. What the sum loses there, and
 * in a float32, is kept as an odd last bit, so that rounding again is right. */
static inline uint32_t ma_bfloat_fused(uint32_t x, uint32_t w, uint32_t sum)
{
    const double total = (double)ma_bfloat_first(sum);
    const double product = (double)ma_bfloat_first(x) * (double)ma_bfloat_first(w);
    const double found = product + total, other = found - product;
    const double below = (product - (found - other)) + (total - other);
    const float near = (float)found;
    const double lost = (found - (double)near) + below;
    uint32_t bits = ma_half_bits(near);
    if ((lost > 0 || lost < 0) && !(bits & 1)) {
        const uint32_t least = lost > 0 ? 1u : 0x80000001u;
        bits = near == 0 ? least : bits + ((lost > 0) == (near > 0) ? 1u : -1u);
    }
    return ma_bfloat_rounded(ma_half_float(bits));
}
#endif

/* Both numbers of x times those of w, added to those of `sum`, each rounded once: vfmac.ah. */
static inline uint32_t ma_bfloat_fused2(uint32_t x, uint32_t w, uint32_t sum)
{
#if MA_FVEC
    ma_vfmac_ah(x, w, sum);
    return sum;
#else
    return ma_bfloat_fused(x & 0xffffu, w & 0xffffu, sum & 0xffffu)
        | ma_bfloat_fused(x >> 16, w >> 16, sum >> 16) << 16;
#endif
}

/* Two float32 as a pair: vfcpka.ah.s. */
static inline uint32_t ma_bfloat_pair(float a, float b)
{
#if MA_FVEC
    uint32_t pair;
    ma_vfcpka_ah_s(pair, a, b);
    return pair;
#else
    return ma_bfloat_rounded(a) | ma_bfloat_rounded(b) << 16;
#endif
}

/* One float32: fcvt.ah.s. */
static inline uint16_t ma_bfloat_of(float value)
{
#if MA_FVEC
    uint32_t half;
    ma_fcvt_ah_s(half, value);
    return (uint16_t)half;
#else
    return (uint16_t)ma_bfloat_rounded(value);
#endif
}

#endif
