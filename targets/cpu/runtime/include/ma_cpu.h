/* What emitted layers for processors with vectors share: vector types, and the few operations that
 * differ between processors. Written for gcc and clang, in their vector types; belongs to you like all other files of the project.
 */
#ifndef MA_CPU_H
#define MA_CPU_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "ma_cpu_guard.h"

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

/* ---- vectors ------------------------------------------------------------------------------- */

#if defined(__AVX512BW__)
#define MA_VECTOR_BYTES 64
#define MA_AVX512 1
#define MA_AVX2 1
#elif defined(__AVX2__)
#define MA_VECTOR_BYTES 32
#define MA_AVX2 1
#elif defined(__riscv_vector)
#define MA_VECTOR_BYTES (__riscv_v_min_vlen / 8)
#elif defined(__riscv) && __riscv_xlen == 32
#define MA_VECTOR_BYTES 4
#else
#define MA_VECTOR_BYTES 16
#endif
#ifndef MA_AVX512
#define MA_AVX512 0
#endif
#ifndef MA_AVX2
#define MA_AVX2 0
#endif
#define MA_LANES (MA_VECTOR_BYTES / 4)

typedef int32_t ma_i32 __attribute__((vector_size(MA_VECTOR_BYTES)));
typedef uint32_t ma_u32 __attribute__((vector_size(MA_VECTOR_BYTES)));
typedef float ma_f32 __attribute__((vector_size(MA_VECTOR_BYTES)));
typedef int16_t ma_i16 __attribute__((vector_size(MA_VECTOR_BYTES)));
typedef int8_t ma_i8 __attribute__((vector_size(MA_VECTOR_BYTES)));
/* As many narrow elements as a vector has lanes. */
typedef int16_t ma_half __attribute__((vector_size(MA_VECTOR_BYTES / 2)));
typedef int8_t ma_quarter __attribute__((vector_size(MA_VECTOR_BYTES / 4)));
/* As many bytes as two vectors have lanes. */
typedef int8_t ma_pair_i8 __attribute__((vector_size(MA_VECTOR_BYTES / 2)));
typedef uint8_t ma_pair_u8 __attribute__((vector_size(MA_VECTOR_BYTES / 2)));

#define MA_INLINE static inline __attribute__((always_inline))

/* The line of the second cache that `address` lies in, asked for ahead of its use. */
#define ma_fetch(address) __builtin_prefetch((address), 0, 2)

/* Memory need not be aligned. */
MA_INLINE ma_u32 ma_load_u32(const void *p)
{
    ma_u32 v;
    memcpy(&v, p, sizeof v);
    return v;
}

MA_INLINE ma_f32 ma_load_f32(const void *p)
{
    ma_f32 v;
    memcpy(&v, p, sizeof v);
    return v;
}

MA_INLINE ma_i16 ma_load_i16(const void *p)
{
    ma_i16 v;
    memcpy(&v, p, sizeof v);
    return v;
}

MA_INLINE ma_i8 ma_load_i8(const void *p)
{
    ma_i8 v;
    memcpy(&v, p, sizeof v);
    return v;
}

MA_INLINE void ma_store_u32(void *p, ma_u32 v)
{
    memcpy(p, &v, sizeof v);
}

MA_INLINE void ma_store_f32(void *p, ma_f32 v)
{
    memcpy(p, &v, sizeof v);
}

MA_INLINE ma_f32 ma_splat_f32(float v)
{
    return (ma_f32){0} + v;
}

/* The four bytes at p in every lane. */
MA_INLINE ma_u32 ma_splat_bytes(const void *p)
{
    uint32_t v;
    memcpy(&v, p, sizeof v);
    return (ma_u32){0} + v;
}

/* Lanes of 32 bits from bytes and int16 in memory. In intrinsics on x86, since gcc before 13 converts
 * short vectors one element after the other. */
MA_INLINE ma_u32 ma_widen_i8(const int8_t *p)
{
#if MA_AVX512
    return (ma_u32)_mm512_cvtepi8_epi32(_mm_loadu_si128((const __m128i *)(const void *)p));
#elif MA_AVX2
    return (ma_u32)_mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i *)(const void *)p));
#else
    ma_quarter v;
    memcpy(&v, p, sizeof v);
    return (ma_u32)__builtin_convertvector(v, ma_i32);
#endif
}

MA_INLINE ma_u32 ma_widen_u8(const uint8_t *p)
{
#if MA_AVX512
    return (ma_u32)_mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)(const void *)p));
#elif MA_AVX2
    return (ma_u32)_mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)(const void *)p));
#else
    typedef uint8_t bytes __attribute__((vector_size(MA_VECTOR_BYTES / 4)));
    bytes v;
    memcpy(&v, p, sizeof v);
    return __builtin_convertvector(v, ma_u32);
#endif
}

MA_INLINE ma_u32 ma_widen_i16(const int16_t *p)
{
#if MA_AVX512
    return (ma_u32)_mm512_cvtepi16_epi32(_mm256_loadu_si256((const __m256i *)(const void *)p));
#elif MA_AVX2
    return (ma_u32)_mm256_cvtepi16_epi32(_mm_loadu_si128((const __m128i *)(const void *)p));
#else
    ma_half v;
    memcpy(&v, p, sizeof v);
    return (ma_u32)__builtin_convertvector(v, ma_i32);
#endif
}

