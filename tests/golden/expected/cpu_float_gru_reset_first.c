_Static_assert(MA_LANES == 8, "weights are packed for vectors of 8 elements");

MA_APART void net_gru_reset_first_inputs_2x4p(const float *restrict a, const float *restrict b, float *y, const float *bias)
{
    ma_vf c0_0 = ma_splat(0.0f), c0_1 = ma_splat(0.0f), c0_2 = ma_splat(0.0f), c0_3 = ma_splat(0.0f);
    ma_vf c1_0 = ma_splat(0.0f), c1_1 = ma_splat(0.0f), c1_2 = ma_splat(0.0f), c1_3 = ma_splat(0.0f);
    int32_t r = 0;
    for (; r + 4 <= 2; r += 4) {
        {
            const ma_vf b0 = ma_load(b + 0), b1 = ma_load(b + 8), b2 = ma_load(b + 16), b3 = ma_load(b + 24);
            {
                const ma_vf s = ma_splat(a[0]);
                c0_0 = ma_fma(s, b0, c0_0);
                c0_1 = ma_fma(s, b1, c0_1);
                c0_2 = ma_fma(s, b2, c0_2);
                c0_3 = ma_fma(s, b3, c0_3);
            }
            {
                const ma_vf s = ma_splat(a[2]);
                c1_0 = ma_fma(s, b0, c1_0);
                c1_1 = ma_fma(s, b1, c1_1);
                c1_2 = ma_fma(s, b2, c1_2);
                c1_3 = ma_fma(s, b3, c1_3);
            }
        }
        {
            const ma_vf b0 = ma_load(b + 32), b1 = ma_load(b + 40), b2 = ma_load(b + 48), b3 = ma_load(b + 56);
            {
                const ma_vf s = ma_splat(a[1]);
                c0_0 = ma_fma(s, b0, c0_0);
                c0_1 = ma_fma(s, b1, c0_1);
                c0_2 = ma_fma(s, b2, c0_2);
                c0_3 = ma_fma(s, b3, c0_3);
            }
            {
                const ma_vf s = ma_splat(a[3]);
                c1_0 = ma_fma(s, b0, c1_0);
                c1_1 = ma_fma(s, b1, c1_1);
                c1_2 = ma_fma(s, b2, c1_2);
                c1_3 = ma_fma(s, b3, c1_3);
            }
        }
        {
            const ma_vf b0 = ma_load(b + 64), b1 = ma_load(b + 72), b2 = ma_load(b + 80), b3 = ma_load(b + 88);
            {
                const ma_vf s = ma_splat(a[2]);
                c0_0 = ma_fma(s, b0, c0_0);
                c0_1 = ma_fma(s, b1, c0_1);
                c0_2 = ma_fma(s, b2, c0_2);
                c0_3 = ma_fma(s, b3, c0_3);
            }
            {
                const ma_vf s = ma_splat(a[4]);
                c1_0 = ma_fma(s, b0, c1_0);
                c1_1 = ma_fma(s, b1, c1_1);
                c1_2 = ma_fma(s, b2, c1_2);
                c1_3 = ma_fma(s, b3, c1_3);
            }
        }
        {
            const ma_vf b0 = ma_load(b + 96), b1 = ma_load(b + 104), b2 = ma_load(b + 112), b3 = ma_load(b + 120);
            {
                const ma_vf s = ma_splat(a[3]);
                c0_0 = ma_fma(s, b0, c0_0);
                c0_1 = ma_fma(s, b1, c0_1);
                c0_2 = ma_fma(s, b2, c0_2);
                c0_3 = ma_fma(s, b3, c0_3);
            }
            {
                const ma_vf s = ma_splat(a[5]);
                c1_0 = ma_fma(s, b0, c1_0);
                c1_1 = ma_fma(s, b1, c1_1);
                c1_2 = ma_fma(s, b2, c1_2);
                c1_3 = ma_fma(s, b3, c1_3);
            }
        }
        a += 4;
        b += 128;
    }
    for (; r < 2; ++r) {
        {
            const ma_vf b0 = ma_load(b + 0), b1 = ma_load(b + 8), b2 = ma_load(b + 16), b3 = ma_load(b + 24);
            {
                const ma_vf s = ma_splat(a[0]);
                c0_0 = ma_fma(s, b0, c0_0);
                c0_1 = ma_fma(s, b1, c0_1);
                c0_2 = ma_fma(s, b2, c0_2);
                c0_3 = ma_fma(s, b3, c0_3);
            }
            {
                const ma_vf s = ma_splat(a[2]);
                c1_0 = ma_fma(s, b0, c1_0);
                c1_1 = ma_fma(s, b1, c1_1);
                c1_2 = ma_fma(s, b2, c1_2);
                c1_3 = ma_fma(s, b3, c1_3);
            }
        }
        a += 1;
        b += 32;
    }
    c0_0 += ma_load(bias + 0);
    ma_store(y + 0, c0_0);
    c0_1 += ma_load(bias + 8);
    ma_store(y + 8, c0_1);
    c0_2 += ma_load(bias + 16);
    ma_store(y + 16, c0_2);
    c0_3 += ma_load(bias + 24);
    ma_store_part(y + 24, c0_3, 3);
    c1_0 += ma_load(bias + 0);
    ma_store(y + 27, c1_0);
    c1_1 += ma_load(bias + 8);
    ma_store(y + 35, c1_1);
    c1_2 += ma_load(bias + 16);
    ma_store(y + 43, c1_2);
    c1_3 += ma_load(bias + 24);
    ma_store_part(y + 51, c1_3, 3);
}

