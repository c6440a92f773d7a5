/* add: x uint8[1,1,3,17], x1 int8[1,1,3,17] -> y int8[1,1,3,17] */
static void net_add(const uint8_t *x, const int8_t *x1, int8_t *y)
{
    _Static_assert(MA_LANES == 8, "vectors are as long as the project says");
    const uint8_t *from_x = x + 0;
    const int8_t *from_x1 = x1 + 0;
    int8_t *to = y + 0;
    for (int32_t i = 0; i < 32; i += 32) {
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
    {
        uint8_t last_x[32] = {0};
        memcpy(last_x, from_x, sizeof(uint8_t) * 19);
        from_x = last_x;
        int8_t last_x1[32] = {0};
        memcpy(last_x1, from_x1, sizeof(int8_t) * 19);
        from_x1 = last_x1;
        int8_t last[32];
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
        ma_store_steps4(last, 0, s, -0x1.f4p+6f, 0x1.04p+7f, -3, -128, 1, MA_SIDE_BY_SIDE);
        memcpy(to, last, sizeof(int8_t) * 19);
    }
}
