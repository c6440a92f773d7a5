static void net_matmul_prepare(const uint8_t *restrict x, int16_t *restrict image, int32_t b0, int32_t b1, int32_t g0, int32_t g1, int32_t oy0, int32_t oy1, int32_t ox0, int32_t ox1)
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

static void net_matmul_pack(const int8_t *x1, int16_t *packed, int32_t from, int32_t to)
{
    for (int32_t b = from; b < to; ++b) {
        const int8_t *const matrix = x1 + b * 90;
        for (int32_t first = 0; first < 18; first += 24) {
            const int32_t real = 18 - first < 24 ? 18 - first : 24;
            const int32_t columns = 24;
            for (int32_t c = 0; c < 6; c += 2) {
                for (int32_t j = 0; j < real; ++j) {
                    packed[j * 2] = (int16_t)(matrix[(c) * 18 + first + j] + 3);
                    packed[j * 2 + 1] = c + 1 >= 5 ? 0 : (int16_t)(matrix[(c + 1) * 18 + first + j] + 3);
                }
                for (int32_t j = real * 2; j < columns * 2; ++j) {
                    packed[j] = 0;
                }
                packed += columns * 2;
            }
        }
    }
}

MA_DOTS static void net_matmul_last3(const int16_t *a, const int16_t *w, const float *scale, int8_t *y)
{
    ma_u32 s0_0 = {0};
    ma_u32 s0_1 = {0};
    ma_u32 s0_2 = {0};
    ma_u32 s1_0 = {0};
    ma_u32 s1_1 = {0};
    ma_u32 s1_2 = {0};
    ma_u32 s2_0 = {0};
    ma_u32 s2_1 = {0};
    ma_u32 s2_2 = {0};
#pragma GCC unroll 3
    for (int32_t i = 0; i < 6; i += 2, w += 48) {
        MA_UNREAD(a);
        const ma_i16 w0 = ma_load_i16(w + 0);
        const ma_i16 w1 = ma_load_i16(w + 16);
        const ma_i16 w2 = ma_load_i16(w + 32);
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
    const ma_f32 f0 = ma_splat_f32(scale[0]);
    const ma_f32 f1 = ma_splat_f32(scale[0]);
    const ma_f32 f2 = ma_splat_f32(scale[0]);
    uint8_t edge[16];
    ma_store_steps4(y + 0, 18, (const ma_f32[]){ma_scaled(s0_0, f0), ma_scaled(s0_1, f1), ma_scaled(s1_0, f0), ma_scaled(s1_1, f1)}, -0x1.f4p+6f, 0x1.04p+7f, -3, -128, 1, MA_TWO_PLACES);
    ma_store_steps2(y + 36, NULL, ma_scaled(s2_0, f0), ma_scaled(s2_1, f1), -0x1.f4p+6f, 0x1.04p+7f, -3, -128, 1, MA_SIDE_BY_SIDE);
    ma_store_steps2(edge, edge + 8, ma_scaled(s0_2, f2), ma_scaled(s1_2, f2), -0x1.f4p+6f, 0x1.04p+7f, -3, -128, 1, MA_SIDE_BY_SIDE);
    memcpy(y + 16, edge, 2);
    memcpy(y + 34, edge + 8, 2);
    ma_store_steps(edge, ma_scaled(s2_2, f2), -0x1.f4p+6f, 0x1.04p+7f, -3);
    memcpy(y + 52, edge, 2);
}

/* matmul: x uint8[2,3,5], x1 int8[2,5,18], scale float32[1] -> y int8[2,3,18] */
MA_DOTS static void net_matmul(const uint8_t *restrict x, const int8_t *restrict x1, const float *restrict scale, int8_t *restrict y, uint8_t *restrict scratch)
{
    _Static_assert(MA_LANES == 8, "vectors are those that the weights were packed for");
    int16_t *const image = (int16_t *)scratch;
    int16_t *const packed = (int16_t *)(scratch + 128);
    net_matmul_prepare(x, image, 0, 2, 0, 1, 0, 1, 0, 3);
    net_matmul_pack(x1, packed, 0, 2);
    for (int32_t b = 0; b < 2; ++b) {
        {
            const int32_t panel = 0;
            {
                const int16_t *const w = packed + b * 144 + panel * 144;
                int8_t *const to = y + panel * 24;
                const int16_t *const from = image + b * 15;
                const int32_t n = 3;
                for (int32_t i = 0; i < n; i += 3) {
                    net_matmul_last3(from + i * 5, w, scale, to + b * 54 + i * 18);
                }
            }
        }
    }
}
