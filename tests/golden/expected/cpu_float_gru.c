_Static_assert(MA_LANES == 8, "weights are packed for vectors of 8 elements");

MA_APART void net_gru_inputs_3x2(const float *restrict a, const float *restrict b, float *y, const float *bias)
{
    ma_vf c0_0 = ma_splat(0.0f), c0_1 = ma_splat(0.0f);
    ma_vf c1_0 = ma_splat(0.0f), c1_1 = ma_splat(0.0f);
    ma_vf c2_0 = ma_splat(0.0f), c2_1 = ma_splat(0.0f);
    int32_t r = 0;
    for (; r + 4 <= 2; r += 4) {
        {
            const ma_vf b0 = ma_load(b + 0), b1 = ma_load(b + 8);
            {
                const ma_vf s = ma_splat(a[0]);
                c0_0 = ma_fma(s, b0, c0_0);
                c0_1 = ma_fma(s, b1, c0_1);
            }
            {
                const ma_vf s = ma_splat(a[2]);
                c1_0 = ma_fma(s, b0, c1_0);
                c1_1 = ma_fma(s, b1, c1_1);
            }
            {
                const ma_vf s = ma_splat(a[4]);
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
                const ma_vf s = ma_splat(a[3]);
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
                const ma_vf s = ma_splat(a[2]);
                c0_0 = ma_fma(s, b0, c0_0);
                c0_1 = ma_fma(s, b1, c0_1);
            }
            {
                const ma_vf s = ma_splat(a[4]);
                c1_0 = ma_fma(s, b0, c1_0);
                c1_1 = ma_fma(s, b1, c1_1);
            }
            {
                const ma_vf s = ma_splat(a[6]);
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
                const ma_vf s = ma_splat(a[5]);
                c1_0 = ma_fma(s, b0, c1_0);
                c1_1 = ma_fma(s, b1, c1_1);
            }
            {
                const ma_vf s = ma_splat(a[7]);
                c2_0 = ma_fma(s, b0, c2_0);
                c2_1 = ma_fma(s, b1, c2_1);
            }
        }
        a += 4;
        b += 64;
    }
    for (; r < 2; ++r) {
        {
            const ma_vf b0 = ma_load(b + 0), b1 = ma_load(b + 8);
            {
                const ma_vf s = ma_splat(a[0]);
                c0_0 = ma_fma(s, b0, c0_0);
                c0_1 = ma_fma(s, b1, c0_1);
            }
            {
                const ma_vf s = ma_splat(a[2]);
                c1_0 = ma_fma(s, b0, c1_0);
                c1_1 = ma_fma(s, b1, c1_1);
            }
            {
                const ma_vf s = ma_splat(a[4]);
                c2_0 = ma_fma(s, b0, c2_0);
                c2_1 = ma_fma(s, b1, c2_1);
            }
        }
        a += 1;
        b += 16;
    }
    c0_0 += ma_load(bias + 0);
    ma_store(y + 0, c0_0);
    c0_1 += ma_load(bias + 8);
    ma_store(y + 8, c0_1);
    c1_0 += ma_load(bias + 0);
    ma_store(y + 27, c1_0);
    c1_1 += ma_load(bias + 8);
    ma_store(y + 35, c1_1);
    c2_0 += ma_load(bias + 0);
    ma_store(y + 54, c2_0);
    c2_1 += ma_load(bias + 8);
    ma_store(y + 62, c2_1);
}

