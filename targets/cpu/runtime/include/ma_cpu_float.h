/* Float32 vectors for emitted layers: arithmetic, elementary functions, rows, packing.
 *
 * Written in GCC's vector extensions, which clang has too. Fused multiply-adds stand where they
 * are written and nowhere else: everything is built with -ffp-contract=off, and processors without
 * the instruction round twice in ma_fma.
 *
 * Polynomials: fitted by reweighted least squares (Lawson) to 40-digit values, coefficients then
 * rounded to float32. Errors of the functions are stated with each, and tests hold them.
 */
#ifndef MA_CPU_FLOAT_H
#define MA_CPU_FLOAT_H

#include "ma_cpu.h"

#define MA_APART static __attribute__((noinline, unused))

typedef ma_f32 ma_vf;
typedef ma_i32 ma_vi;
typedef float ma_vu __attribute__((vector_size(4 * MA_LANES), aligned(4)));

MA_INLINE ma_vf ma_load(const float *p)
{
    return *(const ma_vu *)p;
}

MA_INLINE void ma_store(float *p, ma_vf v)
{
    *(ma_vu *)p = v;
}

MA_INLINE ma_vf ma_splat(float x)
{
    return x - (ma_vf){0};
}

/* The first n (1 .. MA_LANES) elements; the others are `fill`. */
MA_INLINE ma_vf ma_load_part(const float *p, int32_t n, float fill)
{
#if MA_AVX512
    return (ma_vf)_mm512_mask_loadu_ps((__m512)ma_splat(fill), (__mmask16)((1u << n) - 1), p);
#else
    ma_vf v = ma_splat(fill);
    memcpy(&v, p, sizeof(float) * (size_t)n);
    return v;
#endif
}

MA_INLINE void ma_store_part(float *p, ma_vf v, int32_t n)
{
#if MA_AVX512
    _mm512_mask_storeu_ps(p, (__mmask16)((1u << n) - 1), (__m512)v);
#else
    memcpy(p, &v, sizeof(float) * (size_t)n);
#endif
}

/* ---- tensors stored as bfloat16, by their bits ----------------------------------------------- */

typedef uint16_t ma_vh __attribute__((vector_size(2 * MA_LANES)));
typedef uint16_t ma_vhu __attribute__((vector_size(2 * MA_LANES), aligned(2)));

MA_INLINE ma_vf ma_load_bf16(const uint16_t *p)
{
#if MA_AVX512
    return (ma_vf)((ma_u32)_mm512_cvtepu16_epi32(_mm256_loadu_si256((const void *)p)) << 16);
#elif defined(__AVX2__)
    return (ma_vf)((ma_u32)_mm256_cvtepu16_epi32(_mm_loadu_si128((const void *)p)) << 16);
#else
    return (ma_vf)(__builtin_convertvector((ma_vh)*(const ma_vhu *)p, ma_u32) << 16);
#endif
}

/* The nearest bfloat16, halves to even; NaN stays NaN. */
MA_INLINE ma_vh ma_bf16(ma_vf v)
{
    const ma_u32 bits = (ma_u32)v, high = bits >> 16;
    const ma_u32 kept = (bits + (high & 1) + 0x7fff) >> 16, none = (ma_u32)(v != v);
    return __builtin_convertvector((none & (high | 0x40)) | (~none & kept), ma_vh);
}

MA_INLINE void ma_store_bf16(uint16_t *p, ma_vf v)
{
    *(ma_vhu *)p = ma_bf16(v);
}

/* The first n (1 .. MA_LANES) elements; the others are `fill`. */
MA_INLINE ma_vf ma_load_bf16_part(const uint16_t *p, int32_t n, float fill)
{
    ma_vh v = ma_bf16(ma_splat(fill));
    memcpy(&v, p, sizeof(uint16_t) * (size_t)n);
    return (ma_vf)(__builtin_convertvector(v, ma_u32) << 16);
}

MA_INLINE void ma_store_bf16_part(uint16_t *p, ma_vf v, int32_t n)
{
    const ma_vh narrow = ma_bf16(v);
    memcpy(p, &narrow, sizeof(uint16_t) * (size_t)n);
}

