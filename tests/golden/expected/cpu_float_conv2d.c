_Static_assert(MA_LANES == 8, "weights are packed for vectors of 8 elements");

MA_APART void net_conv2d_tile_10x1(const float *restrict a, const float *restrict b, float *y, const float *bias, int32_t from, int32_t to)
{
    ma_vf c0_0 = ma_splat(0.0f);
    ma_vf c1_0 = ma_splat(0.0f);
    ma_vf c2_0 = ma_splat(0.0f);
    ma_vf c3_0 = ma_splat(0.0f);
    ma_vf c4_0 = ma_splat(0.0f);
    ma_vf c5_0 = ma_splat(0.0f);
    ma_vf c6_0 = ma_splat(0.0f);
    ma_vf c7_0 = ma_splat(0.0f);
    ma_vf c8_0 = ma_splat(0.0f);
    ma_vf c9_0 = ma_splat(0.0f);
    b += from * 72;
    const float *const a_at0 = a;
    for (int32_t f0 = from; f0 < to; ++f0) {
        a = a_at0 + f0 * 21;
        for (int32_t r = 0; r < 9; ++r) {
            {
                const ma_vf b0 = ma_load(b + 0);
                {
                    const ma_vf s = ma_splat(a[0]);
                    c0_0 = ma_fma(s, b0, c0_0);
                }
                {
                    const ma_vf s = ma_splat(a[3]);
                    c1_0 = ma_fma(s, b0, c1_0);
                }
                {
                    const ma_vf s = ma_splat(a[6]);
                    c2_0 = ma_fma(s, b0, c2_0);
                }
                {
                    const ma_vf s = ma_splat(a[9]);
                    c3_0 = ma_fma(s, b0, c3_0);
                }
                {
                    const ma_vf s = ma_splat(a[12]);
                    c4_0 = ma_fma(s, b0, c4_0);
                }
                {
                    const ma_vf s = ma_splat(a[21]);
                    c5_0 = ma_fma(s, b0, c5_0);
                }
                {
                    const ma_vf s = ma_splat(a[24]);
                    c6_0 = ma_fma(s, b0, c6_0);
                }
                {
                    const ma_vf s = ma_splat(a[27]);
                    c7_0 = ma_fma(s, b0, c7_0);
                }
                {
                    const ma_vf s = ma_splat(a[30]);
                    c8_0 = ma_fma(s, b0, c8_0);
                }
                {
                    const ma_vf s = ma_splat(a[33]);
                    c9_0 = ma_fma(s, b0, c9_0);
                }
            }
            a += 1;
            b += 8;
        }
    }
    c0_0 += ma_load(bias + 0);
    ma_store(y + 0, ma_relu(c0_0));
    c1_0 += ma_load(bias + 0);
    ma_store(y + 8, ma_relu(c1_0));
    c2_0 += ma_load(bias + 0);
    ma_store(y + 16, ma_relu(c2_0));
    c3_0 += ma_load(bias + 0);
    ma_store(y + 24, ma_relu(c3_0));
    c4_0 += ma_load(bias + 0);
    ma_store(y + 32, ma_relu(c4_0));
    c5_0 += ma_load(bias + 0);
    ma_store(y + 40, ma_relu(c5_0));
    c6_0 += ma_load(bias + 0);
    ma_store(y + 48, ma_relu(c6_0));
    c7_0 += ma_load(bias + 0);
    ma_store(y + 56, ma_relu(c7_0));
    c8_0 += ma_load(bias + 0);
    ma_store(y + 64, ma_relu(c8_0));
    c9_0 += ma_load(bias + 0);
    ma_store(y + 72, ma_relu(c9_0));
}

