/* dense: x uint8[2,7], weight int8[3,7], bias int32[3], scale float32[3] -> y int8[2,3] */
static void net_dense(const uint8_t *restrict x, const int8_t *restrict weight, const int32_t *restrict bias, const float *restrict scale, int8_t *restrict y)
{
    for (int32_t b = 0; b < 2; ++b) {
        for (int32_t k = 0; k < 3; ++k) {
            int32_t acc = bias[k];
            for (int32_t c = 0; c < 7; ++c) {
                acc += (x[b * 7 + c] - 128) * weight[k * 7 + c];
            }
            float steps = (float)acc * scale[k];
            steps = (steps + 0x1.8p+23f) - 0x1.8p+23f;
            steps = steps > -0x1.f4p+6f ? steps : -0x1.f4p+6f;
            steps = steps < 0x1.04p+7f ? steps : 0x1.04p+7f;
            y[b * 3 + k] = (int8_t)((int32_t)steps - 3);
        }
    }
}
