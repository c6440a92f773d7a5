_Static_assert(MA_LANES == 8, "tiles are of vectors of 8 elements");

MA_APART void net_attention_scores_3x2p(const float *restrict a, const float *restrict b, float *y)
{
    ma_vf c0_0 = ma_splat(0.0f), c0_1 = ma_splat(0.0f);
    ma_vf c1_0 = ma_splat(0.0f), c1_1 = ma_splat(0.0f);
    ma_vf c2_0 = ma_splat(0.0f), c2_1 = ma_splat(0.0f);
    int32_t r = 0;
    for (; r + 4 <= 4; r += 4) {
        {
            const ma_vf b0 = ma_load(b + 0), b1 = ma_load(b + 8);
            {
                const ma_vf s = ma_splat(a[0]);
                c0_0 = ma_fma(s, b0, c0_0);
                c0_1 = ma_fma(s, b1, c0_1);
            }
            {
                const ma_vf s = ma_splat(a[8]);
                c1_0 = ma_fma(s, b0, c1_0);
                c1_1 = ma_fma(s, b1, c1_1);
            }
            {
                const ma_vf s = ma_splat(a[16]);
                c2_0 = ma_fma(s, b0, c2_0);
                c2_1 = ma_fma(s, b1, c2_1);
            }
        }
        {
            const ma_vf b0 = ma_load(b + 16), b1 = ma_load(b + 24);
            {
                const ma_vf s = ma_splat(a[1]);
                c0_0 = ma_fma(s, b0, c0_0);
                c0_1 = ma_fma(s, b1, c0_1);
            }
            {
                const ma_vf s = ma_splat(a[9]);
                c1_0 = ma_fma(s, b0, c1_0);
                c1_1 = ma_fma(s, b1, c1_1);
            }
            {
                const ma_vf s = ma_splat(a[17]);
                c2_0 = ma_fma(s, b0, c2_0);
                c2_1 = ma_fma(s, b1, c2_1);
            }
        }
        {
            const ma_vf b0 = ma_load(b + 32), b1 = ma_load(b + 40);
            {
                const ma_vf s = ma_splat(a[2]);
                c0_0 = ma_fma(s, b0, c0_0);
                c0_1 = ma_fma(s, b1, c0_1);
            }
            {
                const ma_vf s = ma_splat(a[10]);
                c1_0 = ma_fma(s, b0, c1_0);
                c1_1 = ma_fma(s, b1, c1_1);
            }
            {
                const ma_vf s = ma_splat(a[18]);
                c2_0 = ma_fma(s, b0, c2_0);
                c2_1 = ma_fma(s, b1, c2_1);
            }
        }
        {
            const ma_vf b0 = ma_load(b + 48), b1 = ma_load(b + 56);
            {
                const ma_vf s = ma_splat(a[3]);
                c0_0 = ma_fma(s, b0, c0_0);
                c0_1 = ma_fma(s, b1, c0_1);
            }
            {
                const ma_vf s = ma_splat(a[11]);
                c1_0 = ma_fma(s, b0, c1_0);
                c1_1 = ma_fma(s, b1, c1_1);
            }
            {
                const ma_vf s = ma_splat(a[19]);
                c2_0 = ma_fma(s, b0, c2_0);
                c2_1 = ma_fma(s, b1, c2_1);
            }
        }
        a += 4;
        b += 64;
    }
    c0_0 *= 0x1.0000000000000p-1f;
    ma_store(y + 0, c0_0);
    c0_1 *= 0x1.0000000000000p-1f;
    ma_store_part(y + 8, c0_1, 1);
    c1_0 *= 0x1.0000000000000p-1f;
    ma_store(y + 16, c1_0);
    c1_1 *= 0x1.0000000000000p-1f;
    ma_store_part(y + 24, c1_1, 1);
    c2_0 *= 0x1.0000000000000p-1f;
    ma_store(y + 32, c2_0);
    c2_1 *= 0x1.0000000000000p-1f;
    ma_store_part(y + 40, c2_1, 1);
}

