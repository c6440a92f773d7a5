_Static_assert(MA_LANES == 8, "weights are packed for vectors of 8 elements");

MA_APART void net_lstm_cells_inputs_2x4(const float *restrict a, const float *restrict b, float *y, const float *bias)
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
    ma_store(y + 24, c0_3);
    c1_0 += ma_load(bias + 0);
    ma_store(y + 32, c1_0);
    c1_1 += ma_load(bias + 8);
    ma_store(y + 40, c1_1);
    c1_2 += ma_load(bias + 16);
    ma_store(y + 48, c1_2);
    c1_3 += ma_load(bias + 24);
    ma_store(y + 56, c1_3);
}

MA_APART void net_lstm_cells_state0_2rows(const float *restrict a, const float *restrict b, float *y, const float *bias)
{
    ma_vf c0_0 = ma_splat(0.0f), c0_1 = ma_splat(0.0f), c0_2 = ma_splat(0.0f), c0_3 = ma_splat(0.0f);
    ma_vf c1_0 = ma_splat(0.0f), c1_1 = ma_splat(0.0f), c1_2 = ma_splat(0.0f), c1_3 = ma_splat(0.0f);
    int32_t r = 0;
    for (; r + 4 <= 8; r += 4) {
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
                const ma_vf s = ma_splat(a[8]);
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
                const ma_vf s = ma_splat(a[9]);
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
                const ma_vf s = ma_splat(a[10]);
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
                const ma_vf s = ma_splat(a[11]);
                c1_0 = ma_fma(s, b0, c1_0);
                c1_1 = ma_fma(s, b1, c1_1);
                c1_2 = ma_fma(s, b2, c1_2);
                c1_3 = ma_fma(s, b3, c1_3);
            }
        }
        a += 4;
        b += 128;
    }
    c0_0 += ma_load(bias + 0);
    ma_store(y + 0, c0_0);
    c0_1 += ma_load(bias + 8);
    ma_store(y + 8, c0_1);
    c0_2 += ma_load(bias + 16);
    ma_store(y + 16, c0_2);
    c0_3 += ma_load(bias + 24);
    ma_store(y + 24, c0_3);
    c1_0 += ma_load(bias + 0);
    ma_store(y + 32, c1_0);
    c1_1 += ma_load(bias + 8);
    ma_store(y + 40, c1_1);
    c1_2 += ma_load(bias + 16);
    ma_store(y + 48, c1_2);
    c1_3 += ma_load(bias + 24);
    ma_store(y + 56, c1_3);
}

/* lstm: x float32[1,2,2], x1 float32[2,8], x2 float32[2,8], weight float32[32,2], recurrent float32[32,8], bias float32[2,32] -> y float32[2,2,8] */
static void net_lstm_cells(const float *restrict x, const float *restrict x1, const float *restrict x2, const float *restrict weight, const float *restrict recurrent, const float *restrict bias, float *restrict y, uint8_t *restrict scratch)
{
    float *const gate = (float *)(void *)scratch;
    float *const cells = y + 16;
    memcpy(cells, x2, sizeof(float) * 16);
    const float *before = x1;
    for (int32_t first = 0; first < 1; first += 1) {
        const int32_t steps = 1 - first < 1 ? 1 - first : 1;
        const float *const chunk = x + first * 4;
        for (int32_t n = 0; n < 32; n += 32) {
            int32_t m = 0;
            while (steps * 2 - m >= 2) {
                net_lstm_cells_inputs_2x4(chunk + m * 2, weight + n * 2, gate + m * 32 + n, bias + n);
                m += 2;
            }
        }
        for (int32_t step = 0; step < steps; ++step) {
            float *const now = y + (first + step) * 16;
            const float *const seen = gate + step * 64;
            if (((first + step) & 1) == 0) {
                for (int32_t u = 0; u < 8; u += 8) {
                    for (int32_t b = 0; b < 2; b += 2) {
                        float sums[64];
                        net_lstm_cells_state0_2rows(before + b * 8, recurrent + u * 32, sums, bias + 32 + u * 4);
                        for (int32_t i = 0; i < 2; ++i) {
                            ma_lstm_units(now + (b + i) * 8 + u, cells + (b + i) * 8 + u, seen + (b + i) * 32 + u, 8, sums + i * 32, 8, 8, 0x1.0000000000000p-1f);
                        }
                    }
                }
            } else {
                for (int32_t u = 0; u >= 0; u -= 8) {
                    for (int32_t b = 0; b < 2; b += 2) {
                        float sums[64];
                        net_lstm_cells_state0_2rows(before + b * 8, recurrent + u * 32, sums, bias + 32 + u * 4);
                        for (int32_t i = 0; i < 2; ++i) {
                            ma_lstm_units(now + (b + i) * 8 + u, cells + (b + i) * 8 + u, seen + (b + i) * 32 + u, 8, sums + i * 32, 8, 8, 0x1.0000000000000p-1f);
                        }
                    }
                }
            }
            before = now;
        }
    }
}
