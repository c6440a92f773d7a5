static void net_conv2d_winograd2_points(const uint8_t *x, int32_t line, int16_t *data)
{
    for (int32_t next = 0; next < 17; next += 16) {
        const int32_t c = next + 16 > 17 ? 1 : next;
        ma_u16 down[4][4];
#pragma GCC unroll 4
        for (int32_t j = 0; j < 4; ++j) {
            ma_u16 seen[4], made[4];
#pragma GCC unroll 4
            for (int32_t i = 0; i < 4; ++i) {
                seen[i] = ma_words_u8(x + i * line + j * 17 + c);
            }
            ma_winograd2_data(seen, made);
#pragma GCC unroll 4
            for (int32_t i = 0; i < 4; ++i) {
                down[i][j] = made[i];
            }
        }
#pragma GCC unroll 4
        for (int32_t i = 0; i < 4; ++i) {
            ma_u16 made[4];
            ma_winograd2_data(down[i], made);
#pragma GCC unroll 4
            for (int32_t j = 0; j < 4; ++j) {
                ma_store_u16(data + (i * 4 + j) * 96 + c, made[j]);
            }
        }
    }
}

static void net_conv2d_winograd2_data(const uint8_t *x, uint8_t *seen, int16_t *data, int32_t iy, int32_t ix)
{
    if (iy >= 0 && ix >= 0 && iy <= 5 && ix <= 4) {
        net_conv2d_winograd2_points(x + (iy * 8 + ix) * 17, 136, data);
        return;
    }
    for (int32_t i = 0; i < 4; ++i) {
        for (int32_t j = 0; j < 4; ++j) {
            uint8_t *const to = seen + (i * 4 + j) * 17;
            if (iy + i < 0 || iy + i >= 9 || ix + j < 0 || ix + j >= 8) {
                memset(to, 128, 17);
            } else {
                memcpy(to, x + ((iy + i) * 8 + ix + j) * 17, 17);
            }
        }
    }
    net_conv2d_winograd2_points(seen, 68, data);
}

MA_DOTS static void net_conv2d_winograd2_last3(const int16_t *a, const int16_t *w, const int32_t *start, int32_t *to)
{
    ma_u32 s0_0 = ma_load_u32(start + 0);
    ma_u32 s1_0 = s0_0;
    ma_u32 s2_0 = s0_0;
    ma_u32 s0_1 = ma_load_u32(start + 8);
    ma_u32 s1_1 = s0_1;
    ma_u32 s2_1 = s0_1;
    ma_u32 s0_2 = ma_load_u32(start + 16);
    ma_u32 s1_2 = s0_2;
    ma_u32 s2_2 = s0_2;
#pragma GCC unroll 9
    for (int32_t i = 0; i < 18; i += 2, w += 48) {
        const ma_i16 w0 = ma_load_i16(w + 0);
        const ma_i16 w1 = ma_load_i16(w + 16);
        const ma_i16 w2 = ma_load_i16(w + 32);
        const ma_i16 a0 = (ma_i16)ma_splat_bytes(a + i);
        s0_0 = ma_dot2(s0_0, a0, w0);
        s0_1 = ma_dot2(s0_1, a0, w1);
        s0_2 = ma_dot2(s0_2, a0, w2);
        const ma_i16 a1 = (ma_i16)ma_splat_bytes(a + 18 + i);
        s1_0 = ma_dot2(s1_0, a1, w0);
        s1_1 = ma_dot2(s1_1, a1, w1);
        s1_2 = ma_dot2(s1_2, a1, w2);
        const ma_i16 a2 = (ma_i16)ma_splat_bytes(a + 36 + i);
        s2_0 = ma_dot2(s2_0, a2, w0);
        s2_1 = ma_dot2(s2_1, a2, w1);
        s2_2 = ma_dot2(s2_2, a2, w2);
    }
    ma_store_u32(to + 0, s0_0);
    ma_store_u32(to + 8, s0_1);
    ma_store_u32(to + 16, s0_2);
    ma_store_u32(to + 24, s1_0);
    ma_store_u32(to + 32, s1_1);
    ma_store_u32(to + 40, s1_2);
    ma_store_u32(to + 48, s2_0);
    ma_store_u32(to + 56, s2_1);
    ma_store_u32(to + 64, s2_2);
}

MA_DOTS static void net_conv2d_winograd2_last1(const int16_t *a, const int16_t *w, const int32_t *start, int32_t *to)
{
    ma_u32 s0_0 = ma_load_u32(start + 0);
    ma_u32 s0_1 = ma_load_u32(start + 8);
    ma_u32 s0_2 = ma_load_u32(start + 16);
#pragma GCC unroll 9
    for (int32_t i = 0; i < 18; i += 2, w += 48) {
        const ma_i16 w0 = ma_load_i16(w + 0);
        const ma_i16 w1 = ma_load_i16(w + 16);
        const ma_i16 w2 = ma_load_i16(w + 32);
        const ma_i16 a0 = (ma_i16)ma_splat_bytes(a + i);
        s0_0 = ma_dot2(s0_0, a0, w0);
        s0_1 = ma_dot2(s0_1, a0, w1);
        s0_2 = ma_dot2(s0_2, a0, w2);
    }
    ma_store_u32(to + 0, s0_0);
    ma_store_u32(to + 8, s0_1);
    ma_store_u32(to + 16, s0_2);
}