MA_APART void net_attention_values_3x1(const float *restrict a, const float *restrict b, float *y, const float *scale)
{
    ma_vf c0_0 = ma_splat(0.0f);
    ma_vf c1_0 = ma_splat(0.0f);
    ma_vf c2_0 = ma_splat(0.0f);
    int32_t r = 0;
    for (; r + 4 <= 9; r += 4) {
        {
            const ma_vf b0 = ma_load(b + 0);
            {
                const ma_vf s = ma_splat(a[0]);
                c0_0 = ma_fma(s, b0, c0_0);
            }
            {
                const ma_vf s = ma_splat(a[16]);
                c1_0 = ma_fma(s, b0, c1_0);
            }
            {
                const ma_vf s = ma_splat(a[32]);
                c2_0 = ma_fma(s, b0, c2_0);
            }
        }
        {
            const ma_vf b0 = ma_load(b + 8);
            {
                const ma_vf s = ma_splat(a[1]);
                c0_0 = ma_fma(s, b0, c0_0);
            }
            {
                const ma_vf s = ma_splat(a[17]);
                c1_0 = ma_fma(s, b0, c1_0);
            }
            {
                const ma_vf s = ma_splat(a[33]);
                c2_0 = ma_fma(s, b0, c2_0);
            }
        }
        {
            const ma_vf b0 = ma_load(b + 16);
            {
                const ma_vf s = ma_splat(a[2]);
                c0_0 = ma_fma(s, b0, c0_0);
            }
            {
                const ma_vf s = ma_splat(a[18]);
                c1_0 = ma_fma(s, b0, c1_0);
            }
            {
                const ma_vf s = ma_splat(a[34]);
                c2_0 = ma_fma(s, b0, c2_0);
            }
        }
        {
            const ma_vf b0 = ma_load(b + 24);
            {
                const ma_vf s = ma_splat(a[3]);
                c0_0 = ma_fma(s, b0, c0_0);
            }
            {
                const ma_vf s = ma_splat(a[19]);
                c1_0 = ma_fma(s, b0, c1_0);
            }
            {
                const ma_vf s = ma_splat(a[35]);
                c2_0 = ma_fma(s, b0, c2_0);
            }
        }
        a += 4;
        b += 32;
    }
    for (; r < 9; ++r) {
        {
            const ma_vf b0 = ma_load(b + 0);
            {
                const ma_vf s = ma_splat(a[0]);
                c0_0 = ma_fma(s, b0, c0_0);
            }
            {
                const ma_vf s = ma_splat(a[16]);
                c1_0 = ma_fma(s, b0, c1_0);
            }
            {
                const ma_vf s = ma_splat(a[32]);
                c2_0 = ma_fma(s, b0, c2_0);
            }
        }
        a += 1;
        b += 8;
    }
    c0_0 *= scale[0];
    ma_store(y + 0, c0_0);
    c1_0 *= scale[1];
    ma_store(y + 16, c1_0);
    c2_0 *= scale[2];
    ma_store(y + 32, c2_0);
}

/* attention: x float32[1,3,2,4], x1 float32[1,9,2,4], x2 float32[1,9,2,8] -> y float32[1,3,2,8] */
static void net_attention(const float *restrict x, const float *restrict x1, const float *restrict x2, float *restrict y, uint8_t *restrict scratch)
{
    float *const keys = (float *)(void *)scratch;
    float *const sums = keys + 64;
    float *const weights = sums + 72;
    float *const scale = weights + 48;
    for (int32_t b = 0; b < 1; ++b) {
        for (int32_t g = 0; g < 2; ++g) {
            const float *const key = x1 + b * 72 + g * 4;
            const float *const value = x2 + b * 144 + g * 8;
            for (int32_t n = 0; n < 9; n += 16) {
                ma_pack_columns(keys + n * 4, key + n * 8, 4, 16, 9, 8);
            }
            for (int32_t n = 0; n < 8; n += 8) {
                ma_pack_rows(sums + n * 9, value + n, 9, 8, 8, 16);
            }
            for (int32_t first = 0; first < 3; first += 3) {
                const int32_t rows = 3 - first < 3 ? 3 - first : 3;
                const float *const query = x + (b * 3 + first) * 8 + g * 4;
                float *const result = y + (b * 3 + first) * 16 + g * 8;
                for (int32_t n = 0; n < 9; n += 16) {
                    int32_t m = 0;
                    while (rows - m >= 3) {
                        net_attention_scores_3x2p(query + m * 8, keys + n * 4, weights + m * 16 + n);
                        m += 3;
                    }
                }
                for (int32_t m = 0; m < rows; ++m) {
                    scale[m] = 1.0f / ma_exp_row(weights + m * 16, weights + m * 16, 9);
                }
                for (int32_t n = 0; n < 8; n += 8) {
                    int32_t m = 0;
                    while (rows - m >= 3) {
                        net_attention_values_3x1(weights + m * 16, sums + n * 9, result + m * 16 + n, scale + m);
                        m += 3;
                    }
                }
            }
        }
    }
}
