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
    for (int32_t v = 0; v < 64; v += 16) {
        const ma_u32 seen0[6] = {ma_load_u32(from + 0 + v), ma_load_u32(from + 864 + v), ma_load_u32(from + 1728 + v), ma_load_u32(from + 2592 + v), ma_load_u32(from + 3456 + v), ma_load_u32(from + 4320 + v)};
        ma_u32 made0[4];
        ma_winograd4_sums(seen0, made0);
        const ma_u32 seen1[6] = {ma_load_u32(from + 144 + v), ma_load_u32(from + 1008 + v), ma_load_u32(from + 1872 + v), ma_load_u32(from + 2736 + v), ma_load_u32(from + 3600 + v), ma_load_u32(from + 4464 + v)};
        ma_u32 made1[4];
        ma_winograd4_sums(seen1, made1);
        const ma_u32 seen2[6] = {ma_load_u32(from + 288 + v), ma_load_u32(from + 1152 + v), ma_load_u32(from + 2016 + v), ma_load_u32(from + 2880 + v), ma_load_u32(from + 3744 + v), ma_load_u32(from + 4608 + v)};
        ma_u32 made2[4];
        ma_winograd4_sums(seen2, made2);
        const ma_u32 seen3[6] = {ma_load_u32(from + 432 + v), ma_load_u32(from + 1296 + v), ma_load_u32(from + 2160 + v), ma_load_u32(from + 3024 + v), ma_load_u32(from + 3888 + v), ma_load_u32(from + 4752 + v)};
        ma_u32 made3[4];
        ma_winograd4_sums(seen3, made3);
        const ma_u32 seen4[6] = {ma_load_u32(from + 576 + v), ma_load_u32(from + 1440 + v), ma_load_u32(from + 2304 + v), ma_load_u32(from + 3168 + v), ma_load_u32(from + 4032 + v), ma_load_u32(from + 4896 + v)};
        ma_u32 made4[4];
        ma_winograd4_sums(seen4, made4);
        const ma_u32 seen5[6] = {ma_load_u32(from + 720 + v), ma_load_u32(from + 1584 + v), ma_load_u32(from + 2448 + v), ma_load_u32(from + 3312 + v), ma_load_u32(from + 4176 + v), ma_load_u32(from + 5040 + v)};
        ma_u32 made5[4];
        ma_winograd4_sums(seen5, made5);
        const ma_u32 row0[6] = {made0[0], made1[0], made2[0], made3[0], made4[0], made5[0]};
        ma_u32 s0[4];
        ma_winograd4_sums(row0, s0);
        const ma_u32 row1[6] = {made0[1], made1[1], made2[1], made3[1], made4[1], made5[1]};
        ma_u32 s1[4];
        ma_winograd4_sums(row1, s1);
        const ma_u32 row2[6] = {made0[2], made1[2], made2[2], made3[2], made4[2], made5[2]};
        ma_u32 s2[4];
        ma_winograd4_sums(row2, s2);
        const ma_u32 row3[6] = {made0[3], made1[3], made2[3], made3[3], made4[3], made5[3]};
        ma_u32 s3[4];
        ma_winograd4_sums(row3, s3);
        const ma_f32 factor = ma_load_f32(scale + v);
        ma_store_steps4(y + 0 * line + v, pixel, (const ma_f32[]){ma_fused(ma_whole_steps(ma_scaled(ma_winograd4_last(s0[0]), factor), -0x1.f400000000000p+6f, 0x1.0400000000000p+7f), ma_splat_f32(0x1.0000000000000p+0f), ma_fused(ma_float_u8(taken0 + 0 * line + 0 * pixel + v), ma_splat_f32(0x1.9999980000000p-2f), ma_splat_f32(-0x1.9999980000000p+5f))), ma_fused(ma_whole_steps(ma_scaled(ma_winograd4_last(s0[1]), factor), -0x1.f400000000000p+6f, 0x1.0400000000000p+7f), ma_splat_f32(0x1.0000000000000p+0f), ma_fused(ma_float_u8(taken0 + 0 * line + 1 * pixel + v), ma_splat_f32(0x1.9999980000000p-2f), ma_splat_f32(-0x1.9999980000000p+5f))), ma_fused(ma_whole_steps(ma_scaled(ma_winograd4_last(s0[2]), factor), -0x1.f400000000000p+6f, 0x1.0400000000000p+7f), ma_splat_f32(0x1.0000000000000p+0f), ma_fused(ma_float_u8(taken0 + 0 * line + 2 * pixel + v), ma_splat_f32(0x1.9999980000000p-2f), ma_splat_f32(-0x1.9999980000000p+5f))), ma_fused(ma_whole_steps(ma_scaled(ma_winograd4_last(s0[3]), factor), -0x1.f400000000000p+6f, 0x1.0400000000000p+7f), ma_splat_f32(0x1.0000000000000p+0f), ma_fused(ma_float_u8(taken0 + 0 * line + 3 * pixel + v), ma_splat_f32(0x1.9999980000000p-2f), ma_splat_f32(-0x1.9999980000000p+5f)))}, 0x0p+0f, 0x1.04p+7f, -3, -3, 1, MA_FOUR_PLACES);
        ma_store_steps4(y + 1 * line + v, pixel, (const ma_f32[]){ma_fused(ma_whole_steps(ma_scaled(ma_winograd4_last(s1[0]), factor), -0x1.f400000000000p+6f, 0x1.0400000000000p+7f), ma_splat_f32(0x1.0000000000000p+0f), ma_fused(ma_float_u8(taken0 + 1 * line + 0 * pixel + v), ma_splat_f32(0x1.9999980000000p-2f), ma_splat_f32(-0x1.9999980000000p+5f))), ma_fused(ma_whole_steps(ma_scaled(ma_winograd4_last(s1[1]), factor), -0x1.f400000000000p+6f, 0x1.0400000000000p+7f), ma_splat_f32(0x1.0000000000000p+0f), ma_fused(ma_float_u8(taken0 + 1 * line + 1 * pixel + v), ma_splat_f32(0x1.9999980000000p-2f), ma_splat_f32(-0x1.9999980000000p+5f))), ma_fused(ma_whole_steps(ma_scaled(ma_winograd4_last(s1[2]), factor), -0x1.f400000000000p+6f, 0x1.0400000000000p+7f), ma_splat_f32(0x1.0000000000000p+0f), ma_fused(ma_float_u8(taken0 + 1 * line + 2 * pixel + v), ma_splat_f32(0x1.9999980000000p-2f), ma_splat_f32(-0x1.9999980000000p+5f))), ma_fused(ma_whole_steps(ma_scaled(ma_winograd4_last(s1[3]), factor), -0x1.f400000000000p+6f, 0x1.0400000000000p+7f), ma_splat_f32(0x1.0000000000000p+0f), ma_fused(ma_float_u8(taken0 + 1 * line + 3 * pixel + v), ma_splat_f32(0x1.9999980000000p-2f), ma_splat_f32(-0x1.9999980000000p+5f)))}, 0x0p+0f, 0x1.04p+7f, -3, -3, 1, MA_FOUR_PLACES);
        ma_store_steps4(y + 2 * line + v, pixel, (const ma_f32[]){ma_fused(ma_whole_steps(ma_scaled(ma_winograd4_last(s2[0]), factor), -0x1.f400000000000p+6f, 0x1.0400000000000p+7f), ma_splat_f32(0x1.0000000000000p+0f), ma_fused(ma_float_u8(taken0 + 2 * line + 0 * pixel + v), ma_splat_f32(0x1.9999980000000p-2f), ma_splat_f32(-0x1.9999980000000p+5f))), ma_fused(ma_whole_steps(ma_scaled(ma_winograd4_last(s2[1]), factor), -0x1.f400000000000p+6f, 0x1.0400000000000p+7f), ma_splat_f32(0x1.0000000000000p+0f), ma_fused(ma_float_u8(taken0 + 2 * line + 1 * pixel + v), ma_splat_f32(0x1.9999980000000p-2f), ma_splat_f32(-0x1.9999980000000p+5f))), ma_fused(ma_whole_steps(ma_scaled(ma_winograd4_last(s2[2]), factor), -0x1.f400000000000p+6f, 0x1.0400000000000p+7f), ma_splat_f32(0x1.0000000000000p+0f), ma_fused(ma_float_u8(taken0 + 2 * line + 2 * pixel + v), ma_splat_f32(0x1.9999980000000p-2f), ma_splat_f32(-0x1.9999980000000p+5f))), ma_fused(ma_whole_steps(ma_scaled(ma_winograd4_last(s2[3]), factor), -0x1.f400000000000p+6f, 0x1.0400000000000p+7f), ma_splat_f32(0x1.0000000000000p+0f), ma_fused(ma_float_u8(taken0 + 2 * line + 3 * pixel + v), ma_splat_f32(0x1.9999980000000p-2f), ma_splat_f32(-0x1.9999980000000p+5f)))}, 0x0p+0f, 0x1.04p+7f, -3, -3, 1, MA_FOUR_PLACES);
        ma_store_steps4(y + 3 * line + v, pixel, (const ma_f32[]){ma_fused(ma_whole_steps(ma_scaled(ma_winograd4_last(s3[0]), factor), -0x1.f400000000000p+6f, 0x1.0400000000000p+7f), ma_splat_f32(0x1.0000000000000p+0f), ma_fused(ma_float_u8(taken0 + 3 * line + 0 * pixel + v), ma_splat_f32(0x1.9999980000000p-2f), ma_splat_f32(-0x1.9999980000000p+5f))), ma_fused(ma_whole_steps(ma_scaled(ma_winograd4_last(s3[1]), factor), -0x1.f400000000000p+6f, 0x1.0400000000000p+7f), ma_splat_f32(0x1.0000000000000p+0f), ma_fused(ma_float_u8(taken0 + 3 * line + 1 * pixel + v), ma_splat_f32(0x1.9999980000000p-2f), ma_splat_f32(-0x1.9999980000000p+5f))), ma_fused(ma_whole_steps(ma_scaled(ma_winograd4_last(s3[2]), factor), -0x1.f400000000000p+6f, 0x1.0400000000000p+7f), ma_splat_f32(0x1.0000000000000p+0f), ma_fused(ma_float_u8(taken0 + 3 * line + 2 * pixel + v), ma_splat_f32(0x1.9999980000000p-2f), ma_splat_f32(-0x1.9999980000000p+5f))), ma_fused(ma_whole_steps(ma_scaled(ma_winograd4_last(s3[3]), factor), -0x1.f400000000000p+6f, 0x1.0400000000000p+7f), ma_splat_f32(0x1.0000000000000p+0f), ma_fused(ma_float_u8(taken0 + 3 * line + 3 * pixel + v), ma_splat_f32(0x1.9999980000000p-2f), ma_splat_f32(-0x1.9999980000000p+5f)))}, 0x0p+0f, 0x1.04p+7f, -3, -3, 1, MA_FOUR_PLACES);
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
