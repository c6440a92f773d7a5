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

#define __builtin_pulp_clipu_r xpulp_clipu_r
#define __builtin_pulp_pack4 xpulp_pack4
#define __builtin_pulp_sdotsp4 xpulp_sdotsp4
#define __builtin_pulp_sdotusp4 xpulp_sdotusp4
#define __builtin_pulp_sdotsp2 xpulp_sdotsp2
#define __builtin_pulp_max4 xpulp_max4
#define __builtin_pulp_maxu4 xpulp_maxu4
#define __builtin_pulp_min4 xpulp_min4
#define __builtin_pulp_minu4 xpulp_minu4

#endif
#endif
