_Static_assert(MA_LANES == 8, "weights are packed for vectors of 8 elements");

MA_DOTS MA_APART void net_lstm_bytes_inputs_3x3(const int16_t *a, const int8_t *w, float *y, const float *bias, const float *scale, struct ma_codes of)
{
    const ma_u32 b0 = {0};
    const ma_u32 b1 = {0};
    const ma_u32 b2 = {0};
    ma_u32 s0_0 = b0, s0_1 = b1, s0_2 = b2;
    ma_u32 s1_0 = b0, s1_1 = b1, s1_2 = b2;
    ma_u32 s2_0 = b0, s2_1 = b1, s2_2 = b2;
    w += 96;
    for (int32_t i = 0; i < 10; i += 2, w += 48) {
        const ma_i16 w0 = ma_widen_pairs(w + 0);
        const ma_i16 w1 = ma_widen_pairs(w + 16);
        const ma_i16 w2 = ma_widen_pairs(w + 32);
        const ma_i16 a0 = (ma_i16)ma_splat_bytes(a + i);
        s0_0 = ma_dot2(s0_0, a0, w0);
        s0_1 = ma_dot2(s0_1, a0, w1);
        s0_2 = ma_dot2(s0_2, a0, w2);
        const ma_i16 a1 = (ma_i16)ma_splat_bytes(a + 10 + i);
        s1_0 = ma_dot2(s1_0, a1, w0);
        s1_1 = ma_dot2(s1_1, a1, w1);
        s1_2 = ma_dot2(s1_2, a1, w2);
        const ma_i16 a2 = (ma_i16)ma_splat_bytes(a + 20 + i);
        s2_0 = ma_dot2(s2_0, a2, w0);
        s2_1 = ma_dot2(s2_1, a2, w1);
        s2_2 = ma_dot2(s2_2, a2, w2);
    }
    const ma_vf f0 = ma_load(scale + 0) * of.scale, o0 = ma_load(bias + 0);
    ma_store(y + 0, ma_scaled(s0_0, f0) + o0);
    ma_store(y + 40, ma_scaled(s1_0, f0) + o0);
    ma_store(y + 80, ma_scaled(s2_0, f0) + o0);
    const ma_vf f1 = ma_load(scale + 8) * of.scale, o1 = ma_load(bias + 8);
    ma_store(y + 8, ma_scaled(s0_1, f1) + o1);
    ma_store(y + 48, ma_scaled(s1_1, f1) + o1);
    ma_store(y + 88, ma_scaled(s2_1, f1) + o1);
    const ma_vf f2 = ma_load(scale + 16) * of.scale, o2 = ma_load(bias + 16);
    ma_store(y + 16, ma_scaled(s0_2, f2) + o2);
    ma_store(y + 56, ma_scaled(s1_2, f2) + o2);
    ma_store(y + 96, ma_scaled(s2_2, f2) + o2);
}

