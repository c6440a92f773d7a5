/* The intrinsics of AVX2, AVX-512 and VNNI that emitted code calls, in plain C, as Intel's intrinsics
 * guide defines them. Names, types and order of operands are those of the compilers' header. */
#ifndef EMULATION_IMMINTRIN_H
#define EMULATION_IMMINTRIN_H

#include "lanes.h"

typedef long long __m128i __attribute__((vector_size(16)));
typedef long long __m256i __attribute__((vector_size(32)));
typedef long long __m512i __attribute__((vector_size(64)));
typedef float __m256 __attribute__((vector_size(32)));
typedef float __m512 __attribute__((vector_size(64)));

/* ---- memory and copies ------------------------------------------------------------------------ */

#define EMULATE_MEMORY(vector, load, store)      \
    EMULATED vector load(const vector *p)        \
    {                                            \
        vector v;                                \
        memcpy(&v, (const void *)p, sizeof v);   \
        return v;                                \
    }                                            \
    EMULATED void store(vector *p, vector v)     \
    {                                            \
        memcpy((void *)p, &v, sizeof v);         \
    }
EMULATE_MEMORY(__m128i, _mm_loadu_si128, _mm_storeu_si128)
EMULATE_MEMORY(__m256i, _mm256_loadu_si256, _mm256_storeu_si256)

EMULATED __m128i _mm_loadl_epi64(const __m128i *p)
{
    __m128i v = {0, 0};
    memcpy(&v, (const void *)p, 8);
    return v;
}

EMULATED void _mm_storel_epi64(__m128i *p, __m128i v)
{
    memcpy((void *)p, &v, 8);
}

#define EMULATE_SPLAT(vector, name, type, given)                      \
    EMULATED vector name(given v)                                     \
    {                                                                 \
        type lanes[sizeof(vector) / sizeof(type)];                    \
        vector made;                                                  \
        for (int i = 0; i < (int)(sizeof lanes / sizeof *lanes); ++i) { \
            lanes[i] = (type)v;                                       \
        }                                                             \
        memcpy(&made, lanes, sizeof made);                            \
        return made;                                                  \
    }
EMULATE_SPLAT(__m128i, _mm_set1_epi8, int8_t, char)
EMULATE_SPLAT(__m256i, _mm256_set1_epi16, int16_t, short)
EMULATE_SPLAT(__m256i, _mm256_set1_epi32, int32_t, int)
EMULATE_SPLAT(__m256i, _mm256_set1_epi8, int8_t, char)
EMULATE_SPLAT(__m512i, _mm512_set1_epi8, int8_t, char)
EMULATE_SPLAT(__m512i, _mm512_set1_epi16, int16_t, short)
EMULATE_SPLAT(__m256, _mm256_set1_ps, float, float)

EMULATED __m128i _mm256_castsi256_si128(__m256i v)
{
    return (__m128i){v[0], v[1]};
}

EMULATED __m128i _mm256_extracti128_si256(__m256i v, int half)
{
    return (__m128i){v[2 * (half & 1)], v[2 * (half & 1) + 1]};
}

EMULATED __m256i _mm512_castsi512_si256(__m512i v)
{
    return (__m256i){v[0], v[1], v[2], v[3]};
}

EMULATED __m256i _mm512_extracti64x4_epi64(__m512i v, int half)
{
    const int at = 4 * (half & 1);
    return (__m256i){v[at], v[at + 1], v[at + 2], v[at + 3]};
}

EMULATED long long _mm_cvtsi128_si64(__m128i v)
{
    return v[0];
}

EMULATED long long _mm_extract_epi64(__m128i v, int which)
{
    return v[which & 1];
}

EMULATED __m128i _mm_shuffle_epi32(__m128i v, int order)
{
    int32_t a[4], r[4];
    __m128i made;
    memcpy(a, &v, sizeof a);
    for (int i = 0; i < 4; ++i) {
        r[i] = a[order >> 2 * i & 3];
    }
    memcpy(&made, r, sizeof made);
    return made;
}

EMULATED __m256i _mm256_and_si256(__m256i a, __m256i b)
{
    return a & b;
}

EMULATED __m512i _mm512_and_si512(__m512i a, __m512i b)
{
    return a & b;
}

EMULATED __m256i _mm256_broadcastsi128_si256(__m128i v)
{
    return (__m256i){v[0], v[1], v[0], v[1]};
}

/* ---- shifts and choices --------------------------------------------------------------------------- */

#define EMULATE_SHIFT(vector, name, shifted)                              \
    EMULATED vector name(vector v, unsigned by)                           \
    {                                                                     \
        uint16_t a[sizeof v / 2];                                         \
        memcpy(a, &v, sizeof v);                                          \
        for (int i = 0; i < (int)(sizeof a / sizeof *a); ++i) {           \
            a[i] = (uint16_t)(by > 15 ? 0 : shifted);                     \
        }                                                                 \
        memcpy(&v, a, sizeof v);                                          \
        return v;                                                         \
    }