MA_APART void net_gru_inputs_3x2p(const float *restrict a, const float *restrict b, float *y, const float *bias)
{
    ma_vf c0_0 = ma_splat(0.0f), c0_1 = ma_splat(0.0f);
    ma_vf c1_0 = ma_splat(0.0f), c1_1 = ma_splat(0.0f);
    ma_vf c2_0 = ma_splat(0.0f), c2_1 = ma_splat(0.0f);
    int32_t r = 0;
    for (; r + 4 <= 2; r += 4) {
        {
            const ma_vf b0 = ma_load(b + 0), b1 = ma_load(b + 8);
            {
                const ma_vf s = ma_splat(a[0]);
                c0_0 = ma_fma(s, b0, c0_0);
                c0_1 = ma_fma(s, b1, c0_1);
            }
            {
                const ma_vf s = ma_splat(a[2]);
                c1_0 = ma_fma(s, b0, c1_0);
                c1_1 = ma_fma(s, b1, c1_1);
            }
            {
                const ma_vf s = ma_splat(a[4]);
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
                const ma_vf s = ma_splat(a[3]);
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
                const ma_vf s = ma_splat(a[2]);
                c0_0 = ma_fma(s, b0, c0_0);
                c0_1 = ma_fma(s, b1, c0_1);
            }
            {
                const ma_vf s = ma_splat(a[4]);
                c1_0 = ma_fma(s, b0, c1_0);
                c1_1 = ma_fma(s, b1, c1_1);
            }
            {
                const ma_vf s = ma_splat(a[6]);
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
                const ma_vf s = ma_splat(a[5]);
                c1_0 = ma_fma(s, b0, c1_0);
                c1_1 = ma_fma(s, b1, c1_1);
            }
            {
                const ma_vf s = ma_splat(a[7]);
                c2_0 = ma_fma(s, b0, c2_0);
                c2_1 = ma_fma(s, b1, c2_1);
            }
        }
        a += 4;
        b += 64;
    }
    for (; r < 2; ++r) {
        {
            const ma_vf b0 = ma_load(b + 0), b1 = ma_load(b + 8);
            {
                const ma_vf s = ma_splat(a[0]);
                c0_0 = ma_fma(s, b0, c0_0);
                c0_1 = ma_fma(s, b1, c0_1);
            }
            {
                const ma_vf s = ma_splat(a[2]);
                c1_0 = ma_fma(s, b0, c1_0);
                c1_1 = ma_fma(s, b1, c1_1);
            }
            {
                const ma_vf s = ma_splat(a[4]);
                c2_0 = ma_fma(s, b0, c2_0);
                c2_1 = ma_fma(s, b1, c2_1);
            }
        }
        a += 1;
        b += 16;
    }
    c0_0 += ma_load(bias + 0);
    ma_store(y + 0, c0_0);
    c0_1 += ma_load(bias + 8);
    ma_store_part(y + 8, c0_1, 3);
    c1_0 += ma_load(bias + 0);
    ma_store(y + 27, c1_0);
    c1_1 += ma_load(bias + 8);
    ma_store_part(y + 35, c1_1, 3);
    c2_0 += ma_load(bias + 0);
    ma_store(y + 54, c2_0);
    c2_1 += ma_load(bias + 8);
    ma_store_part(y + 62, c2_1, 3);
}