/* The compiler knows nothing of `v` behind this. It may not reorder sums across it: gcc would, and
 * spill what it then holds. And it may not look into saturating packs: gcc 12 takes their 256 and 512
 * bits for one operand behind the other, which they are not, and the unsigned ones for truncations of
 * unsigned numbers, so that it computes a part of a result wrong where only that part is read. */
#if defined(MA_EMULATED)
#define MA_KEEP(v) ((void)0)
#elif defined(__AVX512F__)
#define MA_KEEP(v) __asm__("" : "+v"(v))
#elif defined(__x86_64__)
#define MA_KEEP(v) __asm__("" : "+x"(v))
#elif defined(__aarch64__)
#define MA_KEEP(v) __asm__("" : "+w"(v))
#else
#define MA_KEEP(v) ((void)0)
#endif

/* The compiler takes what lies at `p` for unread. gcc would keep what one step of a loop reads for the next one's
 * neighbour in general registers, spill these, and move every element from there to a vector. */
#if defined(MA_EMULATED)
#define MA_UNREAD(p) ((void)0)
#else
#define MA_UNREAD(p) __asm__("" : "+r"(p))
#endif

/* ---- sums of products, exact modulo 2^32 ------------------------------------------------------ */

/* Functions that sum products, and they only, are compiled for VNNI: gcc 12 takes its instructions in
 * plain C too, and there multiplies (x - 128) * w of an unsigned x and a signed w by wrong bytes. */
#if defined(MA_EMULATED)
#define MA_DOTS
#elif defined(MA_AVX512_VNNI)
#define MA_DOTS __attribute__((target("avx512vnni")))
#elif defined(MA_AVX_VNNI)
#define MA_DOTS __attribute__((target("avxvnni")))
#else
#define MA_DOTS
#endif

/* Two int16 products a lane: acc + a[0] * w[0] + a[1] * w[1]. */
MA_DOTS MA_INLINE ma_u32 ma_dot2(ma_u32 acc, ma_i16 a, ma_i16 w)
{
#if MA_AVX512 && defined(MA_AVX512_VNNI)
    return (ma_u32)_mm512_dpwssd_epi32((__m512i)acc, (__m512i)a, (__m512i)w);
#elif MA_AVX512
    acc += (ma_u32)_mm512_madd_epi16((__m512i)a, (__m512i)w);
    MA_KEEP(acc);
    return acc;
#elif MA_AVX2 && defined(MA_AVX_VNNI)
    return (ma_u32)_mm256_dpwssd_avx_epi32((__m256i)acc, (__m256i)a, (__m256i)w);
#elif MA_AVX2
    acc += (ma_u32)_mm256_madd_epi16((__m256i)a, (__m256i)w);
    MA_KEEP(acc);
    return acc;
#else
    const ma_i32 a0 = (ma_i32)((ma_u32)a << 16) >> 16, w0 = (ma_i32)((ma_u32)w << 16) >> 16;
    const ma_u32 even = (ma_u32)a0 * (ma_u32)w0;
    return acc + even + (ma_u32)((ma_i32)a >> 16) * (ma_u32)((ma_i32)w >> 16);
#endif
}

/* Sixteen int16, or as many as a vector holds, from int8. */
MA_INLINE ma_i16 ma_widen_pairs(const int8_t *p)
{
#if MA_AVX512
    return (ma_i16)_mm512_cvtepi8_epi16(_mm256_loadu_si256((const __m256i *)(const void *)p));
#elif MA_AVX2
    return (ma_i16)_mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)(const void *)p));
#else
    typedef int8_t bytes __attribute__((vector_size(MA_VECTOR_BYTES / 2)));
    bytes v;
    memcpy(&v, p, sizeof v);
    return __builtin_convertvector(v, ma_i16);
#endif
}

#if defined(MA_AVX512_VNNI) || defined(MA_AVX_VNNI) || defined(__ARM_FEATURE_DOTPROD)
/* Four products a lane, of uint8 in `a` by int8 in `w` (x86), or of int8 by int8 (AArch64). */
MA_DOTS MA_INLINE ma_u32 ma_dot4(ma_u32 acc, ma_u32 a, ma_i8 w)
{
#if MA_AVX512
    return (ma_u32)_mm512_dpbusd_epi32((__m512i)acc, (__m512i)a, (__m512i)w);
#elif MA_AVX2
    return (ma_u32)_mm256_dpbusd_avx_epi32((__m256i)acc, (__m256i)a, (__m256i)w);
#else
    return (ma_u32)vdotq_s32((int32x4_t)acc, (int8x16_t)a, (int8x16_t)w);
#endif
}
#endif

/* ---- from sums to bytes ----------------------------------------------------------------------- */

MA_INLINE ma_f32 ma_max(ma_f32 a, ma_f32 b)
{
    /* b where one of them is NaN, as the scalar a > b ? a : b. */
#if MA_AVX512
    return (ma_f32)_mm512_max_ps((__m512)a, (__m512)b);
#elif MA_AVX2
    return (ma_f32)_mm256_max_ps((__m256)a, (__m256)b);
#else
    const ma_i32 mask = a > b;
    return (ma_f32)(((ma_i32)a & mask) | ((ma_i32)b & ~mask));
#endif
}