EMULATE_SHIFT(__m256i, _mm256_slli_epi16, a[i] << by)
EMULATE_SHIFT(__m512i, _mm512_slli_epi16, a[i] << by)
EMULATE_SHIFT(__m512i, _mm512_srli_epi16, a[i] >> by)
EMULATE2(__m512i, _mm512_srlv_epi16, __m512i, uint16_t, uint16_t, r[i] = (uint16_t)(b[i] > 15 ? 0 : a[i] >> b[i]))

/* Of every 128 bits; 0 where the top bit of an index is set. */
EMULATE2(__m256i, _mm256_shuffle_epi8, __m256i, uint8_t, uint8_t,
         r[i] = b[i] & 128 ? 0 : a[i / 16 * 16 + (b[i] & 15)])
EMULATE2(__m512i, _mm512_permutexvar_epi32, __m512i, int32_t, int32_t, r[i] = b[a[i] & 15])
EMULATE2(__m256i, _mm256_permutevar8x32_epi32, __m256i, int32_t, int32_t, r[i] = a[b[i] & 7])
EMULATE3(__m256i, _mm256_blendv_epi8, __m256i, __m256i, uint8_t, uint8_t, uint8_t,
         r[i] = c[i] & 128 ? b[i] : a[i])
EMULATE3(__m512i, _mm512_permutex2var_epi32, __m512i, __m512i, int32_t, int32_t, int32_t,
         r[i] = (b[i] & 16 ? c : a)[b[i] & 15])
EMULATE3(__m512i, _mm512_permutex2var_epi16, __m512i, __m512i, uint16_t, uint16_t, uint16_t,
         r[i] = (b[i] & 32 ? c : a)[b[i] & 31])

typedef uint16_t __mmask16;
typedef uint32_t __mmask32;
typedef uint64_t __mmask64;

/* Memory where the mask is not set is not touched. */
EMULATED __m512 _mm512_mask_loadu_ps(__m512 other, __mmask16 mask, const void *p)
{
    float r[16];
    memcpy(r, &other, sizeof r);
    for (int i = 0; i < 16; ++i) {
        if (mask >> i & 1) {
            memcpy(r + i, (const float *)p + i, sizeof *r);
        }
    }
    memcpy(&other, r, sizeof other);
    return other;
}

EMULATED void _mm512_mask_storeu_ps(void *p, __mmask16 mask, __m512 v)
{
    float a[16];
    memcpy(a, &v, sizeof a);
    for (int i = 0; i < 16; ++i) {
        if (mask >> i & 1) {
            memcpy((float *)p + i, a + i, sizeof *a);
        }
    }
}

EMULATED __mmask32 _mm512_test_epi16_mask(__m512i va, __m512i vb)
{
    uint16_t a[32], b[32];
    __mmask32 mask = 0;
    memcpy(a, &va, sizeof a);
    memcpy(b, &vb, sizeof b);
    for (int i = 0; i < 32; ++i) {
        mask |= (__mmask32)((a[i] & b[i]) != 0) << i;
    }
    return mask;
}

#define EMULATE_BLEND(name, mask_type, type)                                      \
    EMULATED __m512i name(mask_type mask, __m512i va, __m512i vb)                 \
    {                                                                             \
        type a[sizeof va / sizeof(type)], b[sizeof va / sizeof(type)];            \
        memcpy(a, &va, sizeof a);                                                 \
        memcpy(b, &vb, sizeof b);                                                 \
        for (int i = 0; i < (int)(sizeof a / sizeof *a); ++i) {                   \
            a[i] = mask >> i & 1 ? b[i] : a[i];                                   \
        }                                                                         \
        memcpy(&va, a, sizeof va);                                                \
        return va;                                                                \
    }
EMULATE_BLEND(_mm512_mask_blend_epi16, __mmask32, uint16_t)
EMULATE_BLEND(_mm512_mask_blend_epi8, __mmask64, uint8_t)

/* ---- conversions ------------------------------------------------------------------------------ */