/* Rows of bfloat16 as float32, and back. */
MA_INLINE void ma_widen_row(float *y, const uint16_t *x, int32_t n)
{
    const int32_t whole = n - n % MA_LANES;
    for (int32_t i = 0; i < whole; i += MA_LANES) {
        ma_store(y + i, ma_load_bf16(x + i));
    }
    if (whole < n) {
        ma_store_part(y + whole, ma_load_bf16_part(x + whole, n - whole, 0.0f), n - whole);
    }
}

MA_INLINE void ma_narrow_row(uint16_t *y, const float *x, int32_t n)
{
    const int32_t whole = n - n % MA_LANES;
    for (int32_t i = 0; i < whole; i += MA_LANES) {
        ma_store_bf16(y + i, ma_load(x + i));
    }
    if (whole < n) {
        ma_store_bf16_part(y + whole, ma_load_part(x + whole, n - whole, 0.0f), n - whole);
    }
}

/* a * b + c */
MA_INLINE ma_vf ma_fma(ma_vf a, ma_vf b, ma_vf c)
{
#if defined(__AVX512F__)
    return (ma_vf)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
#elif defined(__AVX__) && defined(__FMA__)
    return (ma_vf)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
#elif defined(__aarch64__)
    return (ma_vf)vfmaq_f32((float32x4_t)c, (float32x4_t)a, (float32x4_t)b);
#elif defined(__clang__) && defined(__riscv_vector)
    return __builtin_elementwise_fma(a, b, c);
#else
    return a * b + c;
#endif
}

/* Per lane, a where the mask is all ones, b where it is 0. */
MA_INLINE ma_vf ma_select(ma_vi mask, ma_vf a, ma_vf b)
{
    return (ma_vf)((mask & (ma_vi)a) | (~mask & (ma_vi)b));
}

MA_INLINE ma_vf ma_larger(ma_vf a, ma_vf b)
{
#if defined(__AVX512F__)
    return (ma_vf)_mm512_max_ps((__m512)a, (__m512)b);
#elif defined(__AVX__)
    return (ma_vf)_mm256_max_ps((__m256)a, (__m256)b);
#else
    return ma_select(a > b, a, b);
#endif
}

MA_INLINE float ma_sum_lanes(ma_vf v)
{
    float lanes[MA_LANES];
    memcpy(lanes, &v, sizeof lanes);
    for (int32_t half = MA_LANES / 2; half > 0; half /= 2) {
        for (int32_t i = 0; i < half; ++i) {
            lanes[i] += lanes[i + half];
        }
    }
    return lanes[0];
}

MA_INLINE float ma_max_lanes(ma_vf v)
{
    float lanes[MA_LANES], most;
    memcpy(lanes, &v, sizeof lanes);
    most = lanes[0];
    for (int32_t i = 1; i < MA_LANES; ++i) {
        most = lanes[i] > most ? lanes[i] : most;
    }
    return most;
}

/* ---- elementary functions ------------------------------------------------------------------ */

/* Within 1 ULP; infinite above 88.73, subnormal results below -87.34, 0 below -104, NaN for NaN. */
MA_INLINE ma_vf ma_exp(ma_vf x)
{
    const ma_vf magic = ma_splat(0x1.8p23f);
    ma_vf t, n, r, p;
    ma_vi k, half;
    x = ma_select(x > 0x1.64p6f, ma_splat(0x1.64p6f), x);
    x = ma_select(x < -0x1.ap6f, ma_splat(-0x1.ap6f), x);
    t = ma_fma(x, ma_splat(0x1.715476p0f), magic);
    k = (ma_vi)t - (ma_vi)magic;
    n = t - magic;
    r = ma_fma(n, ma_splat(-0x1.62e4p-1f), x);
    r = ma_fma(n, ma_splat(-0x1.7f7d1cp-20f), r);
    p = ma_fma(r, ma_splat(0x1.6a107cp-10f), ma_splat(0x1.1245c8p-7f));
    p = ma_fma(p, r, ma_splat(0x1.55593cp-5f));
    p = ma_fma(p, r, ma_splat(0x1.555482p-3f));
    p = ma_fma(p, r, ma_splat(0x1.fffffcp-2f));
    p = ma_fma(p, r * r, r) + 1.0f;
    half = k >> 1;
    p *= (ma_vf)((half + 127) << 23);
    return p * (ma_vf)((k - half + 127) << 23);
}