MA_INLINE ma_f32 ma_min(ma_f32 a, ma_f32 b)
{
#if MA_AVX512
    return (ma_f32)_mm512_min_ps((__m512)a, (__m512)b);
#elif MA_AVX2
    return (ma_f32)_mm256_min_ps((__m256)a, (__m256)b);
#else
    const ma_i32 mask = a < b;
    return (ma_f32)(((ma_i32)a & mask) | ((ma_i32)b & ~mask));
#endif
}

/* rint of steps in [low, high] plus `zero`; the bounds are whole and within 2^22. Adding 1.5 * 2^23
 * leaves the integer, rounded half to even, in the low bits. */
MA_INLINE ma_i32 ma_round(ma_f32 steps, float low, float high, int32_t zero)
{
    const ma_f32 inside = ma_min(ma_max(steps, ma_splat_f32(low)), ma_splat_f32(high));
    return (ma_i32)(inside + 0x1.8p+23f) + (zero - 0x4b400000);
}

/* Low bytes of all lanes. */
MA_INLINE void ma_store_bytes(void *y, ma_i32 v)
{
#if MA_AVX512
    _mm_storeu_si128((__m128i *)y, _mm512_cvtepi32_epi8((__m512i)v));
#elif MA_AVX2
    const __m256i low = _mm256_and_si256((__m256i)v, _mm256_set1_epi32(255));
    __m128i words = _mm_packus_epi32(_mm256_castsi256_si128(low), _mm256_extracti128_si256(low, 1));
    MA_KEEP(words);
    __m128i bytes = _mm_packus_epi16(words, words);
    MA_KEEP(bytes);
    _mm_storel_epi64((__m128i *)y, bytes);
#else
    const ma_quarter bytes = __builtin_convertvector(v, ma_quarter);
    memcpy(y, &bytes, sizeof bytes);
#endif
}

/* y = clip(rint(steps) + zero, lo, hi) of one vector, a byte each; `low` and `high` are the bounds
 * less `zero`. */
MA_INLINE void ma_store_steps(void *y, ma_f32 steps, float low, float high, int32_t zero)
{
    ma_store_bytes(y, ma_round(steps, low, high, zero));
}

/* The same of two vectors: where `form` is MA_SIDE_BY_SIDE to y and behind it, where MA_WOVEN so
 * too, from vectors in the order of ma_weave_low and ma_weave_high, where MA_TWO_PLACES to y and to z.
 * Bytes are int8 where `is_signed`, else uint8. */
enum { MA_SIDE_BY_SIDE, MA_WOVEN, MA_TWO_PLACES, MA_FOUR_PLACES };
MA_INLINE void ma_store_steps2(void *y, void *z, ma_f32 a, ma_f32 b, float low, float high, int32_t zero, int32_t lo,
                               int is_signed, int form)
{
#if MA_AVX2 && !MA_AVX512
    /* Out of range converts to INT32_MIN, NaN too (MINPS gives its second
     * operand then), and saturates to lo; only `high` needs a test. */
    const __m256 top = _mm256_set1_ps(high);
    const __m256i ra = _mm256_cvtps_epi32(_mm256_min_ps(top, (__m256)a));
    const __m256i rb = _mm256_cvtps_epi32(_mm256_min_ps(top, (__m256)b));
    __m256i words = _mm256_packs_epi32(ra, rb);
    MA_KEEP(words);
    words = _mm256_adds_epi16(words, _mm256_set1_epi16((short)zero));
    const __m128i l = _mm256_castsi256_si128(words), h = _mm256_extracti128_si256(words, 1);
    __m128i bytes = is_signed ? _mm_packs_epi16(l, h) : _mm_packus_epi16(l, h);
    MA_KEEP(bytes);
    if (is_signed && lo > -128) {
        bytes = _mm_max_epi8(bytes, _mm_set1_epi8((char)lo));
    } else if (!is_signed && lo > 0) {
        bytes = _mm_max_epu8(bytes, _mm_set1_epi8((char)lo));
    }
    if (form != MA_WOVEN) {
        bytes = _mm_shuffle_epi32(bytes, 0xd8);
    }
    if (form == MA_TWO_PLACES) {
        const int64_t first = _mm_cvtsi128_si64(bytes), second = _mm_extract_epi64(bytes, 1);
        memcpy(y, &first, sizeof first);
        memcpy(z, &second, sizeof second);
    } else {
        _mm_storeu_si128((__m128i *)y, bytes);
    }
    (void)low;
#else
    const ma_i32 ra = ma_round(a, low, high, zero), rb = ma_round(b, low, high, zero);
#if MA_AVX512
    if (form == MA_WOVEN) {
        __m512i words = _mm512_packs_epi32((__m512i)ra, (__m512i)rb);
        MA_KEEP(words);
        _mm256_storeu_si256((__m256i *)y, _mm512_cvtepi16_epi8(words));
        return;
    }
#endif
    ma_store_bytes(y, ra);
    ma_store_bytes(form == MA_TWO_PLACES ? z : (uint8_t *)y + MA_LANES, rb);
    (void)lo;
    (void)is_signed;
#endif
}

