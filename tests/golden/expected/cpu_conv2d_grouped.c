/* conv2d: x int8[1,5,4,6], weight int8[4,2,2,3], bias int32[4] -> y int32[1,3,5,4] */
static void net_conv2d_grouped(const int8_t *restrict x, const int8_t *restrict weight, const int32_t *restrict bias, int32_t *restrict y, uint8_t *restrict scratch)
{
    int16_t *const restrict patch = (int16_t *)scratch;
    for (int32_t b = 0; b < 1; ++b) {
        for (int32_t oy = 0; oy < 3; ++oy) {
            const int32_t iy = oy * 2 - 1;
            const int32_t fy_begin = iy < 0 ? (1 - iy) / 2 : 0;
            const int32_t fy_room = (6 - iy) / 2;
            const int32_t fy_end = fy_room < 2 ? fy_room : 2;
            for (int32_t ox = 0; ox < 5; ++ox) {
                const int32_t ix = ox - 2;
                const int32_t fx_begin = ix < 0 ? (2 - ix) / 3 : 0;
                const int32_t fx_room = (6 - ix) / 3;
                const int32_t fx_end = fx_room < 2 ? fx_room : 2;
                const int32_t pixel = (b * 3 + oy) * 5 + ox;
                for (int32_t g = 0; g < 2; ++g) {
                    for (int32_t i = 0; i < 12; ++i) {
                        patch[i] = 0;
                    }
                    for (int32_t fy = fy_begin; fy < fy_end; ++fy) {
                        for (int32_t fx = fx_begin; fx < fx_end; ++fx) {
                            const int32_t at = ((b * 5 + iy + fy * 2) * 4 + ix + fx * 3) * 6 + g * 3;
                            const int32_t to = (fy * 2 + fx) * 3;
                            for (int32_t i = 0; i < 3; ++i) {
                                patch[to + i] = (int16_t)(x[at + i] + 3);
                            }
                        }
                    }
                    for (int32_t k = 0; k < 2; ++k) {
                        int32_t acc = bias[g * 2 + k];
                        for (int32_t i = 0; i < 12; ++i) {
                            acc += patch[i] * weight[(g * 2 + k) * 12 + i];
                        }
                        y[pixel * 4 + g * 2 + k] = acc;
                    }
                }
            }
        }
    }
}
