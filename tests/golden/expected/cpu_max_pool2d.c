/* max_pool2d: x uint8[1,5,4,6] -> y uint8[1,2,2,6] */
static void net_max_pool2d(const uint8_t *restrict x, uint8_t *restrict y)
{
    for (int32_t b = 0; b < 1; ++b) {
        for (int32_t oy = 0; oy < 2; ++oy) {
            const int32_t iy = oy * 2;
            const int32_t fy_begin = 0, fy_end = 2;
            for (int32_t ox = 0; ox < 2; ++ox) {
                const int32_t ix = ox * 2;
                const int32_t fx_begin = 0, fx_end = 2;
                const int32_t pixel = (b * 2 + oy) * 2 + ox;
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
                                acc[j] = x[at + j] > acc[j] ? x[at + j] : acc[j];
                            }
                        }
                    }
                    for (int32_t j = 0; j < n; ++j) {
                        y[pixel * 6 + c0 + j] = (uint8_t)(acc[j] < 255 ? acc[j] : 255);
                    }
                }
            }
        }
    }
}