MA_DOTS MA_APART void net_lstm_bytes_inputs_3x2(const int16_t *a, const int8_t *w, float *y, const float *bias, const float *scale, struct ma_codes of)
{
    const ma_u32 b0 = {0};
    const ma_u32 b1 = {0};
    ma_u32 s0_0 = b0, s0_1 = b1;
    ma_u32 s1_0 = b0, s1_1 = b1;
    ma_u32 s2_0 = b0, s2_1 = b1;
    w += 64;
    for (int32_t i = 0; i < 10; i += 2, w += 32) {
        const ma_i16 w0 = ma_widen_pairs(w + 0);
        const ma_i16 w1 = ma_widen_pairs(w + 16);
        const ma_i16 a0 = (ma_i16)ma_splat_bytes(a + i);
        s0_0 = ma_dot2(s0_0, a0, w0);
        s0_1 = ma_dot2(s0_1, a0, w1);
        const ma_i16 a1 = (ma_i16)ma_splat_bytes(a + 10 + i);
        s1_0 = ma_dot2(s1_0, a1, w0);
        s1_1 = ma_dot2(s1_1, a1, w1);
        const ma_i16 a2 = (ma_i16)ma_splat_bytes(a + 20 + i);
        s2_0 = ma_dot2(s2_0, a2, w0);
        s2_1 = ma_dot2(s2_1, a2, w1);
    }
    const ma_vf f0 = ma_load(scale + 0) * of.scale, o0 = ma_load(bias + 0);
    ma_store(y + 0, ma_scaled(s0_0, f0) + o0);
    ma_store(y + 40, ma_scaled(s1_0, f0) + o0);
    ma_store(y + 80, ma_scaled(s2_0, f0) + o0);
    const ma_vf f1 = ma_load(scale + 8) * of.scale, o1 = ma_load(bias + 8);
    ma_store(y + 8, ma_scaled(s0_1, f1) + o1);
    ma_store(y + 48, ma_scaled(s1_1, f1) + o1);
    ma_store(y + 88, ma_scaled(s2_1, f1) + o1);
}

MA_DOTS MA_APART void net_lstm_bytes_state0(const int16_t *a, const int8_t *w, float *y, const float *bias, const float *scale, struct ma_codes of)
{
    const ma_u32 b0 = {0};
    const ma_u32 b1 = {0};
    const ma_u32 b2 = {0};
    const ma_u32 b3 = {0};
    const ma_u32 b4 = {0};
    const ma_u32 b5 = {0};
    const ma_u32 b6 = {0};
    const ma_u32 b7 = {0};
    ma_u32 s0_0 = b0, s0_1 = b1, s0_2 = b2, s0_3 = b3, s0_4 = b4, s0_5 = b5, s0_6 = b6, s0_7 = b7;
    w += 256;
    for (int32_t i = 0; i < 10; i += 2, w += 128) {
        const ma_i16 w0 = ma_widen_pairs(w + 0);
        const ma_i16 w1 = ma_widen_pairs(w + 16);
        const ma_i16 w2 = ma_widen_pairs(w + 32);
        const ma_i16 w3 = ma_widen_pairs(w + 48);
        const ma_i16 w4 = ma_widen_pairs(w + 64);
        const ma_i16 w5 = ma_widen_pairs(w + 80);
        const ma_i16 w6 = ma_widen_pairs(w + 96);
        const ma_i16 w7 = ma_widen_pairs(w + 112);
        const ma_i16 a0 = (ma_i16)ma_splat_bytes(a + i);
        s0_0 = ma_dot2(s0_0, a0, w0);
        s0_1 = ma_dot2(s0_1, a0, w1);
        s0_2 = ma_dot2(s0_2, a0, w2);
        s0_3 = ma_dot2(s0_3, a0, w3);
        s0_4 = ma_dot2(s0_4, a0, w4);
        s0_5 = ma_dot2(s0_5, a0, w5);
        s0_6 = ma_dot2(s0_6, a0, w6);
        s0_7 = ma_dot2(s0_7, a0, w7);
    }
    const ma_vf f0 = ma_load(scale + 0) * of.scale, o0 = ma_load(bias + 0);
    ma_store(y + 0, ma_scaled(s0_0, f0) + o0);
    const ma_vf f1 = ma_load(scale + 8) * of.scale, o1 = ma_load(bias + 8);
    ma_store(y + 8, ma_scaled(s0_1, f1) + o1);
    const ma_vf f2 = ma_load(scale + 16) * of.scale, o2 = ma_load(bias + 16);
    ma_store(y + 16, ma_scaled(s0_2, f2) + o2);
    const ma_vf f3 = ma_load(scale + 24) * of.scale, o3 = ma_load(bias + 24);
    ma_store(y + 24, ma_scaled(s0_3, f3) + o3);
    const ma_vf f4 = ma_load(scale + 32) * of.scale, o4 = ma_load(bias + 32);
    ma_store(y + 32, ma_scaled(s0_4, f4) + o4);
    const ma_vf f5 = ma_load(scale + 40) * of.scale, o5 = ma_load(bias + 40);
    ma_store(y + 40, ma_scaled(s0_5, f5) + o5);
    const ma_vf f6 = ma_load(scale + 48) * of.scale, o6 = ma_load(bias + 48);
    ma_store(y + 48, ma_scaled(s0_6, f6) + o6);
    const ma_vf f7 = ma_load(scale + 56) * of.scale, o7 = ma_load(bias + 56);
    ma_store(y + 56, ma_scaled(s0_7, f7) + o7);
}

