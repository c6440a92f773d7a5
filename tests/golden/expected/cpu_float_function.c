/* function: x float32[1,21] -> y float32[1,21] */
static void net_function(const float *x, float *y)
{
    const int32_t end = 21;
    int32_t i = 0;
    for (; i + MA_LANES <= end; i += MA_LANES) {
        const ma_vf v_x = ma_load(x + i);
        ma_store(y + i, ma_gelu(v_x));
    }
    if (i < end) {
        const ma_vf v_x = ma_load_part(x + i, end - i, 0.0f);
        ma_store_part(y + i, ma_gelu(v_x), end - i);
    }
}
