/* max_pool2d: x float32[1,5,4,9] -> y float32[1,5,5,9] */
static void net_max_pool2d(const float *restrict x, float *restrict y)
{
    _Static_assert(MA_LANES == 8, "vectors are as long as the project says");
    for (int32_t b = 0; b < 1; ++b) {
        for (int32_t oy = 0; oy < 5; ++oy) {
            const int32_t iy = oy - 1;
            const int32_t fy_begin = iy < 0 ? -iy : 0;
            const int32_t fy_end = 5 - iy < 3 ? 5 - iy : 3;
            for (int32_t ox = 0; ox < 5; ++ox) {
                const int32_t ix = ox - 1;
                const int32_t fx_begin = ix < 0 ? -ix : 0;
                const int32_t fx_end = 4 - ix < 2 ? 4 - ix : 2;
                const int32_t pixel = (b * 5 + oy) * 5 + ox;
                for (int32_t g = 0; g < 8; g += 8) {
                    ma_vf most = ma_splat(-__builtin_inff());
                    for (int32_t fy = fy_begin; fy < fy_end; ++fy) {
                        for (int32_t fx = fx_begin; fx < fx_end; ++fx) {
                            const float *const at = x + ((b * 5 + iy + fy) * 4 + ix + fx) * 9 + g;
                            most = ma_larger(most, ma_load(at));
                        }
                    }
                    ma_store(y + pixel * 9 + g, most);
                }
                for (int32_t g = 8; g < 9; g += 8) {
                    ma_vf most = ma_splat(-__builtin_inff());
                    for (int32_t fy = fy_begin; fy < fy_end; ++fy) {
                        for (int32_t fx = fx_begin; fx < fx_end; ++fx) {
                            const float *const at = x + ((b * 5 + iy + fy) * 4 + ix + fx) * 9 + g;
                            most = ma_larger(most, ma_load_part(at, 1, 0.0f));
                        }
                    }
                    ma_store_part(y + pixel * 9 + g, most, 1);
                }
            }
        }
    }
}
