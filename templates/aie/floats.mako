constexpr unsigned lanes = 16;
using Floats = aie::accum<accfloat, lanes>;
using Rounded = aie::vector<bfloat16, lanes>;

/// Floats as sums of two bfloat16 numbers, but for 2^-17 of them.
struct Split {
    Rounded high;
    Rounded low;
};

MATCH_AIE_INLINE Split split(const Floats &value) {
    const Rounded high = value.to_vector<bfloat16>();
    return {high, aie::sub(value, Floats(high)).to_vector<bfloat16>()};
}

MATCH_AIE_INLINE Floats times(const Split &a, const Split &b) {
    const Floats first = aie::mac(aie::mul(a.high, b.high), a.high, b.low);
    return aie::mac(aie::mac(first, a.low, b.high), a.low, b.low);
}

MATCH_AIE_INLINE Floats everywhere(float value) { return Floats(aie::broadcast<float, lanes>(value)); }

/// The sum of all lanes, in each of them.
MATCH_AIE_INLINE Floats summed(const Floats &value) {
    return everywhere(aie::reduce_add(value.to_vector<float>()));
}

/// A float whose bits are a number less those of another one.
MATCH_AIE_INLINE Floats guessed(int32 from, const aie::vector<int32, lanes> &bits) {
    return Floats(aie::sub(aie::broadcast<int32, lanes>(from), bits).cast_to<float>());
}
