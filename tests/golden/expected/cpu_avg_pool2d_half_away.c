/* avg_pool2d: x int8[1,5,4,6] -> y int8[1,1,1,6] */
static void net_avg_pool2d_half_away(const int8_t *restrict x, int8_t *restrict y)
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
                                acc[j] += (x[at + j] + 3);
                            }
                        }
                    }
                    for (int32_t j = 0; j < n; ++j) {
                        const int32_t up = acc[j] + count / 2, down = count / 2 - acc[j];
                        const int32_t mean = (acc[j] < 0 ? -(down / count) : up / count) - 3;
                        const int32_t above = mean > -128 ? mean : -128;
                        y[pixel * 6 + c0 + j] = (int8_t)(above < 127 ? above : 127);
                    }
                }
            }
        }
    }
}
