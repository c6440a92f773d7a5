/* conv2d: x uint8[1,5,4,6], weight int8[4,3,3,6], bias int32[4], scale float32[4] -> y int8[1,5,4,4] */
static void net_conv2d(const uint8_t *restrict x, const int8_t *restrict weight, const int32_t *restrict bias, const float *restrict scale, int8_t *restrict y, uint8_t *restrict scratch)
{
    int16_t *const restrict patch = (int16_t *)scratch;
    for (int32_t b = 0; b < 1; ++b) {
        for (int32_t oy = 0; oy < 5; ++oy) {
            const int32_t iy = oy - 1;
            const int32_t fy_begin = iy < 0 ? -iy : 0;
            const int32_t fy_end = 5 - iy < 3 ? 5 - iy : 3;
            for (int32_t ox = 0; ox < 4; ++ox) {
                const int32_t ix = ox - 1;
                const int32_t fx_begin = ix < 0 ? -ix : 0;
                const int32_t fx_end = 4 - ix < 3 ? 4 - ix : 3;
                const int32_t pixel = (b * 5 + oy) * 4 + ox;
                for (int32_t i = 0; i < 54; ++i) {
                    patch[i] = 0;
                }
                for (int32_t fy = fy_begin; fy < fy_end; ++fy) {
                    const int32_t run = (fx_end - fx_begin) * 6;
                    const int32_t at = ((b * 5 + iy + fy) * 4 + ix + fx_begin) * 6;
                    const int32_t to = (fy * 3 + fx_begin) * 6;
                    for (int32_t i = 0; i < run; ++i) {
                        patch[to + i] = (int16_t)(x[at + i] - 128);
                    }
                }
                for (int32_t k = 0; k < 4; ++k) {
                    int32_t acc = bias[k];
                    for (int32_t i = 0; i < 54; ++i) {
                        acc += patch[i] * weight[k * 54 + i];
                    }
                    float steps = (float)acc * scale[k];
                    steps = (steps + 0x1.8p+23f) - 0x1.8p+23f;
                    steps = steps > 0x0p+0f ? steps : 0x0p+0f;
                    steps = steps < 0x1.04p+7f ? steps : 0x1.04p+7f;
                    y[pixel * 4 + k] = (int8_t)((int32_t)steps - 3);
                }
            }
        }
    }
}