/* The same of four vectors: where `form` is MA_SIDE_BY_SIDE to y and behind it, where MA_WOVEN so too, from
 * vectors in the order of ma_weave_bytes and ma_weave, where MA_TWO_PLACES two to y and two `apart` bytes behind
 * it, where MA_FOUR_PLACES each so far behind the one before. */
MA_INLINE void ma_store_steps4(void *y, ptrdiff_t apart, const ma_f32 *steps, float low, float high, int32_t zero,
                               int32_t lo, int is_signed, int form)
{
    uint8_t *const to = (uint8_t *)y;
#if MA_AVX2
    /* Steps below int32 convert to INT32_MIN, NaN too (MINPS gives its second operand then), and saturate
     * to `lo`; only `high` needs a test. Packs leave four bytes of every vector in turns. */
    static const int32_t in_turns[16] = {0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15};
    static const int32_t in_turns_of_8[8] = {0, 4, 1, 5, 2, 6, 3, 7};
#if MA_AVX512
    __m512i r[4], order;
    for (int i = 0; i < 4; ++i) {
        r[i] = _mm512_cvtps_epi32(_mm512_min_ps((__m512)ma_splat_f32(high), (__m512)steps[i]));
    }
    const __m512i more = _mm512_set1_epi16((short)zero);
    __m512i l = _mm512_packs_epi32(r[0], r[1]), h = _mm512_packs_epi32(r[2], r[3]);
    MA_KEEP(l);
    MA_KEEP(h);
    l = _mm512_adds_epi16(l, more);
    h = _mm512_adds_epi16(h, more);
    __m512i bytes = is_signed ? _mm512_packs_epi16(l, h) : _mm512_packus_epi16(l, h);
    MA_KEEP(bytes);
    if (is_signed && lo > -128) {
        bytes = _mm512_max_epi8(bytes, _mm512_set1_epi8((char)lo));
    } else if (!is_signed && lo > 0) {
        bytes = _mm512_max_epu8(bytes, _mm512_set1_epi8((char)lo));
    }
    if (form != MA_WOVEN) {
        memcpy(&order, in_turns, sizeof order);
        bytes = _mm512_permutexvar_epi32(order, bytes);
    }
    (void)in_turns_of_8;
#else
    __m256i r[4], order;
    for (int i = 0; i < 4; ++i) {
        r[i] = _mm256_cvtps_epi32(_mm256_min_ps((__m256)ma_splat_f32(high), (__m256)steps[i]));
    }
    const __m256i more = _mm256_set1_epi16((short)zero);
    __m256i l = _mm256_packs_epi32(r[0], r[1]), h = _mm256_packs_epi32(r[2], r[3]);
    MA_KEEP(l);
    MA_KEEP(h);
    l = _mm256_adds_epi16(l, more);
    h = _mm256_adds_epi16(h, more);
    __m256i bytes = is_signed ? _mm256_packs_epi16(l, h) : _mm256_packus_epi16(l, h);
    MA_KEEP(bytes);
    if (is_signed && lo > -128) {
        bytes = _mm256_max_epi8(bytes, _mm256_set1_epi8((char)lo));
    } else if (!is_signed && lo > 0) {
        bytes = _mm256_max_epu8(bytes, _mm256_set1_epi8((char)lo));
    }
    if (form != MA_WOVEN) {
        memcpy(&order, in_turns_of_8, sizeof order);
        bytes = _mm256_permutevar8x32_epi32(bytes, order);
    }
    (void)in_turns;
#endif
    if (form == MA_SIDE_BY_SIDE || form == MA_WOVEN) {
        memcpy(to, &bytes, sizeof bytes);
        return;
    }
#if MA_AVX512
    const __m256i first = _mm512_castsi512_si256(bytes), second = _mm512_extracti64x4_epi64(bytes, 1);
    if (form == MA_TWO_PLACES) {
        _mm256_storeu_si256((__m256i *)(void *)to, first);
        _mm256_storeu_si256((__m256i *)(void *)(to + apart), second);
        return;
    }
    _mm_storeu_si128((__m128i *)(void *)to, _mm256_castsi256_si128(first));
    _mm_storeu_si128((__m128i *)(void *)(to + apart), _mm256_extracti128_si256(first, 1));
    _mm_storeu_si128((__m128i *)(void *)(to + 2 * apart), _mm256_castsi256_si128(second));
    _mm_storeu_si128((__m128i *)(void *)(to + 3 * apart), _mm256_extracti128_si256(second, 1));
#else
    const __m128i first = _mm256_castsi256_si128(bytes), second = _mm256_extracti128_si256(bytes, 1);
    if (form == MA_TWO_PLACES) {
        _mm_storeu_si128((__m128i *)(void *)to, first);
        _mm_storeu_si128((__m128i *)(void *)(to + apart), second);
        return;
    }
    const int64_t parts[4] = {_mm_cvtsi128_si64(first), _mm_extract_epi64(first, 1), _mm_cvtsi128_si64(second),
                              _mm_extract_epi64(second, 1)};
    for (int i = 0; i < 4; ++i) {
        memcpy(to + i * apart, &parts[i], sizeof parts[i]);
    }
#endif
    (void)low;
#else
    if (form == MA_FOUR_PLACES) {
        ma_store_steps2(to, to + apart, steps[0], steps[1], low, high, zero, lo, is_signed, MA_TWO_PLACES);
        ma_store_steps2(to + 2 * apart, to + 3 * apart, steps[2], steps[3], low, high, zero, lo, is_signed, MA_TWO_PLACES);
        return;
    }
    uint8_t *const behind = form == MA_TWO_PLACES ? to + apart : to + 2 * MA_LANES;
    ma_store_steps2(to, NULL, steps[0], steps[1], low, high, zero, lo, is_signed, MA_SIDE_BY_SIDE);
    ma_store_steps2(behind, NULL, steps[2], steps[3], low, high, zero, lo, is_signed, MA_SIDE_BY_SIDE);
#endif
}

