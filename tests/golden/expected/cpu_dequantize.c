/* dequantize: x uint8[2,10] -> y float32[2,10] */
static void net_dequantize(const uint8_t *restrict x, float *restrict y)
{
    for (int32_t i0 = 0; i0 < 20; ++i0) {
        y[i0] = (float)(x[i0] - 128) * 0x1.47ae14p-6f;
    }
}
