_Static_assert(MA_LANES == 8, "weights are packed for vectors of 8 elements");

MA_APART void net_matmul_3x1(const float *restrict a, const float *restrict b, float *y)
{
    ma_vf c0_0 = ma_splat(0.0f);
    ma_vf c1_0 = ma_splat(0.0f);
    ma_vf c2_0 = ma_splat(0.0f);
    int32_t r = 0;
    for (; r + 4 <= 4; r += 4) {
        {
            const ma_vf b0 = ma_load(b + 0);
            {
                const ma_vf s = ma_splat(a[0]);
                c0_0 = ma_fma(s, b0, c0_0);
            }
            {
                const ma_vf s = ma_splat(a[8]);
                c1_0 = ma_fma(s, b0, c1_0);
            }
            {
                const ma_vf s = ma_splat(a[16]);
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
                const ma_vf s = ma_splat(a[9]);
                c1_0 = ma_fma(s, b0, c1_0);
            }
            {
                const ma_vf s = ma_splat(a[17]);
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
                const ma_vf s = ma_splat(a[10]);
                c1_0 = ma_fma(s, b0, c1_0);
            }
            {
                const ma_vf s = ma_splat(a[18]);
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
                const ma_vf s = ma_splat(a[11]);
                c1_0 = ma_fma(s, b0, c1_0);
            }
            {
                const ma_vf s = ma_splat(a[19]);
                c2_0 = ma_fma(s, b0, c2_0);
            }
        }
        a += 4;
        b += 32;
    }
    c0_0 *= 0x1.0000000000000p-1f;
    ma_store(y + 0, c0_0);
    c1_0 *= 0x1.0000000000000p-1f;
    ma_store(y + 8, c1_0);
    c2_0 *= 0x1.0000000000000p-1f;
    ma_store(y + 16, c2_0);
}

/* matmul: x float32[1,3,2,4], x1 float32[1,8,2,4] -> y float32[1,2,3,8] */
static void net_matmul(const float *restrict x, const float *restrict x1, float *restrict y, uint8_t *restrict scratch)
{
    float *const packed = (float *)(void *)scratch;
    for (int32_t b = 0; b < 1; ++b) {
        for (int32_t g = 0; g < 2; ++g) {
            const float *const a_base = x + b * 24 + g * 4;
            const float *const b_base = x1 + b * 64 + g * 4;
            float *const y_base = y + b * 48 + g * 24;
            for (int32_t n = 0; n < 8; n += 24) {
                ma_pack_columns(packed + 0 + n * 4, b_base + n * 8, 4, 8, 8, 8);
            }
            for (int32_t n = 0; n < 8; n += 24) {
                const float *const panel = (packed + 0) + n * 4;
                for (int32_t m = 0; m < 3; m += 3) {
                    net_matmul_3x1(a_base + m * 8 + 0, panel + 0 * 8, y_base + m * 8 + n);
                }
            }
        }
    }
}
