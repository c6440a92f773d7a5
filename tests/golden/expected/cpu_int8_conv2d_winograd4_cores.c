static void net_conv2d_winograd4_cores_points(const uint8_t *x, int32_t line, int16_t *data)
{
    for (int32_t next = 0; next < 17; next += 8) {
        const int32_t c = next + 8 > 17 ? 9 : next;
        ma_u16 down[6][6];
#pragma GCC unroll 6
        for (int32_t j = 0; j < 6; ++j) {
            ma_u16 seen[6], made[6];
#pragma GCC unroll 6
            for (int32_t i = 0; i < 6; ++i) {
                seen[i] = ma_words_u8(x + i * line + j * 17 + c);
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
                ma_store_u16(data + (i * 6 + j) * 160 + c, made[j]);
            }
        }
    }
}

static void net_conv2d_winograd4_cores_data(const uint8_t *x, uint8_t *seen, int16_t *data, int32_t iy, int32_t ix)
{
    if (iy >= 0 && ix >= 0 && iy <= 3 && ix <= 2) {
        net_conv2d_winograd4_cores_points(x + (iy * 8 + ix) * 17, 136, data);
        return;
    }
    for (int32_t i = 0; i < 6; ++i) {
        for (int32_t j = 0; j < 6; ++j) {
            uint8_t *const to = seen + (i * 6 + j) * 17;
            if (iy + i < 0 || iy + i >= 9 || ix + j < 0 || ix + j >= 8) {
                memset(to, 128, 17);
            } else {
                memcpy(to, x + ((iy + i) * 8 + ix + j) * 17, 17);
            }
        }
    }
    net_conv2d_winograd4_cores_points(seen, 102, data);
}

MA_DOTS static void net_conv2d_winograd4_cores_whole6(const int16_t *a, const int16_t *w, const int32_t *start, int32_t *to)
{
    ma_u32 s0_0 = ma_load_u32(start + 0);
    ma_u32 s1_0 = s0_0;
    ma_u32 s2_0 = s0_0;
    ma_u32 s3_0 = s0_0;
    ma_u32 s4_0 = s0_0;
    ma_u32 s5_0 = s0_0;
    ma_u32 s0_1 = ma_load_u32(start + 4);
    ma_u32 s1_1 = s0_1;
    ma_u32 s2_1 = s0_1;
    ma_u32 s3_1 = s0_1;
    ma_u32 s4_1 = s0_1;
    ma_u32 s5_1 = s0_1;
    ma_u32 s0_2 = ma_load_u32(start + 8);
    ma_u32 s1_2 = s0_2;
    ma_u32 s2_2 = s0_2;
    ma_u32 s3_2 = s0_2;
    ma_u32 s4_2 = s0_2;
    ma_u32 s5_2 = s0_2;
    for (int32_t i = 0; i < 17; i += 1, w += 12) {
        const ma_u32 w0 = ma_widen_i16(w + 0);
        const ma_u32 w1 = ma_widen_i16(w + 4);
        const ma_u32 w2 = ma_widen_i16(w + 8);
        const uint32_t a0 = (uint32_t)(int32_t)*(a + i);
        s0_0 += a0 * w0;
        s0_1 += a0 * w1;
        s0_2 += a0 * w2;
        const uint32_t a1 = (uint32_t)(int32_t)*(a + 17 + i);
        s1_0 += a1 * w0;
        s1_1 += a1 * w1;
        s1_2 += a1 * w2;
        const uint32_t a2 = (uint32_t)(int32_t)*(a + 34 + i);
        s2_0 += a2 * w0;
        s2_1 += a2 * w1;
        s2_2 += a2 * w2;
        const uint32_t a3 = (uint32_t)(int32_t)*(a + 51 + i);
        s3_0 += a3 * w0;
        s3_1 += a3 * w1;
        s3_2 += a3 * w2;
        const uint32_t a4 = (uint32_t)(int32_t)*(a + 68 + i);
        s4_0 += a4 * w0;
        s4_1 += a4 * w1;
        s4_2 += a4 * w2;
        const uint32_t a5 = (uint32_t)(int32_t)*(a + 85 + i);
        s5_0 += a5 * w0;
        s5_1 += a5 * w1;
        s5_2 += a5 * w2;
    }
    ma_store_u32(to + 0, s0_0);
    ma_store_u32(to + 4, s0_1);
    ma_store_u32(to + 8, s0_2);
    ma_store_u32(to + 12, s1_0);
    ma_store_u32(to + 16, s1_1);
    ma_store_u32(to + 20, s1_2);
    ma_store_u32(to + 24, s2_0);
    ma_store_u32(to + 28, s2_1);
    ma_store_u32(to + 32, s2_2);
    ma_store_u32(to + 36, s3_0);
    ma_store_u32(to + 40, s3_1);
    ma_store_u32(to + 44, s3_2);
    ma_store_u32(to + 48, s4_0);
    ma_store_u32(to + 52, s4_1);
    ma_store_u32(to + 56, s4_2);
    ma_store_u32(to + 60, s5_0);
    ma_store_u32(to + 64, s5_1);
    ma_store_u32(to + 68, s5_2);
}