/* lstm: x float32[3,1,9], x2 float32[1,10], weight float32[40,9], recurrent float32[40,10], bias float32[2,40] -> y float32[3,1,10] */
static void net_lstm_bytes(const float *restrict x, const float *restrict x2, const float *restrict weight, const float *restrict recurrent, const float *restrict bias, float *restrict y, uint8_t *restrict scratch)
{
    float *const gate = (float *)(void *)scratch;
    int16_t *const seen = (int16_t *)(void *)(gate + 140);
    int16_t *const held = (int16_t *)(void *)(gate + 155);
    const int8_t *const of_inputs = (const int8_t *)(const void *)weight; /* packed as bytes */
    const int8_t *const of_states = (const int8_t *)(const void *)recurrent;
    float *const cells = gate + 120;
    memcpy(cells, x2, sizeof(float) * 10);
    float *const zero = gate + 130;
    memset(zero, 0, sizeof(float) * 10);
    memset(seen, 0, sizeof *seen * 30);
    memset(held, 0, sizeof *held * 10);
    const struct ma_codes of_x = ma_codes_of(x, 27);
    const float *before = zero;
    for (int32_t first = 0; first < 3; first += 3) {
        const int32_t steps = 3 - first < 3 ? 3 - first : 3;
        for (int32_t step = 0; step < steps; ++step) {
            ma_row_words(seen + step * 10, x + (first + step) * 9, 9, of_x, -(int32_t)of_x.zero);
        }
        for (int32_t n = 0; n < 24; n += 24) {
            int32_t m = 0;
            while (steps - m >= 3) {
                net_lstm_bytes_inputs_3x3(seen + m * 10, of_inputs + n * 14, gate + m * 40 + n, bias + n, bias + 40 + n, of_x);
                m += 3;
            }
        }
        for (int32_t n = 24; n < 40; n += 16) {
            int32_t m = 0;
            while (steps - m >= 3) {
                net_lstm_bytes_inputs_3x2(seen + m * 10, of_inputs + n * 14, gate + m * 40 + n, bias + n, bias + 40 + n, of_x);
                m += 3;
            }
        }
        for (int32_t step = 0; step < steps; ++step) {
            float *const now = y + (first + step) * 10;
            const float *const sums_of_x = gate + step * 40;
            const struct ma_codes of_h = ma_codes_of(before, 10);
            ma_row_words(held, before, 10, of_h, -(int32_t)of_h.zero);
            if (((first + step) & 1) == 0) {
                for (int32_t u = 0; u < 10; u += 16) {
                    float sums[64];
                    net_lstm_bytes_state0(held, of_states + u * 56, sums, bias + 80 + u * 4, bias + 144 + u * 4, of_h);
                    ma_lstm_units(now + u, cells + u, sums_of_x + u, 10, sums, 16, 10, 0x0.0p+0f);
                }
            } else {
                for (int32_t u = 0; u >= 0; u -= 16) {
                    float sums[64];
                    net_lstm_bytes_state0(held, of_states + u * 56, sums, bias + 80 + u * 4, bias + 144 + u * 4, of_h);
                    ma_lstm_units(now + u, cells + u, sums_of_x + u, 10, sums, 16, 10, 0x0.0p+0f);
                }
            }
            before = now;
        }
    }
}
