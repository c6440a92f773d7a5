<%include file="aie/row_maxima.mako"/>
/// Lanes of `a` and of `b` in turns, each the sum of two.
MATCH_AIE_INLINE Numbers folded(const Numbers &a, const Numbers &b) {
    const auto [low, high] = aie::interleave_zip(a, b, 1);
    return aie::add(low, high);
}

/// Into the sums' place: (2^29 - 1) / the leading 15 bits of each, and how far results are shifted down.
MATCH_AIE_INLINE void divide(const Call &call, unsigned rows) {
    Numbers left[lanes];
    for (unsigned i = 0; i < lanes; ++i) chess_unroll_loop() {
        left[i] = i < rows ? aie::load_v<lanes>(call.sums + i * lanes) : aie::zeros<int32, lanes>();
    }
    for (unsigned i = 0; i < 8; ++i) chess_unroll_loop() left[i] = folded(left[i], left[i + 8]);
    for (unsigned i = 0; i < 4; ++i) chess_unroll_loop() left[i] = folded(left[i], left[i + 4]);
    for (unsigned i = 0; i < 2; ++i) chess_unroll_loop() left[i] = folded(left[i], left[i + 2]);
    // Bits that are shifted out are dropped here, and rounded everywhere else.
    aie::set_rounding(aie::rounding_mode::floor);
    auto kept = aie::downshift(folded(left[0], left[1]), call.known);
    const auto one = aie::broadcast<int32, lanes>(1);
    const auto bound = aie::broadcast<int32, lanes>(1 << 15);
    auto shift = aie::broadcast<int32, lanes>(call.shift + 15 + call.known);
    for (unsigned step = 0; step < call.unknown; ++step) chess_prepare_for_pipelining {
        const auto over = aie::ge(kept, bound);
        kept = aie::select(kept, aie::downshift(kept, 1), over);
        shift = aie::select(shift, aie::add(shift, one), over);
    }
    aie::set_rounding(aie::rounding_mode::conv_even);
    auto rest = aie::broadcast<int32, lanes>((1 << 14) - 1), quotient = aie::zeros<int32, lanes>();
    for (unsigned step = 0; step < 15; ++step) chess_prepare_for_pipelining {
        rest = aie::add(aie::add(rest, rest), one);
        quotient = aie::add(quotient, quotient);
        const auto fits = aie::ge(rest, kept);
        rest = aie::select(rest, aie::sub(rest, kept), fits);
        quotient = aie::select(quotient, aie::add(quotient, one), fits);
    }
    aie::store_v(call.sums, quotient);
    aie::store_v(call.sums + lanes, shift);
}