MA_INLINE ma_vf ma_abs(ma_vf x)
{
    return (ma_vf)((ma_vi)x & 0x7fffffff);
}

/* `magnitude`, which is not negative, with the sign of x. */
MA_INLINE ma_vf ma_signed(ma_vf magnitude, ma_vf x)
{
    return (ma_vf)((ma_vi)magnitude | ((ma_vi)x & (ma_vi)ma_splat(-0.0f)));
}

/* Within 3 ULP above -87. */
MA_INLINE ma_vf ma_sigmoid(ma_vf x)
{
    return 1.0f / (1.0f + ma_exp(-x));
}

/* Within 2 ULP. */
MA_INLINE ma_vf ma_tanh(ma_vf x)
{
    const ma_vf a = ma_abs(x), s = x * x, e = ma_exp(-2.0f * a);
    const ma_vf large = ma_signed((1.0f - e) / (1.0f + e), x);
    ma_vf p = ma_fma(s, ma_splat(-0x1.76abf6p-8f), ma_splat(0x1.5256cep-6f));
    p = ma_fma(p, s, ma_splat(-0x1.b84448p-5f));
    p = ma_fma(p, s, ma_splat(0x1.110768p-3f));
    p = ma_fma(p, s, ma_splat(-0x1.555534p-2f));
    return ma_select(a < 0.625f, ma_fma(x * s, p, x), large);
}

/* Within 3 ULP. */
MA_INLINE ma_vf ma_erf(ma_vf x)
{
    const ma_vf s = x * x;
    ma_vf a = ma_abs(x), p, q;
    p = ma_fma(s, ma_splat(0x1.4ae4bep-14f), ma_splat(-0x1.a485e4p-11f));
    p = ma_fma(p, s, ma_splat(0x1.5419f4p-8f));
    p = ma_fma(p, s, ma_splat(-0x1.b7fbb4p-6f));
    p = ma_fma(p, s, ma_splat(0x1.ce2d2p-4f));
    p = ma_fma(p, s, ma_splat(-0x1.81273ep-2f));
    p = ma_fma(p, s, ma_splat(-0x1.00e9c4p-24f));
    p = ma_fma(x, p, x * 0x1.20dd76p0f);
    a = ma_select(a > 0x1.f8p1f, ma_splat(0x1.f8p1f), a);
    q = ma_fma(a, ma_splat(-0x1.6c06dcp-16f), ma_splat(0x1.ceeb26p-12f));
    q = ma_fma(q, a, ma_splat(-0x1.13990cp-8f));
    q = ma_fma(q, a, ma_splat(0x1.9d0be2p-6f));
    q = ma_fma(q, a, ma_splat(-0x1.bc18d6p-4f));
    q = ma_fma(q, a, ma_splat(-0x1.4434fp-1f));
    q = ma_fma(q, a, ma_splat(-0x1.212c2ep0f));
    q = ma_fma(q, a, ma_splat(0x1.8b403p-13f));
    return ma_select(a < 1.0f, p, ma_signed(1.0f - ma_exp(q), x));
}

MA_INLINE ma_vf ma_silu(ma_vf x)
{
    return x * ma_sigmoid(x);
}

MA_INLINE ma_vf ma_gelu(ma_vf x)
{
    return 0.5f * x * (1.0f + ma_erf(x * 0x1.6a09e6p-1f));
}

/* x * sigmoid(2 sqrt(2 / pi) (x + 0.044715 x^3)), which is the form with tanh. */
MA_INLINE ma_vf ma_gelu_tanh(ma_vf x)
{
    const ma_vf cubic = ma_fma(x * x, ma_splat(0x1.6e4e26p-5f), ma_splat(1.0f));
    return x * ma_sigmoid(x * cubic * 0x1.988454p0f);
}

MA_INLINE ma_vf ma_relu(ma_vf x)
{
    return (ma_vf)((x > 0.0f) & (ma_vi)x);
}

MA_INLINE ma_vf ma_clip(ma_vf x, float lo, float hi)
{
    x = ma_select(x < lo, ma_splat(lo), x);
    return ma_select(x > hi, ma_splat(hi), x);
}

/* ---- rows ---------------------------------------------------------------------------------- */

