static void net_depthwise_bytes_prepare(const uint8_t *restrict x, uint8_t *restrict to, int32_t iy)
{
    if (iy < 0 || iy >= 5) {
        memset(to, 128, 36);
        return;
    }
    const uint8_t *const from = x + iy * 24;
    memset(to, 128, 6);
    memcpy(to + 6, from, 24);
    memset(to + 30, 128, 6);
}

MA_DOTS static inline void net_depthwise_bytes_wide(const uint8_t *const rows[3], int32_t at, const int8_t *w, const int32_t *bias, const float *scale, int8_t *y)
{
    ma_u32 s0 = ma_load_u32(bias);
    ma_u32 s1 = ma_load_u32(bias + 16);
    ma_u32 s2 = ma_load_u32(bias + 32);
    ma_u32 s3 = ma_load_u32(bias + 48);
    {
        const ma_i8 a = ma_load_i8((const int8_t *)(rows[0] + at));
        const ma_i8 b = ma_load_i8((const int8_t *)(rows[0] + at + 6));
        const ma_i8 c = ma_load_i8((const int8_t *)(rows[0] + at + 12));
        const ma_i8 d = ma_load_i8((const int8_t *)(rows[1] + at));
        const ma_i16 l0 = ma_weave_bytes_low(a, b), l1 = ma_weave_bytes_low(c, d);
        const ma_i16 h0 = ma_weave_bytes_high(a, b), h1 = ma_weave_bytes_high(c, d);
        s0 = ma_dot4(s0, (ma_u32)ma_weave_low(l0, l1), ma_load_i8(w + 0));
        s1 = ma_dot4(s1, (ma_u32)ma_weave_high(l0, l1), ma_load_i8(w + 64));
        s2 = ma_dot4(s2, (ma_u32)ma_weave_low(h0, h1), ma_load_i8(w + 128));
        s3 = ma_dot4(s3, (ma_u32)ma_weave_high(h0, h1), ma_load_i8(w + 192));
    }
    {
        const ma_i8 a = ma_load_i8((const int8_t *)(rows[1] + at + 6));
        const ma_i8 b = ma_load_i8((const int8_t *)(rows[1] + at + 12));
        const ma_i8 c = ma_load_i8((const int8_t *)(rows[2] + at));
        const ma_i8 d = ma_load_i8((const int8_t *)(rows[2] + at + 6));
        const ma_i16 l0 = ma_weave_bytes_low(a, b), l1 = ma_weave_bytes_low(c, d);
        const ma_i16 h0 = ma_weave_bytes_high(a, b), h1 = ma_weave_bytes_high(c, d);
        s0 = ma_dot4(s0, (ma_u32)ma_weave_low(l0, l1), ma_load_i8(w + 256));
        s1 = ma_dot4(s1, (ma_u32)ma_weave_high(l0, l1), ma_load_i8(w + 320));
        s2 = ma_dot4(s2, (ma_u32)ma_weave_low(h0, h1), ma_load_i8(w + 384));
        s3 = ma_dot4(s3, (ma_u32)ma_weave_high(h0, h1), ma_load_i8(w + 448));
    }
    {
        const ma_i8 a = ma_load_i8((const int8_t *)(rows[2] + at + 12));
        const ma_i8 b = ma_load_i8((const int8_t *)(rows[2] + at + 12));
        const ma_i8 c = ma_load_i8((const int8_t *)(rows[2] + at + 12));
        const ma_i8 d = ma_load_i8((const int8_t *)(rows[2] + at + 12));
        const ma_i16 l0 = ma_weave_bytes_low(a, b), l1 = ma_weave_bytes_low(c, d);
        const ma_i16 h0 = ma_weave_bytes_high(a, b), h1 = ma_weave_bytes_high(c, d);
        s0 = ma_dot4(s0, (ma_u32)ma_weave_low(l0, l1), ma_load_i8(w + 512));
        s1 = ma_dot4(s1, (ma_u32)ma_weave_high(l0, l1), ma_load_i8(w + 576));
        s2 = ma_dot4(s2, (ma_u32)ma_weave_low(h0, h1), ma_load_i8(w + 640));
        s3 = ma_dot4(s3, (ma_u32)ma_weave_high(h0, h1), ma_load_i8(w + 704));
    }
    const ma_f32 steps[4] = {
        ma_scaled(s0, ma_load_f32(scale)),
        ma_scaled(s1, ma_load_f32(scale + 16)),
        ma_scaled(s2, ma_load_f32(scale + 32)),
        ma_scaled(s3, ma_load_f32(scale + 48)),
    };
    ma_store_steps4(y, 0, steps, 0x0p+0f, 0x1.04p+7f, -3, -3, 1, MA_WOVEN);
}

/* conv2d: x uint8[1,5,4,6], weight int8[6,3,3,1], bias int32[6], scale float32[6] -> y int8[1,5,4,6] */
MA_DOTS static void net_depthwise_bytes(const uint8_t *restrict x, const int8_t *restrict weight, const int32_t *restrict bias, const float *restrict scale, int8_t *restrict y, uint8_t *restrict scratch)
{
    _Static_assert(MA_LANES == 16, "vectors are those that the weights were packed for");
    for (int32_t b = 0; b < 1; ++b) {
        int32_t made = 0; /* rows, from the first that is seen on */
        for (int32_t oy = 0; oy < 5; ++oy) {
            const int32_t first = (oy - 0) * 1;
            for (made = made < first ? first : made; made < first + 3; ++made) {
                net_depthwise_bytes_prepare(x + b * 120, scratch + made % 3 * 36, 0 * 1 - 1 + made);
            }
            const uint8_t *const rows[3] = {
                scratch + (first + 0) % 3 * 36,
                scratch + (first + 1) % 3 * 36,
                scratch + (first + 2) % 3 * 36,
            };
            int8_t *const to = y + (b * 5 + oy) * 24;
            const int32_t n = 24;
            for (int32_t period = 0; period < 3; ++period) {
                const int8_t *const w = weight + period * 768;
                for (int32_t i = period * 64; i < n; i += 192) {
                    const int32_t left = n - i;
                    if (left >= 64) {
                        net_depthwise_bytes_wide(rows, i, w, bias + period * 64, scale + period * 64, to + i);
                    } else {
                        int8_t edge[64];
                        net_depthwise_bytes_wide(rows, i, w, bias + period * 64, scale + period * 64, edge);
                        memcpy(to + i, edge, (size_t)left);
                    }
                }
            }
        }
    }
}
