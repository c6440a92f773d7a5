static void net_conv2d_winograd4_added_points(const uint8_t *x, int32_t line, int16_t *data)
{
    for (int32_t next = 0; next < 32; next += 32) {
        const int32_t c = next;
        ma_u16 down[6][6];
#pragma GCC unroll 6
        for (int32_t j = 0; j < 6; ++j) {
            ma_u16 seen[6], made[6];
#pragma GCC unroll 6
            for (int32_t i = 0; i < 6; ++i) {
                seen[i] = ma_words_u8(x + i * line + j * 32 + c);
            }
            ma_winograd4_data(seen, made);
#pragma GCC unroll 6
            for (int32_t i = 0; i < 6; ++i) {
                down[i][j] = made[i];
            }
        }
#pragma GCC unroll 6
        for (int32_t i = 0; i < 6; ++i) {
            ma_u16 made[6];
            ma_winograd4_data(down[i], made);
#pragma GCC unroll 6
            for (int32_t j = 0; j < 6; ++j) {
                ma_store_u16(data + (i * 6 + j) * 96 + c, made[j]);
            }
        }
    }
}

static void net_conv2d_winograd4_added_data(const uint8_t *x, uint8_t *seen, int16_t *data, int32_t iy, int32_t ix)
{
    for (int32_t i = 0; i < 6; ++i) {
        for (int32_t j = 0; j < 6; ++j) {
            uint8_t *const to = seen + (i * 6 + j) * 32;
            if (iy + i < 0 || iy + i >= 6 || ix + j < 0 || ix + j >= 3) {
                memset(to, 128, 32);
            } else {
                memcpy(to, x + ((iy + i) * 3 + ix + j) * 32, 32);
            }
        }
    }
    net_conv2d_winograd4_added_points(seen, 192, data);
}

MA_DOTS static void net_conv2d_winograd4_added_whole2(const int16_t *a, const int16_t *w, const int32_t *start, int32_t *to)
{
    ma_u32 s0_0 = ma_load_u32(start + 0);
    ma_u32 s1_0 = s0_0;
    ma_u32 s0_1 = ma_load_u32(start + 16);
    ma_u32 s1_1 = s0_1;
    ma_u32 s0_2 = ma_load_u32(start + 32);
    ma_u32 s1_2 = s0_2;
    ma_u32 s0_3 = ma_load_u32(start + 48);
    ma_u32 s1_3 = s0_3;
#pragma GCC unroll 16
    for (int32_t i = 0; i < 32; i += 2, w += 128) {
        const ma_i16 w0 = ma_load_i16(w + 0);
        const ma_i16 w1 = ma_load_i16(w + 32);
        const ma_i16 w2 = ma_load_i16(w + 64);
        const ma_i16 w3 = ma_load_i16(w + 96);
        const ma_i16 a0 = (ma_i16)ma_splat_bytes(a + i);
        s0_0 = ma_dot2(s0_0, a0, w0);
        s0_1 = ma_dot2(s0_1, a0, w1);
        s0_2 = ma_dot2(s0_2, a0, w2);
        s0_3 = ma_dot2(s0_3, a0, w3);
        const ma_i16 a1 = (ma_i16)ma_splat_bytes(a + 32 + i);
        s1_0 = ma_dot2(s1_0, a1, w0);
        s1_1 = ma_dot2(s1_1, a1, w1);
        s1_2 = ma_dot2(s1_2, a1, w2);
        s1_3 = ma_dot2(s1_3, a1, w3);
    }
    ma_store_u32(to + 0, s0_0);
    ma_store_u32(to + 16, s0_1);
    ma_store_u32(to + 32, s0_2);
    ma_store_u32(to + 48, s0_3);
    ma_store_u32(to + 64, s1_0);
    ma_store_u32(to + 80, s1_1);
    ma_store_u32(to + 96, s1_2);
    ma_store_u32(to + 112, s1_3);
}

