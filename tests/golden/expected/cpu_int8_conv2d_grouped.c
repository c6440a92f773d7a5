static void net_conv2d_grouped_prepare(const int8_t *restrict x, int16_t *restrict image, int32_t b0, int32_t b1, int32_t g0, int32_t g1, int32_t oy0, int32_t oy1, int32_t ox0, int32_t ox1)
{
    const int32_t rows = (oy1 - oy0 - 1) * 2 + 3;
    const int32_t columns = (ox1 - ox0 - 1) + 4;
    const int32_t ix = ox0 - 2;
    for (int32_t b = b0; b < b1; ++b) {
        for (int32_t g = g0; g < g1; ++g) {
            for (int32_t row = 0; row < rows; ++row) {
                const int32_t iy = oy0 * 2 - 1 + row;
                int16_t *const to = image + (b - b0) * 336 + (g - g0) * 168 + row * 24;
                if (iy < 0 || iy >= 5) {
                    for (int32_t i = 0; i < columns * 3; ++i) {
                        to[i] = 0;
                    }
                    continue;
                }
                for (int32_t column = 0; column < columns; ++column) {
                    const int32_t at = ix + column;
                    int16_t *const here = to + column * 3;
                    if (at < 0 || at >= 4) {
                        for (int32_t i = 0; i < 3; ++i) {
                            here[i] = 0;
                        }
                        continue;
                    }
                    const int8_t *const from = x + ((b * 5 + iy) * 4 + at) * 6 + g * 3;
                    for (int32_t i = 0; i < 3; ++i) {
                        here[i] = (int16_t)(from[i] + 3);
                    }
                }
            }
        }
    }
}

MA_DOTS static void net_conv2d_grouped_last5(const int16_t *a, const int8_t *w, const int32_t *bias, int32_t *y, int32_t first, int32_t end)
{
    ma_u32 s0_0 = ma_load_u32(bias + 0);
    ma_u32 s1_0 = s0_0;
    ma_u32 s2_0 = s0_0;
    ma_u32 s3_0 = s0_0;
    ma_u32 s4_0 = s0_0;
    a += first * 48;
    w += first * 64;
    for (int32_t fy = first; fy < end; ++fy, a += 30) {
        for (int32_t fx = 0; fx < 2; ++fx, a += 9) {
#pragma GCC unroll 2
            for (int32_t i = 0; i < 4; i += 2, w += 16) {
                MA_UNREAD(a);
                const ma_i16 w0 = ma_widen_pairs(w + 0);
                const ma_i16 a0 = (ma_i16)ma_splat_bytes(a + i);
                s0_0 = ma_dot2(s0_0, a0, w0);
                const ma_i16 a1 = (ma_i16)ma_splat_bytes(a + 3 + i);
                s1_0 = ma_dot2(s1_0, a1, w0);
                const ma_i16 a2 = (ma_i16)ma_splat_bytes(a + 6 + i);
                s2_0 = ma_dot2(s2_0, a2, w0);
                const ma_i16 a3 = (ma_i16)ma_splat_bytes(a + 9 + i);
                s3_0 = ma_dot2(s3_0, a3, w0);
                const ma_i16 a4 = (ma_i16)ma_splat_bytes(a + 12 + i);
                s4_0 = ma_dot2(s4_0, a4, w0);
            }
        }
    }
    memcpy(y + 0, &s0_0, 8);
    memcpy(y + 4, &s1_0, 8);
    memcpy(y + 8, &s2_0, 8);
    memcpy(y + 12, &s3_0, 8);
    memcpy(y + 16, &s4_0, 8);
}

/* conv2d: x int8[1,5,4,6], weight int8[4,2,2,3], bias int32[4] -> y int32[1,3,5,4] */
MA_DOTS static void net_conv2d_grouped(const int8_t *restrict x, const int8_t *restrict weight, const int32_t *restrict bias, int32_t *restrict y, uint8_t *restrict scratch)
{
    _Static_assert(MA_LANES == 8, "vectors are those that the weights were packed for");
    int16_t *const image = (int16_t *)scratch;
    net_conv2d_grouped_prepare(x, image, 0, 1, 0, 2, 0, 3, 0, 5);
    for (int32_t b = 0; b < 1; ++b) {
        for (int32_t g = 0; g < 2; ++g) {
            {
                const int32_t panel = 0;
                {
                    const int8_t *const w = weight + g * 128 + panel * 128;
                    const int32_t *const start = bias + g * 8 + panel * 8;
                    int32_t *const to = y + g * 2 + panel * 8;
                    const int16_t *const from = image + b * 336 + g * 168;
                    for (int32_t oy = 0; oy < 3; ++oy) {
                        const int32_t above = (1 - oy * 2 + 1) / 2, until = (6 - oy * 2 + 1) / 2;
                        const int32_t first = above > 0 ? above : 0, behind = until < 2 ? until : 2;
                        const int32_t n = 5;
                        for (int32_t i = 0; i < n; i += 5) {
                            net_conv2d_grouped_last5(from + oy * 48 + i * 3, w, start, to + b * 60 + oy * 20 + i * 4, first, behind);
                        }
                    }
                }
            }
        }
    }
}
