/* The intrinsics of AArch64 that emitted code calls, in plain C, as Arm's intrinsics reference defines them. */
#ifndef EMULATION_ARM_NEON_H
#define EMULATION_ARM_NEON_H

#include "lanes.h"

typedef int32_t int32x4_t __attribute__((vector_size(16)));
typedef int8_t int8x16_t __attribute__((vector_size(16)));
typedef uint8_t uint8x16_t __attribute__((vector_size(16)));
typedef struct {
    uint8x16_t val[4];
} uint8x16x4_t;
typedef float float32x4_t __attribute__((vector_size(16)));

/* SDOT: four int8 products a lane, modulo 2^32. */
EMULATE3(int32x4_t, vdotq_s32, int8x16_t, int8x16_t, uint32_t, int8_t, int8_t,
         r[i] = a[i] + (uint32_t)(b[4 * i] * c[4 * i] + b[4 * i + 1] * c[4 * i + 1] +
                                  b[4 * i + 2] * c[4 * i + 2] + b[4 * i + 3] * c[4 * i + 3]))

/* FMLA: a + b * c, rounded once. */
EMULATE3(float32x4_t, vfmaq_f32, float32x4_t, float32x4_t, float, float, float,
         r[i] = fmaf(b[i], c[i], a[i]))

/* FRINTN: to whole numbers, half to even. */
EMULATE1(float32x4_t, vrndnq_f32, float32x4_t, float, float, r[i] = rintf(a[i]))

/* TBX: entries of a table of 64 bytes; where there is none, what was before. */
EMULATED uint8x16_t vqtbx4q_u8(uint8x16_t before, uint8x16x4_t table, uint8x16_t at)
{
    uint8_t entries[64], a[16], r[16];
    memcpy(entries, &table, sizeof entries);
    memcpy(a, &at, sizeof a);
    memcpy(r, &before, sizeof r);
    for (int i = 0; i < 16; ++i) {
        r[i] = a[i] < 64 ? entries[a[i]] : r[i];
    }
    memcpy(&before, r, sizeof before);
    return before;
}

/* TBL: 0 there. */
EMULATED uint8x16_t vqtbl4q_u8(uint8x16x4_t table, uint8x16_t at)
{
    return vqtbx4q_u8((uint8x16_t){0}, table, at);
}

#endif