static void net_conv2d_winograd4_cores_whole_sums(const int32_t *from, const float *scale, int8_t *y, int32_t line, int32_t pixel)
{
    for (int32_t v = 0; v < 12; v += 4) {
        const ma_u32 seen0[6] = {ma_load_u32(from + 0 + v), ma_load_u32(from + 576 + v), ma_load_u32(from + 1152 + v), ma_load_u32(from + 1728 + v), ma_load_u32(from + 2304 + v), ma_load_u32(from + 2880 + v)};
        ma_u32 made0[4];
        ma_winograd4_sums(seen0, made0);
        const ma_u32 seen1[6] = {ma_load_u32(from + 96 + v), ma_load_u32(from + 672 + v), ma_load_u32(from + 1248 + v), ma_load_u32(from + 1824 + v), ma_load_u32(from + 2400 + v), ma_load_u32(from + 2976 + v)};
        ma_u32 made1[4];
        ma_winograd4_sums(seen1, made1);
        const ma_u32 seen2[6] = {ma_load_u32(from + 192 + v), ma_load_u32(from + 768 + v), ma_load_u32(from + 1344 + v), ma_load_u32(from + 1920 + v), ma_load_u32(from + 2496 + v), ma_load_u32(from + 3072 + v)};
        ma_u32 made2[4];
        ma_winograd4_sums(seen2, made2);
        const ma_u32 seen3[6] = {ma_load_u32(from + 288 + v), ma_load_u32(from + 864 + v), ma_load_u32(from + 1440 + v), ma_load_u32(from + 2016 + v), ma_load_u32(from + 2592 + v), ma_load_u32(from + 3168 + v)};
        ma_u32 made3[4];
        ma_winograd4_sums(seen3, made3);
        const ma_u32 seen4[6] = {ma_load_u32(from + 384 + v), ma_load_u32(from + 960 + v), ma_load_u32(from + 1536 + v), ma_load_u32(from + 2112 + v), ma_load_u32(from + 2688 + v), ma_load_u32(from + 3264 + v)};
        ma_u32 made4[4];
        ma_winograd4_sums(seen4, made4);
        const ma_u32 seen5[6] = {ma_load_u32(from + 480 + v), ma_load_u32(from + 1056 + v), ma_load_u32(from + 1632 + v), ma_load_u32(from + 2208 + v), ma_load_u32(from + 2784 + v), ma_load_u32(from + 3360 + v)};
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
        ma_store_steps4(y + 0 * line + v, pixel, (const ma_f32[]){ma_scaled(ma_winograd4_last(s0[0]), factor), ma_scaled(ma_winograd4_last(s0[1]), factor), ma_scaled(ma_winograd4_last(s0[2]), factor), ma_scaled(ma_winograd4_last(s0[3]), factor)}, 0x0p+0f, 0x1.04p+7f, -3, -3, 1, MA_FOUR_PLACES);
        ma_store_steps4(y + 1 * line + v, pixel, (const ma_f32[]){ma_scaled(ma_winograd4_last(s1[0]), factor), ma_scaled(ma_winograd4_last(s1[1]), factor), ma_scaled(ma_winograd4_last(s1[2]), factor), ma_scaled(ma_winograd4_last(s1[3]), factor)}, 0x0p+0f, 0x1.04p+7f, -3, -3, 1, MA_FOUR_PLACES);
        ma_store_steps4(y + 2 * line + v, pixel, (const ma_f32[]){ma_scaled(ma_winograd4_last(s2[0]), factor), ma_scaled(ma_winograd4_last(s2[1]), factor), ma_scaled(ma_winograd4_last(s2[2]), factor), ma_scaled(ma_winograd4_last(s2[3]), factor)}, 0x0p+0f, 0x1.04p+7f, -3, -3, 1, MA_FOUR_PLACES);
        ma_store_steps4(y + 3 * line + v, pixel, (const ma_f32[]){ma_scaled(ma_winograd4_last(s3[0]), factor), ma_scaled(ma_winograd4_last(s3[1]), factor), ma_scaled(ma_winograd4_last(s3[2]), factor), ma_scaled(ma_winograd4_last(s3[3]), factor)}, 0x0p+0f, 0x1.04p+7f, -3, -3, 1, MA_FOUR_PLACES);
    }
}

