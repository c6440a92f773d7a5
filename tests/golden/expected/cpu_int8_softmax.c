/* softmax: x uint8[2,19], table float32[256] -> y int8[2,19] */
static void net_softmax(const uint8_t *x, const float *restrict table, int8_t *y)
{
    _Static_assert(MA_LANES == 8, "vectors are as long as the project says");
    float e[2][32] = {{0x0p+0f}};
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
                e[r][i] = table[most[r] - from[r][i]];
                total[r] += e[r][i];
            }
        }
        for (int32_t r = 0; r < count; ++r) {
            int8_t *const to = y + (b + r) * 19;
            for (int32_t i = 0; i < 16; i += 16) {
                ma_store_steps2(to + i, NULL, ma_load_f32(e[r] + i) / total[r] / 0x1.99999ap-5f, ma_load_f32(e[r] + i + 8) / total[r] / 0x1.99999ap-5f, -0x1.f4p+6f, 0x1.04p+7f, -3, -128, 1, MA_SIDE_BY_SIDE);
            }
            int8_t last[16];
            ma_store_steps2(last, NULL, ma_load_f32(e[r] + 16) / total[r] / 0x1.99999ap-5f, ma_load_f32(e[r] + 16 + 8) / total[r] / 0x1.99999ap-5f, -0x1.f4p+6f, 0x1.04p+7f, -3, -128, 1, MA_SIDE_BY_SIDE);
            memcpy(to + 16, last, 3);
        }
    }
}
