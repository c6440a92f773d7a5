/* softmax: x uint8[2,19], table float32[256] -> y int8[2,19] */
static void net_softmax(const uint8_t *x, const float *restrict table, int8_t *y)
{
    _Static_assert(MA_LANES == 8, "vectors are as long as the project says");
    for (int32_t b = 0; b < 2; b += 2) {
        const int32_t count = 2 - b < 2 ? 2 - b : 2;
        const uint8_t *from[2]; /* the last row again where there are fewer */
        int32_t most[2];
        float total[2] = {0x0p+0f};
        for (int32_t r = 0; r < 2; ++r) {
            from[r] = x + (b + (r < count ? r : count - 1)) * 19;
            int32_t largest = from[r][0];
            for (int32_t i = 1; i < 19; ++i) {
                largest = from[r][i] > largest ? from[r][i] : largest;
            }
            most[r] = largest;
        }
        for (int32_t i = 0; i < 19; ++i) {
#pragma GCC unroll 2
            for (int32_t r = 0; r < 2; ++r) {
                total[r] += table[most[r] - from[r][i]];
            }
        }
        for (int32_t r = 0; r < count; ++r) {
            int8_t *const to = y + (b + r) * 19;
            float e[16] = {0x0p+0f};
            for (int32_t i = 0; i < 16; i += 16) {
                for (int32_t j = 0; j < 16; ++j) {
                    e[j] = table[most[r] - from[r][i + j]];
                }
                ma_store_steps2(to + i, NULL, ma_load_f32(e) / total[r] / 0x1.99999ap-5f, ma_load_f32(e + 8) / total[r] / 0x1.99999ap-5f, -0x1.f4p+6f, 0x1.04p+7f, -3, -128, 1, MA_SIDE_BY_SIDE);
            }
            int8_t last[16];
            for (int32_t j = 0; j < 3; ++j) {
                e[j] = table[most[r] - from[r][16 + j]];
            }
            ma_store_steps2(last, NULL, ma_load_f32(e) / total[r] / 0x1.99999ap-5f, ma_load_f32(e + 8) / total[r] / 0x1.99999ap-5f, -0x1.f4p+6f, 0x1.04p+7f, -3, -128, 1, MA_SIDE_BY_SIDE);
            memcpy(to + 16, last, 3);
        }
    }
}
