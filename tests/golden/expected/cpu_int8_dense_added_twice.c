static void net_dense_added_twice_prepare(const uint8_t *restrict x, int16_t *restrict image, int32_t b0, int32_t b1, int32_t g0, int32_t g1, int32_t oy0, int32_t oy1, int32_t ox0, int32_t ox1)
{
    const int32_t rows = (oy1 - oy0 - 1) + 1;
    const int32_t columns = (ox1 - ox0 - 1) + 1;
    const int32_t ix = ox0;
    const int32_t before = ix < 0 ? (-ix < columns ? -ix : columns) : 0;
    const int32_t room = 3 - ix < columns ? 3 - ix : columns;
    const int32_t end = room > before ? room : before;
    for (int32_t b = b0; b < b1; ++b) {
        for (int32_t g = g0; g < g1; ++g) {
            for (int32_t row = 0; row < rows; ++row) {
                const int32_t iy = oy0 + row;
                int16_t *const to = image + (b - b0) * 15 + (g - g0) * 15 + row * 15;
                if (iy < 0 || iy >= 1) {
                    for (int32_t i = 0; i < columns * 5; ++i) {
                        to[i] = 0;
                    }
                    continue;
                }
                const uint8_t *const from = x + ((b * 1 + iy) * 3 + ix + before) * 5;
                int16_t *const middle = to + before * 5;
                for (int32_t i = 0; i < before * 5; ++i) {
                    to[i] = 0;
                }
                for (int32_t i = 0; i < (end - before) * 5; ++i) {
                    middle[i] = (int16_t)(from[i] - 128);
                }
                int16_t *const behind = to + end * 5;
                for (int32_t i = 0; i < (columns - end) * 5; ++i) {
                    behind[i] = 0;
                }
            }
        }
    }
}

