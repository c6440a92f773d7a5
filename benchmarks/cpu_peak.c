/* Peaks of one core, best of many short windows: float32 multiply-adds, 8-bit (or 16-bit) integer
 * dot products, read bandwidth of caches and memory. Prints "name value" lines. */
#define _POSIX_C_SOURCE 199309L
#include "ma_cpu_float.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static volatile float sink;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

#define CHAINS 12
#define STEPS 20000

static double fma_rate(void)
{
    ma_vf c[CHAINS], x = ma_splat(0.999f), y = ma_splat(1e-6f);
    double t = now();
    for (int i = 0; i < CHAINS; ++i) {
        c[i] = ma_splat((float)i);
    }
    for (int k = 0; k < STEPS; ++k) {
#define ONE(i) c[i] = ma_fma(c[i], x, y);
        ONE(0) ONE(1) ONE(2) ONE(3) ONE(4) ONE(5) ONE(6) ONE(7) ONE(8) ONE(9) ONE(10) ONE(11)
    }
    t = now() - t;
    for (int i = 1; i < CHAINS; ++i) {
        c[0] += c[i];
    }
    sink = ma_sum_lanes(c[0]);
    return 2.0 * MA_LANES * CHAINS * (double)STEPS / t * 1e-9;
}

#if defined(MA_AVX512_VNNI)
#define DOT_NAME "dpbusd"
#define DOT_MACS 64
#define DOT_CHAINS 10
typedef __m512i word;
#define DOT(c) _mm512_dpbusd_epi32(c, x, y)
#define SET(v) _mm512_set1_epi32(v)
#elif defined(MA_AVX_VNNI)
#define DOT_NAME "dpbusd"
#define DOT_MACS 32
#define DOT_CHAINS 10
typedef __m256i word;
#define DOT(c) _mm256_dpbusd_avx_epi32(c, x, y)
#define SET(v) _mm256_set1_epi32(v)
#elif defined(__AVX2__)
#define DOT_NAME "madd"
#define DOT_MACS 16
/* An addition takes a cycle: more chains would only spill. */
#define DOT_CHAINS 4
typedef __m256i word;
#define DOT(c) _mm256_add_epi32(c, _mm256_madd_epi16(x, y))
#define SET(v) _mm256_set1_epi32(v)
#endif

#ifdef DOT_MACS
MA_DOTS static double dot_rate(void)
{
    word c[DOT_CHAINS], x = SET(0x01010101), y = SET(0x01010101);
    float out[16];
    double t;
    for (int i = 0; i < DOT_CHAINS; ++i) {
        c[i] = SET(i);
    }
    t = now();
    for (int k = 0; k < STEPS; ++k) {
        /* What goes in is opaque each time, so that no product is taken out of the loop. */
#define TWO(i) __asm__ volatile("" : "+x"(x)); c[i] = DOT(c[i]);
        TWO(0) TWO(1) TWO(2) TWO(3)
#if DOT_CHAINS > 4
        TWO(4) TWO(5) TWO(6) TWO(7) TWO(8) TWO(9)
#endif
    }
    t = now() - t;
    for (int i = 0; i < DOT_CHAINS; ++i) {
        memcpy(out, &c[i], sizeof c[i] < sizeof out ? sizeof c[i] : sizeof out);
        sink = out[0];
    }
    return 2.0 * DOT_MACS * DOT_CHAINS * (double)STEPS / t * 1e-9;
}
#endif

static double read_rate(size_t bytes)
{
    const size_t count = bytes / sizeof(float);
    float *const data = aligned_alloc(64, bytes);
    double best = 0.0;
    if (!data) {
        exit(1);
    }
    for (size_t i = 0; i < count; ++i) {
        data[i] = 0.0f;
    }
    for (int round = 0; round < 9; ++round) {
        const size_t times = bytes < (1u << 24) ? (1u << 25) / bytes : 1;
        ma_vf a = ma_splat(0.0f), b = a, c = a, d = a;
        double t = now();
        for (size_t k = 0; k < times; ++k) {
            for (size_t i = 0; i + 4 * MA_LANES <= count; i += 4 * MA_LANES) {
                a += ma_load(data + i);
                b += ma_load(data + i + MA_LANES);
                c += ma_load(data + i + 2 * MA_LANES);
                d += ma_load(data + i + 3 * MA_LANES);
            }
            __asm__ volatile("" ::: "memory");
        }
        t = now() - t;
        sink = ma_sum_lanes(a + b + c + d);
        best = (double)(times * bytes) / t * 1e-9 > best ? (double)(times * bytes) / t * 1e-9 : best;
    }
    free(data);
    return best;
}

int main(void)
{
    double fma = 0.0, dot = 0.0;
    for (int round = 0; round < 400; ++round) {
        const double found = fma_rate();
        fma = found > fma ? found : fma;
#ifdef DOT_MACS
        {
            const double other = dot_rate();
            dot = other > dot ? other : dot;
        }
#endif
    }
    printf("fp32 %.1f\n", fma);
#ifdef DOT_MACS
    printf("int8 %.1f %s\n", dot, DOT_NAME);
#endif
    printf("read_L1 %.1f\n", read_rate(16u << 10));
    printf("read_L2 %.1f\n", read_rate(256u << 10));
    printf("read_L3 %.1f\n", read_rate(4u << 20));
    printf("read_memory %.1f\n", read_rate(256u << 20));
    return 0;
}
