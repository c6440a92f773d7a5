/* The builtins of compilers for the Xpulp extension, on any host: included before everything, it makes
 * the cluster's kernels take the paths that they take on the chip.
 *
 * Own text, from what is public of each: names and types in pulp-platform/pulp-riscv-gcc@0af5f28
 * (gcc/config/riscv/pulp_builtins.def; vectors are opaque there, signed or not), results of the
 * builtins in GreenWaves' gap_sdk (gap8 builtins reference), of the instructions in the user manual of
 * CV32E40P (OpenHW Group, chapter "CORE-V instruction set custom extensions"), whose names are given;
 * RI5CY's are the same with `p.` for `cv.` and `pv.` for `cv.` of vectors. Lane 0 is bits 7 to 0.
 */
#ifndef XPULP_H
#define XPULP_H
#ifndef __ASSEMBLER__

#include <stdint.h>

#define __pulp__ 1

typedef int8_t xpulp_v4s __attribute__((vector_size(4)));
typedef uint8_t xpulp_v4u __attribute__((vector_size(4)));
typedef int16_t xpulp_v2s __attribute__((vector_size(4)));

/* cv.clipur: 0 where x <= 0, else the bound without its sign where x is not below it, else x. */
static inline uint32_t xpulp_clipu_r(int32_t x, int32_t bound)
{
    const int32_t most = bound & 0x7fffffff;
    if (x <= 0) {
        return 0;
    }
    return (uint32_t)(x >= most ? most : x);
}

/* cv.addNr: the sum modulo 2^32, shifted right with its sign by the lower five bits of a register. */
static inline int32_t xpulp_addn_r(int32_t x, int32_t y, int32_t shift)
{
    return (int32_t)((uint32_t)x + (uint32_t)y) >> (shift & 31);
}

/* cv.packlo.b and cv.packhi.b: the low bytes of four registers. */
static inline xpulp_v4s xpulp_pack4(int32_t x, int32_t y, int32_t z, int32_t t)
{
    return (xpulp_v4s){(int8_t)x, (int8_t)y, (int8_t)z, (int8_t)t};
}

/* cv.sdotsp.b: rD += rs1[0] * rs2[0] + ... + rs1[3] * rs2[3], both signed, modulo 2^32. */
static inline int32_t xpulp_sdotsp4(xpulp_v4s x, xpulp_v4s y, int32_t acc)
{
    uint32_t sum = (uint32_t)acc;
    for (int i = 0; i < 4; ++i) {
        sum += (uint32_t)((int32_t)x[i] * (int32_t)y[i]);
    }
    return (int32_t)sum;
}

/* cv.sdotusp.b: the same, rs1 unsigned and rs2 signed. */
static inline int32_t xpulp_sdotusp4(xpulp_v4u x, xpulp_v4s y, int32_t acc)
{
    uint32_t sum = (uint32_t)acc;
    for (int i = 0; i < 4; ++i) {
        sum += (uint32_t)((int32_t)x[i] * (int32_t)y[i]);
    }
    return (int32_t)sum;
}

/* cv.dotsp.b, cv.dotusp.b: the same without what rD had. */
static inline int32_t xpulp_dotsp4(xpulp_v4s x, xpulp_v4s y) { return xpulp_sdotsp4(x, y, 0); }
static inline int32_t xpulp_dotusp4(xpulp_v4u x, xpulp_v4s y) { return xpulp_sdotusp4(x, y, 0); }

/* cv.mac: rD += rs1 * rs2, modulo 2^32. */
static inline int32_t xpulp_mac(int32_t x, int32_t y, int32_t acc)
{
    return (int32_t)((uint32_t)acc + (uint32_t)x * (uint32_t)y);
}

/* cv.sdotsp.h: rD += rs1[0] * rs2[0] + rs1[1] * rs2[1], both signed, modulo 2^32. */
static inline int32_t xpulp_sdotsp2(xpulp_v2s x, xpulp_v2s y, int32_t acc)
{
    uint32_t sum = (uint32_t)acc;
    for (int i = 0; i < 2; ++i) {
        sum += (uint32_t)((int32_t)x[i] * (int32_t)y[i]);
    }
    return (int32_t)sum;
}