MA_APART void net_gru_reset_first_state0(const float *restrict a, const float *restrict b, float *y, const float *bias)
{
    ma_vf c0_0 = ma_splat(0.0f), c0_1 = ma_splat(0.0f), c0_2 = ma_splat(0.0f), c0_3 = ma_splat(0.0f);
    int32_t r = 0;
    for (; r + 4 <= 9; r += 4) {
        {
            {
                const ma_vf s = ma_splat(a[0]);
                c0_0 = ma_fma(s, ma_load(b + 0), c0_0);
                c0_1 = ma_fma(s, ma_load(b + 8), c0_1);
                c0_2 = ma_fma(s, ma_load(b + 16), c0_2);
                c0_3 = ma_fma(s, ma_load(b + 24), c0_3);
            }
        }
        {
            {
                const ma_vf s = ma_splat(a[1]);
                c0_0 = ma_fma(s, ma_load(b + 32), c0_0);
                c0_1 = ma_fma(s, ma_load(b + 40), c0_1);
                c0_2 = ma_fma(s, ma_load(b + 48), c0_2);
                c0_3 = ma_fma(s, ma_load(b + 56), c0_3);
            }
        }
        {
            {
                const ma_vf s = ma_splat(a[2]);
                c0_0 = ma_fma(s, ma_load(b + 64), c0_0);
                c0_1 = ma_fma(s, ma_load(b + 72), c0_1);
                c0_2 = ma_fma(s, ma_load(b + 80), c0_2);
                c0_3 = ma_fma(s, ma_load(b + 88), c0_3);
            }
        }
        {
            {
                const ma_vf s = ma_splat(a[3]);
                c0_0 = ma_fma(s, ma_load(b + 96), c0_0);
                c0_1 = ma_fma(s, ma_load(b + 104), c0_1);
                c0_2 = ma_fma(s, ma_load(b + 112), c0_2);
                c0_3 = ma_fma(s, ma_load(b + 120), c0_3);
            }
        }
        a += 4;
        b += 128;
    }
    for (; r < 9; ++r) {
        {
            {
                const ma_vf s = ma_splat(a[0]);
                c0_0 = ma_fma(s, ma_load(b + 0), c0_0);
                c0_1 = ma_fma(s, ma_load(b + 8), c0_1);
                c0_2 = ma_fma(s, ma_load(b + 16), c0_2);
                c0_3 = ma_fma(s, ma_load(b + 24), c0_3);
            }
        }
        a += 1;
        b += 32;
    }
    c0_0 += ma_load(bias + 0);
    ma_store(y + 0, c0_0);
    c0_1 += ma_load(bias + 8);
    ma_store(y + 8, c0_1);
    c0_2 += ma_load(bias + 16);
    ma_store(y + 16, c0_2);
    c0_3 += ma_load(bias + 24);
    ma_store(y + 24, c0_3);
}

