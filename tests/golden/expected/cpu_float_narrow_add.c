/* add: x bfloat16[1,9], x1 bfloat16[1,9] -> y bfloat16[1,9] */
static void net_narrow_add(const uint16_t *x, const uint16_t *restrict x1, uint16_t *y)
{
    const int32_t end = 9;
    int32_t i = 0;
    for (; i + MA_LANES <= end; i += MA_LANES) {
        const ma_vf v_x = ma_load_bf16(x + i);
        const ma_vf v_x1 = ma_load_bf16(x1 + i);
        ma_store_bf16(y + i, v_x + v_x1);
    }
    if (i < end) {
        const ma_vf v_x = ma_load_bf16_part(x + i, end - i, 0.0f);
        const ma_vf v_x1 = ma_load_bf16_part(x1 + i, end - i, 0.0f);
        ma_store_bf16_part(y + i, v_x + v_x1, end - i);
    }
}
