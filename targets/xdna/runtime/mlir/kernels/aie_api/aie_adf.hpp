// Sums over the cascade, 512 bits a transfer, by the core's instructions (llvm-aie, aiev2 and aie2p
// headers: get_scd_*, put_mcd).
#pragma once

#include <adf.h>

namespace ma_npu {

/// The lanes of one transfer, and how it is read.
template <typename Tag>
struct Transfer;

template <>
struct Transfer<acc32> {
    static constexpr unsigned lanes = 16;
    static aie::accum<acc32, 16> read() { return get_scd_v16acc32(); }
};

template <>
struct Transfer<acc64> {
    static constexpr unsigned lanes = 8;
    static aie::accum<acc64, 8> read() { return get_scd_v8acc64(); }
};

template <>
struct Transfer<accfloat> {
    static constexpr unsigned lanes = 16;
    static aie::accum<accfloat, 16> read() { return get_scd_v16accfloat(); }
};

}  // namespace ma_npu

template <unsigned N, typename Tag>
__attribute__((always_inline)) inline aie::accum<Tag, N> readincr_v(input_cascade<Tag> *) {
    using Word = ma_npu::Transfer<Tag>;
    static_assert(N % Word::lanes == 0, "sums are whole transfers");
    if constexpr (N == Word::lanes) {
        return Word::read();
    } else {
        aie::accum<Tag, N> sum;
        for (unsigned at = 0; at < N / Word::lanes; ++at) {
            sum.insert(at, Word::read());
        }
        return sum;
    }
}

template <typename Tag, unsigned N>
__attribute__((always_inline)) inline void writeincr(output_cascade<Tag> *, const aie::accum<Tag, N> &sum) {
    using Word = ma_npu::Transfer<Tag>;
    static_assert(N % Word::lanes == 0, "sums are whole transfers");
    if constexpr (N == Word::lanes) {
        put_mcd(sum);
    } else {
        for (unsigned at = 0; at < N / Word::lanes; ++at) {
            put_mcd(sum.template extract<Word::lanes>(at));
        }
    }
}
