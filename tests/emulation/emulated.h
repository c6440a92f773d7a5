/* Compiles emitted code of another processor for this one: given to the compiler with -include, beside
 * -I of this folder and one of EMULATE_AVX2, EMULATE_AVX512, EMULATE_NEON=<1, or 0 without SDOT>,
 * EMULATE_RVV=<bits of a vector>.
 *
 * The C library's headers come first, as what they are here. Then the macros that say what the
 * processor is are those of the other one, and its intrinsics are the plain C of this folder. */
#ifndef EMULATED_H
#define EMULATED_H
#ifndef __ASSEMBLER__

#include <assert.h>
#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MA_EMULATED 1

#undef __x86_64__
#undef __AVX__
#undef __AVX2__
#undef __FMA__
#undef __AVX512F__
#undef __AVX512BW__
#undef __aarch64__
#undef __ARM_FEATURE_DOTPROD
#undef __riscv
#undef __riscv_vector
#undef __riscv_v_min_vlen

#if defined(EMULATE_AVX2) || defined(EMULATE_AVX512)
#define __x86_64__ 1
#define __AVX__ 1
#define __AVX2__ 1
#define __FMA__ 1
#if defined(EMULATE_AVX512)
#define __AVX512F__ 1
#define __AVX512BW__ 1
#endif
#elif defined(EMULATE_NEON)
#define __aarch64__ 1
#if EMULATE_NEON != 0
#define __ARM_FEATURE_DOTPROD 1
#endif
#elif defined(EMULATE_RVV)
#define __riscv 1
#define __riscv_vector 1
#define __riscv_v_min_vlen EMULATE_RVV
#else
#error "define what is to be emulated"
#endif

#endif
#endif