/* cv.max.b, cv.maxu.b, cv.min.b, cv.minu.b: lane by lane. */
#define XPULP_LANES(name, type, compare)                     \
    static inline type xpulp_##name(type x, type y)          \
    {                                                        \
        type result;                                         \
        for (int i = 0; i < 4; ++i) {                        \
            result[i] = x[i] compare y[i] ? x[i] : y[i];     \
        }                                                    \
        return result;                                       \
    }
XPULP_LANES(max4, xpulp_v4s, >)
XPULP_LANES(maxu4, xpulp_v4u, >)
XPULP_LANES(min4, xpulp_v4s, <)
XPULP_LANES(minu4, xpulp_v4u, <)

/* Half precision, in exact integers: a binary16 is a multiple of 2^-24, a product one of 2^-48. Names
 * are those of the instructions (xfvec and xf16 of pulp-platform/fpnew, as gvsoc/gvsoc-core@14342abc
 * executes them, `isa_gen/isa_smallfloats.py`); they round to the nearest, halves to even. Only
 * where the compiler has integers of 128 bits; elsewhere kernels have their portable form. */
#ifdef __SIZEOF_INT128__
#define MA_FVEC 1

static inline int xpulp_half_is_nan(uint32_t half) { return (half & 0x7fff) > 0x7c00; }
static inline int xpulp_half_is_inf(uint32_t half) { return (half & 0x7fff) == 0x7c00; }

/* A finite one times 2^24. */
static inline int64_t xpulp_half_whole(uint32_t half)
{
    const int64_t fraction = half & 0x3ff, exponent = half >> 10 & 0x1f;
    const int64_t size = exponent ? (fraction + 1024) << (exponent - 1) : fraction;
    return half & 0x8000 ? -size : size;
}

/* The binary16 next to size * 2^-48; a last bit may stand for all that is below. */
static inline uint32_t xpulp_half_next(uint32_t sign, unsigned __int128 size)
{
    int last = 24; /* the place of the result's last bit */
    while (size >> last >= 2048) {
        ++last;
    }
    const unsigned __int128 rest = size & (((unsigned __int128)1 << last) - 1);
    const unsigned __int128 middle = (unsigned __int128)1 << (last - 1);
    uint32_t kept = (uint32_t)(size >> last);
    kept += rest > middle || (rest == middle && (kept & 1));
    kept += (uint32_t)(last - 24) << 10;
    return sign | (kept > 0x7c00 ? 0x7c00 : kept);
}

/* fmadd.h */
static inline uint32_t xpulp_fmadd_h(uint32_t x, uint32_t w, uint32_t sum)
{
    const uint32_t sign = (x ^ w) & 0x8000;
    const int zero = !(x & 0x7fff) || !(w & 0x7fff);
    if (xpulp_half_is_nan(x) || xpulp_half_is_nan(w) || xpulp_half_is_nan(sum)) {
        return 0x7e00;
    }
    if (xpulp_half_is_inf(x) || xpulp_half_is_inf(w)) {
        return zero || (xpulp_half_is_inf(sum) && (sum & 0x8000) != sign) ? 0x7e00 : sign | 0x7c00;
    }
    if (xpulp_half_is_inf(sum)) {
        return sum;
    }
    const __int128 whole = (__int128)xpulp_half_whole(x) * xpulp_half_whole(w)
        + (__int128)xpulp_half_whole(sum) * (1 << 24);
    if (whole == 0) {
        return zero && !(sum & 0x7fff) ? sign & sum : 0;
    }
    return whole < 0 ? xpulp_half_next(0x8000, (unsigned __int128)-whole)
                     : xpulp_half_next(0, (unsigned __int128)whole);
}

/* vfmac.h: both halves. */
static inline uint32_t xpulp_vfmac_h(uint32_t x, uint32_t w, uint32_t sum)
{
    return xpulp_fmadd_h(x & 0xffff, w & 0xffff, sum & 0xffff)
        | xpulp_fmadd_h(x >> 16, w >> 16, sum >> 16) << 16;
}

