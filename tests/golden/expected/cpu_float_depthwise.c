_Static_assert(MA_LANES == 8, "weights are packed for vectors of 8 elements");
/* conv2d: x float32[1,4,5,9], weight float32[9,3,3,1] -> y float32[1,4,5,9] */
static void net_depthwise(const float *restrict x, const float *restrict weight, float *restrict y)
{
    for (int32_t b = 0; b < 1; ++b) {
        for (int32_t oy = 0; oy < 4; ++oy) {
            const int32_t line = (b * 4 + oy) * 5;
            for (int32_t ox = 0; ox < 1; ++ox) {
                const int32_t at = (line + ox) * 9;
                for (int32_t g = 0; g < 8; g += 8) {
                    ma_vf sum = ma_splat(0.0f);
                    for (int32_t fy = 0; fy < 3; ++fy) {
                        const int32_t row = oy * 1 + fy * 1 - 1;
                        if (row < 0 || row >= 4) {
                            continue;
                        }
                        const float *const from = x + (b * 4 + row) * 45 + g;
                        for (int32_t fx = 0; fx < 3; ++fx) {
                            const int32_t column = ox * 1 + fx * 1 - 1;
                            if (column >= 0 && column < 5) {
                                sum = ma_fma(ma_load(from + column * 9), ma_load(weight + (fy * 3 + fx) * 16 + g), sum);
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
                        const float *const from = x + (b * 4 + row) * 45 + g;
                        for (int32_t fx = 0; fx < 3; ++fx) {
                            const int32_t column = ox * 1 + fx * 1 - 1;
                            if (column >= 0 && column < 5) {
                                sum = ma_fma(ma_load_part(from + column * 9, 1, 0.0f), ma_load(weight + (fy * 3 + fx) * 16 + g), sum);
                            }
                        }
                    }
                    ma_store_part(y + at + g, sum, 1);
                }
            }
            for (int32_t ox = 4; ox < 5; ++ox) {
                const int32_t at = (line + ox) * 9;
                for (int32_t g = 0; g < 8; g += 8) {
                    ma_vf sum = ma_splat(0.0f);
                    for (int32_t fy = 0; fy < 3; ++fy) {
                        const int32_t row = oy * 1 + fy * 1 - 1;
                        if (row < 0 || row >= 4) {
                            continue;
                        }
                        const float *const from = x + (b * 4 + row) * 45 + g;
                        for (int32_t fx = 0; fx < 3; ++fx) {
                            const int32_t column = ox * 1 + fx * 1 - 1;
                            if (column >= 0 && column < 5) {
                                sum = ma_fma(ma_load(from + column * 9), ma_load(weight + (fy * 3 + fx) * 16 + g), sum);
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
                        const float *const from = x + (b * 4 + row) * 45 + g;
                        for (int32_t fx = 0; fx < 3; ++fx) {
                            const int32_t column = ox * 1 + fx * 1 - 1;
                            if (column >= 0 && column < 5) {
                                sum = ma_fma(ma_load_part(from + column * 9, 1, 0.0f), ma_load(weight + (fy * 3 + fx) * 16 + g), sum);
                            }
                        }
                    }
                    ma_store_part(y + at + g, sum, 1);
                }
            }
            for (int32_t next = 1; next < 4; next += 3) {
                const int32_t ox = next;
                const int32_t at = (line + ox) * 9;
                for (int32_t g = 0; g < 8; g += 8) {
                    ma_vf s0 = ma_splat(0.0f), s1 = s0, s2 = s0;
                    for (int32_t fy = 0; fy < 3; ++fy) {
                        const int32_t row = oy * 1 + fy * 1 - 1;
                        if (row < 0 || row >= 4) {
                            continue;
                        }
                        const float *const from = x + (b * 4 + row) * 45 + g;
                        const float *const seen = from + (ox * 1 - 1) * 9;
#pragma GCC unroll 3
                        for (int32_t fx = 0; fx < 3; ++fx) {
                            const ma_vf tap = ma_load(weight + (fy * 3 + fx) * 16 + g);
                            s0 = ma_fma(ma_load(seen + fx * 9 + 0), tap, s0);
                            s1 = ma_fma(ma_load(seen + fx * 9 + 9), tap, s1);
                            s2 = ma_fma(ma_load(seen + fx * 9 + 18), tap, s2);
                        }
                    }
                    ma_store(y + at + g + 0, s0);
                    ma_store(y + at + g + 9, s1);
                    ma_store(y + at + g + 18, s2);
                }
                for (int32_t g = 8; g < 9; g += 8) {
                    ma_vf s0 = ma_splat(0.0f), s1 = s0, s2 = s0;
                    for (int32_t fy = 0; fy < 3; ++fy) {
                        const int32_t row = oy * 1 + fy * 1 - 1;
                        if (row < 0 || row >= 4) {
                            continue;
                        }
                        const float *const from = x + (b * 4 + row) * 45 + g;
                        const float *const seen = from + (ox * 1 - 1) * 9;
#pragma GCC unroll 3
                        for (int32_t fx = 0; fx < 3; ++fx) {
                            const ma_vf tap = ma_load(weight + (fy * 3 + fx) * 16 + g);
                            s0 = ma_fma(ma_load_part(seen + fx * 9 + 0, 1, 0.0f), tap, s0);
                            s1 = ma_fma(ma_load_part(seen + fx * 9 + 9, 1, 0.0f), tap, s1);
                            s2 = ma_fma(ma_load_part(seen + fx * 9 + 18, 1, 0.0f), tap, s2);
                        }
                    }
                    ma_store_part(y + at + g + 0, s0, 1);
                    ma_store_part(y + at + g + 9, s1, 1);
                    ma_store_part(y + at + g + 18, s2, 1);
                }
            }
        }
    }
}