MA_APART void net_gru_state0(const float *restrict a, const float *restrict b, float *y, const float *bias)
{
    ma_vf c0_0 = ma_splat(0.0f), c0_1 = ma_splat(0.0f), c0_2 = ma_splat(0.0f), c0_3 = ma_splat(0.0f), c0_4 = ma_splat(0.0f), c0_5 = ma_splat(0.0f);
    int32_t r = 0;
    for (; r + 4 <= 9; r += 4) {
        {
            {
                const ma_vf s = ma_splat(a[0]);
                c0_0 = ma_fma(s, ma_load(b + 0), c0_0);
                c0_1 = ma_fma(s, ma_load(b + 8), c0_1);
                c0_2 = ma_fma(s, ma_load(b + 16), c0_2);
                c0_3 = ma_fma(s, ma_load(b + 24), c0_3);
                c0_4 = ma_fma(s, ma_load(b + 32), c0_4);
                c0_5 = ma_fma(s, ma_load(b + 40), c0_5);
            }
        }
        {
            {
                const ma_vf s = ma_splat(a[1]);
                c0_0 = ma_fma(s, ma_load(b + 48), c0_0);
                c0_1 = ma_fma(s, ma_load(b + 56), c0_1);
                c0_2 = ma_fma(s, ma_load(b + 64), c0_2);
                c0_3 = ma_fma(s, ma_load(b + 72), c0_3);
                c0_4 = ma_fma(s, ma_load(b + 80), c0_4);
                c0_5 = ma_fma(s, ma_load(b + 88), c0_5);
            }
        }
        {
            {
                const ma_vf s = ma_splat(a[2]);
                c0_0 = ma_fma(s, ma_load(b + 96), c0_0);
                c0_1 = ma_fma(s, ma_load(b + 104), c0_1);
                c0_2 = ma_fma(s, ma_load(b + 112), c0_2);
                c0_3 = ma_fma(s, ma_load(b + 120), c0_3);
                c0_4 = ma_fma(s, ma_load(b + 128), c0_4);
                c0_5 = ma_fma(s, ma_load(b + 136), c0_5);
            }
        }
        {
            {
                const ma_vf s = ma_splat(a[3]);
                c0_0 = ma_fma(s, ma_load(b + 144), c0_0);
                c0_1 = ma_fma(s, ma_load(b + 152), c0_1);
                c0_2 = ma_fma(s, ma_load(b + 160), c0_2);
                c0_3 = ma_fma(s, ma_load(b + 168), c0_3);
                c0_4 = ma_fma(s, ma_load(b + 176), c0_4);
                c0_5 = ma_fma(s, ma_load(b + 184), c0_5);
            }
        }
        a += 4;
        b += 192;
    }
    for (; r < 9; ++r) {
        {
            {
                const ma_vf s = ma_splat(a[0]);
                c0_0 = ma_fma(s, ma_load(b + 0), c0_0);
                c0_1 = ma_fma(s, ma_load(b + 8), c0_1);
                c0_2 = ma_fma(s, ma_load(b + 16), c0_2);
                c0_3 = ma_fma(s, ma_load(b + 24), c0_3);
                c0_4 = ma_fma(s, ma_load(b + 32), c0_4);
                c0_5 = ma_fma(s, ma_load(b + 40), c0_5);
            }
        }
        a += 1;
        b += 48;
    }
    c0_0 += ma_load(bias + 0);
    ma_store(y + 0, c0_0);
    c0_1 += ma_load(bias + 8);
    ma_store(y + 8, c0_1);
    c0_2 += ma_load(bias + 16);
    ma_store(y + 16, c0_2);
    c0_3 += ma_load(bias + 24);
    ma_store(y + 24, c0_3);
    c0_4 += ma_load(bias + 32);
    ma_store(y + 32, c0_4);
    c0_5 += ma_load(bias + 40);
    ma_store(y + 40, c0_5);
}

/* gru: x float32[3,1,2], weight float32[27,2], recurrent float32[27,9], bias float32[2,27] -> y float32[3,1,9] */
static void net_gru(const float *restrict x, const float *restrict weight, const float *restrict recurrent, const float *restrict bias, float *restrict y, uint8_t *restrict scratch)
{
    float *const gate = (float *)(void *)scratch;
    float *const zero = gate + 81;
    memset(zero, 0, sizeof(float) * 9);
    const float *before = zero;
    for (int32_t first = 0; first < 3; first += 3) {
        const int32_t steps = 3 - first < 3 ? 3 - first : 3;
        const float *const chunk = x + first * 2;
        for (int32_t n = 0; n < 16; n += 16) {
            int32_t m = 0;
            while (steps * 1 - m >= 3) {
                net_gru_inputs_3x2(chunk + m * 2, weight + n * 2, gate + m * 27 + n, bias + n);
                m += 3;
            }
        }
        for (int32_t n = 16; n < 27; n += 16) {
            int32_t m = 0;
            while (steps * 1 - m >= 3) {
                net_gru_inputs_3x2p(chunk + m * 2, weight + n * 2, gate + m * 27 + n, bias + n);
                m += 3;
            }
        }
        for (int32_t step = 0; step < steps; ++step) {
            float *const now = y + (first + step) * 9;
            const float *const seen = gate + step * 27;
            if (((first + step) & 1) == 0) {
                for (int32_t u = 0; u < 9; u += 16) {
                    for (int32_t b = 0; b < 1; ++b) {
                        float sums[48];
                        net_gru_state0(before + b * 9, recurrent + u * 27, sums, bias + 32 + u * 3);
                        ma_gru_units(now + b * 9 + u, before + b * 9 + u, seen + b * 27 + u, 9, sums, 16, 9);
                    }
                }
            } else {
                for (int32_t u = 0; u >= 0; u -= 16) {
                    for (int32_t b = 0; b < 1; ++b) {
                        float sums[48];
                        net_gru_state0(before + b * 9, recurrent + u * 27, sums, bias + 32 + u * 3);
                        ma_gru_units(now + b * 9 + u, before + b * 9 + u, seen + b * 27 + u, 9, sums, 16, 9);
                    }
                }
            }
            before = now;
        }
    }
}
