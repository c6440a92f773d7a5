/* softmax: x uint8[2,10], table float32[256] -> y int8[2,10] */
static void net_softmax(const uint8_t *x, const float *restrict table, int8_t *y)
{
    for (int32_t b = 0; b < 2; ++b) {
        int32_t most = x[b * 10];
        for (int32_t k = 1; k < 10; ++k) {
            most = x[b * 10 + k] > most ? x[b * 10 + k] : most;
        }
        float total = 0x0p+0f;
        for (int32_t k = 0; k < 10; ++k) {
            total += table[most - x[b * 10 + k]];
        }
        for (int32_t k = 0; k < 10; ++k) {
            float steps = (table[most - x[b * 10 + k]] / total) / 0x1.99999ap-5f;
            steps = (steps + 0x1.8p+23f) - 0x1.8p+23f;
            steps = steps > -0x1.f4p+6f ? steps : -0x1.f4p+6f;
            steps = steps < 0x1.04p+7f ? steps : 0x1.04p+7f;
            y[b * 10 + k] = (int8_t)((int32_t)steps - 3);
        }
    }
}
