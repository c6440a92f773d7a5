_Static_assert(MA_LANES == 8, "weights are packed for vectors of 8 elements");
/* conv2d: x float32[1,4,5,9], weight float32[9,3,3,1] -> y float32[1,4,5,9] */
static void net_depthwise(const float *restrict x, const float *restrict weight, float *restrict y)
{
    for (int32_t b = 0; b < 1; ++b) {
        for (int32_t oy = 0; oy < 4; ++oy) {
            for (int32_t ox = 0; ox < 5; ++ox) {
                const int32_t at = ((b * 4 + oy) * 5 + ox) * 9;
                for (int32_t g = 0; g < 8; g += 8) {
                    ma_vf sum = ma_splat(0.0f);
                    for (int32_t fy = 0; fy < 3; ++fy) {
                        const int32_t row = oy * 1 + fy * 1 - 1;
                        if (row < 0 || row >= 4) {
                            continue;
                        }
                        for (int32_t fx = 0; fx < 3; ++fx) {
                            const int32_t column = ox * 1 + fx * 1 - 1;
                            if (column >= 0 && column < 5) {
                                sum = ma_fma(ma_load(x + ((b * 4 + row) * 5 + column) * 9 + g), ma_load(weight + (fy * 3 + fx) * 16 + g), sum);
                            }
                        }
                    }
                    ma_store(y + at + g, sum);
                }
                for (int32_t g = 8; g < 9; g += 8) {
                    ma_vf sum = ma_splat(0.0f);
                    for (int32_t fy = 0; fy < 3; ++fy) {
                        const int32_t row = oy * 1 + fy * 1 - 1;
                        if (row < 0 || row >= 4) {
                            continue;
                        }
                        for (int32_t fx = 0; fx < 3; ++fx) {
                            const int32_t column = ox * 1 + fx * 1 - 1;
                            if (column >= 0 && column < 5) {
                                sum = ma_fma(ma_load_part(x + ((b * 4 + row) * 5 + column) * 9 + g, 1, 0.0f), ma_load(weight + (fy * 3 + fx) * 16 + g), sum);
                            }
                        }
                    }
                    ma_store_part(y + at + g, sum, 1);
                }
            }
        }
    }
}
