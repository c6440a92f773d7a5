/* mul: x uint8[1,5,4,6], x1 int8[1,1,1,6] -> y int8[1,5,4,6] */
static void net_mul_broadcast(const uint8_t *x, const int8_t *restrict x1, int8_t *y)
{
    for (int32_t i0 = 0; i0 < 20; ++i0) {
        for (int32_t i1 = 0; i1 < 6; ++i1) {
            const float left = (float)(x[i0 * 6 + i1] - 128) * 0x1.47ae14p-6f;
            const float right = (float)(x1[i1] + 3) * 0x1.99999ap-5f;
            float steps = (left * right) / 0x1.99999ap-5f;
            steps = (steps + 0x1.8p+23f) - 0x1.8p+23f;
            steps = steps > -0x1.f4p+6f ? steps : -0x1.f4p+6f;
            steps = steps < 0x1.04p+7f ? steps : 0x1.04p+7f;
            y[i0 * 6 + i1] = (int8_t)((int32_t)steps - 3);
        }
    }
}