/* fcvt.h.s */
static inline uint32_t xpulp_fcvt_h_s(float value)
{
    union {
        float value;
        uint32_t bits;
    } of = {value};
    const uint32_t sign = of.bits >> 16 & 0x8000, field = of.bits >> 23 & 0xff;
    const uint32_t fraction = of.bits & 0x7fffff;
    if (field == 0xff) {
        return fraction ? 0x7e00 : sign | 0x7c00;
    }
    if (field >= 127 + 17) {
        return sign | 0x7c00;
    }
    /* 2^-149 times `whole` is the number: 101 places further left it is one of 2^-48. */
    const unsigned __int128 whole = field ? fraction | 0x800000 : fraction;
    const int up = (int)(field ? field - 1 : 0) - 101;
    if (up >= 0) {
        return xpulp_half_next(sign, whole << up);
    }
    const int down = -up < 32 ? -up : 32;
    return xpulp_half_next(sign, whole >> down | ((whole & (((uint64_t)1 << down) - 1)) != 0));
}

/* fcvt.s.h, of the lower half. */
static inline float xpulp_fcvt_s_h(uint32_t half)
{
    half &= 0xffff;
    if (xpulp_half_is_nan(half)) {
        return __builtin_nanf("");
    }
    if (xpulp_half_is_inf(half)) {
        return half & 0x8000 ? -__builtin_inff() : __builtin_inff();
    }
    const float size = (float)xpulp_half_whole(half & 0x7fff) * 0x1p-24f;
    return half & 0x8000 ? -size : size;
}

/* bfloat16, in exact integers, too: a number is a whole one times a power of two. */
static inline int xpulp_bfloat_is_nan(uint32_t x) { return (x & 0x7fff) > 0x7f80; }
static inline int xpulp_bfloat_is_inf(uint32_t x) { return (x & 0x7fff) == 0x7f80; }

/* The whole number of a finite one; which power, in `*power`. */
static inline __int128 xpulp_bfloat_whole(uint32_t x, int *power)
{
    const int fraction = x & 0x7f, exponent = x >> 7 & 0xff;
    const int size = exponent ? fraction + 128 : fraction;
    *power = (exponent ? exponent : 1) - 127 - 7;
    return x & 0x8000 ? -size : size;
}

/* `whole` times 2^power in steps of 2^step; of a rest that is left out the last bit stays. */
static inline __int128 xpulp_in_steps(__int128 whole, int power, int step)
{
    const int by = power - step;
    if (whole == 0 || by >= 0) {
        return whole ? whole * ((__int128)1 << by) : 0;
    }
    return whole > 0 ? 1 : -1; /* called so only where it is far below a step of the other */
}

/* The bfloat16 next to size * 2^step. */
static inline uint32_t xpulp_bfloat_next(uint32_t sign, unsigned __int128 size, int step)
{
    int bits = 0;
    while (bits < 128 && size >> bits) {
        ++bits;
    }
    int last = step + bits - 8; /* the power that is the result's last bit */
    last = last < -133 ? -133 : last;
    uint32_t kept;
    if (last <= step) {
        kept = (uint32_t)(size << (step - last));
    } else if (last - step >= 128) {
        kept = 0;
    } else {
        const int off = last - step;
        const unsigned __int128 rest = size & (((unsigned __int128)1 << off) - 1);
        const unsigned __int128 middle = (unsigned __int128)1 << (off - 1);
        kept = (uint32_t)(size >> off);
        kept += rest > middle || (rest == middle && (kept & 1));
    }
    /* A normal number brings its leading one: it counts as one of the exponent. */
    const int64_t found = kept + ((int64_t)(last + 133) << 7);
    return sign | (uint32_t)(found > 0x7f80 ? 0x7f80 : found);
}