/* y = exp(x - max(x)); the sum of y. The vectors of y beyond n are written too (as 0). */
MA_APART float ma_exp_row(float *y, const float *x, int32_t n)
{
    const float least = -__builtin_inff();
    const int32_t whole = n - n % MA_LANES;
    ma_vf most = ma_splat(least), sum = ma_splat(0.0f);
    for (int32_t i = 0; i < whole; i += MA_LANES) {
        most = ma_larger(most, ma_load(x + i));
    }
    if (whole < n) {
        most = ma_larger(most, ma_load_part(x + whole, n - whole, least));
    }
    most = ma_splat(ma_max_lanes(most));
    for (int32_t i = 0; i < whole; i += MA_LANES) {
        const ma_vf e = ma_exp(ma_load(x + i) - most);
        ma_store(y + i, e);
        sum += e;
    }
    if (whole < n) {
        const ma_vf e = ma_exp(ma_load_part(x + whole, n - whole, least) - most);
        ma_store_part(y + whole, e, n - whole);
        sum += e;
    }
    return ma_sum_lanes(sum);
}

MA_INLINE void ma_add_row(float *y, const float *x, int32_t n)
{
    const int32_t whole = n - n % MA_LANES;
    for (int32_t i = 0; i < whole; i += MA_LANES) {
        ma_store(y + i, ma_load(y + i) + ma_load(x + i));
    }
    for (int32_t i = whole; i < n; ++i) {
        y[i] += x[i];
    }
}

MA_INLINE void ma_scale_row(float *y, float factor, int32_t n)
{
    const int32_t whole = n - n % MA_LANES;
    for (int32_t i = 0; i < whole; i += MA_LANES) {
        ma_store(y + i, ma_load(y + i) * factor);
    }
    for (int32_t i = whole; i < n; ++i) {
        y[i] *= factor;
    }
}

/* (x - mean) / sqrt(mean square of that + epsilon) * weight + bias, in two passes over x. */
MA_APART void ma_norm_row(float *y, const float *x, const float *weight, const float *bias,
                          int32_t n, float epsilon)
{
    const int32_t whole = n - n % MA_LANES;
    /* An addition waits for the one before it: of four sums each goes on while the others wait. */
    const int32_t fours = whole - whole % (4 * MA_LANES);
    ma_vf sums[4] = {{0}}, squares[4] = {{0}};
    float mean, scale, rest = 0.0f;
    for (int32_t i = 0; i < fours; i += 4 * MA_LANES) {
        for (int32_t j = 0; j < 4; ++j) {
            sums[j] += ma_load(x + i + j * MA_LANES);
        }
    }
    for (int32_t i = fours; i < whole; i += MA_LANES) {
        sums[0] += ma_load(x + i);
    }
    for (int32_t i = whole; i < n; ++i) {
        rest += x[i];
    }
    mean = (ma_sum_lanes((sums[0] + sums[1]) + (sums[2] + sums[3])) + rest) / (float)n;
    for (int32_t i = 0; i < fours; i += 4 * MA_LANES) {
        for (int32_t j = 0; j < 4; ++j) {
            const ma_vf d = ma_load(x + i + j * MA_LANES) - mean;
            squares[j] = ma_fma(d, d, squares[j]);
        }
    }
    for (int32_t i = fours; i < whole; i += MA_LANES) {
        const ma_vf d = ma_load(x + i) - mean;
        squares[0] = ma_fma(d, d, squares[0]);
    }
    rest = 0.0f;
    for (int32_t i = whole; i < n; ++i) {
        rest += (x[i] - mean) * (x[i] - mean);
    }
    const ma_vf all = (squares[0] + squares[1]) + (squares[2] + squares[3]);
    scale = 1.0f / __builtin_sqrtf((ma_sum_lanes(all) + rest) / (float)n + epsilon);
    for (int32_t i = 0; i < whole; i += MA_LANES) {
        ma_store(y + i, ma_fma((ma_load(x + i) - mean) * scale, ma_load(weight + i),
                               ma_load(bias + i)));
    }
    for (int32_t i = whole; i < n; ++i) {
        y[i] = (x[i] - mean) * scale * weight[i] + bias[i];
    }
}

