static void net_depthwise_prepare(const uint8_t *restrict x, int16_t *restrict image, int32_t b0, int32_t b1, int32_t oy0, int32_t oy1, int32_t ox0, int32_t ox1)
{
    const int32_t rows = (oy1 - oy0 - 1) + 3;
    const int32_t columns = (ox1 - ox0 - 1) + 3;
    const int32_t ix = ox0 - 1;
    for (int32_t b = b0; b < b1; ++b) {
        for (int32_t row = 0; row < rows; ++row) {
            const int32_t iy = oy0 - 1 + row;
            int16_t *const to = image + ((b - b0) * 7 + row) * 36;
            if (iy < 0 || iy >= 5) {
                memset(to, 0, 72);
                continue;
            }
            const uint8_t *const from = x + (b * 5 + iy) * 24;
            const int32_t before = ix < 0 ? (-ix < columns ? -ix : columns) : 0;
            const int32_t room = 4 - ix < columns ? 4 - ix : columns;
            const int32_t end = room > before ? room : before;
            for (int32_t i = 0; i < before * 6; ++i) {
                to[i] = 0;
            }
            const uint8_t *const seen = from + (ix + before) * 6;
            int16_t *const middle = to + before * 6;
            for (int32_t i = 0; i < (end - before) * 6; ++i) {
                middle[i] = (int16_t)(seen[i] - 128);
            }
            int16_t *const behind = to + end * 6;
            for (int32_t i = 0; i < (columns - end) * 6; ++i) {
                behind[i] = 0;
            }
        }
    }
}

MA_DOTS static inline void net_depthwise_wide(const int16_t *a, const int8_t *w, const int32_t *bias, const float *scale, int8_t *y)
{
    ma_u32 s0 = ma_load_u32(bias), s1 = ma_load_u32(bias + 8);
    {
        const ma_i16 p = ma_load_i16(a + 0), q = ma_load_i16(a + 6);
        s0 = ma_dot2(s0, ma_weave_low(p, q), ma_widen_pairs(w + 0));
        s1 = ma_dot2(s1, ma_weave_high(p, q), ma_widen_pairs(w + 16));
    }
    {
        const ma_i16 p = ma_load_i16(a + 12), q = ma_load_i16(a + 36);
        s0 = ma_dot2(s0, ma_weave_low(p, q), ma_widen_pairs(w + 32));
        s1 = ma_dot2(s1, ma_weave_high(p, q), ma_widen_pairs(w + 48));
    }
    {
        const ma_i16 p = ma_load_i16(a + 42), q = ma_load_i16(a + 48);
        s0 = ma_dot2(s0, ma_weave_low(p, q), ma_widen_pairs(w + 64));
        s1 = ma_dot2(s1, ma_weave_high(p, q), ma_widen_pairs(w + 80));
    }
    {
        const ma_i16 p = ma_load_i16(a + 72), q = ma_load_i16(a + 78);
        s0 = ma_dot2(s0, ma_weave_low(p, q), ma_widen_pairs(w + 96));
        s1 = ma_dot2(s1, ma_weave_high(p, q), ma_widen_pairs(w + 112));
    }
    {
        const ma_i16 p = ma_load_i16(a + 84), q = ma_load_i16(a + 84);
        s0 = ma_dot2(s0, ma_weave_low(p, q), ma_widen_pairs(w + 128));
        s1 = ma_dot2(s1, ma_weave_high(p, q), ma_widen_pairs(w + 144));
    }
    const ma_f32 f0 = ma_load_f32(scale), f1 = ma_load_f32(scale + 8);
    ma_store_steps2(y, NULL, ma_scaled(s0, f0), ma_scaled(s1, f1), -0x1.f4p+6f, 0x1.04p+7f, -3, -128, 1, MA_WOVEN);
}

/* conv2d: x uint8[1,5,4,6], weight int8[6,3,3,1], bias int32[6], scale float32[1] -> y int8[1,5,4,6] */
MA_DOTS static void net_depthwise(const uint8_t *restrict x, const int8_t *restrict weight, const int32_t *restrict bias, const float *restrict scale, int8_t *restrict y, uint8_t *restrict scratch)
{
    _Static_assert(MA_LANES == 8, "vectors are those that the weights were packed for");
    int16_t *const image = (int16_t *)scratch;
    net_depthwise_prepare(x, image, 0, 1, 0, 5, 0, 4);
    for (int32_t b = 0; b < 1; ++b) {
        for (int32_t oy = 0; oy < 5; ++oy) {
            const int16_t *const from = image + b * 252 + oy * 36 + 0 * 6;
            int8_t *const to = y + ((b * 5 + oy) * 4 + 0) * 6;
            const int32_t n = 4 * 6;
            for (int32_t period = 0; period < 3; ++period) {
                const int8_t *const w = weight + period * 160;
                for (int32_t i = period * 16; i < n; i += 48) {
                    const int32_t left = n - i;
                    if (left >= 16) {
                        net_depthwise_wide(from + i, w, bias + period * 16, scale + period * 16, to + i);
                    } else {
                        int8_t edge[16];
                        net_depthwise_wide(from + i, w, bias + period * 16, scale + period * 16, edge);
                        memcpy(to + i, edge, (size_t)left);
                    }
                }
            }
        }
    }
}
