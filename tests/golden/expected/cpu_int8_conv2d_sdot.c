static void net_conv2d_sdot_prepare(const uint8_t *restrict x, int8_t *restrict image, int32_t b0, int32_t b1, int32_t g0, int32_t g1, int32_t oy0, int32_t oy1, int32_t ox0, int32_t ox1)
{
    const int32_t rows = (oy1 - oy0 - 1) + 3;
    const int32_t columns = (ox1 - ox0 - 1) + 3;
    const int32_t ix = ox0 - 1;
    const int32_t before = ix < 0 ? (-ix < columns ? -ix : columns) : 0;
    const int32_t room = 4 - ix < columns ? 4 - ix : columns;
    const int32_t end = room > before ? room : before;
    for (int32_t b = b0; b < b1; ++b) {
        for (int32_t g = g0; g < g1; ++g) {
            for (int32_t row = 0; row < rows; ++row) {
                const int32_t iy = oy0 - 1 + row;
                int8_t *const to = image + (b - b0) * 252 + (g - g0) * 252 + row * 36;
                if (iy < 0 || iy >= 5) {
                    for (int32_t i = 0; i < columns * 6; ++i) {
                        to[i] = 0;
                    }
                    continue;
                }
                const uint8_t *const from = x + ((b * 5 + iy) * 4 + ix + before) * 6;
                int8_t *const middle = to + before * 6;
                for (int32_t i = 0; i < before * 6; ++i) {
                    to[i] = 0;
                }
                for (int32_t i = 0; i < (end - before) * 6; ++i) {
                    middle[i] = (int8_t)(from[i] - 128);
                }
                int8_t *const behind = to + end * 6;
                for (int32_t i = 0; i < (columns - end) * 6; ++i) {
                    behind[i] = 0;
                }
            }
        }
    }
}

MA_DOTS static void net_conv2d_sdot_whole4(const int8_t *a, const int8_t *w, const int32_t *bias, const float *scale, int8_t *y, int32_t first, int32_t end)
{
    ma_u32 s0_0 = ma_load_u32(bias + 0);
    ma_u32 s1_0 = s0_0;
    ma_u32 s2_0 = s0_0;
    ma_u32 s3_0 = s0_0;
    a += first * 36;
    w += first * 80;
    for (int32_t fy = first; fy < end; ++fy, a += 36) {
#pragma GCC unroll 5
        for (int32_t i = 0; i < 20; i += 4, w += 16) {
            MA_UNREAD(a);
            const ma_i8 w0 = ma_load_i8(w + 0);
            const ma_u32 a0 = ma_splat_bytes(a + i);
            s0_0 = ma_dot4(s0_0, a0, w0);
            const ma_u32 a1 = ma_splat_bytes(a + 6 + i);
            s1_0 = ma_dot4(s1_0, a1, w0);
            const ma_u32 a2 = ma_splat_bytes(a + 12 + i);
            s2_0 = ma_dot4(s2_0, a2, w0);
            const ma_u32 a3 = ma_splat_bytes(a + 18 + i);
            s3_0 = ma_dot4(s3_0, a3, w0);
        }
    }
    const ma_f32 f0 = ma_load_f32(scale + 0);
    ma_store_steps4(y + 0, 4, (const ma_f32[]){ma_scaled(s0_0, f0), ma_scaled(s1_0, f0), ma_scaled(s2_0, f0), ma_scaled(s3_0, f0)}, 0x0p+0f, 0x1.04p+7f, -3, -3, 1, MA_FOUR_PLACES);
}

/* conv2d: x uint8[1,5,4,6], weight int8[4,3,3,6], bias int32[4], scale float32[4] -> y int8[1,5,4,4] */
MA_DOTS static void net_conv2d_sdot(const uint8_t *restrict x, const int8_t *restrict weight, const int32_t *restrict bias, const float *restrict scale, int8_t *restrict y, uint8_t *restrict scratch)
{
    _Static_assert(MA_LANES == 4, "vectors are those that the weights were packed for");
    int8_t *const image = (int8_t *)scratch;
    net_conv2d_sdot_prepare(x, image, 0, 1, 0, 1, 0, 5, 0, 4);
    for (int32_t b = 0; b < 1; ++b) {
        for (int32_t panel = 0; panel < 1; ++panel) {
            const int8_t *const w = weight + 0 + panel * 240;
            const int32_t *const start = bias + 0 + panel * 4;
            const float *const factor = scale + 0 + panel * 4;
            int8_t *const to = y + panel * 4;
            const int8_t *const from = image + b * 252;
            for (int32_t oy = 0; oy < 5; ++oy) {
                const int32_t above = 1 - oy, until = 6 - oy;
                const int32_t first = above > 0 ? above : 0, behind = until < 3 ? until : 3;
                const int32_t n = 4;
                for (int32_t i = 0; i < n; i += 4) {
                    net_conv2d_sdot_whole4(from + oy * 36 + i * 6, w, start, factor, to + b * 80 + oy * 16 + i * 4, first, behind);
                }
            }
        }
    }
}
