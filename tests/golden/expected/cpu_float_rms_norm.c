/* rms_norm: x float32[2,9], weight float32[9] -> y float32[2,9] */
static void net_rms_norm(const float *x, const float *restrict weight, float *y)
{
    for (int32_t b = 0; b < 2; ++b) {
        ma_rms_row(y + b * 9, x + b * 9, weight, 9, 0x1.0000000000000p-1f);
    }
}
