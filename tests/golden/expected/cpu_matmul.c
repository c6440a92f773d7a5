/* matmul: x uint8[2,3,4], x1 int8[2,4,66], scale float32[1] -> y int8[2,3,66] */
static void net_matmul(const uint8_t *restrict x, const int8_t *restrict x1, const float *restrict scale, int8_t *restrict y)
{
    for (int32_t b = 0; b < 2; ++b) {
        for (int32_t row = 0; row < 3; ++row) {
            const int32_t line = b * 3 + row;
            for (int32_t c0 = 0; c0 < 66; c0 += 64) {
                int32_t acc[64] = {0};
                const int32_t n = 66 - c0 < 64 ? 66 - c0 : 64;
                for (int32_t j = 0; j < n; ++j) {
                    acc[j] = 0;
                }
                for (int32_t c = 0; c < 4; ++c) {
                    const int32_t left = (x[line * 4 + c] - 128);
                    const int32_t at = (b * 4 + c) * 66 + c0;
                    for (int32_t j = 0; j < n; ++j) {
                        acc[j] += left * (x1[at + j] + 3);
                    }
                }
                for (int32_t j = 0; j < n; ++j) {
                    float steps = (float)acc[j] * scale[0];
                    steps = (steps + 0x1.8p+23f) - 0x1.8p+23f;
                    steps = steps > -0x1.f4p+6f ? steps : -0x1.f4p+6f;
                    steps = steps < 0x1.04p+7f ? steps : 0x1.04p+7f;
                    y[line * 66 + c0 + j] = (int8_t)((int32_t)steps - 3);
                }
            }
        }
    }
}
