MA_DOTS static void net_rms_norm_cores_part(const int8_t *x, const float *restrict weight, int8_t *y, int32_t part)
{
    static const int32_t bounds[] = {0, 32, 64};
    const int32_t part_begin = bounds[part], part_end = bounds[part + 1];
    (void)part_end; /* bodies whose parts are all as large need no end */
    _Static_assert(MA_LANES == 4, "vectors are as long as the project says");
    for (int32_t b = part_begin; b < part_end; b += 8) {
        const int32_t count = part_end - b < 8 ? part_end - b : 8;
        float total[8], scale[8];
        for (int32_t r = 0; r < count; ++r) {
            int64_t sum, squares;
            ma_sums_i8(x + (b + r) * 512, 512, &sum, &squares);
            const int64_t spread = 512 * (squares - -6 * sum + 4608);
            total[r] = -0x1.8000000000000p+10f;
            scale[r] = ma_norm_scale(spread, 0x1.99999a0000000p-14, 0x1.47ae151eb8520p-27, 0x1.4f8b588e368f1p-17);
        }
        for (int32_t r = 0; r < count; ++r) {
            const int8_t *const from = x + (b + r) * 512;
            int8_t *const to = y + (b + r) * 512;
            for (int32_t i = 0; i < 512; i += 16) {
                ma_f32 steps[4];
                for (int32_t j = 0; j < 16; j += 4) {
                    const ma_f32 normal = ma_normal(ma_float_i8(from + i + j), 0x1.0000000000000p+9f, total[r], scale[r]);
                    steps[j / 4] = normal * ma_load_f32(weight + i + j);
                }
                ma_store_steps4(to + i, 0, steps, 0x0p+0f, 0x1.04p+7f, -3, -3, 1, MA_SIDE_BY_SIDE);
            }
        }
    }
}

struct net_rms_norm_cores_call {
    const int8_t *x;
    const float *weight;
    int8_t *y;
};

static void net_rms_norm_cores_run(const void *argument, int32_t part, int32_t parts)
{
    const struct net_rms_norm_cores_call *const call = argument;
    net_rms_norm_cores_part(call->x, call->weight, call->y, part);
    (void)parts;
}

/* rms_norm: x int8[64,512], weight float32[512] -> y int8[64,512] */
static void net_rms_norm_cores(const int8_t *x, const float *restrict weight, int8_t *y)
{
    const struct net_rms_norm_cores_call call = {x, weight, y};
    ma_divide(net_rms_norm_cores_run, &call, 2);
}
