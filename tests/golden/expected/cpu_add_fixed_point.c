/* add: x uint8[1,5,4,6], x1 int8[1,5,4,6], multiplier int32[2], offset int32[6] -> y int8[1,5,4,6] */
static void net_add_fixed_point(const uint8_t *x, const int8_t *x1, const int32_t *restrict multiplier, const int32_t *restrict offset, int8_t *y)
{
    for (int32_t i0 = 0; i0 < 20; ++i0) {
        for (int32_t i1 = 0; i1 < 6; ++i1) {
            const int64_t t = (int64_t)x[i0 * 6 + i1] * multiplier[0] + (int64_t)x1[i0 * 6 + i1] * multiplier[1] + offset[i1];
            const int64_t steps = (t >> 9);
            y[i0 * 6 + i1] = (int8_t)(steps < -128 ? -128 : steps > 127 ? 127 : steps);
        }
    }
}
