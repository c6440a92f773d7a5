/* softmax: x float32[2,9] -> y float32[2,9] */
static void net_softmax(const float *x, float *y)
{
    for (int32_t b = 0; b < 2; ++b) {
        const float sum = ma_exp_row(y + b * 9, x + b * 9, 9);
        ma_scale_row(y + b * 9, 1.0f / sum, 9);
    }
}
