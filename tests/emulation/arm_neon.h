/* The intrinsics of AArch64 that emitted code calls, in plain C, as Arm's intrinsics reference defines them. */
#ifndef EMULATION_ARM_NEON_H
#define EMULATION_ARM_NEON_H

#include "lanes.h"

typedef int32_t int32x4_t __attribute__((vector_size(16)));
typedef int8_t int8x16_t __attribute__((vector_size(16)));
typedef float float32x4_t __attribute__((vector_size(16)));

/* SDOT: four int8 products a lane, modulo 2^32. */
EMULATE3(int32x4_t, vdotq_s32, int8x16_t, int8x16_t, uint32_t, int8_t, int8_t,
         r[i] = a[i] + (uint32_t)(b[4 * i] * c[4 * i] + b[4 * i + 1] * c[4 * i + 1] +
                                  b[4 * i + 2] * c[4 * i + 2] + b[4 * i + 3] * c[4 * i + 3]))

/* FMLA: a + b * c, rounded once. */
EMULATE3(float32x4_t, vfmaq_f32, float32x4_t, float32x4_t, float, float, float,
         r[i] = fmaf(b[i], c[i], a[i]))

#endif