MA_DOTS static void net_dense_added_twice_whole3(const int16_t *a, const int8_t *w, const int32_t *bias, const float *scale, uint8_t *y, const float *taken0, const int8_t *taken1)
{
    ma_u32 s0_0 = ma_load_u32(bias + 0);
    ma_u32 s0_1 = ma_load_u32(bias + 8);
    ma_u32 s0_2 = ma_load_u32(bias + 16);
    ma_u32 s1_0 = s0_0;
    ma_u32 s1_1 = s0_1;
    ma_u32 s1_2 = s0_2;
    ma_u32 s2_0 = s0_0;
    ma_u32 s2_1 = s0_1;
    ma_u32 s2_2 = s0_2;
#pragma GCC unroll 3
    for (int32_t i = 0; i < 6; i += 2, w += 48) {
        MA_UNREAD(a);
        const ma_i16 w0 = ma_widen_pairs(w + 0);
        const ma_i16 w1 = ma_widen_pairs(w + 16);
        const ma_i16 w2 = ma_widen_pairs(w + 32);
        const ma_i16 a0 = (ma_i16)ma_splat_bytes(a + i);
        s0_0 = ma_dot2(s0_0, a0, w0);
        s0_1 = ma_dot2(s0_1, a0, w1);
        s0_2 = ma_dot2(s0_2, a0, w2);
        const ma_i16 a1 = (ma_i16)ma_splat_bytes(a + 5 + i);
        s1_0 = ma_dot2(s1_0, a1, w0);
        s1_1 = ma_dot2(s1_1, a1, w1);
        s1_2 = ma_dot2(s1_2, a1, w2);
        const ma_i16 a2 = (ma_i16)ma_splat_bytes(a + 10 + i);
        s2_0 = ma_dot2(s2_0, a2, w0);
        s2_1 = ma_dot2(s2_1, a2, w1);
        s2_2 = ma_dot2(s2_2, a2, w2);
    }
    const ma_f32 f0 = ma_load_f32(scale + 0);
    const ma_f32 f1 = ma_load_f32(scale + 8);
    const ma_f32 f2 = ma_load_f32(scale + 16);
    const ma_f32 taken0_0 = ma_load_f32(taken0 + 0);
    const ma_f32 taken0_1 = ma_load_f32(taken0 + 8);
    const ma_f32 taken0_2 = ma_load_f32(taken0 + 16);
    ma_store_steps4(y + 0, 40, (const ma_f32[]){(ma_whole_steps(ma_fused(ma_whole_steps(ma_scaled(s0_0, f0), -0x1.f400000000000p+6f, 0x1.0400000000000p+7f), ma_splat_f32(0x1.0000000000000p+0f), taken0_0), -0x1.f400000000000p+6f, 0x1.0400000000000p+7f) * 0x1.999999999999ap-5f + ma_real_i8(taken1 + 0, -3, 0x1.999999999999ap-5f)) / 0x1.47ae147ae147bp-6f, (ma_whole_steps(ma_fused(ma_whole_steps(ma_scaled(s0_1, f1), -0x1.f400000000000p+6f, 0x1.0400000000000p+7f), ma_splat_f32(0x1.0000000000000p+0f), taken0_1), -0x1.f400000000000p+6f, 0x1.0400000000000p+7f) * 0x1.999999999999ap-5f + ma_real_i8(taken1 + 8, -3, 0x1.999999999999ap-5f)) / 0x1.47ae147ae147bp-6f, (ma_whole_steps(ma_fused(ma_whole_steps(ma_scaled(s1_0, f0), -0x1.f400000000000p+6f, 0x1.0400000000000p+7f), ma_splat_f32(0x1.0000000000000p+0f), taken0_0), -0x1.f400000000000p+6f, 0x1.0400000000000p+7f) * 0x1.999999999999ap-5f + ma_real_i8(taken1 + 40, -3, 0x1.999999999999ap-5f)) / 0x1.47ae147ae147bp-6f, (ma_whole_steps(ma_fused(ma_whole_steps(ma_scaled(s1_1, f1), -0x1.f400000000000p+6f, 0x1.0400000000000p+7f), ma_splat_f32(0x1.0000000000000p+0f), taken0_1), -0x1.f400000000000p+6f, 0x1.0400000000000p+7f) * 0x1.999999999999ap-5f + ma_real_i8(taken1 + 48, -3, 0x1.999999999999ap-5f)) / 0x1.47ae147ae147bp-6f}, -0x1p+7f, 0x1.fcp+6f, 128, 0, 0, MA_TWO_PLACES);
    ma_store_steps2(y + 80, NULL, (ma_whole_steps(ma_fused(ma_whole_steps(ma_scaled(s2_0, f0), -0x1.f400000000000p+6f, 0x1.0400000000000p+7f), ma_splat_f32(0x1.0000000000000p+0f), taken0_0), -0x1.f400000000000p+6f, 0x1.0400000000000p+7f) * 0x1.999999999999ap-5f + ma_real_i8(taken1 + 80, -3, 0x1.999999999999ap-5f)) / 0x1.47ae147ae147bp-6f, (ma_whole_steps(ma_fused(ma_whole_steps(ma_scaled(s2_1, f1), -0x1.f400000000000p+6f, 0x1.0400000000000p+7f), ma_splat_f32(0x1.0000000000000p+0f), taken0_1), -0x1.f400000000000p+6f, 0x1.0400000000000p+7f) * 0x1.999999999999ap-5f + ma_real_i8(taken1 + 88, -3, 0x1.999999999999ap-5f)) / 0x1.47ae147ae147bp-6f, -0x1p+7f, 0x1.fcp+6f, 128, 0, 0, MA_SIDE_BY_SIDE);
    ma_store_steps2(y + 16, y + 56, (ma_whole_steps(ma_fused(ma_whole_steps(ma_scaled(s0_2, f2), -0x1.f400000000000p+6f, 0x1.0400000000000p+7f), ma_splat_f32(0x1.0000000000000p+0f), taken0_2), -0x1.f400000000000p+6f, 0x1.0400000000000p+7f) * 0x1.999999999999ap-5f + ma_real_i8(taken1 + 16, -3, 0x1.999999999999ap-5f)) / 0x1.47ae147ae147bp-6f, (ma_whole_steps(ma_fused(ma_whole_steps(ma_scaled(s1_2, f2), -0x1.f400000000000p+6f, 0x1.0400000000000p+7f), ma_splat_f32(0x1.0000000000000p+0f), taken0_2), -0x1.f400000000000p+6f, 0x1.0400000000000p+7f) * 0x1.999999999999ap-5f + ma_real_i8(taken1 + 56, -3, 0x1.999999999999ap-5f)) / 0x1.47ae147ae147bp-6f, -0x1p+7f, 0x1.fcp+6f, 128, 0, 0, MA_TWO_PLACES);
    ma_store_steps(y + 96, (ma_whole_steps(ma_fused(ma_whole_steps(ma_scaled(s2_2, f2), -0x1.f400000000000p+6f, 0x1.0400000000000p+7f), ma_splat_f32(0x1.0000000000000p+0f), taken0_2), -0x1.f400000000000p+6f, 0x1.0400000000000p+7f) * 0x1.999999999999ap-5f + ma_real_i8(taken1 + 96, -3, 0x1.999999999999ap-5f)) / 0x1.47ae147ae147bp-6f, -0x1p+7f, 0x1.fcp+6f, 128);
}