static void net_conv2d_winograd4_added_whole_sums(const int32_t *from, const float *scale, int8_t *y, const uint8_t *taken0, int32_t line, int32_t pixel)
{
    ma_u32 down[4][4][6];
#pragma GCC unroll 4
    for (int32_t v = 0; v < 4; ++v) {
#pragma GCC unroll 6
        for (int32_t j = 0; j < 6; ++j) {
            ma_u32 seen[6], made[4];
#pragma GCC unroll 6
            for (int32_t i = 0; i < 6; ++i) {
                seen[i] = ma_load_u32(from + (i * 6 + j) * 144 + v * 16);
            }
            ma_winograd4_sums(seen, made);
#pragma GCC unroll 4
            for (int32_t i = 0; i < 4; ++i) {
                down[v][i][j] = made[i];
            }
        }
    }
    const ma_f32 f0 = ma_load_f32(scale + 0);
    const ma_f32 f1 = ma_load_f32(scale + 16);
    const ma_f32 f2 = ma_load_f32(scale + 32);
    const ma_f32 f3 = ma_load_f32(scale + 48);
#pragma GCC unroll 4
    for (int32_t i = 0; i < 4; ++i, y += line, taken0 += line) {
        ma_u32 s0[4];
        ma_winograd4_sums(down[0][i], s0);
        ma_u32 s1[4];
        ma_winograd4_sums(down[1][i], s1);
        ma_u32 s2[4];
        ma_winograd4_sums(down[2][i], s2);
        ma_u32 s3[4];
        ma_winograd4_sums(down[3][i], s3);
        ma_store_steps4(y + 0 * pixel + 0, NULL, (const ma_f32[]){(ma_whole_steps(ma_scaled(ma_winograd4_last(s0[0]), f0), -0x1.f400000000000p+6f, 0x1.0400000000000p+7f) * 0x1.0000000000000p+0f + (ma_float_u8(taken0 + 0 * pixel + 0) * 0x1.9999980000000p-2f + -0x1.9999980000000p+5f)), (ma_whole_steps(ma_scaled(ma_winograd4_last(s1[0]), f1), -0x1.f400000000000p+6f, 0x1.0400000000000p+7f) * 0x1.0000000000000p+0f + (ma_float_u8(taken0 + 0 * pixel + 16) * 0x1.9999980000000p-2f + -0x1.9999980000000p+5f)), (ma_whole_steps(ma_scaled(ma_winograd4_last(s2[0]), f2), -0x1.f400000000000p+6f, 0x1.0400000000000p+7f) * 0x1.0000000000000p+0f + (ma_float_u8(taken0 + 0 * pixel + 32) * 0x1.9999980000000p-2f + -0x1.9999980000000p+5f)), (ma_whole_steps(ma_scaled(ma_winograd4_last(s3[0]), f3), -0x1.f400000000000p+6f, 0x1.0400000000000p+7f) * 0x1.0000000000000p+0f + (ma_float_u8(taken0 + 0 * pixel + 48) * 0x1.9999980000000p-2f + -0x1.9999980000000p+5f))}, 0x0p+0f, 0x1.04p+7f, -3, -3, 1, MA_SIDE_BY_SIDE);
        ma_store_steps4(y + 1 * pixel + 0, NULL, (const ma_f32[]){(ma_whole_steps(ma_scaled(ma_winograd4_last(s0[1]), f0), -0x1.f400000000000p+6f, 0x1.0400000000000p+7f) * 0x1.0000000000000p+0f + (ma_float_u8(taken0 + 1 * pixel + 0) * 0x1.9999980000000p-2f + -0x1.9999980000000p+5f)), (ma_whole_steps(ma_scaled(ma_winograd4_last(s1[1]), f1), -0x1.f400000000000p+6f, 0x1.0400000000000p+7f) * 0x1.0000000000000p+0f + (ma_float_u8(taken0 + 1 * pixel + 16) * 0x1.9999980000000p-2f + -0x1.9999980000000p+5f)), (ma_whole_steps(ma_scaled(ma_winograd4_last(s2[1]), f2), -0x1.f400000000000p+6f, 0x1.0400000000000p+7f) * 0x1.0000000000000p+0f + (ma_float_u8(taken0 + 1 * pixel + 32) * 0x1.9999980000000p-2f + -0x1.9999980000000p+5f)), (ma_whole_steps(ma_scaled(ma_winograd4_last(s3[1]), f3), -0x1.f400000000000p+6f, 0x1.0400000000000p+7f) * 0x1.0000000000000p+0f + (ma_float_u8(taken0 + 1 * pixel + 48) * 0x1.9999980000000p-2f + -0x1.9999980000000p+5f))}, 0x0p+0f, 0x1.04p+7f, -3, -3, 1, MA_SIDE_BY_SIDE);
        ma_store_steps4(y + 2 * pixel + 0, NULL, (const ma_f32[]){(ma_whole_steps(ma_scaled(ma_winograd4_last(s0[2]), f0), -0x1.f400000000000p+6f, 0x1.0400000000000p+7f) * 0x1.0000000000000p+0f + (ma_float_u8(taken0 + 2 * pixel + 0) * 0x1.9999980000000p-2f + -0x1.9999980000000p+5f)), (ma_whole_steps(ma_scaled(ma_winograd4_last(s1[2]), f1), -0x1.f400000000000p+6f, 0x1.0400000000000p+7f) * 0x1.0000000000000p+0f + (ma_float_u8(taken0 + 2 * pixel + 16) * 0x1.9999980000000p-2f + -0x1.9999980000000p+5f)), (ma_whole_steps(ma_scaled(ma_winograd4_last(s2[2]), f2), -0x1.f400000000000p+6f, 0x1.0400000000000p+7f) * 0x1.0000000000000p+0f + (ma_float_u8(taken0 + 2 * pixel + 32) * 0x1.9999980000000p-2f + -0x1.9999980000000p+5f)), (ma_whole_steps(ma_scaled(ma_winograd4_last(s3[2]), f3), -0x1.f400000000000p+6f, 0x1.0400000000000p+7f) * 0x1.0000000000000p+0f + (ma_float_u8(taken0 + 2 * pixel + 48) * 0x1.9999980000000p-2f + -0x1.9999980000000p+5f))}, 0x0p+0f, 0x1.04p+7f, -3, -3, 1, MA_SIDE_BY_SIDE);
        ma_store_steps4(y + 3 * pixel + 0, NULL, (const ma_f32[]){(ma_whole_steps(ma_scaled(ma_winograd4_last(s0[3]), f0), -0x1.f400000000000p+6f, 0x1.0400000000000p+7f) * 0x1.0000000000000p+0f + (ma_float_u8(taken0 + 3 * pixel + 0) * 0x1.9999980000000p-2f + -0x1.9999980000000p+5f)), (ma_whole_steps(ma_scaled(ma_winograd4_last(s1[3]), f1), -0x1.f400000000000p+6f, 0x1.0400000000000p+7f) * 0x1.0000000000000p+0f + (ma_float_u8(taken0 + 3 * pixel + 16) * 0x1.9999980000000p-2f + -0x1.9999980000000p+5f)), (ma_whole_steps(ma_scaled(ma_winograd4_last(s2[3]), f2), -0x1.f400000000000p+6f, 0x1.0400000000000p+7f) * 0x1.0000000000000p+0f + (ma_float_u8(taken0 + 3 * pixel + 32) * 0x1.9999980000000p-2f + -0x1.9999980000000p+5f)), (ma_whole_steps(ma_scaled(ma_winograd4_last(s3[3]), f3), -0x1.f400000000000p+6f, 0x1.0400000000000p+7f) * 0x1.0000000000000p+0f + (ma_float_u8(taken0 + 3 * pixel + 48) * 0x1.9999980000000p-2f + -0x1.9999980000000p+5f))}, 0x0p+0f, 0x1.04p+7f, -3, -3, 1, MA_SIDE_BY_SIDE);
    }
}

