static void net_dense_prepare(const uint8_t *restrict x, int16_t *restrict image, int32_t b0, int32_t b1, int32_t g0, int32_t g1, int32_t oy0, int32_t oy1, int32_t ox0, int32_t ox1)
{
    const int32_t rows = (oy1 - oy0 - 1) + 1;
    const int32_t columns = (ox1 - ox0 - 1) + 1;
    const int32_t ix = ox0;
    const int32_t before = ix < 0 ? (-ix < columns ? -ix : columns) : 0;
    const int32_t room = 2 - ix < columns ? 2 - ix : columns;
    const int32_t end = room > before ? room : before;
    for (int32_t b = b0; b < b1; ++b) {
        for (int32_t g = g0; g < g1; ++g) {
            for (int32_t row = 0; row < rows; ++row) {
                const int32_t iy = oy0 + row;
                int16_t *const to = image + (b - b0) * 14 + (g - g0) * 14 + row * 14;
                if (iy < 0 || iy >= 1) {
                    for (int32_t i = 0; i < columns * 7; ++i) {
                        to[i] = 0;
                    }
                    continue;
                }
                const uint8_t *const from = x + ((b * 1 + iy) * 2 + ix + before) * 7;
                int16_t *const middle = to + before * 7;
                for (int32_t i = 0; i < before * 7; ++i) {
                    to[i] = 0;
                }
                for (int32_t i = 0; i < (end - before) * 7; ++i) {
                    middle[i] = (int16_t)(from[i] - 128);
                }
                int16_t *const behind = to + end * 7;
                for (int32_t i = 0; i < (columns - end) * 7; ++i) {
                    behind[i] = 0;
                }
            }
        }
    }
}

MA_DOTS static void net_dense_last2(const int16_t *a, const int8_t *w, const int32_t *bias, const float *scale, int8_t *y)
{
    ma_u32 s0_0 = ma_load_u32(bias + 0);
    ma_u32 s0_1 = ma_load_u32(bias + 8);
    ma_u32 s0_2 = ma_load_u32(bias + 16);
    ma_u32 s1_0 = s0_0;
    ma_u32 s1_1 = s0_1;
    ma_u32 s1_2 = s0_2;
#pragma GCC unroll 4
    for (int32_t i = 0; i < 8; i += 2, w += 48) {
        MA_UNREAD(a);
        const ma_i16 w0 = ma_widen_pairs(w + 0);
        const ma_i16 w1 = ma_widen_pairs(w + 16);
        const ma_i16 w2 = ma_widen_pairs(w + 32);
        const ma_i16 a0 = (ma_i16)ma_splat_bytes(a + i);
        s0_0 = ma_dot2(s0_0, a0, w0);
        s0_1 = ma_dot2(s0_1, a0, w1);
        s0_2 = ma_dot2(s0_2, a0, w2);
        const ma_i16 a1 = (ma_i16)ma_splat_bytes(a + 7 + i);
        s1_0 = ma_dot2(s1_0, a1, w0);
        s1_1 = ma_dot2(s1_1, a1, w1);
        s1_2 = ma_dot2(s1_2, a1, w2);
    }
    const ma_f32 f0 = ma_load_f32(scale + 0);
    const ma_f32 f1 = ma_load_f32(scale + 8);
    const ma_f32 f2 = ma_load_f32(scale + 16);
    uint8_t edge[16];
    ma_store_steps4(y + 0, 19, (const ma_f32[]){ma_scaled(s0_0, f0), ma_scaled(s0_1, f1), ma_scaled(s1_0, f0), ma_scaled(s1_1, f1)}, -0x1.f4p+6f, 0x1.04p+7f, -3, -128, 1, MA_TWO_PLACES);
    ma_store_steps2(edge, edge + 8, ma_scaled(s0_2, f2), ma_scaled(s1_2, f2), -0x1.f4p+6f, 0x1.04p+7f, -3, -128, 1, MA_SIDE_BY_SIDE);
    memcpy(y + 16, edge, 3);
    memcpy(y + 35, edge + 8, 3);
}

/* dense: x uint8[2,7], weight int8[19,7], bias int32[19], scale float32[19] -> y int8[2,19] */
MA_DOTS static void net_dense(const uint8_t *restrict x, const int8_t *restrict weight, const int32_t *restrict bias, const float *restrict scale, int8_t *restrict y, uint8_t *restrict scratch)
{
    _Static_assert(MA_LANES == 8, "vectors are those that the weights were packed for");
    int16_t *const image = (int16_t *)scratch;
    net_dense_prepare(x, image, 0, 1, 0, 1, 0, 1, 0, 2);
    {
        const int32_t panel = 0;
        {
            const int8_t *const w = weight + 0 + panel * 192;
            const int32_t *const start = bias + 0 + panel * 24;
            const float *const factor = scale + 0 + panel * 24;
            int8_t *const to = y + panel * 24;
            const int16_t *const from = image;
            const int32_t n = 2;
            for (int32_t i = 0; i < n; i += 2) {
                net_dense_last2(from + i * 7, w, start, factor, to + i * 19);
            }
        }
    }
}
