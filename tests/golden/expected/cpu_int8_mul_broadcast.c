/* mul: x uint8[1,5,4,18], x1 int8[1,1,1,18] -> y int8[1,5,4,18] */
static void net_mul_broadcast(const uint8_t *x, const int8_t *restrict x1, int8_t *y)
{
    _Static_assert(MA_LANES == 8, "vectors are as long as the project says");
    for (int32_t i0 = 0; i0 < 20; ++i0) {
        const uint8_t *from_x = x + i0 * 18;
        const int8_t *from_x1 = x1 + 0;
        int8_t *to = y + i0 * 18;
        for (int32_t i = 0; i < 16; i += 16) {
            const ma_f32 r0_x = ma_real_u8(from_x + 0, 128, 0x1.47ae14p-6f);
            const ma_f32 r0_x1 = ma_real_i8(from_x1 + 0, -3, 0x1.99999ap-5f);
            const ma_f32 r1_x = ma_real_u8(from_x + 8, 128, 0x1.47ae14p-6f);
            const ma_f32 r1_x1 = ma_real_i8(from_x1 + 8, -3, 0x1.99999ap-5f);
            const ma_f32 s[2] = {
                (r0_x * r0_x1) / 0x1.99999ap-5f,
                (r1_x * r1_x1) / 0x1.99999ap-5f,
            };
            ma_store_steps2(to, NULL, s[0], s[1], -0x1.f4p+6f, 0x1.04p+7f, -3, -128, 1, MA_SIDE_BY_SIDE);
            from_x += 16;
            from_x1 += 16;
            to += 16;
        }
        {
            uint8_t last_x[16] = {0};
            memcpy(last_x, from_x, sizeof(uint8_t) * 2);
            from_x = last_x;
            int8_t last_x1[16] = {0};
            memcpy(last_x1, from_x1, sizeof(int8_t) * 2);
            from_x1 = last_x1;
            int8_t last[16];
            const ma_f32 r0_x = ma_real_u8(from_x + 0, 128, 0x1.47ae14p-6f);
            const ma_f32 r0_x1 = ma_real_i8(from_x1 + 0, -3, 0x1.99999ap-5f);
            const ma_f32 r1_x = ma_real_u8(from_x + 8, 128, 0x1.47ae14p-6f);
            const ma_f32 r1_x1 = ma_real_i8(from_x1 + 8, -3, 0x1.99999ap-5f);
            const ma_f32 s[2] = {
                (r0_x * r0_x1) / 0x1.99999ap-5f,
                (r1_x * r1_x1) / 0x1.99999ap-5f,
            };
            ma_store_steps2(last, NULL, s[0], s[1], -0x1.f4p+6f, 0x1.04p+7f, -3, -128, 1, MA_SIDE_BY_SIDE);
            memcpy(to, last, sizeof(int8_t) * 2);
        }
    }
}