/* Steps from sums: float(sum) * scale. */
MA_INLINE ma_f32 ma_scaled(ma_u32 sum, ma_f32 scale)
{
    return __builtin_convertvector((ma_i32)sum, ma_f32) * scale;
}

/* float(x - zero) * scale of bytes. */
MA_INLINE ma_f32 ma_real_i8(const int8_t *x, int32_t zero, float scale)
{
    return __builtin_convertvector((ma_i32)ma_widen_i8(x) - zero, ma_f32) * scale;
}

MA_INLINE ma_f32 ma_real_u8(const uint8_t *x, int32_t zero, float scale)
{
    return __builtin_convertvector((ma_i32)ma_widen_u8(x) - zero, ma_f32) * scale;
}

/* Steps of a result that is not stored: rint of `steps` in [low, high], which are whole and within 2^22. */
MA_INLINE ma_f32 ma_whole_steps(ma_f32 steps, float low, float high)
{
    const ma_f32 inside = ma_min(ma_max(steps, ma_splat_f32(low)), ma_splat_f32(high));
#if MA_AVX512
    return (ma_f32)_mm512_roundscale_ps((__m512)inside, 8); /* to the nearest, halves to even */
#elif MA_AVX2
    return (ma_f32)_mm256_round_ps((__m256)inside, 8);
#elif defined(__aarch64__)
    return (ma_f32)vrndnq_f32((float32x4_t)inside);
#else
    return inside + 0x1.8p+23f - 0x1.8p+23f;
#endif
}

/* a * b + c, rounded once where the processor can; layers that ask for it were proven right so. */
MA_INLINE ma_f32 ma_fused(ma_f32 a, ma_f32 b, ma_f32 c)
{
#if MA_AVX512
    return (ma_f32)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
#elif MA_AVX2
    return (ma_f32)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
#elif defined(__aarch64__)
    return (ma_f32)vfmaq_f32((float32x4_t)c, (float32x4_t)a, (float32x4_t)b);
#else
    return a * b + c;
#endif
}

/* Bytes as they are. */
MA_INLINE ma_f32 ma_float_i8(const int8_t *x)
{
    return __builtin_convertvector((ma_i32)ma_widen_i8(x), ma_f32);
}

MA_INLINE ma_f32 ma_float_u8(const uint8_t *x)
{
    return __builtin_convertvector((ma_i32)ma_widen_u8(x), ma_f32);
}

/* Bytes of two vectors of lanes: the larger and the smaller of each. gcc 12 finds no instruction for the larger
 * of unsigned ones. */
#if MA_AVX512
#define MA_LARGER(a, b, above, instruction) _mm256_max_##instruction((__m256i)(a), (__m256i)(b))
#elif MA_AVX2
#define MA_LARGER(a, b, above, instruction) _mm_max_##instruction((__m128i)(a), (__m128i)(b))
#else
#define MA_LARGER(a, b, above, instruction) (((a) & (above)) | ((b) & ~(above)))
#endif
#define MA_BYTE_PAIRS(name, type, pair, instruction)                       \
    MA_INLINE pair ma_load_##name(const type *p)                           \
    {                                                                      \
        pair v;                                                            \
        memcpy(&v, p, sizeof v);                                           \
        return v;                                                          \
    }                                                                      \
    MA_INLINE pair ma_splat_##name(type v)                                 \
    {                                                                      \
        return (pair){0} + v;                                              \
    }                                                                      \
    MA_INLINE pair ma_larger_##name(pair a, pair b)                        \
    {                                                                      \
        const pair above = (pair)(a > b);                                  \
        (void)above;                                                       \
        return (pair)MA_LARGER(a, b, above, instruction);                  \
    }                                                                      \
    MA_INLINE pair ma_smaller_##name(pair a, pair b)                       \
    {                                                                      \
        const pair mask = (pair)(a < b);                                   \
        return (a & mask) | (b & ~mask);                                   \
    }
MA_BYTE_PAIRS(pair_i8, int8_t, ma_pair_i8, epi8)
MA_BYTE_PAIRS(pair_u8, uint8_t, ma_pair_u8, epu8)

/* ---- functions of bytes, by a table of all 256 ---------------------------------------------------- */

#if MA_AVX512
/* The entry of the low byte of every word, in the low byte, something above: pairs of entries are looked
 * up in both halves of the table, one is kept, and its right byte is shifted down. */
