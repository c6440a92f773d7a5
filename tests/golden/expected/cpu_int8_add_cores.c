static void net_add_cores_part(const uint8_t *x, const int8_t *x1, int8_t *y, int32_t part)
{
    static const int32_t bounds[] = {0, 8704, 17408};
    const int32_t part_begin = bounds[part], part_end = bounds[part + 1];
    (void)part_end; /* bodies whose parts are all as large need no end */
    _Static_assert(MA_LANES == 8, "vectors are as long as the project says");
    const uint8_t *from_x = x + part_begin;
    const int8_t *from_x1 = x1 + part_begin;
    int8_t *to = y + part_begin;
    for (int32_t i = part_begin; i + 32 <= part_end; i += 32) {
        const ma_f32 r0_x = ma_float_u8(from_x + 0);
        const ma_f32 r0_x1 = ma_float_i8(from_x1 + 0);
        const ma_f32 r1_x = ma_float_u8(from_x + 8);
        const ma_f32 r1_x1 = ma_float_i8(from_x1 + 8);
        const ma_f32 r2_x = ma_float_u8(from_x + 16);
        const ma_f32 r2_x1 = ma_float_i8(from_x1 + 16);
        const ma_f32 r3_x = ma_float_u8(from_x + 24);
        const ma_f32 r3_x1 = ma_float_i8(from_x1 + 24);
        const ma_f32 s[4] = {
            ma_fused(r0_x, ma_splat_f32(0x1.9999980000000p-2f), ma_fused(r0_x1, ma_splat_f32(0x1.0000000000000p+0f), ma_splat_f32(-0x1.8199980000000p+5f))),
            ma_fused(r1_x, ma_splat_f32(0x1.9999980000000p-2f), ma_fused(r1_x1, ma_splat_f32(0x1.0000000000000p+0f), ma_splat_f32(-0x1.8199980000000p+5f))),
            ma_fused(r2_x, ma_splat_f32(0x1.9999980000000p-2f), ma_fused(r2_x1, ma_splat_f32(0x1.0000000000000p+0f), ma_splat_f32(-0x1.8199980000000p+5f))),
            ma_fused(r3_x, ma_splat_f32(0x1.9999980000000p-2f), ma_fused(r3_x1, ma_splat_f32(0x1.0000000000000p+0f), ma_splat_f32(-0x1.8199980000000p+5f))),
        };
        ma_store_steps4(to, 0, s, -0x1.f4p+6f, 0x1.04p+7f, -3, -128, 1, MA_SIDE_BY_SIDE);
        from_x += 32;
        from_x1 += 32;
        to += 32;
    }
}

struct net_add_cores_call {
    const uint8_t *x;
    const int8_t *x1;
    int8_t *y;
};

static void net_add_cores_run(const void *argument, int32_t part, int32_t parts)
{
    const struct net_add_cores_call *const call = argument;
    net_add_cores_part(call->x, call->x1, call->y, part);
    (void)parts;
}

/* add: x uint8[1,32,32,17], x1 int8[1,32,32,17] -> y int8[1,32,32,17] */
static void net_add_cores(const uint8_t *x, const int8_t *x1, int8_t *y)
{
    const struct net_add_cores_call call = {x, x1, y};
    ma_divide(net_add_cores_run, &call, 2);
}
