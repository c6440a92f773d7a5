/* layer_norm: x uint8[9,70], weight float32[70], bias float32[70] -> y int8[9,70] */
MA_DOTS static void net_layer_norm(const uint8_t *x, const float *restrict weight, const float *restrict bias, int8_t *y)
{
    _Static_assert(MA_LANES == 8, "vectors are as long as the project says");
    for (int32_t b = 0; b < 9; b += 8) {
        const int32_t count = 9 - b < 8 ? 9 - b : 8;
        float total[8], scale[8];
        for (int32_t r = 0; r < count; ++r) {
            int64_t sum, squares;
            ma_sums_u8(x + (b + r) * 70, 70, &sum, &squares);
            const int64_t spread = 70 * squares - sum * sum;
            total[r] = (float)sum;
            scale[r] = ma_norm_scale(spread, 0x1.2b97d7c57c57cp-12, 0x1.5e9c0c17914b0p-24, 0x1.4f8b588e368f1p-17);
        }
        for (int32_t r = 0; r < count; ++r) {
            const uint8_t *const from = x + (b + r) * 70;
            int8_t *const to = y + (b + r) * 70;
            for (int32_t i = 0; i < 64; i += 32) {
                ma_f32 steps[4];
                for (int32_t j = 0; j < 32; j += 8) {
                    const ma_f32 normal = ma_normal(ma_float_u8(from + i + j), 0x1.1800000000000p+6f, total[r], scale[r]);
                    steps[j / 8] = normal * ma_load_f32(weight + i + j) + ma_load_f32(bias + i + j);
                }
                ma_store_steps4(to + i, 0, steps, -0x1.f4p+6f, 0x1.04p+7f, -3, -128, 1, MA_SIDE_BY_SIDE);
            }
            uint8_t rest[32] = {0};
            int8_t last[32];
            memcpy(rest, from + 64, 6);
            ma_f32 steps[4];
            for (int32_t j = 0; j < 32; j += 8) {
                const ma_f32 normal = ma_normal(ma_float_u8(rest + j), 0x1.1800000000000p+6f, total[r], scale[r]);
                steps[j / 8] = normal * ma_load_f32(weight + 64 + j) + ma_load_f32(bias + 64 + j);
            }
            ma_store_steps4(last, 0, steps, -0x1.f4p+6f, 0x1.04p+7f, -3, -128, 1, MA_SIDE_BY_SIDE);
            memcpy(to + 64, last, 6);
        }
    }
}
