/* Whether this processor can run the code at all; belongs to you like all other files of the
 * project. Kept from the vectors' operations, whose intrinsics a compiler takes long to read.
 */
#ifndef MA_CPU_GUARD_H
#define MA_CPU_GUARD_H

#include <stddef.h>

#if (defined(__aarch64__) || defined(__riscv_vector)) && defined(__linux__)
#include <sys/auxv.h>
#endif

/* Why this processor cannot run the code, in a sentence; NULL where it can. With MA_EMULATED defined,
 * intrinsics come from elsewhere, in plain C, and any processor can. */
static inline const char *ma_cpu_missing(void)
{
#if defined(MA_EMULATED)
#elif defined(__x86_64__)
#if defined(__AVX2__)
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) {
        return "this program was built for processors with AVX2 (x86-64-v3), which this one has not";
    }
#endif
#if defined(__AVX512BW__)
    if (!__builtin_cpu_supports("avx512bw") || !__builtin_cpu_supports("avx512vl")) {
        return "this program was built for processors with AVX-512 (x86-64-v4), which this one has not";
    }
#endif
#if defined(MA_AVX512_VNNI)
    if (!__builtin_cpu_supports("avx512vnni")) {
        return "this program was built for processors with AVX-512 VNNI, which this one has not";
    }
#endif
#if defined(MA_AVX_VNNI)
    /* CPUID leaf 7, subleaf 1, EAX bit 4; asked for once, since hypervisors trap it. */
    static signed char avxvnni;
    if (!avxvnni) {
        unsigned a = 7, b, c = 1, d;
        __asm__ volatile("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
        avxvnni = a >> 4 & 1 ? 1 : -1;
    }
    if (avxvnni < 0) {
        return "this program was built for processors with AVX-VNNI, which this one has not";
    }
#endif
#elif defined(__aarch64__) && defined(__ARM_FEATURE_DOTPROD) && defined(__linux__)
    if (!(getauxval(AT_HWCAP) >> 20 & 1)) {
        return "this program was built for processors with SDOT (FEAT_DotProd), which this one has not";
    }
#elif defined(__riscv_vector) && defined(__linux__)
    if (!(getauxval(AT_HWCAP) >> ('v' - 'a') & 1)) {
        return "this program was built for processors with the vector extension V, which this one has not";
    }
    {
        unsigned long bytes;
        __asm__ volatile("csrr %0, vlenb" : "=r"(bytes));
        if (bytes * 8 < __riscv_v_min_vlen) {
            return "this program was built for processors with longer vectors than this one has";
        }
    }
#endif
    return NULL;
}

#endif
