/* avg_pool2d: x uint8[1,5,4,16] -> y int8[1,5,4,16] */
static void net_avg_pool2d(const uint8_t *restrict x, int8_t *restrict y)
{
    _Static_assert(MA_LANES == 8, "vectors are as long as the project says");
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
                const int32_t count = (fy_end - fy_begin) * (fx_end - fx_begin);
                for (int32_t first = 0; first < 16; first += 16) {
                    const int32_t c = first;
                    int8_t *const to = y + pixel * 16 + c;
                    ma_f32 s0 = {0}, s1 = {0};
                    for (int32_t fx = fx_begin; fx < fx_end; ++fx) {
                        ma_f32 column0 = {0}, column1 = {0};
                        for (int32_t fy = fy_begin; fy < fy_end; ++fy) {
                            const uint8_t *const at = x + ((b * 5 + iy + fy) * 4 + ix + fx) * 16 + c;
                            column0 += ma_real_u8(at, 128, 0x1.47ae14p-6f);
                            column1 += ma_real_u8(at + 8, 128, 0x1.47ae14p-6f);
                        }
                        s0 += column0;
                        s1 += column1;
                    }
                    ma_store_steps2(to, NULL, s0 / (float)count / 0x1.99999ap-5f, s1 / (float)count / 0x1.99999ap-5f, -0x1.f4p+6f, 0x1.04p+7f, -3, -128, 1, MA_SIDE_BY_SIDE);
                }
            }
        }
    }
}
