/* table: x uint8[1,99], table int8[256] -> y int8[1,99] */
static void net_table(const uint8_t *restrict x, const int8_t *restrict table, int8_t *restrict y)
{
    ma_look_up(table, x, y, 99);
}
