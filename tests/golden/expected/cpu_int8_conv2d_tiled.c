static void net_conv2d_tiled_prepare(const uint8_t *restrict x, int16_t *restrict image, int32_t b0, int32_t b1, int32_t g0, int32_t g1, int32_t oy0, int32_t oy1, int32_t ox0, int32_t ox1)
{
    const int32_t rows = (oy1 - oy0 - 1) + 1;
    const int32_t columns = (ox1 - ox0 - 1) + 1;
    const int32_t ix = ox0;
    const int32_t before = ix < 0 ? (-ix < columns ? -ix : columns) : 0;
    const int32_t room = 8 - ix < columns ? 8 - ix : columns;
    const int32_t end = room > before ? room : before;
    for (int32_t b = b0; b < b1; ++b) {
        for (int32_t g = g0; g < g1; ++g) {
            for (int32_t row = 0; row < rows; ++row) {
                const int32_t iy = oy0 + row;
                int16_t *const to = image + (b - b0) * 384 + (g - g0) * 384 + row * 128;
                if (iy < 0 || iy >= 25) {
                    for (int32_t i = 0; i < columns * 16; ++i) {
                        to[i] = 0;
                    }
                    continue;
                }
                const uint8_t *const from = x + ((b * 25 + iy) * 8 + ix + before) * 16;
                int16_t *const middle = to + before * 16;
                for (int32_t i = 0; i < before * 16; ++i) {
                    to[i] = 0;
                }
                for (int32_t i = 0; i < (end - before) * 16; ++i) {
                    middle[i] = (int16_t)(from[i] - 128);
                }
                int16_t *const behind = to + end * 16;
                for (int32_t i = 0; i < (columns - end) * 16; ++i) {
                    behind[i] = 0;
                }
            }
        }
    }
}

MA_DOTS static void net_conv2d_tiled_whole12(const int16_t *a, const int8_t *w, const int32_t *bias, const float *scale, int8_t *y)
{
    ma_u32 s0_0 = ma_load_u32(bias + 0);
    ma_u32 s1_0 = s0_0;
    ma_u32 s2_0 = s0_0;
    ma_u32 s3_0 = s0_0;
    ma_u32 s4_0 = s0_0;
    ma_u32 s5_0 = s0_0;
    ma_u32 s6_0 = s0_0;
    ma_u32 s7_0 = s0_0;
    ma_u32 s8_0 = s0_0;
    ma_u32 s9_0 = s0_0;
    ma_u32 s10_0 = s0_0;
    ma_u32 s11_0 = s0_0;
#pragma GCC unroll 8
    for (int32_t i = 0; i < 16; i += 2, w += 16) {
        MA_UNREAD(a);
        const ma_i16 w0 = ma_widen_pairs(w + 0);
        const ma_i16 a0 = (ma_i16)ma_splat_bytes(a + i);
        s0_0 = ma_dot2(s0_0, a0, w0);
        const ma_i16 a1 = (ma_i16)ma_splat_bytes(a + 16 + i);
        s1_0 = ma_dot2(s1_0, a1, w0);
        const ma_i16 a2 = (ma_i16)ma_splat_bytes(a + 32 + i);
        s2_0 = ma_dot2(s2_0, a2, w0);
        const ma_i16 a3 = (ma_i16)ma_splat_bytes(a + 48 + i);
        s3_0 = ma_dot2(s3_0, a3, w0);
        const ma_i16 a4 = (ma_i16)ma_splat_bytes(a + 64 + i);
        s4_0 = ma_dot2(s4_0, a4, w0);
        const ma_i16 a5 = (ma_i16)ma_splat_bytes(a + 80 + i);
        s5_0 = ma_dot2(s5_0, a5, w0);
        const ma_i16 a6 = (ma_i16)ma_splat_bytes(a + 96 + i);
        s6_0 = ma_dot2(s6_0, a6, w0);
        const ma_i16 a7 = (ma_i16)ma_splat_bytes(a + 112 + i);
        s7_0 = ma_dot2(s7_0, a7, w0);
        const ma_i16 a8 = (ma_i16)ma_splat_bytes(a + 128 + i);
        s8_0 = ma_dot2(s8_0, a8, w0);
        const ma_i16 a9 = (ma_i16)ma_splat_bytes(a + 144 + i);
        s9_0 = ma_dot2(s9_0, a9, w0);
        const ma_i16 a10 = (ma_i16)ma_splat_bytes(a + 160 + i);
        s10_0 = ma_dot2(s10_0, a10, w0);
        const ma_i16 a11 = (ma_i16)ma_splat_bytes(a + 176 + i);
        s11_0 = ma_dot2(s11_0, a11, w0);
    }
    const ma_f32 f0 = ma_load_f32(scale + 0);
    ma_store_steps4(y + 0, 24, (const ma_f32[]){ma_scaled(s0_0, f0), ma_scaled(s1_0, f0), ma_scaled(s2_0, f0), ma_scaled(s3_0, f0)}, -0x1.f4p+6f, 0x1.04p+7f, -3, -128, 1, MA_FOUR_PLACES);
    ma_store_steps4(y + 96, 24, (const ma_f32[]){ma_scaled(s4_0, f0), ma_scaled(s5_0, f0), ma_scaled(s6_0, f0), ma_scaled(s7_0, f0)}, -0x1.f4p+6f, 0x1.04p+7f, -3, -128, 1, MA_FOUR_PLACES);
    ma_store_steps4(y + 192, 24, (const ma_f32[]){ma_scaled(s8_0, f0), ma_scaled(s9_0, f0), ma_scaled(s10_0, f0), ma_scaled(s11_0, f0)}, -0x1.f4p+6f, 0x1.04p+7f, -3, -128, 1, MA_FOUR_PLACES);
}

