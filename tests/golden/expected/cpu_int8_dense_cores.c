static void net_dense_cores_prepare(const uint8_t *restrict x, int16_t *restrict image, int32_t b0, int32_t b1, int32_t g0, int32_t g1, int32_t oy0, int32_t oy1, int32_t ox0, int32_t ox1)
{
    const int32_t rows = (oy1 - oy0 - 1) + 1;
    const int32_t columns = (ox1 - ox0 - 1) + 1;
    const int32_t ix = ox0;
    const int32_t before = ix < 0 ? (-ix < columns ? -ix : columns) : 0;
    const int32_t room = 1 - ix < columns ? 1 - ix : columns;
    const int32_t end = room > before ? room : before;
    for (int32_t b = b0; b < b1; ++b) {
        for (int32_t g = g0; g < g1; ++g) {
            for (int32_t row = 0; row < rows; ++row) {
                const int32_t iy = oy0 + row;
                int16_t *const to = image + (b - b0) * 640 + (g - g0) * 640 + row * 640;
                if (iy < 0 || iy >= 1) {
                    for (int32_t i = 0; i < columns * 640; ++i) {
                        to[i] = 0;
                    }
                    continue;
                }
                const uint8_t *const from = x + ((b * 1 + iy) * 1 + ix + before) * 640;
                int16_t *const middle = to + before * 640;
                for (int32_t i = 0; i < before * 640; ++i) {
                    to[i] = 0;
                }
                for (int32_t i = 0; i < (end - before) * 640; ++i) {
                    middle[i] = (int16_t)(from[i] - 128);
                }
                int16_t *const behind = to + end * 640;
                for (int32_t i = 0; i < (columns - end) * 640; ++i) {
                    behind[i] = 0;
                }
            }
        }
    }
}

MA_DOTS static void net_dense_cores_whole1(const int16_t *a, const int8_t *w, const int32_t *bias, const float *scale, int8_t *y)
{
    ma_u32 s0_0 = ma_load_u32(bias + 0);
    ma_u32 s0_1 = ma_load_u32(bias + 8);
    ma_u32 s0_2 = ma_load_u32(bias + 16);
    ma_u32 s0_3 = ma_load_u32(bias + 24);
    for (int32_t i = 0; i < 640; i += 2, w += 64) {
        const ma_i16 w0 = ma_widen_pairs(w + 0);
        const ma_i16 w1 = ma_widen_pairs(w + 16);
        const ma_i16 w2 = ma_widen_pairs(w + 32);
        const ma_i16 w3 = ma_widen_pairs(w + 48);
        const ma_i16 a0 = (ma_i16)ma_splat_bytes(a + i);
        s0_0 = ma_dot2(s0_0, a0, w0);
        s0_1 = ma_dot2(s0_1, a0, w1);
        s0_2 = ma_dot2(s0_2, a0, w2);
        s0_3 = ma_dot2(s0_3, a0, w3);
    }
    const ma_f32 f0 = ma_load_f32(scale + 0);
    const ma_f32 f1 = ma_load_f32(scale + 8);
    const ma_f32 f2 = ma_load_f32(scale + 16);
    const ma_f32 f3 = ma_load_f32(scale + 24);
    ma_store_steps4(y + 0, 0, (const ma_f32[]){ma_scaled(s0_0, f0), ma_scaled(s0_1, f1), ma_scaled(s0_2, f2), ma_scaled(s0_3, f3)}, -0x1.f4p+6f, 0x1.04p+7f, -3, -128, 1, MA_SIDE_BY_SIDE);
}

MA_DOTS static void net_dense_cores_part(const uint8_t *restrict x, const int8_t *restrict weight, const int32_t *restrict bias, const float *restrict scale, int8_t *restrict y, uint8_t *restrict scratch, int32_t part)
{
    static const int32_t bounds[] = {0, 128, 256};
    const int32_t part_begin = bounds[part], part_end = bounds[part + 1];
    (void)part_end; /* bodies whose parts are all as large need no end */
    scratch += part * 1344;
    _Static_assert(MA_LANES == 8, "vectors are those that the weights were packed for");
    int16_t *const image = (int16_t *)scratch;
    net_dense_cores_prepare(x, image, 0, 1, 0, 1, 0, 1, 0, 1);
    for (int32_t panel = ((part_begin + 31) / 32); panel < ((part_end + 31) / 32) && panel < 8; ++panel) {
        const int8_t *const w = weight + 0 + panel * 20480;
        const int32_t *const start = bias + 0 + panel * 32;
        const float *const factor = scale + 0 + panel * 32;
        int8_t *const to = y + panel * 32;
        const int16_t *const from = image;
        const int32_t n = 1;
        for (int32_t i = 0; i < n; i += 1) {
            net_dense_cores_whole1(from + i * 640, w, start, factor, to + i * 256);
        }
    }
}

struct net_dense_cores_call {
    const uint8_t *x;
    const int8_t *weight;
    const int32_t *bias;
    const float *scale;
    int8_t *y;
    uint8_t *scratch;
};

static void net_dense_cores_run(const void *argument, int32_t part, int32_t parts)
{
    const struct net_dense_cores_call *const call = argument;
    net_dense_cores_part(call->x, call->weight, call->bias, call->scale, call->y, call->scratch, part);
    (void)parts;
}

/* dense: x uint8[1,640], weight int8[256,640], bias int32[256], scale float32[1] -> y int8[1,256] */
static void net_dense_cores(const uint8_t *restrict x, const int8_t *restrict weight, const int32_t *restrict bias, const float *restrict scale, int8_t *restrict y, uint8_t *restrict scratch)
{
    const struct net_dense_cores_call call = {x, weight, bias, scale, y, scratch};
    ma_divide(net_dense_cores_run, &call, 2);
}
