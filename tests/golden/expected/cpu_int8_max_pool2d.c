/* max_pool2d: x uint8[1,5,4,17] -> y uint8[1,2,2,17] */
static void net_max_pool2d(const uint8_t *restrict x, uint8_t *restrict y)
{
    _Static_assert(MA_LANES == 8, "vectors are as long as the project says");
    for (int32_t b = 0; b < 1; ++b) {
        for (int32_t oy = 0; oy < 2; ++oy) {
            const int32_t iy = oy * 2;
            const int32_t fy_begin = 0, fy_end = 3;
            for (int32_t ox = 0; ox < 2; ++ox) {
                const int32_t ix = ox * 2;
                const int32_t fx_begin = ix < 0 ? -ix : 0;
                const int32_t fx_end = 4 - ix < 3 ? 4 - ix : 3;
                const int32_t pixel = (b * 2 + oy) * 2 + ox;
                for (int32_t first = 0; first < 17; first += 16) {
                    const int32_t c = first + 16 > 17 ? 1 : first;
                    uint8_t *const to = y + pixel * 17 + c;
                    ma_pair_u8 most = ma_splat_pair_u8(0);
                    for (int32_t fy = fy_begin; fy < fy_end; ++fy) {
                        for (int32_t fx = fx_begin; fx < fx_end; ++fx) {
                            const uint8_t *const at = x + ((b * 5 + iy + fy) * 4 + ix + fx) * 17 + c;
                            most = ma_larger_pair_u8(most, ma_load_pair_u8(at));
                        }
                    }
                    memcpy(to, &most, sizeof most);
                }
            }
        }
    }
}
