/* avg_pool2d: x uint8[1,5,4,6] -> y int8[1,6,5,6] */
static void net_avg_pool2d(const uint8_t *restrict x, int8_t *restrict y)
{
    for (int32_t b = 0; b < 1; ++b) {
        for (int32_t oy = 0; oy < 6; ++oy) {
            const int32_t iy = oy - 1;
            const int32_t fy_begin = iy < 0 ? -iy : 0;
            const int32_t fy_end = 5 - iy < 2 ? 5 - iy : 2;
            for (int32_t ox = 0; ox < 5; ++ox) {
                const int32_t ix = ox - 1;
                const int32_t fx_begin = ix < 0 ? -ix : 0;
                const int32_t fx_end = 4 - ix < 2 ? 4 - ix : 2;
                const int32_t pixel = (b * 6 + oy) * 5 + ox;
                const float count = (float)((fy_end - fy_begin) * (fx_end - fx_begin));
                for (int32_t c0 = 0; c0 < 6; c0 += 6) {
                    float acc[6];
                    const int32_t n = 6;
                    for (int32_t j = 0; j < n; ++j) {
                        acc[j] = 0x0p+0f;
                    }
                    for (int32_t fx = fx_begin; fx < fx_end; ++fx) {
                        float column[6] = {0x0p+0f};
                        for (int32_t fy = fy_begin; fy < fy_end; ++fy) {
                            const int32_t at = ((b * 5 + iy + fy) * 4 + ix + fx) * 6 + c0;
                            for (int32_t j = 0; j < n; ++j) {
                                column[j] += (float)(x[at + j] - 128) * 0x1.47ae14p-6f;
                            }
                        }
                        for (int32_t j = 0; j < n; ++j) {
                            acc[j] += column[j];
                        }
                    }
                    for (int32_t j = 0; j < n; ++j) {
                        float steps = (acc[j] / count) / 0x1.99999ap-5f;
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