MA_APART void net_conv2d_tile_5x1(const float *restrict a, const float *restrict b, float *y, const float *bias, int32_t from, int32_t to)
{
    ma_vf c0_0 = ma_splat(0.0f);
    ma_vf c1_0 = ma_splat(0.0f);
    ma_vf c2_0 = ma_splat(0.0f);
    ma_vf c3_0 = ma_splat(0.0f);
    ma_vf c4_0 = ma_splat(0.0f);
    b += from * 72;
    const float *const a_at0 = a;
    for (int32_t f0 = from; f0 < to; ++f0) {
        a = a_at0 + f0 * 21;
        for (int32_t r = 0; r < 9; ++r) {
            {
                const ma_vf b0 = ma_load(b + 0);
                {
                    const ma_vf s = ma_splat(a[0]);
                    c0_0 = ma_fma(s, b0, c0_0);
                }
                {
                    const ma_vf s = ma_splat(a[3]);
                    c1_0 = ma_fma(s, b0, c1_0);
                }
                {
                    const ma_vf s = ma_splat(a[6]);
                    c2_0 = ma_fma(s, b0, c2_0);
                }
                {
                    const ma_vf s = ma_splat(a[9]);
                    c3_0 = ma_fma(s, b0, c3_0);
                }
                {
                    const ma_vf s = ma_splat(a[12]);
                    c4_0 = ma_fma(s, b0, c4_0);
                }
            }
            a += 1;
            b += 8;
        }
    }
    c0_0 += ma_load(bias + 0);
    ma_store(y + 0, ma_relu(c0_0));
    c1_0 += ma_load(bias + 0);
    ma_store(y + 8, ma_relu(c1_0));
    c2_0 += ma_load(bias + 0);
    ma_store(y + 16, ma_relu(c2_0));
    c3_0 += ma_load(bias + 0);
    ma_store(y + 24, ma_relu(c3_0));
    c4_0 += ma_load(bias + 0);
    ma_store(y + 32, ma_relu(c4_0));
}

/* conv2d: x float32[1,4,5,3], weight float32[8,3,3,3], bias float32[8] -> y float32[1,4,5,8] */
static void net_conv2d(const float *restrict x, const float *restrict weight, const float *restrict bias, float *restrict y, uint8_t *restrict scratch)
{
    float *const image = (float *)(void *)scratch;
    for (int32_t b = 0; b < 1; ++b) {
        memset(image, 0, sizeof(float) * 21);
        for (int32_t line = 0; line < 4; ++line) {
            float *const to = image + (line + 1) * 21;
            memset(to, 0, sizeof(float) * 3);
            memcpy(to + 3, x + (b * 4 + line) * 15, sizeof(float) * 15);
            memset(to + 18, 0, sizeof(float) * 3);
        }
        memset(image + 105, 0, sizeof(float) * 21);
        for (int32_t g = 0; g < 1; ++g) {
            const float *const panels = weight + g * 216;
            for (int32_t oy = 0; oy < 4; oy += 2) {
                const int32_t rows = (4 - oy < 2 ? 4 - oy : 2) * 5;
                const int32_t at = (b * 4 + oy) * 40 + g * 8;
                const float *const line = image + oy * 21 + g * 3;
                /* Rows of the window that see more than padding, of any of the lines. */
                const int32_t far = oy + 1;
                const int32_t above = far * 1 < 1 ? (1 - far * 1) / 1 : 0;
                const int32_t from = above < 3 ? above : 3;
                const int32_t below = (5 - oy * 1) / 1;
                const int32_t to = below < 3 ? below : 3;
                for (int32_t n = 0; n < 8; n += 8) {
                    int32_t m = 0;
                    while (rows - m >= 10) {
                        net_conv2d_tile_10x1(line + m * 3, panels + n * 27, (y + at) + m * 8 + n, bias + g * 8 + n, from, to);
                        m += 10;
                    }
                    if (rows - m == 5) {
                        net_conv2d_tile_5x1(line + m * 3, panels + n * 27, (y + at) + m * 8 + n, bias + g * 8 + n, from, to);
                        m += 5;
                    }
                }
            }
        }
    }
}
