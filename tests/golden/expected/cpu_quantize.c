/* quantize: x float32[2,10] -> y int8[2,10] */
static void net_quantize(const float *restrict x, int8_t *restrict y)
{
    for (int32_t i0 = 0; i0 < 20; ++i0) {
        float steps = x[i0] / 0x1.99999ap-5f;
        steps = (steps + 0x1.8p+23f) - 0x1.8p+23f;
        steps = steps > -0x1.f4p+6f ? steps : -0x1.f4p+6f;
        steps = steps < 0x1.04p+7f ? steps : 0x1.04p+7f;
        y[i0] = (int8_t)((int32_t)steps - 3);
    }
}
