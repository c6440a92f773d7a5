/* table: x int8[1,20], table uint8[256] -> y uint8[1,20] */
static void net_table(const int8_t *restrict x, const uint8_t *restrict table, uint8_t *restrict y)
{
    for (int32_t k = 0; k < 20; ++k) {
        y[k] = table[(uint8_t)x[k]];
    }
}