MA_DOTS static void net_conv2d_winograd4_added_whole(const int16_t *data, const int16_t *w, const int32_t *bias, const float *scale, int32_t *products, int8_t *y, const uint8_t *taken0, int32_t first, int32_t n)
{
    static const int32_t zeros[64];
    for (int32_t point = 0; point < 36; ++point, w += 2048) {
        const int16_t *const a = data + point * 96;
        const int32_t *const start = point == 7 ? bias : zeros;
        int32_t *const sums = products + point * 144;
        for (int32_t next = 0; next < n; next += 2) {
            const int32_t i = next;
            net_conv2d_winograd4_added_whole2(a + i * 32, w, start, sums + i * 64);
        }
    }
    for (int32_t i = 0; i < n; ++i) {
        const int32_t oy = ((first + i) / 1 * 4 < 2 ? (first + i) / 1 * 4 : 2), ox = (first + i) % 1 * 4;
        int8_t *const to = y + (oy * 3 + ox) * 64;
        if (oy <= 2 && ox <= -1) {
            net_conv2d_winograd4_added_whole_sums(products + i * 64, scale, to, taken0 + (to - y), 192, 64);
            continue;
        }
        int8_t edge[1024];
        uint8_t taken0_edge[1024] = {0};
        for (int32_t row = 0; row < 4 && oy + row < 6; ++row) {
            for (int32_t column = 0; column < 4 && ox + column < 3; ++column) {
                memcpy(taken0_edge + (row * 4 + column) * 64, taken0 + (to - y) + (row * 3 + column) * 64, 64);
            }
        }
        net_conv2d_winograd4_added_whole_sums(products + i * 64, scale, edge, taken0_edge, 256, 64);
        for (int32_t row = 0; row < 4 && oy + row < 6; ++row) {
            for (int32_t column = 0; column < 4 && ox + column < 3; ++column) {
                memcpy(to + (row * 3 + column) * 64, edge + (row * 4 + column) * 64, 64);
            }
        }
    }
}