MA_DOTS static void net_dense_added_twice_last3(const int16_t *a, const int8_t *w, const int32_t *bias, const float *scale, uint8_t *y, const float *taken0, const int8_t *taken1)
{
    ma_u32 s0_0 = ma_load_u32(bias + 0);
    ma_u32 s0_1 = ma_load_u32(bias + 8);
    ma_u32 s1_0 = s0_0;
    ma_u32 s1_1 = s0_1;
    ma_u32 s2_0 = s0_0;
    ma_u32 s2_1 = s0_1;
#pragma GCC unroll 3
    for (int32_t i = 0; i < 6; i += 2, w += 32) {
        MA_UNREAD(a);
        const ma_i16 w0 = ma_widen_pairs(w + 0);
        const ma_i16 w1 = ma_widen_pairs(w + 16);
        const ma_i16 a0 = (ma_i16)ma_splat_bytes(a + i);
        s0_0 = ma_dot2(s0_0, a0, w0);
        s0_1 = ma_dot2(s0_1, a0, w1);
        const ma_i16 a1 = (ma_i16)ma_splat_bytes(a + 5 + i);
        s1_0 = ma_dot2(s1_0, a1, w0);
        s1_1 = ma_dot2(s1_1, a1, w1);
        const ma_i16 a2 = (ma_i16)ma_splat_bytes(a + 10 + i);
        s2_0 = ma_dot2(s2_0, a2, w0);
        s2_1 = ma_dot2(s2_1, a2, w1);
    }
    const ma_f32 f0 = ma_load_f32(scale + 0);
    const ma_f32 f1 = ma_load_f32(scale + 8);
    const ma_f32 taken0_0 = ma_load_f32(taken0 + 0);
    const ma_f32 taken0_1 = ma_load_f32(taken0 + 8);
    ma_store_steps4(y + 0, 40, (const ma_f32[]){(ma_whole_steps(ma_fused(ma_whole_steps(ma_scaled(s0_0, f0), -0x1.f400000000000p+6f, 0x1.0400000000000p+7f), ma_splat_f32(0x1.0000000000000p+0f), taken0_0), -0x1.f400000000000p+6f, 0x1.0400000000000p+7f) * 0x1.999999999999ap-5f + ma_real_i8(taken1 + 0, -3, 0x1.999999999999ap-5f)) / 0x1.47ae147ae147bp-6f, (ma_whole_steps(ma_fused(ma_whole_steps(ma_scaled(s0_1, f1), -0x1.f400000000000p+6f, 0x1.0400000000000p+7f), ma_splat_f32(0x1.0000000000000p+0f), taken0_1), -0x1.f400000000000p+6f, 0x1.0400000000000p+7f) * 0x1.999999999999ap-5f + ma_real_i8(taken1 + 8, -3, 0x1.999999999999ap-5f)) / 0x1.47ae147ae147bp-6f, (ma_whole_steps(ma_fused(ma_whole_steps(ma_scaled(s1_0, f0), -0x1.f400000000000p+6f, 0x1.0400000000000p+7f), ma_splat_f32(0x1.0000000000000p+0f), taken0_0), -0x1.f400000000000p+6f, 0x1.0400000000000p+7f) * 0x1.999999999999ap-5f + ma_real_i8(taken1 + 40, -3, 0x1.999999999999ap-5f)) / 0x1.47ae147ae147bp-6f, (ma_whole_steps(ma_fused(ma_whole_steps(ma_scaled(s1_1, f1), -0x1.f400000000000p+6f, 0x1.0400000000000p+7f), ma_splat_f32(0x1.0000000000000p+0f), taken0_1), -0x1.f400000000000p+6f, 0x1.0400000000000p+7f) * 0x1.999999999999ap-5f + ma_real_i8(taken1 + 48, -3, 0x1.999999999999ap-5f)) / 0x1.47ae147ae147bp-6f}, -0x1p+7f, 0x1.fcp+6f, 128, 0, 0, MA_TWO_PLACES);
    ma_store_steps2(y + 80, NULL, (ma_whole_steps(ma_fused(ma_whole_steps(ma_scaled(s2_0, f0), -0x1.f400000000000p+6f, 0x1.0400000000000p+7f), ma_splat_f32(0x1.0000000000000p+0f), taken0_0), -0x1.f400000000000p+6f, 0x1.0400000000000p+7f) * 0x1.999999999999ap-5f + ma_real_i8(taken1 + 80, -3, 0x1.999999999999ap-5f)) / 0x1.47ae147ae147bp-6f, (ma_whole_steps(ma_fused(ma_whole_steps(ma_scaled(s2_1, f1), -0x1.f400000000000p+6f, 0x1.0400000000000p+7f), ma_splat_f32(0x1.0000000000000p+0f), taken0_1), -0x1.f400000000000p+6f, 0x1.0400000000000p+7f) * 0x1.999999999999ap-5f + ma_real_i8(taken1 + 88, -3, 0x1.999999999999ap-5f)) / 0x1.47ae147ae147bp-6f, -0x1p+7f, 0x1.fcp+6f, 128, 0, 0, MA_SIDE_BY_SIDE);
}