MA_DOTS static void net_conv2d_winograd4_cores_whole(const int16_t *data, const int16_t *w, const int32_t *bias, const float *scale, int32_t *products, int8_t *y, int32_t first, int32_t n)
{
    static const int32_t zeros[12];
    for (int32_t point = 0; point < 36; ++point, w += 204) {
        const int16_t *const a = data + point * 160;
        const int32_t *const start = point == 7 ? bias : zeros;
        int32_t *const sums = products + point * 96;
        for (int32_t next = 0; next < n; next += 6) {
            const int32_t i = next;
            net_conv2d_winograd4_cores_whole6(a + i * 17, w, start, sums + i * 12);
        }
    }
    for (int32_t i = 0; i < n; ++i) {
        const int32_t oy = ((first + i) / 2 * 4 < 5 ? (first + i) / 2 * 4 : 5), ox = (first + i) % 2 * 4;
        int8_t *const to = y + (oy * 8 + ox) * 20;
        net_conv2d_winograd4_cores_whole_sums(products + i * 12, scale, to, 160, 20);
    }
}

MA_DOTS static void net_conv2d_winograd4_cores_last6(const int16_t *a, const int16_t *w, const int32_t *start, int32_t *to)
{
    ma_u32 s0_0 = ma_load_u32(start + 0);
    ma_u32 s1_0 = s0_0;
    ma_u32 s2_0 = s0_0;
    ma_u32 s3_0 = s0_0;
    ma_u32 s4_0 = s0_0;
    ma_u32 s5_0 = s0_0;
    ma_u32 s0_1 = ma_load_u32(start + 4);
    ma_u32 s1_1 = s0_1;
    ma_u32 s2_1 = s0_1;
    ma_u32 s3_1 = s0_1;
    ma_u32 s4_1 = s0_1;
    ma_u32 s5_1 = s0_1;
    for (int32_t i = 0; i < 17; i += 1, w += 8) {
        const ma_u32 w0 = ma_widen_i16(w + 0);
        const ma_u32 w1 = ma_widen_i16(w + 4);
        const uint32_t a0 = (uint32_t)(int32_t)*(a + i);
        s0_0 += a0 * w0;
        s0_1 += a0 * w1;
        const uint32_t a1 = (uint32_t)(int32_t)*(a + 17 + i);
        s1_0 += a1 * w0;
        s1_1 += a1 * w1;
        const uint32_t a2 = (uint32_t)(int32_t)*(a + 34 + i);
        s2_0 += a2 * w0;
        s2_1 += a2 * w1;
        const uint32_t a3 = (uint32_t)(int32_t)*(a + 51 + i);
        s3_0 += a3 * w0;
        s3_1 += a3 * w1;
        const uint32_t a4 = (uint32_t)(int32_t)*(a + 68 + i);
        s4_0 += a4 * w0;
        s4_1 += a4 * w1;
        const uint32_t a5 = (uint32_t)(int32_t)*(a + 85 + i);
        s5_0 += a5 * w0;
        s5_1 += a5 * w1;
    }
    ma_store_u32(to + 0, s0_0);
    ma_store_u32(to + 4, s0_1);
    ma_store_u32(to + 8, s1_0);
    ma_store_u32(to + 12, s1_1);
    ma_store_u32(to + 16, s2_0);
    ma_store_u32(to + 20, s2_1);
    ma_store_u32(to + 24, s3_0);
    ma_store_u32(to + 28, s3_1);
    ma_store_u32(to + 32, s4_0);
    ma_store_u32(to + 36, s4_1);
    ma_store_u32(to + 40, s5_0);
    ma_store_u32(to + 44, s5_1);
}

