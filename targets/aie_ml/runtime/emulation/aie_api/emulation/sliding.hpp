// Products of coefficients and sliding data, channel by channel.
#pragma once

#include "arithmetic.hpp"

namespace aie {

/// Lane l = sum over p of coeff[(start + p * CoeffStep) * Channels + l % Channels]
///                      * data[(start + (l / Channels + p) * DataStepX) * Channels
///                             + l % Channels * DataStepY]; indices wrap around.
template <unsigned Outputs, unsigned Channels, unsigned Points, int CoeffStep, int DataStepX,
          int DataStepY, typename CoeffType, typename DataType,
          typename Tag = aie_emulation::DefaultTag<CoeffType, DataType>>
struct sliding_mul_ch_ops {
    // Names a parameter, so that only who uses it is refused.
    static_assert(__AIE_ARCH__ >= 20 || Outputs == 0, "sliding_mul_ch is of AIE-ML and later");
    // The headers have no others but, on XDNA2, 16 by 16 bits, and eight channels alone there.
    static_assert(sizeof(CoeffType) == 1 && sizeof(DataType) == 1, "sliding_mul_ch of 8 by 8 bits is emulated");
    static_assert(CoeffStep == 1 && DataStepX == 1 && DataStepY == 1, "sliding_mul_ch steps by one");
    static_assert(Channels == 8 || (Channels == 4 && __AIE_ARCH__ == 20), "sliding_mul_ch is of 8 channels, on AIE-ML of 4, too");
    static constexpr unsigned lanes = Outputs * Channels, points = Points;
    using accum_type = accum<Tag, lanes>;

    template <unsigned C, unsigned D>
    static accum_type mul(const vector<CoeffType, C> &coeff, unsigned coeff_start,
                          const vector<DataType, D> &data, unsigned data_start, AIE_EMULATION_HERE) {
        return mac(accum_type(), coeff, coeff_start, data, data_start, file, line);
    }

    template <unsigned C, unsigned D>
    static accum_type mac(const accum_type &before, const vector<CoeffType, C> &coeff,
                          unsigned coeff_start, const vector<DataType, D> &data,
                          unsigned data_start, AIE_EMULATION_HERE) {
        static_assert(sizeof(CoeffType) * C <= 64 && sizeof(DataType) * D <= 128,
                      "wider vectors than the headers take");
        constexpr unsigned at_once = Channels == 4 || __AIE_ARCH__ > 20 ? 8 : 4;  // points
        aie_emulation::core(AIE_EMULATION_PLACE).counters.multiply +=
            aie_emulation::words(lanes, 32) * aie_emulation::words(Points, at_once);
        accum_type sum = before;
        for (unsigned lane = 0; lane < lanes; ++lane) {
            const int output = static_cast<int>(lane / Channels), channel = static_cast<int>(lane % Channels);
            for (int p = 0; p < static_cast<int>(Points); ++p) {
                const int c = (static_cast<int>(coeff_start) + p * CoeffStep) * static_cast<int>(Channels) + channel;
                const int d = (static_cast<int>(data_start) + (output + p) * DataStepX) * static_cast<int>(Channels) +
                              channel * DataStepY;
                sum.lane(lane) = aie_emulation::wrap_add(
                    sum.lane(lane), aie_emulation::product<Tag>(coeff[static_cast<unsigned>(c) % C],
                                                                data[static_cast<unsigned>(d) % D]));
            }
        }
        return sum;
    }
};

}  // namespace aie