/* dense: x uint8[3,5], weight int8[40,5], bias int32[40], scale float32[40], residual uint8[40], residual1 int8[3,40] -> y uint8[3,40] */
MA_DOTS static void net_dense_added_twice(const uint8_t *restrict x, const int8_t *restrict weight, const int32_t *restrict bias, const float *restrict scale, const uint8_t *restrict residual, const int8_t *restrict residual1, uint8_t *restrict y, uint8_t *restrict scratch)
{
    _Static_assert(MA_LANES == 8, "vectors are those that the weights were packed for");
    int16_t *const image = (int16_t *)scratch;
    net_dense_added_twice_prepare(x, image, 0, 1, 0, 1, 0, 1, 0, 3);
    for (int32_t panel = 0; panel < 1; ++panel) {
        const int8_t *const w = weight + 0 + panel * 144;
        const int32_t *const start = bias + 0 + panel * 24;
        const float *const factor = scale + 0 + panel * 24;
        uint8_t *const to = y + panel * 24;
        const float *const taken0 = (const float *)(const void *)residual + 0 + panel * 24;
        const int8_t *const taken1 = residual1 + panel * 24;
        const int16_t *const from = image;
        const int32_t n = 3;
        for (int32_t i = 0; i < n; i += 3) {
            net_dense_added_twice_whole3(from + i * 5, w, start, factor, to + i * 40, taken0, taken1 + i * 40);
        }
    }
    {
        const int32_t panel = 1;
        {
            const int8_t *const w = weight + 0 + panel * 144;
            const int32_t *const start = bias + 0 + panel * 24;
            const float *const factor = scale + 0 + panel * 24;
            uint8_t *const to = y + panel * 24;
            const float *const taken0 = (const float *)(const void *)residual + 0 + panel * 24;
            const int8_t *const taken1 = residual1 + panel * 24;
            const int16_t *const from = image;
            const int32_t n = 3;
            for (int32_t i = 0; i < n; i += 3) {
                net_dense_added_twice_last3(from + i * 5, w, start, factor, to + i * 40, taken0, taken1 + i * 40);
            }
        }
    }
}
