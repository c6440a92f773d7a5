/* conv2d: x uint8[1,5,4,6], weight int8[6,3,3,1], bias int32[6], scale float32[1] -> y int8[1,5,4,6] */
static void net_depthwise(const uint8_t *restrict x, const int8_t *restrict weight, const int32_t *restrict bias, const float *restrict scale, int8_t *restrict y)
{
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
                for (int32_t c0 = 0; c0 < 6; c0 += 6) {
                    int32_t acc[6];
                    const int32_t n = 6;
                    for (int32_t j = 0; j < n; ++j) {
                        acc[j] = bias[c0 + j];
                    }
                    for (int32_t fy = fy_begin; fy < fy_end; ++fy) {
                        for (int32_t fx = fx_begin; fx < fx_end; ++fx) {
                            const int32_t at = ((b * 5 + iy + fy) * 4 + ix + fx) * 6 + c0;
                            const int32_t tap = (fy * 3 + fx) * 6 + c0;
                            for (int32_t j = 0; j < n; ++j) {
                                acc[j] += (x[at + j] - 128) * weight[tap + j];
                            }
                        }
                    }
                    for (int32_t j = 0; j < n; ++j) {
                        float steps = (float)acc[j] * scale[0];
                        steps = (steps + 0x1.8p+23f) - 0x1.8p+23f;
                        steps = steps > -0x1.f4p+6f ? steps : -0x1.f4p+6f;
                        steps = steps < 0x1.04p+7f ? steps : 0x1.04p+7f;
                        y[pixel * 6 + c0 + j] = (int8_t)((int32_t)steps - 3);
                    }
                }
            }
        }
    }
}