static void net_conv2d_winograd2_last_sums(const int32_t *from, const float *scale, int8_t *y, int32_t line, int32_t pixel)
{
    for (int32_t v = 0; v < 24; v += 8) {
        const ma_u32 seen0[4] = {ma_load_u32(from + 0 + v), ma_load_u32(from + 384 + v), ma_load_u32(from + 768 + v), ma_load_u32(from + 1152 + v)};
        ma_u32 made0[2];
        ma_winograd2_sums(seen0, made0);
        const ma_u32 seen1[4] = {ma_load_u32(from + 96 + v), ma_load_u32(from + 480 + v), ma_load_u32(from + 864 + v), ma_load_u32(from + 1248 + v)};
        ma_u32 made1[2];
        ma_winograd2_sums(seen1, made1);
        const ma_u32 seen2[4] = {ma_load_u32(from + 192 + v), ma_load_u32(from + 576 + v), ma_load_u32(from + 960 + v), ma_load_u32(from + 1344 + v)};
        ma_u32 made2[2];
        ma_winograd2_sums(seen2, made2);
        const ma_u32 seen3[4] = {ma_load_u32(from + 288 + v), ma_load_u32(from + 672 + v), ma_load_u32(from + 1056 + v), ma_load_u32(from + 1440 + v)};
        ma_u32 made3[2];
        ma_winograd2_sums(seen3, made3);
        const ma_u32 row0[4] = {made0[0], made1[0], made2[0], made3[0]};
        ma_u32 s0[2];
        ma_winograd2_sums(row0, s0);
        const ma_u32 row1[4] = {made0[1], made1[1], made2[1], made3[1]};
        ma_u32 s1[2];
        ma_winograd2_sums(row1, s1);
        const ma_f32 factor = ma_load_f32(scale + v);
        ma_store_steps2(y + 0 * line + v, y + 0 * line + pixel + v, ma_scaled(ma_winograd2_last(s0[0]), factor), ma_scaled(ma_winograd2_last(s0[1]), factor), 0x0p+0f, 0x1.04p+7f, -3, -3, 1, MA_TWO_PLACES);
        ma_store_steps2(y + 1 * line + v, y + 1 * line + pixel + v, ma_scaled(ma_winograd2_last(s1[0]), factor), ma_scaled(ma_winograd2_last(s1[1]), factor), 0x0p+0f, 0x1.04p+7f, -3, -3, 1, MA_TWO_PLACES);
    }
}

MA_DOTS static void net_conv2d_winograd2_last(const int16_t *data, const int16_t *w, const int32_t *bias, const float *scale, int32_t *products, int8_t *y, int32_t first, int32_t n)
{
    static const int32_t zeros[24];
    for (int32_t point = 0; point < 16; ++point, w += 432) {
        const int16_t *const a = data + point * 96;
        const int32_t *const start = point == 5 ? bias : zeros;
        int32_t *const sums = products + point * 96;
        if (n < 3) {
            for (int32_t i = 0; i < n; ++i) {
                net_conv2d_winograd2_last1(a + i * 18, w, start, sums + i * 24);
            }
        } else
        for (int32_t next = 0; next < n; next += 3) {
            const int32_t i = next + 3 > n ? n - 3 : next;
            net_conv2d_winograd2_last3(a + i * 18, w, start, sums + i * 24);
        }
    }
    for (int32_t i = 0; i < n; ++i) {
        const int32_t oy = ((first + i) / 4 * 2 < 7 ? (first + i) / 4 * 2 : 7), ox = (first + i) % 4 * 2;
        int8_t *const to = y + (oy * 8 + ox) * 20;
        int8_t edge[96];
        net_conv2d_winograd2_last_sums(products + i * 24, scale, edge, 48, 24);
        for (int32_t row = 0; row < 2 && oy + row < 9; ++row) {
            for (int32_t column = 0; column < 2 && ox + column < 8; ++column) {
                memcpy(to + (row * 8 + column) * 20, edge + (row * 2 + column) * 24, 20);
            }
        }
    }
}

/* conv2d: x uint8[1,9,8,17], weight int8[20,3,3,17], bias int32[20], scale float32[20] -> y int8[1,9,8,20] */
static void net_conv2d_winograd2(const uint8_t *restrict x, const int8_t *restrict weight, const int32_t *restrict bias, const float *restrict scale, int8_t *restrict y, uint8_t *restrict scratch)
{
    _Static_assert(MA_LANES == 8, "vectors are those that the weights were packed for");
    int16_t *const data = (int16_t *)scratch;
    int32_t *const products = (int32_t *)(scratch + 3072);
    uint8_t *const seen = (uint8_t *)(scratch + 9216);
    const int16_t *const transformed = (const int16_t *)(const void *)weight;
    for (int32_t b = 0; b < 1; ++b) {
        const uint8_t *const image = x + b * 1224;
        int8_t *const to = y + b * 1440;
        const int32_t end = 20;
        for (int32_t first = 0; first < end; first += 3) {
            const int32_t n = end - first < 3 ? end - first : 3;
            for (int32_t i = 0; i < n; ++i) {
                const int32_t oy = ((first + i) / 4 * 2 < 7 ? (first + i) / 4 * 2 : 7), ox = (first + i) % 4 * 2;
                net_conv2d_winograd2_data(image, seen, data + i * 18, oy - 1, ox - 1);
            }
            {
                const int32_t panel = 0;
                net_conv2d_winograd2_last(data, transformed + panel * 6912, bias + panel * 24, scale + panel * 24, products, to + panel * 24, first, n);
            }
        }
    }
}