MA_DOTS static void net_conv2d_tiled_whole1(const int16_t *a, const int8_t *w, const int32_t *bias, const float *scale, int8_t *y)
{
    ma_u32 s0_0 = ma_load_u32(bias + 0);
#pragma GCC unroll 8
    for (int32_t i = 0; i < 16; i += 2, w += 16) {
        const ma_i16 w0 = ma_widen_pairs(w + 0);
        const ma_i16 a0 = (ma_i16)ma_splat_bytes(a + i);
        s0_0 = ma_dot2(s0_0, a0, w0);
    }
    const ma_f32 f0 = ma_load_f32(scale + 0);
    ma_store_steps(y + 0, ma_scaled(s0_0, f0), -0x1.f4p+6f, 0x1.04p+7f, -3);
}

/* conv2d: x uint8[1,25,8,16], weight int8[24,1,1,16], bias int32[24], scale float32[1] -> y int8[1,25,8,24] */
MA_DOTS static void net_conv2d_tiled(const uint8_t *restrict x, const int8_t *restrict weight, const int32_t *restrict bias, const float *restrict scale, int8_t *restrict y, uint8_t *restrict scratch)
{
    _Static_assert(MA_LANES == 8, "vectors are those that the weights were packed for");
    int16_t *const image = (int16_t *)scratch;
    for (int32_t oy0 = 0; oy0 < 25; oy0 += 3) {
        const int32_t oy0_end = oy0 + 3 < 25 ? oy0 + 3 : 25;
        net_conv2d_tiled_prepare(x, image, 0, 1, 0, 1, oy0, oy0_end, 0, 8);
        for (int32_t b = 0; b < 1; ++b) {
            for (int32_t panel = 0; panel < 3; ++panel) {
                const int8_t *const w = weight + 0 + panel * 128;
                const int32_t *const start = bias + 0 + panel * 8;
                const float *const factor = scale + 0 + panel * 8;
                int8_t *const to = y + panel * 8;
                const int16_t *const from = image + b * 384;
                const int32_t n = 8 * (oy0_end - oy0);
                if (n < 12) {
                    for (int32_t i = 0; i < n; ++i) {
                        net_conv2d_tiled_whole1(from + (oy0 - oy0) * 128 + i * 16, w, start, factor, to + b * 4800 + oy0 * 192 + i * 24);
                    }
                } else
                for (int32_t next = 0; next < n; next += 12) {
                    const int32_t i = next + 12 > n ? n - 12 : next;
                    net_conv2d_tiled_whole12(from + (oy0 - oy0) * 128 + i * 16, w, start, factor, to + b * 4800 + oy0 * 192 + i * 24);
                }
            }
        }
    }
}
