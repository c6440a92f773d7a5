_Static_assert(MA_LANES == 8, "weights are packed for vectors of 8 elements");

MA_APART void net_dense_4x3p_ending(float *y, const float *held)
{
    for (int32_t i = 0; i < 4; ++i) {
        float *const line = y + i * 17;
        for (int32_t j = 0; j < 16; j += 8) {
            ma_store(line + j, ma_gelu(ma_load(held + i * 24 + j)));
        }
        ma_store_part(line + 16, ma_gelu(ma_load(held + i * 24 + 16)), 1);
    }
}

MA_APART void net_dense_4x3p(const float *restrict a, const float *restrict b, int32_t length, float *y, const float *bias, int32_t first, int32_t last)
{
    ma_vf c0_0 = ma_splat(0.0f), c0_1 = ma_splat(0.0f), c0_2 = ma_splat(0.0f);
    ma_vf c1_0 = ma_splat(0.0f), c1_1 = ma_splat(0.0f), c1_2 = ma_splat(0.0f);
    ma_vf c2_0 = ma_splat(0.0f), c2_1 = ma_splat(0.0f), c2_2 = ma_splat(0.0f);
    ma_vf c3_0 = ma_splat(0.0f), c3_1 = ma_splat(0.0f), c3_2 = ma_splat(0.0f);
    int32_t r = 0;
    for (; r + 4 <= length; r += 4) {
        {
            const ma_vf b0 = ma_load(b + 0), b1 = ma_load(b + 8), b2 = ma_load(b + 16);
            {
                const ma_vf s = ma_splat(a[0]);
                c0_0 = ma_fma(s, b0, c0_0);
                c0_1 = ma_fma(s, b1, c0_1);
                c0_2 = ma_fma(s, b2, c0_2);
            }
            {
                const ma_vf s = ma_splat(a[6]);
                c1_0 = ma_fma(s, b0, c1_0);
                c1_1 = ma_fma(s, b1, c1_1);
                c1_2 = ma_fma(s, b2, c1_2);
            }
            {
                const ma_vf s = ma_splat(a[12]);
                c2_0 = ma_fma(s, b0, c2_0);
                c2_1 = ma_fma(s, b1, c2_1);
                c2_2 = ma_fma(s, b2, c2_2);
            }
            {
                const ma_vf s = ma_splat(a[18]);
                c3_0 = ma_fma(s, b0, c3_0);
                c3_1 = ma_fma(s, b1, c3_1);
                c3_2 = ma_fma(s, b2, c3_2);
            }
        }
        {
            const ma_vf b0 = ma_load(b + 24), b1 = ma_load(b + 32), b2 = ma_load(b + 40);
            {
                const ma_vf s = ma_splat(a[1]);
                c0_0 = ma_fma(s, b0, c0_0);
                c0_1 = ma_fma(s, b1, c0_1);
                c0_2 = ma_fma(s, b2, c0_2);
            }
            {
                const ma_vf s = ma_splat(a[7]);
                c1_0 = ma_fma(s, b0, c1_0);
                c1_1 = ma_fma(s, b1, c1_1);
                c1_2 = ma_fma(s, b2, c1_2);
            }
            {
                const ma_vf s = ma_splat(a[13]);
                c2_0 = ma_fma(s, b0, c2_0);
                c2_1 = ma_fma(s, b1, c2_1);
                c2_2 = ma_fma(s, b2, c2_2);
            }
            {
                const ma_vf s = ma_splat(a[19]);
                c3_0 = ma_fma(s, b0, c3_0);
                c3_1 = ma_fma(s, b1, c3_1);
                c3_2 = ma_fma(s, b2, c3_2);
            }
        }
        {
            const ma_vf b0 = ma_load(b + 48), b1 = ma_load(b + 56), b2 = ma_load(b + 64);
            {
                const ma_vf s = ma_splat(a[2]);
                c0_0 = ma_fma(s, b0, c0_0);
                c0_1 = ma_fma(s, b1, c0_1);
                c0_2 = ma_fma(s, b2, c0_2);
            }
            {
                const ma_vf s = ma_splat(a[8]);
                c1_0 = ma_fma(s, b0, c1_0);
                c1_1 = ma_fma(s, b1, c1_1);
                c1_2 = ma_fma(s, b2, c1_2);
            }
            {
                const ma_vf s = ma_splat(a[14]);
                c2_0 = ma_fma(s, b0, c2_0);
                c2_1 = ma_fma(s, b1, c2_1);
                c2_2 = ma_fma(s, b2, c2_2);
            }
            {
                const ma_vf s = ma_splat(a[20]);
                c3_0 = ma_fma(s, b0, c3_0);
                c3_1 = ma_fma(s, b1, c3_1);
                c3_2 = ma_fma(s, b2, c3_2);
            }
        }
        {
            const ma_vf b0 = ma_load(b + 72), b1 = ma_load(b + 80), b2 = ma_load(b + 88);
            {
                const ma_vf s = ma_splat(a[3]);
                c0_0 = ma_fma(s, b0, c0_0);
                c0_1 = ma_fma(s, b1, c0_1);
                c0_2 = ma_fma(s, b2, c0_2);
            }
            {
                const ma_vf s = ma_splat(a[9]);
                c1_0 = ma_fma(s, b0, c1_0);
                c1_1 = ma_fma(s, b1, c1_1);
                c1_2 = ma_fma(s, b2, c1_2);
            }
            {
                const ma_vf s = ma_splat(a[15]);
                c2_0 = ma_fma(s, b0, c2_0);
                c2_1 = ma_fma(s, b1, c2_1);
                c2_2 = ma_fma(s, b2, c2_2);
            }
            {
                const ma_vf s = ma_splat(a[21]);
                c3_0 = ma_fma(s, b0, c3_0);
                c3_1 = ma_fma(s, b1, c3_1);
                c3_2 = ma_fma(s, b2, c3_2);
            }
        }
        a += 4;
        b += 96;
    }
    for (; r < length; ++r) {
        {
            const ma_vf b0 = ma_load(b + 0), b1 = ma_load(b + 8), b2 = ma_load(b + 16);
            {
                const ma_vf s = ma_splat(a[0]);
                c0_0 = ma_fma(s, b0, c0_0);
                c0_1 = ma_fma(s, b1, c0_1);
                c0_2 = ma_fma(s, b2, c0_2);
            }
            {
                const ma_vf s = ma_splat(a[6]);
                c1_0 = ma_fma(s, b0, c1_0);
                c1_1 = ma_fma(s, b1, c1_1);
                c1_2 = ma_fma(s, b2, c1_2);
            }
            {
                const ma_vf s = ma_splat(a[12]);
                c2_0 = ma_fma(s, b0, c2_0);
                c2_1 = ma_fma(s, b1, c2_1);
                c2_2 = ma_fma(s, b2, c2_2);
            }
            {
                const ma_vf s = ma_splat(a[18]);
                c3_0 = ma_fma(s, b0, c3_0);
                c3_1 = ma_fma(s, b1, c3_1);
                c3_2 = ma_fma(s, b2, c3_2);
            }
        }
        a += 1;
        b += 24;
    }
    if (!first) {
        c0_0 += ma_load(y + 0);
        c0_1 += ma_load(y + 8);
        c0_2 += ma_load_part(y + 16, 1, 0.0f);
        c1_0 += ma_load(y + 17);
        c1_1 += ma_load(y + 25);
        c1_2 += ma_load_part(y + 33, 1, 0.0f);
        c2_0 += ma_load(y + 34);
        c2_1 += ma_load(y + 42);
        c2_2 += ma_load_part(y + 50, 1, 0.0f);
        c3_0 += ma_load(y + 51);
        c3_1 += ma_load(y + 59);
        c3_2 += ma_load_part(y + 67, 1, 0.0f);
    }
    if (!last) {
        ma_store(y + 0, c0_0);
        ma_store(y + 8, c0_1);
        ma_store_part(y + 16, c0_2, 1);
        ma_store(y + 17, c1_0);
        ma_store(y + 25, c1_1);
        ma_store_part(y + 33, c1_2, 1);
        ma_store(y + 34, c2_0);
        ma_store(y + 42, c2_1);
        ma_store_part(y + 50, c2_2, 1);
        ma_store(y + 51, c3_0);
        ma_store(y + 59, c3_1);
        ma_store_part(y + 67, c3_2, 1);
        return;
    }
    float held[96];
    c0_0 += ma_load(bias + 0);
    ma_store(held + 0, c0_0);
    c0_1 += ma_load(bias + 8);
    ma_store(held + 8, c0_1);
    c0_2 += ma_load(bias + 16);
    ma_store(held + 16, c0_2);
    c1_0 += ma_load(bias + 0);
    ma_store(held + 24, c1_0);
    c1_1 += ma_load(bias + 8);
    ma_store(held + 32, c1_1);
    c1_2 += ma_load(bias + 16);
    ma_store(held + 40, c1_2);
    c2_0 += ma_load(bias + 0);
    ma_store(held + 48, c2_0);
    c2_1 += ma_load(bias + 8);
    ma_store(held + 56, c2_1);
    c2_2 += ma_load(bias + 16);
    ma_store(held + 64, c2_2);
    c3_0 += ma_load(bias + 0);
    ma_store(held + 72, c3_0);
    c3_1 += ma_load(bias + 8);
    ma_store(held + 80, c3_1);
    c3_2 += ma_load(bias + 16);
    ma_store(held + 88, c3_2);
    net_dense_4x3p_ending(y, held);
}

