static void net_conv2d_cores_prepare(const uint8_t *restrict x, int16_t *restrict image, int32_t b0, int32_t b1, int32_t g0, int32_t g1, int32_t oy0, int32_t oy1, int32_t ox0, int32_t ox1)
{
    const int32_t rows = (oy1 - oy0 - 1) + 3;
    const int32_t columns = (ox1 - ox0 - 1) + 3;
    const int32_t ix = ox0 - 1;
    const int32_t before = ix < 0 ? (-ix < columns ? -ix : columns) : 0;
    const int32_t room = 31 - ix < columns ? 31 - ix : columns;
    const int32_t end = room > before ? room : before;
    for (int32_t b = b0; b < b1; ++b) {
        for (int32_t g = g0; g < g1; ++g) {
            for (int32_t row = 0; row < rows; ++row) {
                const int32_t iy = oy0 - 1 + row;
                int16_t *const to = image + (b - b0) * 6864 + (g - g0) * 6864 + row * 528;
                if (iy < 0 || iy >= 32) {
                    for (int32_t i = 0; i < columns * 16; ++i) {
                        to[i] = 0;
                    }
                    continue;
                }
                const uint8_t *const from = x + ((b * 32 + iy) * 31 + ix + before) * 16;
                int16_t *const middle = to + before * 16;
                for (int32_t i = 0; i < before * 16; ++i) {
                    to[i] = 0;
                }
                for (int32_t i = 0; i < (end - before) * 16; ++i) {
                    middle[i] = (int16_t)(from[i] - 128);
                }
                int16_t *const behind = to + end * 16;
                for (int32_t i = 0; i < (columns - end) * 16; ++i) {
                    behind[i] = 0;
                }
            }
        }
    }
}

MA_DOTS static void net_conv2d_cores_whole8(const int16_t *a, const int8_t *w, const int32_t *bias, const float *scale, int8_t *y, int32_t first, int32_t end)
{
    ma_u32 s0_0 = ma_load_u32(bias + 0);
    ma_u32 s1_0 = s0_0;
    ma_u32 s2_0 = s0_0;
    ma_u32 s3_0 = s0_0;
    ma_u32 s4_0 = s0_0;
    ma_u32 s5_0 = s0_0;
    ma_u32 s6_0 = s0_0;
    ma_u32 s7_0 = s0_0;
    a += first * 528;
    w += first * 384;
    for (int32_t fy = first; fy < end; ++fy, a += 528) {
        for (int32_t i = 0; i < 48; i += 2, w += 16) {
            MA_UNREAD(a);
            const ma_i16 w0 = ma_widen_pairs(w + 0);
            const ma_i16 a0 = (ma_i16)ma_splat_bytes(a + i);
            s0_0 = ma_dot2(s0_0, a0, w0);
            const ma_i16 a1 = (ma_i16)ma_splat_bytes(a + 16 + i);
            s1_0 = ma_dot2(s1_0, a1, w0);
            const ma_i16 a2 = (ma_i16)ma_splat_bytes(a + 32 + i);
            s2_0 = ma_dot2(s2_0, a2, w0);
            const ma_i16 a3 = (ma_i16)ma_splat_bytes(a + 48 + i);
            s3_0 = ma_dot2(s3_0, a3, w0);
            const ma_i16 a4 = (ma_i16)ma_splat_bytes(a + 64 + i);
            s4_0 = ma_dot2(s4_0, a4, w0);
            const ma_i16 a5 = (ma_i16)ma_splat_bytes(a + 80 + i);
            s5_0 = ma_dot2(s5_0, a5, w0);
            const ma_i16 a6 = (ma_i16)ma_splat_bytes(a + 96 + i);
            s6_0 = ma_dot2(s6_0, a6, w0);
            const ma_i16 a7 = (ma_i16)ma_splat_bytes(a + 112 + i);
            s7_0 = ma_dot2(s7_0, a7, w0);
        }
    }
    const ma_f32 f0 = ma_load_f32(scale + 0);
    ma_store_steps4(y + 0, 16, (const ma_f32[]){ma_scaled(s0_0, f0), ma_scaled(s1_0, f0), ma_scaled(s2_0, f0), ma_scaled(s3_0, f0)}, 0x0p+0f, 0x1.04p+7f, -3, -3, 1, MA_FOUR_PLACES);
    ma_store_steps4(y + 64, 16, (const ma_f32[]){ma_scaled(s4_0, f0), ma_scaled(s5_0, f0), ma_scaled(s6_0, f0), ma_scaled(s7_0, f0)}, 0x0p+0f, 0x1.04p+7f, -3, -3, 1, MA_FOUR_PLACES);
}

MA_DOTS static void net_conv2d_cores_part(const uint8_t *restrict x, const int8_t *restrict weight, const int32_t *restrict bias, const float *restrict scale, int8_t *restrict y, uint8_t *restrict scratch, int32_t part)
{
    static const int32_t bounds[] = {0, 10, 21, 32};
    const int32_t part_begin = bounds[part], part_end = bounds[part + 1];
    (void)part_end; /* bodies whose parts are all as large need no end */
    scratch += part * 13824;
    _Static_assert(MA_LANES == 8, "vectors are those that the weights were packed for");
    int16_t *const image = (int16_t *)scratch;
    net_conv2d_cores_prepare(x, image, 0, 1, 0, 1, part_begin, part_end, 0, 31);
    for (int32_t oy0 = part_begin; oy0 < part_end; oy0 += 8) {
        const int32_t oy0_end = oy0 + 8 < part_end ? oy0 + 8 : part_end;
        for (int32_t b = 0; b < 1; ++b) {
            for (int32_t panel = 0; panel < 2; ++panel) {
                const int8_t *const w = weight + 0 + panel * 1152;
                const int32_t *const start = bias + 0 + panel * 8;
                const float *const factor = scale + 0 + panel * 8;
                int8_t *const to = y + panel * 8;
                const int16_t *const from = image + b * 6864;
                for (int32_t oy = oy0; oy < oy0_end; ++oy) {
                    const int32_t above = 1 - oy, until = 33 - oy;
                    const int32_t first = above > 0 ? above : 0, behind = until < 3 ? until : 3;
                    const int32_t n = 31;
                    for (int32_t next = 0; next < n; next += 8) {
                        const int32_t i = next + 8 > n ? n - 8 : next;
                        net_conv2d_cores_whole8(from + (oy - part_begin) * 528 + i * 16, w, start, factor, to + b * 15872 + oy * 496 + i * 16, first, behind);
                    }
                }
            }
        }
    }
}

struct net_conv2d_cores_call {
    const uint8_t *x;
    const int8_t *weight;
    const int32_t *bias;
    const float *scale;
    int8_t *y;
    uint8_t *scratch;
};

static void net_conv2d_cores_run(const void *argument, int32_t part, int32_t parts)
{
    const struct net_conv2d_cores_call *const call = argument;
    net_conv2d_cores_part(call->x, call->weight, call->bias, call->scale, call->y, call->scratch, part);
    (void)parts;
}

/* conv2d: x uint8[1,32,31,16], weight int8[16,3,3,16], bias int32[16], scale float32[16] -> y int8[1,32,31,16] */
static void net_conv2d_cores(const uint8_t *restrict x, const int8_t *restrict weight, const int32_t *restrict bias, const float *restrict scale, int8_t *restrict y, uint8_t *restrict scratch)
{
    const struct net_conv2d_cores_call call = {x, weight, bias, scale, y, scratch};
    ma_divide(net_conv2d_cores_run, &call, 3);
}