/* x / sqrt(mean square of x + epsilon) * weight. */
MA_APART void ma_rms_row(float *y, const float *x, const float *weight, int32_t n, float epsilon)
{
    const int32_t whole = n - n % MA_LANES;
    ma_vf squares = ma_splat(0.0f);
    float scale, rest = 0.0f;
    for (int32_t i = 0; i < whole; i += MA_LANES) {
        const ma_vf v = ma_load(x + i);
        squares = ma_fma(v, v, squares);
    }
    for (int32_t i = whole; i < n; ++i) {
        rest += x[i] * x[i];
    }
    scale = 1.0f / __builtin_sqrtf((ma_sum_lanes(squares) + rest) / (float)n + epsilon);
    for (int32_t i = 0; i < whole; i += MA_LANES) {
        ma_store(y + i, ma_load(x + i) * scale * ma_load(weight + i));
    }
    for (int32_t i = whole; i < n; ++i) {
        y[i] = x[i] * scale * weight[i];
    }
}

/* ---- recurrent cells ------------------------------------------------------------------------ */

/* What a cell does with n (1 .. MA_LANES) hidden units. Gates of the inputs' product lie `gate`
 * elements apart in seen, of the state's product `width` apart in sums. */
MA_INLINE void ma_gru_vector(float *now, const float *before, const float *seen, int32_t gate,
                             const float *sums, int32_t width, int32_t n)
{
    const ma_vf z = ma_sigmoid(ma_load_part(seen, n, 0.0f) + ma_load(sums));
    const ma_vf r = ma_sigmoid(ma_load_part(seen + gate, n, 0.0f) + ma_load(sums + width));
    const ma_vf w = ma_load_part(seen + 2 * gate, n, 0.0f);
    const ma_vf c = ma_tanh(ma_fma(r, ma_load(sums + 2 * width), w));
    ma_store_part(now, ma_fma(z, ma_load_part(before, n, 0.0f) - c, c), n);
}

MA_INLINE void ma_gru_units(float *now, const float *before, const float *seen, int32_t gate,
                            const float *sums, int32_t width, int32_t n)
{
    int32_t i = 0;
    for (; i + MA_LANES <= n; i += MA_LANES) {
        ma_gru_vector(now + i, before + i, seen + i, gate, sums + i, width, MA_LANES);
    }
    if (i < n) {
        ma_gru_vector(now + i, before + i, seen + i, gate, sums + i, width, n - i);
    }
}

/* Where the reset gate comes before the product: the update gate and the reset state, then what
 * the product of that one makes. */
MA_INLINE void ma_gru_gates_vector(float *update, float *reset, const float *before,
                                   const float *seen, int32_t gate, const float *sums,
                                   int32_t width, int32_t n)
{
    const ma_vf r = ma_sigmoid(ma_load_part(seen + gate, n, 0.0f) + ma_load(sums + width));
    ma_store_part(update, ma_sigmoid(ma_load_part(seen, n, 0.0f) + ma_load(sums)), n);
    ma_store_part(reset, r * ma_load_part(before, n, 0.0f), n);
}

MA_INLINE void ma_gru_gates(float *update, float *reset, const float *before, const float *seen,
                            int32_t gate, const float *sums, int32_t width, int32_t n)
{
    int32_t i = 0;
    for (; i + MA_LANES <= n; i += MA_LANES) {
        ma_gru_gates_vector(update + i, reset + i, before + i, seen + i, gate, sums + i, width,
                            MA_LANES);
    }
    if (i < n) {
        ma_gru_gates_vector(update + i, reset + i, before + i, seen + i, gate, sums + i, width,
                            n - i);
    }
}

MA_INLINE void ma_gru_new_vector(float *now, const float *before, const float *update,
                                 const float *seen, const float *sums, int32_t n)
{
    const ma_vf c = ma_tanh(ma_load_part(seen, n, 0.0f) + ma_load(sums));
    const ma_vf h = ma_load_part(before, n, 0.0f);
    ma_store_part(now, ma_fma(ma_load_part(update, n, 0.0f), h - c, c), n);
}

MA_INLINE void ma_gru_new(float *now, const float *before, const float *update, const float *seen,
                          const float *sums, int32_t n)
{
    int32_t i = 0;
    for (; i + MA_LANES <= n; i += MA_LANES) {
        ma_gru_new_vector(now + i, before + i, update + i, seen + i, sums + i, MA_LANES);
    }
    if (i < n) {
        ma_gru_new_vector(now + i, before + i, update + i, seen + i, sums + i, n - i);
    }
}

