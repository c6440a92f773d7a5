/// Each of four rows' largest element, eight times.
template <typename T>
MATCH_AIE_INLINE aie::vector<T, tile> in_all_columns(const aie::vector<T, tile> &of_columns) {
    auto most = aie::transpose(of_columns, 4, 8);
    most = aie::max(most, aie::shuffle_down_fill(most, most, 16));
    most = aie::max(most, aie::shuffle_down_fill(most, most, 8));
    most = aie::max(most, aie::shuffle_down_fill(most, most, 4));
    return aie::transpose(most, 8, 4);
}