/* From the low lanes of the operand. */
EMULATE1(__m256i, _mm256_cvtepi8_epi32, __m128i, int32_t, int8_t, r[i] = a[i])
EMULATE1(__m256i, _mm256_cvtepu8_epi32, __m128i, int32_t, uint8_t, r[i] = a[i])
EMULATE1(__m256i, _mm256_cvtepi16_epi32, __m128i, int32_t, int16_t, r[i] = a[i])
EMULATE1(__m256i, _mm256_cvtepu16_epi32, __m128i, int32_t, uint16_t, r[i] = a[i])
EMULATE1(__m256i, _mm256_cvtepi8_epi16, __m128i, int16_t, int8_t, r[i] = a[i])
EMULATE1(__m256i, _mm256_cvtepu8_epi16, __m128i, int16_t, uint8_t, r[i] = a[i])
EMULATE1(__m512i, _mm512_cvtepi8_epi32, __m128i, int32_t, int8_t, r[i] = a[i])
EMULATE1(__m512i, _mm512_cvtepu8_epi32, __m128i, int32_t, uint8_t, r[i] = a[i])
EMULATE1(__m512i, _mm512_cvtepi16_epi32, __m256i, int32_t, int16_t, r[i] = a[i])
EMULATE1(__m512i, _mm512_cvtepu16_epi32, __m256i, int32_t, uint16_t, r[i] = a[i])
EMULATE1(__m512i, _mm512_cvtepi8_epi16, __m256i, int16_t, int8_t, r[i] = a[i])
EMULATE1(__m512i, _mm512_cvtepu8_epi16, __m256i, int16_t, uint8_t, r[i] = a[i])
/* Low bytes. */
EMULATE1(__m128i, _mm512_cvtepi32_epi8, __m512i, uint8_t, uint32_t, r[i] = (uint8_t)a[i])
EMULATE1(__m256i, _mm512_cvtepi16_epi8, __m512i, uint8_t, uint16_t, r[i] = (uint8_t)a[i])
/* Half to even, as the processor rounds unless it is told otherwise; NaN and what is out of range to the
 * smallest integer. */
EMULATE1(__m256i, _mm256_cvtps_epi32, __m256, int32_t, float,
         r[i] = a[i] >= -0x1p31f && a[i] < 0x1p31f ? (int32_t)rintf(a[i]) : INT32_MIN)
EMULATE1(__m512i, _mm512_cvtps_epi32, __m512, int32_t, float,
         r[i] = a[i] >= -0x1p31f && a[i] < 0x1p31f ? (int32_t)rintf(a[i]) : INT32_MIN)

/* Saturated, of every 128 bits first those of a, then those of b. */
#define EMULATE_PACK(vector, name, out, in, half, low, high)             \
    EMULATE2(vector, name, vector, out, in,                              \
             const in *const from = i % (2 * half) < half ? a : b;       \
             r[i] = (out)emulated_within(from[i / (2 * half) * half + i % half], low, high))
EMULATE_PACK(__m128i, _mm_packus_epi32, uint16_t, int32_t, 4, 0, 65535)
EMULATE_PACK(__m128i, _mm_packs_epi16, int8_t, int16_t, 8, -128, 127)
EMULATE_PACK(__m128i, _mm_packus_epi16, uint8_t, int16_t, 8, 0, 255)
EMULATE_PACK(__m256i, _mm256_packs_epi32, int16_t, int32_t, 4, -32768, 32767)
EMULATE_PACK(__m512i, _mm512_packs_epi32, int16_t, int32_t, 4, -32768, 32767)
EMULATE_PACK(__m256i, _mm256_packs_epi16, int8_t, int16_t, 8, -128, 127)
EMULATE_PACK(__m256i, _mm256_packus_epi16, uint8_t, int16_t, 8, 0, 255)
EMULATE_PACK(__m512i, _mm512_packs_epi16, int8_t, int16_t, 8, -128, 127)
EMULATE_PACK(__m512i, _mm512_packus_epi16, uint8_t, int16_t, 8, 0, 255)

/* Of every 128 bits (`all` elements) the lower or the upper half of a and b in turns. */
#define EMULATE_UNPACK(vector, name, type, all, upper) \
    EMULATE2(vector, name, vector, type, type, r[i] = (i % 2 ? b : a)[i / all * all + upper + i % all / 2])
EMULATE_UNPACK(__m128i, _mm_unpacklo_epi8, int8_t, 16, 0)
EMULATE_UNPACK(__m128i, _mm_unpackhi_epi8, int8_t, 16, 8)
EMULATE_UNPACK(__m256i, _mm256_unpacklo_epi8, int8_t, 16, 0)
EMULATE_UNPACK(__m256i, _mm256_unpackhi_epi8, int8_t, 16, 8)
EMULATE_UNPACK(__m512i, _mm512_unpacklo_epi8, int8_t, 16, 0)
EMULATE_UNPACK(__m512i, _mm512_unpackhi_epi8, int8_t, 16, 8)
EMULATE_UNPACK(__m256i, _mm256_unpacklo_epi16, int16_t, 8, 0)
EMULATE_UNPACK(__m256i, _mm256_unpackhi_epi16, int16_t, 8, 4)
EMULATE_UNPACK(__m512i, _mm512_unpacklo_epi16, int16_t, 8, 0)
EMULATE_UNPACK(__m512i, _mm512_unpackhi_epi16, int16_t, 8, 4)

/* ---- arithmetic ------------------------------------------------------------------------------- */

