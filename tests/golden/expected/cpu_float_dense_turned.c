_Static_assert(MA_LANES == 8, "weights are packed for vectors of 8 elements");

MA_APART void net_dense_turned_3x2p(const float *restrict a, const float *restrict b, float *y, const float *bias, const float *residual)
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
                const ma_vf s = ma_splat(a[1]);
                c1_0 = ma_fma(s, b0, c1_0);
                c1_1 = ma_fma(s, b1, c1_1);
            }
            {
                const ma_vf s = ma_splat(a[2]);
                c2_0 = ma_fma(s, b0, c2_0);
                c2_1 = ma_fma(s, b1, c2_1);
            }
        }
        {
            const ma_vf b0 = ma_load(b + 16), b1 = ma_load(b + 24);
            {
                const ma_vf s = ma_splat(a[3]);
                c0_0 = ma_fma(s, b0, c0_0);
                c0_1 = ma_fma(s, b1, c0_1);
            }
            {
                const ma_vf s = ma_splat(a[4]);
                c1_0 = ma_fma(s, b0, c1_0);
                c1_1 = ma_fma(s, b1, c1_1);
            }
            {
                const ma_vf s = ma_splat(a[5]);
                c2_0 = ma_fma(s, b0, c2_0);
                c2_1 = ma_fma(s, b1, c2_1);
            }
        }
        {
            const ma_vf b0 = ma_load(b + 32), b1 = ma_load(b + 40);
            {
                const ma_vf s = ma_splat(a[6]);
                c0_0 = ma_fma(s, b0, c0_0);
                c0_1 = ma_fma(s, b1, c0_1);
            }
            {
                const ma_vf s = ma_splat(a[7]);
                c1_0 = ma_fma(s, b0, c1_0);
                c1_1 = ma_fma(s, b1, c1_1);
            }
            {
                const ma_vf s = ma_splat(a[8]);
                c2_0 = ma_fma(s, b0, c2_0);
                c2_1 = ma_fma(s, b1, c2_1);
            }
        }
        {
            const ma_vf b0 = ma_load(b + 48), b1 = ma_load(b + 56);
            {
                const ma_vf s = ma_splat(a[9]);
                c0_0 = ma_fma(s, b0, c0_0);
                c0_1 = ma_fma(s, b1, c0_1);
            }
            {
                const ma_vf s = ma_splat(a[10]);
                c1_0 = ma_fma(s, b0, c1_0);
                c1_1 = ma_fma(s, b1, c1_1);
            }
            {
                const ma_vf s = ma_splat(a[11]);
                c2_0 = ma_fma(s, b0, c2_0);
                c2_1 = ma_fma(s, b1, c2_1);
            }
        }
        a += 12;
        b += 64;
    }
    c0_0 += bias[0];
    c0_0 += ma_load(residual + 0);
    ma_store(y + 0, c0_0);
    c0_1 += bias[0];
    c0_1 += ma_load_part(residual + 8, 1, 0.0f);
    ma_store_part(y + 8, c0_1, 1);
    c1_0 += bias[1];
    c1_0 += ma_load(residual + 9);
    ma_store(y + 9, c1_0);
    c1_1 += bias[1];
    c1_1 += ma_load_part(residual + 17, 1, 0.0f);
    ma_store_part(y + 17, c1_1, 1);
    c2_0 += bias[2];
    c2_0 += ma_load(residual + 18);
    ma_store(y + 18, c2_0);
    c2_1 += bias[2];
    c2_1 += ma_load_part(residual + 26, 1, 0.0f);
    ma_store_part(y + 26, c2_1, 1);
}

/* dense: x float32[9,4], residual float32[3,9], weight float32[3,4], bias float32[3] -> y float32[3,9] */
static void net_dense_turned(const float *restrict x, const float *restrict residual, const float *restrict weight, const float *restrict bias, float *restrict y, uint8_t *restrict scratch)
{
    float *const packed = (float *)(void *)scratch;
    const float *const a_base = weight;
    const float *const b_base = x;
    float *const y_base = y;
    for (int32_t n = 0; n < 9; n += 24) {
        ma_pack_columns(packed + 0 + n * 4, b_base + n * 4, 4, 16, 9, 4);
    }
    for (int32_t n = 0; n < 9; n += 24) {
        const float *const panel = (packed + 0) + n * 4;
        for (int32_t m = 0; m < 3; m += 3) {
            net_dense_turned_3x2p(a_base + m * 4 + 0 * 3, panel + 0 * 16, y_base + m * 9 + n, bias + m, residual + m * 9 + n);
        }
    }
}