/* `clip`: largest magnitude of a cell, 0 for none. */
MA_INLINE void ma_lstm_vector(float *now, float *cell, const float *seen, int32_t gate,
                              const float *sums, int32_t width, int32_t n, float clip)
{
    const ma_vf i = ma_sigmoid(ma_load_part(seen, n, 0.0f) + ma_load(sums));
    const ma_vf o = ma_sigmoid(ma_load_part(seen + gate, n, 0.0f) + ma_load(sums + width));
    const ma_vf f = ma_sigmoid(ma_load_part(seen + 2 * gate, n, 0.0f) + ma_load(sums + 2 * width));
    const ma_vf g = ma_tanh(ma_load_part(seen + 3 * gate, n, 0.0f) + ma_load(sums + 3 * width));
    const ma_vf kept = ma_fma(f, ma_load_part(cell, n, 0.0f), i * g);
    const ma_vf c = clip > 0.0f ? ma_clip(kept, -clip, clip) : kept;
    ma_store_part(cell, c, n);
    ma_store_part(now, o * ma_tanh(c), n);
}

MA_INLINE void ma_lstm_units(float *now, float *cell, const float *seen, int32_t gate,
                             const float *sums, int32_t width, int32_t n, float clip)
{
    int32_t i = 0;
    for (; i + MA_LANES <= n; i += MA_LANES) {
        ma_lstm_vector(now + i, cell + i, seen + i, gate, sums + i, width, MA_LANES, clip);
    }
    if (i < n) {
        ma_lstm_vector(now + i, cell + i, seen + i, gate, sums + i, width, n - i, clip);
    }
}

/* ---- codes: what a row is once it was stored in 8 bits, see match_aie/workload/codes.py ------ */

/* The nearest whole number of what is below 2^22, halves to even. */
MA_INLINE ma_vf ma_even(ma_vf x)
{
    return x + 0x1.8p23f - 0x1.8p23f;
}

/* Halves away from zero. */
MA_INLINE ma_vf ma_away(ma_vf x)
{
    const ma_vf a = ma_abs(x), even = ma_even(a);
    return ma_signed(ma_select(a - even == 0.5f, even + 1.0f, even), x);
}

/* The least and the largest of a row and 0. */
MA_APART void ma_range(const float *x, int32_t n, float *lo, float *hi)
{
    const int32_t whole = n - n % MA_LANES;
    ma_vf most = ma_splat(0.0f), least = most; /* least: of the negatives, the most */
    for (int32_t i = 0; i < whole; i += MA_LANES) {
        most = ma_larger(most, ma_load(x + i));
        least = ma_larger(least, -ma_load(x + i));
    }
    if (whole < n) {
        most = ma_larger(most, ma_load_part(x + whole, n - whole, 0.0f));
        least = ma_larger(least, -ma_load_part(x + whole, n - whole, 0.0f));
    }
    *lo = -ma_max_lanes(least);
    *hi = ma_max_lanes(most);
}

/* Codes 0 to 255: x is (code - zero) * scale. */
struct ma_codes {
    float scale, zero;
};

MA_APART struct ma_codes ma_codes_of(const float *x, int32_t n)
{
    float lo, hi;
    ma_range(x, n, &lo, &hi);
    const float scale = hi > lo ? (hi - lo) / 255.0f : 1.0f;
    const ma_vf zero = ma_even(ma_clip(ma_splat(-lo / scale), 0.0f, 255.0f));
    return (struct ma_codes){scale, zero[0]};
}

MA_INLINE ma_vf ma_code(ma_vf x, struct ma_codes of)
{
    return ma_clip(ma_even(x / of.scale) + of.zero, 0.0f, 255.0f);
}

MA_APART void ma_coded_uint8(float *y, const float *x, int32_t n)
{
    const struct ma_codes of = ma_codes_of(x, n);
    for (int32_t i = 0; i < n; i += MA_LANES) {
        const int32_t part = n - i < MA_LANES ? n - i : MA_LANES;
        const ma_vf code = ma_code(ma_load_part(x + i, part, 0.0f), of);
        ma_store_part(y + i, (code - of.zero) * of.scale, part);
    }
}