/* fmadd.ah */
static inline uint32_t xpulp_fmadd_ah(uint32_t x, uint32_t w, uint32_t sum)
{
    const uint32_t sign = (x ^ w) & 0x8000;
    const int zero = !(x & 0x7fff) || !(w & 0x7fff);
    int power_x, power_w, power_sum;
    if (xpulp_bfloat_is_nan(x) || xpulp_bfloat_is_nan(w) || xpulp_bfloat_is_nan(sum)) {
        return 0x7fc0;
    }
    if (xpulp_bfloat_is_inf(x) || xpulp_bfloat_is_inf(w)) {
        return zero || (xpulp_bfloat_is_inf(sum) && (sum & 0x8000) != sign) ? 0x7fc0
                                                                           : sign | 0x7f80;
    }
    if (xpulp_bfloat_is_inf(sum)) {
        return sum;
    }
    const __int128 product
        = xpulp_bfloat_whole(x, &power_x) * xpulp_bfloat_whole(w, &power_w);
    const __int128 other = xpulp_bfloat_whole(sum, &power_sum);
    const int power = zero ? power_sum : power_x + power_w;
    power_sum = other == 0 ? power : power_sum;
    const int most = power > power_sum ? power : power_sum;
    const int least = power < power_sum ? power : power_sum;
    const int step = least < most - 64 ? most - 64 : least;
    const __int128 whole
        = xpulp_in_steps(product, power, step) + xpulp_in_steps(other, power_sum, step);
    if (whole == 0) {
        return zero && !(sum & 0x7fff) ? sign & sum : 0;
    }
    return whole < 0 ? xpulp_bfloat_next(0x8000, (unsigned __int128)-whole, step)
                     : xpulp_bfloat_next(0, (unsigned __int128)whole, step);
}

/* vfmac.ah: both halves. */
static inline uint32_t xpulp_vfmac_ah(uint32_t x, uint32_t w, uint32_t sum)
{
    return xpulp_fmadd_ah(x & 0xffff, w & 0xffff, sum & 0xffff)
        | xpulp_fmadd_ah(x >> 16, w >> 16, sum >> 16) << 16;
}

/* fcvt.ah.s */
static inline uint32_t xpulp_fcvt_ah_s(float value)
{
    union {
        float value;
        uint32_t bits;
    } of = {value};
    const uint32_t sign = of.bits >> 16 & 0x8000, field = of.bits >> 23 & 0xff;
    const uint32_t fraction = of.bits & 0x7fffff;
    if (field == 0xff) {
        return fraction ? 0x7fc0 : sign | 0x7f80;
    }
    const int step = (int)(field ? field : 1) - 150;
    return xpulp_bfloat_next(sign, field ? fraction | 0x800000 : fraction, step);
}

#define ma_vfmac_ah(x, w, sum) ((sum) = xpulp_vfmac_ah(x, w, sum))
#define ma_vfcpka_ah_s(to, a, b) ((to) = xpulp_fcvt_ah_s(a) | xpulp_fcvt_ah_s(b) << 16)
#define ma_fcvt_ah_s(to, a) ((to) = xpulp_fcvt_ah_s(a))
#define ma_vfmac_h(x, w, sum) ((sum) = xpulp_vfmac_h(x, w, sum))
#define ma_vfcpka_h_s(to, a, b) ((to) = xpulp_fcvt_h_s(a) | xpulp_fcvt_h_s(b) << 16)
#define ma_fcvt_h_s(to, a) ((to) = xpulp_fcvt_h_s(a))
#define ma_fcvt_s_h(to, a) ((to) = xpulp_fcvt_s_h(a))
#else
#define MA_FVEC 0
#endif

#define __builtin_pulp_addN_r xpulp_addn_r
#define __builtin_pulp_clipu_r xpulp_clipu_r
#define __builtin_pulp_pack4 xpulp_pack4
#define __builtin_pulp_mac xpulp_mac
#define __builtin_pulp_dotsp4 xpulp_dotsp4
#define __builtin_pulp_dotusp4 xpulp_dotusp4
#define __builtin_pulp_sdotsp4 xpulp_sdotsp4
#define __builtin_pulp_sdotusp4 xpulp_sdotusp4
#define __builtin_pulp_sdotsp2 xpulp_sdotsp2
#define __builtin_pulp_max4 xpulp_max4
#define __builtin_pulp_maxu4 xpulp_maxu4
#define __builtin_pulp_min4 xpulp_min4
#define __builtin_pulp_minu4 xpulp_minu4

#endif
#endif