static void net_conv2d_winograd4_cores_last_sums(const int32_t *from, const float *scale, int8_t *y, int32_t line, int32_t pixel)
{
    for (int32_t v = 0; v < 8; v += 4) {
        const ma_u32 seen0[6] = {ma_load_u32(from + 0 + v), ma_load_u32(from + 576 + v), ma_load_u32(from + 1152 + v), ma_load_u32(from + 1728 + v), ma_load_u32(from + 2304 + v), ma_load_u32(from + 2880 + v)};
        ma_u32 made0[4];
        ma_winograd4_sums(seen0, made0);
        const ma_u32 seen1[6] = {ma_load_u32(from + 96 + v), ma_load_u32(from + 672 + v), ma_load_u32(from + 1248 + v), ma_load_u32(from + 1824 + v), ma_load_u32(from + 2400 + v), ma_load_u32(from + 2976 + v)};
        ma_u32 made1[4];
        ma_winograd4_sums(seen1, made1);
        const ma_u32 seen2[6] = {ma_load_u32(from + 192 + v), ma_load_u32(from + 768 + v), ma_load_u32(from + 1344 + v), ma_load_u32(from + 1920 + v), ma_load_u32(from + 2496 + v), ma_load_u32(from + 3072 + v)};
        ma_u32 made2[4];
        ma_winograd4_sums(seen2, made2);
        const ma_u32 seen3[6] = {ma_load_u32(from + 288 + v), ma_load_u32(from + 864 + v), ma_load_u32(from + 1440 + v), ma_load_u32(from + 2016 + v), ma_load_u32(from + 2592 + v), ma_load_u32(from + 3168 + v)};
        ma_u32 made3[4];
        ma_winograd4_sums(seen3, made3);
        const ma_u32 seen4[6] = {ma_load_u32(from + 384 + v), ma_load_u32(from + 960 + v), ma_load_u32(from + 1536 + v), ma_load_u32(from + 2112 + v), ma_load_u32(from + 2688 + v), ma_load_u32(from + 3264 + v)};
        ma_u32 made4[4];
        ma_winograd4_sums(seen4, made4);
        const ma_u32 seen5[6] = {ma_load_u32(from + 480 + v), ma_load_u32(from + 1056 + v), ma_load_u32(from + 1632 + v), ma_load_u32(from + 2208 + v), ma_load_u32(from + 2784 + v), ma_load_u32(from + 3360 + v)};
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
        ma_store_steps4(y + 0 * line + v, pixel, (const ma_f32[]){ma_scaled(ma_winograd4_last(s0[0]), factor), ma_scaled(ma_winograd4_last(s0[1]), factor), ma_scaled(ma_winograd4_last(s0[2]), factor), ma_scaled(ma_winograd4_last(s0[3]), factor)}, 0x0p+0f, 0x1.04p+7f, -3, -3, 1, MA_FOUR_PLACES);
        ma_store_steps4(y + 1 * line + v, pixel, (const ma_f32[]){ma_scaled(ma_winograd4_last(s1[0]), factor), ma_scaled(ma_winograd4_last(s1[1]), factor), ma_scaled(ma_winograd4_last(s1[2]), factor), ma_scaled(ma_winograd4_last(s1[3]), factor)}, 0x0p+0f, 0x1.04p+7f, -3, -3, 1, MA_FOUR_PLACES);
        ma_store_steps4(y + 2 * line + v, pixel, (const ma_f32[]){ma_scaled(ma_winograd4_last(s2[0]), factor), ma_scaled(ma_winograd4_last(s2[1]), factor), ma_scaled(ma_winograd4_last(s2[2]), factor), ma_scaled(ma_winograd4_last(s2[3]), factor)}, 0x0p+0f, 0x1.04p+7f, -3, -3, 1, MA_FOUR_PLACES);
        ma_store_steps4(y + 3 * line + v, pixel, (const ma_f32[]){ma_scaled(ma_winograd4_last(s3[0]), factor), ma_scaled(ma_winograd4_last(s3[1]), factor), ma_scaled(ma_winograd4_last(s3[2]), factor), ma_scaled(ma_winograd4_last(s3[3]), factor)}, 0x0p+0f, 0x1.04p+7f, -3, -3, 1, MA_FOUR_PLACES);
    }
}