/* The codes of a row, and what is added to them: as bytes, or as int16. */
MA_APART void ma_row_bytes(void *y, const float *x, int32_t n, struct ma_codes of, int32_t add)
{
    const int32_t whole = n - n % MA_LANES;
    uint8_t *const to = y, end[MA_LANES];
    for (int32_t i = 0; i < whole; i += MA_LANES) {
        ma_store_bytes(to + i, (ma_vi)(ma_code(ma_load(x + i), of) + 0x1.8p23f) + (add - 0x4b400000));
    }
    if (whole < n) {
        const ma_vf code = ma_code(ma_load_part(x + whole, n - whole, 0.0f), of);
        ma_store_bytes(end, (ma_vi)(code + 0x1.8p23f) + (add - 0x4b400000));
        memcpy(to + whole, end, (size_t)(n - whole));
    }
}

MA_APART void ma_row_words(int16_t *y, const float *x, int32_t n, struct ma_codes of, int32_t add)
{
    const int32_t whole = n - n % MA_LANES;
    int32_t codes[MA_LANES];
    for (int32_t i = 0; i < n; i += MA_LANES) {
        const ma_vf seen = i < whole ? ma_load(x + i) : ma_load_part(x + i, n - i, 0.0f);
        const ma_vi code = (ma_vi)(ma_code(seen, of) + 0x1.8p23f) + (add - 0x4b400000);
        memcpy(codes, &code, sizeof codes);
        for (int32_t j = 0; j < MA_LANES && i + j < n; ++j) {
            y[i + j] = (int16_t)codes[j];
        }
    }
}

MA_APART void ma_coded_symmetric(float *y, const float *x, int32_t n)
{
    float lo, hi;
    ma_range(x, n, &lo, &hi);
    const float most = hi > -lo ? hi : -lo;
    const float scale = most / 127.0f, steps = most > 0.0f ? 127.0f / most : 0.0f;
    for (int32_t i = 0; i < n; i += MA_LANES) {
        const int32_t part = n - i < MA_LANES ? n - i : MA_LANES;
        const ma_vf code = ma_away(ma_load_part(x + i, part, 0.0f) * steps);
        ma_store_part(y + i, ma_clip(code, -127.0f, 127.0f) * scale, part);
    }
}

MA_APART void ma_coded_asymmetric(float *y, const float *x, int32_t n)
{
    float lo, hi;
    ma_range(x, n, &lo, &hi);
    const double step = hi > lo ? ((double)hi - (double)lo) / 255.0 : 1.0;
    const double below = (double)lo / step, above = (double)hi / step;
    double zero = 128.0 - below < 127.0 + above ? -128.0 - below : 127.0 - above;
    zero = zero < -128.0 ? -128.0 : zero > 127.0 ? 127.0 : zero;
    const float at = (float)(int32_t)(zero < 0.0 ? zero - 0.5 : zero + 0.5);
    const float scale = (float)step, steps = 1.0f / scale;
    for (int32_t i = 0; i < n; i += MA_LANES) {
        const int32_t part = n - i < MA_LANES ? n - i : MA_LANES;
        const ma_vf code = ma_away(ma_load_part(x + i, part, 0.0f) * steps + at);
        ma_store_part(y + i, (ma_clip(code, -128.0f, 127.0f) - at) * scale, part);
    }
}

/* ---- packing ------------------------------------------------------------------------------- */

/* packed[r][width] = source[r][0 .. valid), the rest 0; rows of the source `stride` apart. */
MA_APART void ma_pack_rows(float *packed, const float *source, int32_t rows, int32_t width,
                           int32_t valid, int32_t stride)
{
    for (int32_t r = 0; r < rows; ++r) {
        memcpy(packed, source + (size_t)r * (size_t)stride, sizeof(float) * (size_t)valid);
        for (int32_t i = valid; i < width; ++i) {
            packed[i] = 0.0f;
        }
        packed += width;
    }
}

/* packed[r][width] = source[0 .. valid)[r], the rest 0; rows of the source `stride` apart. */
MA_APART void ma_pack_columns(float *packed, const float *source, int32_t rows, int32_t width,
                              int32_t valid, int32_t stride)
{
    for (int32_t i = 0; i < width; ++i) {
        const float *line = source + (size_t)i * (size_t)stride;
        for (int32_t r = 0; r < rows; ++r) {
            packed[(size_t)r * (size_t)width + (size_t)i] = i < valid ? line[r] : 0.0f;
        }
    }
}

#endif