MA_INLINE __m512i ma_entries(const __m512i *table, __m512i words)
{
    const __m512i pair = _mm512_srli_epi16(words, 1);
    const __m512i low = _mm512_permutex2var_epi16(table[0], pair, table[1]);
    const __m512i high = _mm512_permutex2var_epi16(table[2], pair, table[3]);
    const __mmask32 upper = _mm512_test_epi16_mask(words, _mm512_set1_epi16(0x80));
    const __m512i down = _mm512_and_si512(_mm512_slli_epi16(words, 3), _mm512_set1_epi16(8));
    return _mm512_srlv_epi16(_mm512_mask_blend_epi16(upper, low, high), down);
}
#elif MA_AVX2
/* Entries of one sixteenth of the table, of every byte's low four bits. */
MA_INLINE __m256i ma_entries1(const uint8_t *table, __m256i bytes)
{
    __m128i row;
    memcpy(&row, table, sizeof row);
    const __m256i low = _mm256_and_si256(bytes, _mm256_set1_epi8(15));
    return _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(row), low);
}

/* Of `count` sixteenths: of either half of them, by one more bit, which is shifted to the top. */
#define MA_ENTRIES(count, half, shift)                                                  \
    MA_INLINE __m256i ma_entries##count(const uint8_t *table, __m256i bytes)            \
    {                                                                                   \
        const __m256i low = ma_entries##half(table, bytes);                             \
        const __m256i high = ma_entries##half(table + 16 * half, bytes);                \
        return _mm256_blendv_epi8(low, high, _mm256_slli_epi16(bytes, shift));          \
    }
MA_ENTRIES(2, 1, 3)
MA_ENTRIES(4, 2, 2)
MA_ENTRIES(8, 4, 1)
MA_ENTRIES(16, 8, 0)
#endif

/* y[i] = table[x[i]] of `count` bytes. */
MA_INLINE void ma_look_up(const void *table, const void *x, void *y, int32_t count)
{
    const uint8_t *const entries = (const uint8_t *)table, *const from = (const uint8_t *)x;
    uint8_t *const to = (uint8_t *)y;
    int32_t i = 0;
#if MA_AVX512
    __m512i all[4];
    memcpy(all, entries, sizeof all);
    for (; i + 64 <= count; i += 64) {
        __m512i bytes;
        memcpy(&bytes, from + i, sizeof bytes);
        const __m512i even = ma_entries(all, bytes), odd = ma_entries(all, _mm512_srli_epi16(bytes, 8));
        bytes = _mm512_mask_blend_epi8(0xaaaaaaaaaaaaaaaau, even, _mm512_slli_epi16(odd, 8));
        memcpy(to + i, &bytes, sizeof bytes);
    }
#elif MA_AVX2
    for (; i + 32 <= count; i += 32) {
        __m256i bytes;
        memcpy(&bytes, from + i, sizeof bytes);
        bytes = ma_entries16(entries, bytes);
        memcpy(to + i, &bytes, sizeof bytes);
    }
#elif defined(__aarch64__)
    uint8x16x4_t all[4]; /* of what lies beyond 64 entries the instructions give 0, or keep what was */
    memcpy(all, entries, sizeof all);
    for (; i + 16 <= count; i += 16) {
        uint8x16_t bytes;
        memcpy(&bytes, from + i, sizeof bytes);
        uint8x16_t found = vqtbl4q_u8(all[0], bytes);
        for (int part = 1; part < 4; ++part) {
            found = vqtbx4q_u8(found, all[part], bytes - (uint8_t)(64 * part));
        }
        memcpy(to + i, &found, sizeof found);
    }
#endif
    for (; i < count; ++i) {
        to[i] = entries[from[i]];
    }
}

/* ---- rows side by side ------------------------------------------------------------------------------ */

#if MA_AVX512
/* Of 16 rows of bytes 16 columns, each behind the one before; a line is what lies between two rows, or two
 * columns. Weaving the first eight with the last eight four times turns them. */
MA_INLINE void ma_turn_bytes(void *to, ptrdiff_t to_line, const void *from, ptrdiff_t from_line)
{
    __m128i a[16], b[16];
    for (int i = 0; i < 16; ++i) {
        a[i] = _mm_loadu_si128((const __m128i *)(const void *)((const uint8_t *)from + i * from_line));
    }
    for (int step = 0; step < 4; ++step) {
        for (int i = 0; i < 8; ++i) {
            b[2 * i] = _mm_unpacklo_epi8(a[i], a[i + 8]);
            b[2 * i + 1] = _mm_unpackhi_epi8(a[i], a[i + 8]);
        }
        memcpy(a, b, sizeof a);
    }
    for (int i = 0; i < 16; ++i) {
        _mm_storeu_si128((__m128i *)(void *)((uint8_t *)to + i * to_line), a[i]);
    }
}

/* Entries of a table of `pairs` pairs of vectors, by lanes; 0 beyond it. */
MA_INLINE ma_f32 ma_float_entries(const ma_f32 *table, int32_t pairs, ma_i32 at)
{
    ma_i32 found = {0};
    for (int32_t p = 0; p < pairs; ++p) {
        const ma_i32 seen = (ma_i32)_mm512_permutex2var_epi32((__m512i)table[2 * p], (__m512i)at, (__m512i)table[2 * p + 1]);
        const ma_i32 there = at >> 5 == p;
        found |= seen & there;
    }
    return (ma_f32)found;
}

/* Of 16 rows of a softmax, side by side in lanes: of every byte the entry of what it is less than the row's most,
 * and their sum, in the order of the columns. `turned` and `e` have room for whole sixteens of
 * columns, `flip` is 128 for signed bytes. */
