/* avg_pool2d: x uint8[1,5,4,6] -> y int8[1,1,1,6] */
static void net_global_avg_pool2d(const uint8_t *restrict x, int8_t *restrict y)
{
    for (int32_t b = 0; b < 1; ++b) {
        for (int32_t oy = 0; oy < 1; ++oy) {
            const int32_t iy = oy;
            const int32_t fy_begin = 0, fy_end = 5;
            for (int32_t ox = 0; ox < 1; ++ox) {
                const int32_t ix = ox;
                const int32_t fx_begin = 0, fx_end = 4;
                const int32_t pixel = (b * 1 + oy) * 1 + ox;
                const int32_t count = (fy_end - fy_begin) * (fx_end - fx_begin);
                const float factor = 0x1.47ae14p-6f / (0x1.99999ap-5f * (float)count);
                for (int32_t c0 = 0; c0 < 6; c0 += 6) {
                    int32_t acc[6];
                    const int32_t n = 6;
                    for (int32_t j = 0; j < n; ++j) {
                        acc[j] = 0;
                    }
                    for (int32_t fy = fy_begin; fy < fy_end; ++fy) {
                        for (int32_t fx = fx_begin; fx < fx_end; ++fx) {
                            const int32_t at = ((b * 5 + iy + fy) * 4 + ix + fx) * 6 + c0;
                            for (int32_t j = 0; j < n; ++j) {
                                acc[j] += (x[at + j] - 128);
                            }
                        }
                    }
                    for (int32_t j = 0; j < n; ++j) {
                        float steps = (float)acc[j] * factor;
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