MA_DOTS static void net_conv2d_winograd4_cores_last(const int16_t *data, const int16_t *w, const int32_t *bias, const float *scale, int32_t *products, int8_t *y, int32_t first, int32_t n)
{
    static const int32_t zeros[8];
    for (int32_t point = 0; point < 36; ++point, w += 136) {
        const int16_t *const a = data + point * 160;
        const int32_t *const start = point == 7 ? bias : zeros;
        int32_t *const sums = products + point * 96;
        for (int32_t next = 0; next < n; next += 6) {
            const int32_t i = next;
            net_conv2d_winograd4_cores_last6(a + i * 17, w, start, sums + i * 8);
        }
    }
    for (int32_t i = 0; i < n; ++i) {
        const int32_t oy = ((first + i) / 2 * 4 < 5 ? (first + i) / 2 * 4 : 5), ox = (first + i) % 2 * 4;
        int8_t *const to = y + (oy * 8 + ox) * 20;
        net_conv2d_winograd4_cores_last_sums(products + i * 8, scale, to, 160, 20);
    }
}

static void net_conv2d_winograd4_cores_part(const uint8_t *restrict x, const int8_t *restrict weight, const int32_t *restrict bias, const float *restrict scale, int8_t *restrict y, uint8_t *restrict scratch, int32_t part)
{
    static const int32_t bounds[] = {0, 12, 20};
    const int32_t part_begin = bounds[part], part_end = bounds[part + 1];
    (void)part_end; /* bodies whose parts are all as large need no end */
    scratch += part * 25984;
    _Static_assert(MA_LANES == 4, "vectors are those that the weights were packed for");
    int16_t *const data = (int16_t *)scratch;
    int32_t *const products = (int32_t *)(scratch + 11520);
    uint8_t *const seen = (uint8_t *)(scratch + 25344);
    const int16_t *const transformed = (const int16_t *)(const void *)weight;
    for (int32_t b = 0; b < 1; ++b) {
        const uint8_t *const image = x + b * 1224;
        int8_t *const to = y + b * 1440;
        const int32_t end = 6;
        for (int32_t first = 0; first < end; first += 6) {
            const int32_t n = end - first < 6 ? end - first : 6;
            for (int32_t i = 0; i < n; ++i) {
                const int32_t oy = ((first + i) / 2 * 4 < 5 ? (first + i) / 2 * 4 : 5), ox = (first + i) % 2 * 4;
                net_conv2d_winograd4_cores_data(image, seen, data + i * 17, oy - 1, ox - 1);
            }
            for (int32_t panel = part_begin / 12; panel < part_end / 12; ++panel) {
                net_conv2d_winograd4_cores_whole(data, transformed + panel * 7344, bias + panel * 12, scale + panel * 12, products, to + panel * 12, first, n);
            }
            if (part_end == 20) {
                const int32_t panel = 1;
                net_conv2d_winograd4_cores_last(data, transformed + panel * 7344, bias + panel * 12, scale + panel * 12, products, to + panel * 12, first, n);
            }
        }
    }
}

struct net_conv2d_winograd4_cores_call {
    const uint8_t *x;
    const int8_t *weight;
    const int32_t *bias;
    const float *scale;
    int8_t *y;
    uint8_t *scratch;
};

static void net_conv2d_winograd4_cores_run(const void *argument, int32_t part, int32_t parts)
{
    const struct net_conv2d_winograd4_cores_call *const call = argument;
    net_conv2d_winograd4_cores_part(call->x, call->weight, call->bias, call->scale, call->y, call->scratch, part);
    (void)parts;
}

/* conv2d: x uint8[1,9,8,17], weight int8[20,3,3,17], bias int32[20], scale float32[20] -> y int8[1,9,8,20] */
static void net_conv2d_winograd4_cores(const uint8_t *restrict x, const int8_t *restrict weight, const int32_t *restrict bias, const float *restrict scale, int8_t *restrict y, uint8_t *restrict scratch)
{
    const struct net_conv2d_winograd4_cores_call call = {x, weight, bias, scale, y, scratch};
    ma_divide(net_conv2d_winograd4_cores_run, &call, 2);
}