MA_INLINE ma_f32 ma_softmax_entries(float *e, uint8_t *turned, const void *x, int32_t columns, const float *table,
                                    int32_t pairs, int32_t flip)
{
    const uint8_t *const from = (const uint8_t *)x;
    const int32_t whole = columns / 16 * 16;
    for (int32_t c = 0; c < whole; c += 16) {
        ma_turn_bytes(turned + c * 16, 16, from + c, columns);
    }
    if (whole < columns) {
        uint8_t last[256] = {0};
        for (int32_t i = 0; i < 16; ++i) {
            memcpy(last + 16 * i, from + i * columns + whole, (size_t)(columns - whole));
        }
        ma_turn_bytes(turned + whole * 16, 16, last, 16);
    }
    const __m128i sign = _mm_set1_epi8((char)flip);
    __m128i most = {0, 0};
    for (int32_t c = 0; c < columns; ++c) {
        most = _mm_max_epu8(most, _mm_loadu_si128((const __m128i *)(const void *)(turned + c * 16)) ^ sign);
    }
    ma_f32 entries[16], total = {0};
    memcpy(entries, table, sizeof *entries * 2 * (size_t)pairs);
    const ma_i32 largest = (ma_i32)_mm512_cvtepu8_epi32(most);
    for (int32_t c = 0; c < columns; ++c) {
        const __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)(turned + c * 16)) ^ sign;
        const ma_f32 one = ma_float_entries(entries, pairs, largest - (ma_i32)_mm512_cvtepu8_epi32(bytes));
        ma_store_f32(e + c * 16, one);
        total += one;
    }
    return total;
}

/* The other way: 16 rows of `columns` bytes from columns of 16. */
MA_INLINE void ma_turn_back(void *y, const uint8_t *turned, int32_t columns)
{
    uint8_t *const to = (uint8_t *)y;
    const int32_t whole = columns / 16 * 16;
    for (int32_t c = 0; c < whole; c += 16) {
        ma_turn_bytes(to + c, columns, turned + c * 16, 16);
    }
    if (whole < columns) {
        uint8_t last[256];
        ma_turn_bytes(last, 16, turned + whole * 16, 16);
        for (int32_t i = 0; i < 16; ++i) {
            memcpy(to + i * columns + whole, last + 16 * i, (size_t)(columns - whole));
        }
    }
}
#endif

/* ---- 3x3 filters with fewer products ------------------------------------------------------------- */

typedef uint16_t ma_u16 __attribute__((vector_size(MA_VECTOR_BYTES)));

/* Two vectors' lanes of int16 from bytes, modulo 2^16. */
MA_INLINE ma_u16 ma_words_i8(const int8_t *p)
{
    return (ma_u16)ma_widen_pairs(p);
}

MA_INLINE ma_u16 ma_words_u8(const uint8_t *p)
{
#if MA_AVX512
    return (ma_u16)_mm512_cvtepu8_epi16(_mm256_loadu_si256((const __m256i *)(const void *)p));
#elif MA_AVX2
    return (ma_u16)_mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i *)(const void *)p));
#else
    ma_pair_u8 v;
    memcpy(&v, p, sizeof v);
    return __builtin_convertvector(v, ma_u16);
#endif
}

MA_INLINE void ma_store_u16(void *p, ma_u16 v)
{
    memcpy(p, &v, sizeof v);
}

/* Winograd's F(2, 3), of four neighbours: data on their way to products, and products to two sums, each
 * twice as large as it is. */
MA_INLINE void ma_winograd2_data(const ma_u16 *d, ma_u16 *v)
{
    v[0] = d[0] - d[2];
    v[1] = d[1] + d[2];
    v[2] = d[2] - d[1];
    v[3] = d[1] - d[3];
}

MA_INLINE void ma_winograd2_sums(const ma_u32 *m, ma_u32 *s)
{
    s[0] = m[0] + m[1] + m[2];
    s[1] = m[1] - m[2] - m[3];
}

/* The same of F(4, 3): six neighbours, four sums, each 24 times as large as it is. */
MA_INLINE void ma_winograd4_data(const ma_u16 *d, ma_u16 *v)
{
    const ma_u16 near = d[4] - d[2], a = d[4] - (d[2] << 2), b = d[3] - (d[1] << 2);
    const ma_u16 far = d[3] - d[1], twice = far + far;
    v[0] = ((d[0] - d[2]) << 2) + near;
    v[1] = a + b;
    v[2] = a - b;
    v[3] = near + twice;
    v[4] = near - twice;
    v[5] = d[5] - d[3] - (twice + twice);
}

MA_INLINE void ma_winograd4_sums(const ma_u32 *m, ma_u32 *s)
{
    const ma_u32 a = m[1] + m[2], b = m[1] - m[2], c = m[3] + m[4], d = m[3] - m[4];
    s[0] = m[0] + a + c;
    s[1] = b + (d + d);
    s[2] = a + (c << 2);
    s[3] = b + (d << 3) + (m[5] + m[5]);
}

/* From 24 * 24 times a sum to 64 times it, modulo 2^32: a ninth is a factor there. */
MA_INLINE ma_u32 ma_winograd4_last(ma_u32 s)
{
    return s * 0x38e38e39u;
}

