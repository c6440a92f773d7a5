static void net_depthwise_strided_prepare(const uint8_t *restrict x, int16_t *restrict image, int32_t b0, int32_t b1, int32_t oy0, int32_t oy1, int32_t ox0, int32_t ox1)
{
    const int32_t rows = (oy1 - oy0 - 1) * 2 + 3;
    const int32_t columns = (ox1 - ox0 - 1) * 2 + 3;
    const int32_t ix = ox0 * 2;
    for (int32_t b = b0; b < b1; ++b) {
        for (int32_t row = 0; row < rows; ++row) {
            const int32_t iy = oy0 * 2 + row;
            int16_t *const to = image + ((b - b0) * 5 + row) * 36;
            if (iy < 0 || iy >= 5) {
                memset(to, 0, 72);
                continue;
            }
            const uint8_t *const from = x + (b * 5 + iy) * 24;
            for (int32_t column = 0; column < columns; ++column) {
                const int32_t at = ix + column;
                int16_t *const here = to + (column % 2 * 3 + column / 2) * 6;
                if (at < 0 || at >= 4) {
                    for (int32_t i = 0; i < 6; ++i) {
                        here[i] = 0;
                    }
                    continue;
                }
                const uint8_t *const seen = from + at * 6;
                for (int32_t i = 0; i < 6; ++i) {
                    here[i] = (int16_t)(seen[i] - 128);
                }
            }
        }
    }
}

MA_DOTS static inline void net_depthwise_strided_wide(const int16_t *a, const int8_t *w, const int32_t *bias, const float *scale, int8_t *y)
{
    ma_u32 s0 = ma_load_u32(bias), s1 = ma_load_u32(bias + 4);
    {
        s0 += ma_widen_i16(a + 0 + 0) * ma_widen_i8(w + 0);
        s1 += ma_widen_i16(a + 0 + 4) * ma_widen_i8(w + 4);
    }
    {
        s0 += ma_widen_i16(a + 18 + 0) * ma_widen_i8(w + 8);
        s1 += ma_widen_i16(a + 18 + 4) * ma_widen_i8(w + 12);
    }
    {
        s0 += ma_widen_i16(a + 6 + 0) * ma_widen_i8(w + 16);
        s1 += ma_widen_i16(a + 6 + 4) * ma_widen_i8(w + 20);
    }
    {
        s0 += ma_widen_i16(a + 36 + 0) * ma_widen_i8(w + 24);
        s1 += ma_widen_i16(a + 36 + 4) * ma_widen_i8(w + 28);
    }
    {
        s0 += ma_widen_i16(a + 54 + 0) * ma_widen_i8(w + 32);
        s1 += ma_widen_i16(a + 54 + 4) * ma_widen_i8(w + 36);
    }
    {
        s0 += ma_widen_i16(a + 42 + 0) * ma_widen_i8(w + 40);
        s1 += ma_widen_i16(a + 42 + 4) * ma_widen_i8(w + 44);
    }
    {
        s0 += ma_widen_i16(a + 72 + 0) * ma_widen_i8(w + 48);
        s1 += ma_widen_i16(a + 72 + 4) * ma_widen_i8(w + 52);
    }
    {
        s0 += ma_widen_i16(a + 90 + 0) * ma_widen_i8(w + 56);
        s1 += ma_widen_i16(a + 90 + 4) * ma_widen_i8(w + 60);
    }
    {
        s0 += ma_widen_i16(a + 78 + 0) * ma_widen_i8(w + 64);
        s1 += ma_widen_i16(a + 78 + 4) * ma_widen_i8(w + 68);
    }
    const ma_f32 f0 = ma_load_f32(scale), f1 = ma_load_f32(scale + 4);
    ma_store_steps2(y, NULL, ma_scaled(s0, f0), ma_scaled(s1, f1), -0x1.f4p+6f, 0x1.04p+7f, -3, -128, 1, MA_SIDE_BY_SIDE);
}

/* conv2d: x uint8[1,5,4,6], weight int8[6,3,3,1], bias int32[6], scale float32[1] -> y int8[1,2,2,6] */
MA_DOTS static void net_depthwise_strided(const uint8_t *restrict x, const int8_t *restrict weight, const int32_t *restrict bias, const float *restrict scale, int8_t *restrict y, uint8_t *restrict scratch)
{
    _Static_assert(MA_LANES == 4, "vectors are those that the weights were packed for");
    int16_t *const image = (int16_t *)scratch;
    net_depthwise_strided_prepare(x, image, 0, 1, 0, 2, 0, 2);
    for (int32_t b = 0; b < 1; ++b) {
        for (int32_t oy = 0; oy < 2; ++oy) {
            const int16_t *const from = image + b * 180 + oy * 72 + 0 * 6;
            int8_t *const to = y + ((b * 2 + oy) * 2 + 0) * 6;
            const int32_t n = 2 * 6;
            for (int32_t period = 0; period < 3; ++period) {
                const int8_t *const w = weight + period * 72;
                for (int32_t i = period * 8; i < n; i += 24) {
                    const int32_t left = n - i;
                    if (left >= 8) {
                        net_depthwise_strided_wide(from + i, w, bias + period * 8, scale + period * 8, to + i);
                    } else {
                        int8_t edge[8];
                        net_depthwise_strided_wide(from + i, w, bias + period * 8, scale + period * 8, edge);
                        memcpy(to + i, edge, (size_t)left);
                    }
                }
            }
        }
    }
}