MA_APART void net_gru_reset_first_state_new0(const float *restrict a, const float *restrict b, float *y, const float *bias)
{
    ma_vf c0_0 = ma_splat(0.0f), c0_1 = ma_splat(0.0f);
    int32_t r = 0;
    for (; r + 4 <= 9; r += 4) {
        {
            {
                const ma_vf s = ma_splat(a[0]);
                c0_0 = ma_fma(s, ma_load(b + 0), c0_0);
                c0_1 = ma_fma(s, ma_load(b + 8), c0_1);
            }
        }
        {
            {
                const ma_vf s = ma_splat(a[1]);
                c0_0 = ma_fma(s, ma_load(b + 16), c0_0);
                c0_1 = ma_fma(s, ma_load(b + 24), c0_1);
            }
        }
        {
            {
                const ma_vf s = ma_splat(a[2]);
                c0_0 = ma_fma(s, ma_load(b + 32), c0_0);
                c0_1 = ma_fma(s, ma_load(b + 40), c0_1);
            }
        }
        {
            {
                const ma_vf s = ma_splat(a[3]);
                c0_0 = ma_fma(s, ma_load(b + 48), c0_0);
                c0_1 = ma_fma(s, ma_load(b + 56), c0_1);
            }
        }
        a += 4;
        b += 64;
    }
    for (; r < 9; ++r) {
        {
            {
                const ma_vf s = ma_splat(a[0]);
                c0_0 = ma_fma(s, ma_load(b + 0), c0_0);
                c0_1 = ma_fma(s, ma_load(b + 8), c0_1);
            }
        }
        a += 1;
        b += 16;
    }
    c0_0 += ma_load(bias + 0);
    ma_store(y + 0, c0_0);
    c0_1 += ma_load(bias + 8);
    ma_store(y + 8, c0_1);
}

/* gru: x float32[2,1,2], weight float32[27,2], recurrent float32[27,9], bias float32[2,27] -> y float32[2,1,9] */
static void net_gru_reset_first(const float *restrict x, const float *restrict weight, const float *restrict recurrent, const float *restrict bias, float *restrict y, uint8_t *restrict scratch)
{
    float *const gate = (float *)(void *)scratch;
    float *const zero = gate + 54;
    memset(zero, 0, sizeof(float) * 9);
    float *const update = gate + 63;
    float *const reset = gate + 72;
    const float *before = zero;
    for (int32_t first = 0; first < 2; first += 2) {
        const int32_t steps = 2 - first < 2 ? 2 - first : 2;
        const float *const chunk = x + first * 2;
        for (int32_t n = 0; n < 27; n += 32) {
            int32_t m = 0;
            while (steps * 1 - m >= 2) {
                net_gru_reset_first_inputs_2x4p(chunk + m * 2, weight + n * 2, gate + m * 27 + n, bias + n);
                m += 2;
            }
        }
        for (int32_t step = 0; step < steps; ++step) {
            float *const now = y + (first + step) * 9;
            const float *const seen = gate + step * 27;
            if (((first + step) & 1) == 0) {
                for (int32_t u = 0; u < 9; u += 16) {
                    for (int32_t b = 0; b < 1; ++b) {
                        float sums[32];
                        net_gru_reset_first_state0(before + b * 9, recurrent + u * 18, sums, bias + 32 + u * 2);
                        ma_gru_gates(update + b * 9 + u, reset + b * 9 + u, before + b * 9 + u, seen + b * 27 + u, 9, sums, 16, 9);
                    }
                }
            } else {
                for (int32_t u = 0; u >= 0; u -= 16) {
                    for (int32_t b = 0; b < 1; ++b) {
                        float sums[32];
                        net_gru_reset_first_state0(before + b * 9, recurrent + u * 18, sums, bias + 32 + u * 2);
                        ma_gru_gates(update + b * 9 + u, reset + b * 9 + u, before + b * 9 + u, seen + b * 27 + u, 9, sums, 16, 9);
                    }
                }
            }
            if (((first + step) & 1) == 0) {
                for (int32_t u = 0; u < 9; u += 16) {
                    for (int32_t b = 0; b < 1; ++b) {
                        float sums[16];
                        net_gru_reset_first_state_new0(reset + b * 9, recurrent + 288 + u * 9, sums, bias + 64 + u * 1);
                        ma_gru_new(now + b * 9 + u, before + b * 9 + u, update + b * 9 + u, seen + b * 27 + 18 + u, sums, 9);
                    }
                }
            } else {
                for (int32_t u = 0; u >= 0; u -= 16) {
                    for (int32_t b = 0; b < 1; ++b) {
                        float sums[16];
                        net_gru_reset_first_state_new0(reset + b * 9, recurrent + 288 + u * 9, sums, bias + 64 + u * 1);
                        ma_gru_new(now + b * 9 + u, before + b * 9 + u, update + b * 9 + u, seen + b * 27 + 18 + u, sums, 9);
                    }
                }
            }
            before = now;
        }
    }
}