MA_APART void net_dense_3x3p_ending(float *y, const float *held)
{
    for (int32_t i = 0; i < 3; ++i) {
        float *const line = y + i * 17;
        for (int32_t j = 0; j < 16; j += 8) {
            ma_store(line + j, ma_gelu(ma_load(held + i * 24 + j)));
        }
        ma_store_part(line + 16, ma_gelu(ma_load(held + i * 24 + 16)), 1);
    }
}

MA_APART void net_dense_3x3p(const float *restrict a, const float *restrict b, int32_t length, float *y, const float *bias, int32_t first, int32_t last)
{
    ma_vf c0_0 = ma_splat(0.0f), c0_1 = ma_splat(0.0f), c0_2 = ma_splat(0.0f);
    ma_vf c1_0 = ma_splat(0.0f), c1_1 = ma_splat(0.0f), c1_2 = ma_splat(0.0f);
    ma_vf c2_0 = ma_splat(0.0f), c2_1 = ma_splat(0.0f), c2_2 = ma_splat(0.0f);
    int32_t r = 0;
    for (; r + 4 <= length; r += 4) {
        {
            const ma_vf b0 = ma_load(b + 0), b1 = ma_load(b + 8), b2 = ma_load(b + 16);
            {
                const ma_vf s = ma_splat(a[0]);
                c0_0 = ma_fma(s, b0, c0_0);
                c0_1 = ma_fma(s, b1, c0_1);
                c0_2 = ma_fma(s, b2, c0_2);
            }
            {
                const ma_vf s = ma_splat(a[6]);
                c1_0 = ma_fma(s, b0, c1_0);
                c1_1 = ma_fma(s, b1, c1_1);
                c1_2 = ma_fma(s, b2, c1_2);
            }
            {
                const ma_vf s = ma_splat(a[12]);
                c2_0 = ma_fma(s, b0, c2_0);
                c2_1 = ma_fma(s, b1, c2_1);
                c2_2 = ma_fma(s, b2, c2_2);
            }
        }
        {
            const ma_vf b0 = ma_load(b + 24), b1 = ma_load(b + 32), b2 = ma_load(b + 40);
            {
                const ma_vf s = ma_splat(a[1]);
                c0_0 = ma_fma(s, b0, c0_0);
                c0_1 = ma_fma(s, b1, c0_1);
                c0_2 = ma_fma(s, b2, c0_2);
            }
            {
                const ma_vf s = ma_splat(a[7]);
                c1_0 = ma_fma(s, b0, c1_0);
                c1_1 = ma_fma(s, b1, c1_1);
                c1_2 = ma_fma(s, b2, c1_2);
            }
            {
                const ma_vf s = ma_splat(a[13]);
                c2_0 = ma_fma(s, b0, c2_0);
                c2_1 = ma_fma(s, b1, c2_1);
                c2_2 = ma_fma(s, b2, c2_2);
            }
        }
        {
            const ma_vf b0 = ma_load(b + 48), b1 = ma_load(b + 56), b2 = ma_load(b + 64);
            {
                const ma_vf s = ma_splat(a[2]);
                c0_0 = ma_fma(s, b0, c0_0);
                c0_1 = ma_fma(s, b1, c0_1);
                c0_2 = ma_fma(s, b2, c0_2);
            }
            {
                const ma_vf s = ma_splat(a[8]);
                c1_0 = ma_fma(s, b0, c1_0);
                c1_1 = ma_fma(s, b1, c1_1);
                c1_2 = ma_fma(s, b2, c1_2);
            }
            {
                const ma_vf s = ma_splat(a[14]);
                c2_0 = ma_fma(s, b0, c2_0);
                c2_1 = ma_fma(s, b1, c2_1);
                c2_2 = ma_fma(s, b2, c2_2);
            }
        }
        {
            const ma_vf b0 = ma_load(b + 72), b1 = ma_load(b + 80), b2 = ma_load(b + 88);
            {
                const ma_vf s = ma_splat(a[3]);
                c0_0 = ma_fma(s, b0, c0_0);
                c0_1 = ma_fma(s, b1, c0_1);
                c0_2 = ma_fma(s, b2, c0_2);
            }
            {
                const ma_vf s = ma_splat(a[9]);
                c1_0 = ma_fma(s, b0, c1_0);
                c1_1 = ma_fma(s, b1, c1_1);
                c1_2 = ma_fma(s, b2, c1_2);
            }
            {
                const ma_vf s = ma_splat(a[15]);
                c2_0 = ma_fma(s, b0, c2_0);
                c2_1 = ma_fma(s, b1, c2_1);
                c2_2 = ma_fma(s, b2, c2_2);
            }
        }
        a += 4;
        b += 96;
    }
    for (; r < length; ++r) {
        {
            const ma_vf b0 = ma_load(b + 0), b1 = ma_load(b + 8), b2 = ma_load(b + 16);
            {
                const ma_vf s = ma_splat(a[0]);
                c0_0 = ma_fma(s, b0, c0_0);
                c0_1 = ma_fma(s, b1, c0_1);
                c0_2 = ma_fma(s, b2, c0_2);
            }
            {
                const ma_vf s = ma_splat(a[6]);
                c1_0 = ma_fma(s, b0, c1_0);
                c1_1 = ma_fma(s, b1, c1_1);
                c1_2 = ma_fma(s, b2, c1_2);
            }
            {
                const ma_vf s = ma_splat(a[12]);
                c2_0 = ma_fma(s, b0, c2_0);
                c2_1 = ma_fma(s, b1, c2_1);
                c2_2 = ma_fma(s, b2, c2_2);
            }
        }
        a += 1;
        b += 24;
    }
    if (!first) {
        c0_0 += ma_load(y + 0);
        c0_1 += ma_load(y + 8);
        c0_2 += ma_load_part(y + 16, 1, 0.0f);
        c1_0 += ma_load(y + 17);
        c1_1 += ma_load(y + 25);
        c1_2 += ma_load_part(y + 33, 1, 0.0f);
        c2_0 += ma_load(y + 34);
        c2_1 += ma_load(y + 42);
        c2_2 += ma_load_part(y + 50, 1, 0.0f);
    }
    if (!last) {
        ma_store(y + 0, c0_0);
        ma_store(y + 8, c0_1);
        ma_store_part(y + 16, c0_2, 1);
        ma_store(y + 17, c1_0);
        ma_store(y + 25, c1_1);
        ma_store_part(y + 33, c1_2, 1);
        ma_store(y + 34, c2_0);
        ma_store(y + 42, c2_1);
        ma_store_part(y + 50, c2_2, 1);
        return;
    }
    float held[72];
    c0_0 += ma_load(bias + 0);
    ma_store(held + 0, c0_0);
    c0_1 += ma_load(bias + 8);
    ma_store(held + 8, c0_1);
    c0_2 += ma_load(bias + 16);
    ma_store(held + 16, c0_2);
    c1_0 += ma_load(bias + 0);
    ma_store(held + 24, c1_0);
    c1_1 += ma_load(bias + 8);
    ma_store(held + 32, c1_1);
    c1_2 += ma_load(bias + 16);
    ma_store(held + 40, c1_2);
    c2_0 += ma_load(bias + 0);
    ma_store(held + 48, c2_0);
    c2_1 += ma_load(bias + 8);
    ma_store(held + 56, c2_1);
    c2_2 += ma_load(bias + 16);
    ma_store(held + 64, c2_2);
    net_dense_3x3p_ending(y, held);
}

/* dense: x float32[7,6], weight float32[17,6], bias float32[17] -> y float32[7,17] */
static void net_dense(const float *restrict x, const float *restrict weight, const float *restrict bias, float *restrict y)
{
    const float *const a_base = x;
    const float *const b_base = weight;
    float *const y_base = y;
    for (int32_t r0 = 0; r0 < 6; r0 += 4) {
        const int32_t r0e = 6 - r0 < 4 ? 6 : r0 + 4;
        for (int32_t n = 0; n < 17; n += 24) {
            const float *const panel = b_base + n * 6;
            for (int32_t m = 0; m < 7; m += 4) {
                if (7 - m >= 4) {
                    net_dense_4x3p(a_base + m * 6 + r0, panel + r0 * 24, r0e - r0, y_base + m * 17 + n, bias + n, r0 == 0, r0e == 6);
                }
                if (7 - m < 4) {
                    net_dense_3x3p(a_base + m * 6 + r0, panel + r0 * 24, r0e - r0, y_base + m * 17 + n, bias + n, r0 == 0, r0e == 6);
                }
            }
        }
    }
}
