/* layer_norm: x bfloat16[2,9], weight float32[9], bias float32[9] -> y bfloat16[2,9] */
static void net_narrow_norm(const uint16_t *x, const float *restrict weight, const float *restrict bias, uint16_t *y, uint8_t *restrict scratch)
{
    float *const row = (float *)(void *)scratch;
    for (int32_t b = 0; b < 2; ++b) {
        ma_widen_row(row, x + b * 9, 9);
        ma_norm_row(row, row, weight, bias, 9, 0x1.0000000000000p-1f);
        ma_narrow_row(y + b * 9, row, 9);
    }
}