/* The second operand where one is NaN, and of two zeros. */
EMULATE2(__m256, _mm256_max_ps, __m256, float, float, r[i] = a[i] > b[i] ? a[i] : b[i])
EMULATE2(__m256, _mm256_min_ps, __m256, float, float, r[i] = a[i] < b[i] ? a[i] : b[i])
EMULATE2(__m512, _mm512_max_ps, __m512, float, float, r[i] = a[i] > b[i] ? a[i] : b[i])
EMULATE2(__m512, _mm512_min_ps, __m512, float, float, r[i] = a[i] < b[i] ? a[i] : b[i])
EMULATE2(__m128i, _mm_max_epi8, __m128i, int8_t, int8_t, r[i] = a[i] > b[i] ? a[i] : b[i])
EMULATE2(__m128i, _mm_max_epu8, __m128i, uint8_t, uint8_t, r[i] = a[i] > b[i] ? a[i] : b[i])
/* To whole numbers, half to even: the one way (8, without exceptions) that is emulated. */
EMULATE1(__m256, emulated_round_256, __m256, float, float, r[i] = rintf(a[i]))
EMULATE1(__m512, emulated_round_512, __m512, float, float, r[i] = rintf(a[i]))
#define EMULATED_NEAREST(how) ((void)sizeof(char[(how) == 8 ? 1 : -1]))
#define _mm256_round_ps(a, how) (EMULATED_NEAREST(how), emulated_round_256(a))
#define _mm512_roundscale_ps(a, how) (EMULATED_NEAREST(how), emulated_round_512(a))

EMULATE2(__m256i, _mm256_max_epi8, __m256i, int8_t, int8_t, r[i] = a[i] > b[i] ? a[i] : b[i])
EMULATE2(__m256i, _mm256_max_epu8, __m256i, uint8_t, uint8_t, r[i] = a[i] > b[i] ? a[i] : b[i])
EMULATE2(__m512i, _mm512_max_epi8, __m512i, int8_t, int8_t, r[i] = a[i] > b[i] ? a[i] : b[i])
EMULATE2(__m512i, _mm512_max_epu8, __m512i, uint8_t, uint8_t, r[i] = a[i] > b[i] ? a[i] : b[i])
EMULATE2(__m256i, _mm256_adds_epi16, __m256i, int16_t, int16_t,
         r[i] = (int16_t)emulated_within(a[i] + b[i], -32768, 32767))
EMULATE2(__m512i, _mm512_adds_epi16, __m512i, int16_t, int16_t,
         r[i] = (int16_t)emulated_within(a[i] + b[i], -32768, 32767))

/* Rounded once. */
EMULATE3(__m256, _mm256_fmadd_ps, __m256, __m256, float, float, float, r[i] = fmaf(a[i], b[i], c[i]))
EMULATE3(__m512, _mm512_fmadd_ps, __m512, __m512, float, float, float, r[i] = fmaf(a[i], b[i], c[i]))

/* VPMADDWD and VPDPWSSD: two int16 products a lane, modulo 2^32. */
#define EMULATED_WORDS(x, y, i) ((uint32_t)(x[2 * i] * y[2 * i]) + (uint32_t)(x[2 * i + 1] * y[2 * i + 1]))
EMULATE2(__m256i, _mm256_madd_epi16, __m256i, uint32_t, int16_t, r[i] = EMULATED_WORDS(a, b, i))
EMULATE2(__m512i, _mm512_madd_epi16, __m512i, uint32_t, int16_t, r[i] = EMULATED_WORDS(a, b, i))
EMULATE3(__m256i, _mm256_dpwssd_avx_epi32, __m256i, __m256i, uint32_t, int16_t, int16_t,
         r[i] = a[i] + EMULATED_WORDS(b, c, i))
EMULATE3(__m512i, _mm512_dpwssd_epi32, __m512i, __m512i, uint32_t, int16_t, int16_t,
         r[i] = a[i] + EMULATED_WORDS(b, c, i))

/* VPDPBUSD: four products of a uint8 and an int8 a lane, modulo 2^32. */
#define EMULATED_BYTES(x, y, i)                                                                     \
    ((uint32_t)(x[4 * i] * y[4 * i] + x[4 * i + 1] * y[4 * i + 1] + x[4 * i + 2] * y[4 * i + 2] + \
                x[4 * i + 3] * y[4 * i + 3]))
EMULATE3(__m256i, _mm256_dpbusd_avx_epi32, __m256i, __m256i, uint32_t, uint8_t, int8_t,
         r[i] = a[i] + EMULATED_BYTES(b, c, i))
EMULATE3(__m512i, _mm512_dpbusd_epi32, __m512i, __m512i, uint32_t, uint8_t, int8_t,
         r[i] = a[i] + EMULATED_BYTES(b, c, i))

#endif
