/* softmax: x uint8[2,19], table float32[256] -> y int8[2,19] */
static void net_softmax(const uint8_t *x, const float *restrict table, int8_t *y)
{
    _Static_assert(MA_LANES == 8, "vectors are as long as the project says");
    for (int32_t b = 0; b < 2; ++b) {
        const uint8_t *const from = x + b * 19;
        int8_t *const to = y + b * 19;
        float e[16] = {0x0p+0f}, total = 0x0p+0f;
        int32_t most = from[0];
        for (int32_t i = 1; i < 19; ++i) {
            most = from[i] > most ? from[i] : most;
        }
        for (int32_t i = 0; i < 19; ++i) {
            total += table[most - from[i]];
        }
        for (int32_t i = 0; i < 16; i += 16) {
            for (int32_t j = 0; j < 16; ++j) {
                e[j] = table[most - from[i + j]];
            }
            ma_store_steps2(to + i, NULL, ma_load_f32(e) / total / 0x1.99999ap-5f, ma_load_f32(e + 8) / total / 0x1.99999ap-5f, -0x1.f4p+6f, 0x1.04p+7f, -3, -128, 1, MA_SIDE_BY_SIDE);
        }
        int8_t last[16];
        for (int32_t j = 0; j < 3; ++j) {
            e[j] = table[most - from[16 + j]];
        }
        ma_store_steps2(last, NULL, ma_load_f32(e) / total / 0x1.99999ap-5f, ma_load_f32(e + 8) / total / 0x1.99999ap-5f, -0x1.f4p+6f, 0x1.04p+7f, -3, -128, 1, MA_SIDE_BY_SIDE);
        memcpy(to + 16, last, 3);
    }
}