MA_INLINE ma_u32 ma_winograd2_last(ma_u32 s)
{
    return s;
}

/* ---- norms of rows of bytes --------------------------------------------------------------------- */

/* The sum of all lanes, modulo 2^32. */
MA_INLINE uint32_t ma_total_u32(ma_u32 v)
{
    uint32_t lanes[MA_LANES];
    memcpy(lanes, &v, sizeof lanes);
    for (int32_t half = MA_LANES / 2; half > 0; half /= 2) {
        for (int32_t i = 0; i < half; ++i) {
            lanes[i] += lanes[i + half];
        }
    }
    return lanes[0];
}

/* Of a row of up to 2^16 bytes: their sum, and that of their squares, exact. Rows that end within a
 * step are as if they went on with zeros. */
#define MA_ROW_SUMS(name, type)                                                              \
    MA_DOTS MA_INLINE void ma_sums_##name(const type *x, int32_t n, int64_t *sum, int64_t *squares) \
    {                                                                                        \
        const int32_t step = 4 * MA_LANES, whole = n - n % step;                             \
        const ma_i16 one = (ma_i16){0} + 1;                                                  \
        ma_u32 s[2] = {{0}}, q[2] = {{0}};                                                   \
        type last[4 * MA_LANES] = {0};                                                       \
        memcpy(last, x + whole, (size_t)(n - whole));                                        \
        for (int32_t i = 0; i < n; i += step) {                                              \
            const type *const from = i < whole ? x + i : last;                               \
            for (int32_t j = 0; j < 2; ++j) {                                                \
                const ma_i16 words = (ma_i16)ma_words_##name(from + 2 * j * MA_LANES);       \
                s[j] = ma_dot2(s[j], words, one);                                            \
                q[j] = ma_dot2(q[j], words, words);                                          \
            }                                                                                \
        }                                                                                    \
        *sum = (int32_t)ma_total_u32(s[0] + s[1]);                                           \
        *squares = ma_total_u32(q[0] + q[1]);                                                \
    }
MA_ROW_SUMS(i8, int8_t)
MA_ROW_SUMS(u8, uint8_t)

/* step / sqrt(spread * square + epsilon), in float64 but for the last rounding. */
MA_INLINE float ma_norm_scale(int64_t spread, double step, double square, double epsilon)
{
    return (float)(step / __builtin_sqrt((double)spread * square + epsilon));
}

/* (x * columns - total) * scale of bytes as numbers; the difference is exact, fused or not. */
MA_INLINE ma_f32 ma_normal(ma_f32 x, float columns, float total, float scale)
{
    return ma_fused(x, ma_splat_f32(columns), ma_splat_f32(-total)) * scale;
}

/* ---- products channel by channel ---------------------------------------------------------------- */

#if MA_AVX2
/* Pairs (a[c], b[c]) of int16: of 2 * MA_LANES channels c the lower four of every eight go to the
 * lower vector, as unpack instructions have it. */
MA_INLINE ma_i16 ma_weave_low(ma_i16 a, ma_i16 b)
{
#if MA_AVX512
    return (ma_i16)_mm512_unpacklo_epi16((__m512i)a, (__m512i)b);
#else
    return (ma_i16)_mm256_unpacklo_epi16((__m256i)a, (__m256i)b);
#endif
}

MA_INLINE ma_i16 ma_weave_high(ma_i16 a, ma_i16 b)
{
#if MA_AVX512
    return (ma_i16)_mm512_unpackhi_epi16((__m512i)a, (__m512i)b);
#else
    return (ma_i16)_mm256_unpackhi_epi16((__m256i)a, (__m256i)b);
#endif
}

/* Pairs of bytes: of 4 * MA_LANES channels the lower eight of every sixteen, and the upper eight. Woven
 * again (ma_weave_low, ma_weave_high), four bytes of a channel are a lane. */
MA_INLINE ma_i16 ma_weave_bytes_low(ma_i8 a, ma_i8 b)
{
#if MA_AVX512
    return (ma_i16)_mm512_unpacklo_epi8((__m512i)a, (__m512i)b);
#else
    return (ma_i16)_mm256_unpacklo_epi8((__m256i)a, (__m256i)b);
#endif
}

MA_INLINE ma_i16 ma_weave_bytes_high(ma_i8 a, ma_i8 b)
{
#if MA_AVX512
    return (ma_i16)_mm512_unpackhi_epi8((__m512i)a, (__m512i)b);
#else
    return (ma_i16)_mm256_unpackhi_epi8((__m256i)a, (__m256i)b);
#endif
}
#endif

/* Two vectors of sums in the order of their channels. */
MA_INLINE void ma_store_sums(void *y, ma_u32 a, ma_u32 b, int woven)
{
    uint8_t *const to = (uint8_t *)y;
    if (!woven) {
        ma_store_u32(to, a);
        ma_store_u32(to + MA_VECTOR_BYTES, b);
        return;
    }
    for (size_t i = 0; i < MA_VECTOR_BYTES; i += 16) {
        memcpy(to + 2 * i, (const uint8_t *)&a + i, 16);
        memcpy(to + 2 * i + 16, (const uint8_t *)&b + i, 16);
    }
}

#endif
