/* avg_pool2d: x float32[1,5,4,8] -> y float32[1,1,1,8] */
static void net_avg_pool2d(const float *restrict x, float *restrict y)
{
    _Static_assert(MA_LANES == 8, "vectors are as long as the project says");
    for (int32_t b = 0; b < 1; ++b) {
        for (int32_t oy = 0; oy < 1; ++oy) {
            const int32_t iy = oy;
            const int32_t fy_begin = 0, fy_end = 5;
            for (int32_t ox = 0; ox < 1; ++ox) {
                const int32_t ix = ox;
                const int32_t fx_begin = 0, fx_end = 4;
                const int32_t pixel = (b * 1 + oy) * 1 + ox;
                const float count = (float)((fy_end - fy_begin) * (fx_end - fx_begin));
                for (int32_t g = 0; g < 8; g += 8) {
                    ma_vf sum = ma_splat(0.0f);
                    for (int32_t fy = fy_begin; fy < fy_end; ++fy) {
                        ma_vf row = ma_splat(0.0f);
                        for (int32_t fx = fx_begin; fx < fx_end; ++fx) {
                            const float *const at = x + ((b * 5 + iy + fy) * 4 + ix + fx) * 8 + g;
                            row += ma_load(at);
                        }
                        sum += row;
                    }
                    ma_store(y + pixel * 8 + g, sum / count);
                }
            }
        }
    }
}