/* conv2d: x uint8[1,6,3,32], weight int8[64,3,3,32], bias int32[64], scale float32[1], residual uint8[1,6,3,64] -> y int8[1,6,3,64] */
static void net_conv2d_winograd4_added(const uint8_t *restrict x, const int8_t *restrict weight, const int32_t *restrict bias, const float *restrict scale, const uint8_t *restrict residual, int8_t *restrict y, uint8_t *restrict scratch)
{
    _Static_assert(MA_LANES == 16, "vectors are those that the weights were packed for");
    int16_t *const data = (int16_t *)scratch;
    int32_t *const products = (int32_t *)(scratch + 6912);
    uint8_t *const seen = (uint8_t *)(scratch + 27648);
    const int16_t *const transformed = (const int16_t *)(const void *)weight;
    for (int32_t b = 0; b < 1; ++b) {
        const uint8_t *const image = x + b * 576;
        int8_t *const to = y + b * 1152;
        const int32_t end = 2;
        for (int32_t first = 0; first < end; first += 2) {
            const int32_t n = end - first < 2 ? end - first : 2;
            for (int32_t i = 0; i < n; ++i) {
                const int32_t oy = ((first + i) / 1 * 4 < 2 ? (first + i) / 1 * 4 : 2), ox = (first + i) % 1 * 4;
                net_conv2d_winograd4_added_data(image, seen, data + i * 32, oy - 1, ox - 1);
            }
            for (int32_t panel = 0; panel < 1; ++panel) {
                net_conv2d_winograd4_added_whole(data, transformed + panel * 73728, bias + panel * 64, scale + panel * 64, products, to + panel * 64, residual + b * 1152 + panel * 64, first, n);
            }
        }
    }
}
