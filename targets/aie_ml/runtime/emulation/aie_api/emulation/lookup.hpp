// Tables that four lanes read at once, as the vendor's headers have them for AIE-ML and XDNA2
// (aie_api/detail/lut.hpp, detail/aie2/parallel_lookup.hpp).
#pragma once

#include <cmath>

#include "memory.hpp"

namespace aie {

enum class lut_oor_policy { saturate, truncate };

/// Bytes that each array has twice: a bank's width, which is 256 bits on XDNA2 (mlir-aie, pull request 2189).
inline constexpr unsigned lut_repeated = __AIE_ARCH__ >= 21 ? 32 : 16;

/// Two arrays, each with every 128 (256) bits twice: four copies of every value.
template <unsigned ParallelAccesses, typename OffsetType, typename SlopeType = OffsetType>
struct lut {
    static_assert(ParallelAccesses == 4 && (__AIE_ARCH__ == 20 || __AIE_ARCH__ == 21), "four lanes at once, on AIE-ML and XDNA2");
    using offset_type = OffsetType;
    using slope_type = SlopeType;

    lut(unsigned LUT_elems, const void *LUT_ab, const void *LUT_cd)
        : LUT_elems_(LUT_elems), LUT_ab_(LUT_ab), LUT_cd_(LUT_cd) {}

    unsigned LUT_elems_;
    const void *LUT_ab_;
    const void *LUT_cd_;
};

template <typename T, typename MyLUT, lut_oor_policy oor_policy = lut_oor_policy::saturate>
class parallel_lookup {
    using Value = typename MyLUT::offset_type;
    static_assert(std::is_same_v<T, uint8> || std::is_same_v<T, uint16>, "keys that are emulated: uint8, uint16");
    static_assert(sizeof(Value) == 2 || sizeof(Value) == 4,
                  "values that are emulated: 16 and 32 bits (one of 8 takes 16 in its table)");

  public:
    parallel_lookup(const MyLUT &l, unsigned step_bits = 0, unsigned bias = 0, AIE_EMULATION_HERE)
        : lut_(l) {
        if (step_bits != 0 || bias != 0) {
            aie_emulation::stop(AIE_EMULATION_PLACE, "a look-up with steps or a bias");
        }
    }

    /// Keys become addresses through 64-bit accumulators; 64 bits are read for each lane, those of
    /// four lanes at once out of the four copies.
    template <typename Vec, unsigned N = Vec::size()>
    vector<Value, N> fetch(const Vec &keys, AIE_EMULATION_HERE) {
        static_assert(Vec::size() == 16 || Vec::size() == 32);
        static_assert(N * sizeof(Value) <= 64, "a look-up gives one vector of 512 bits");
        aie_emulation::Core &core = aie_emulation::core(AIE_EMULATION_PLACE);
        core.counters.srs += aie_emulation::words(4 * Vec::size(), 32);
        core.counters.load += aie_emulation::words(8 * Vec::size(), 32);
        constexpr unsigned run = lut_repeated / sizeof(Value);
        vector<Value, N> found;
        for (unsigned lane = 0; lane < N; ++lane) {
            const unsigned last = lut_.LUT_elems_ - 1, key = keys[lane];
            const unsigned entry = oor_policy == lut_oor_policy::truncate ? key & last
                                   : key < last                          ? key
                                                                         : last;
            const auto *table = static_cast<const Value *>(lane % 4 < 2 ? lut_.LUT_ab_ : lut_.LUT_cd_);
            const Value *at = table + entry / run * 2 * run + lane % 2 * run + entry % run;
            aie_emulation::check_access(table, 2 * run * sizeof(Value), vector_decl_align, false, AIE_EMULATION_PLACE);
            aie_emulation::check_access(at, sizeof(Value), sizeof(Value), false, AIE_EMULATION_PLACE);
            found[lane] = *at;
        }
        return found;
    }

  private:
    MyLUT lut_;
};

#if __AIE_ARCH__ == 20
template <typename T, typename MyLUT>
class linear_approx;

/// Lines out of a table: slope times argument and offset, with one rounding. An entry is two floats, a
/// slope that is a bfloat16 and an offset; a line is as long as 2^step_bits, and number `bias` begins at
/// 0 (detail/aie2/linear_approx.hpp). ASSUMPTION: the argument's conversion to an integer is its floor,
/// as mlir-aie says in a comment; it saturates.
template <>
class linear_approx<bfloat16, lut<4, float, bfloat16>> {
  public:
    linear_approx(const lut<4, float, bfloat16> &l, unsigned step_bits, int bias = 0, int shift_offset = 0,
                  AIE_EMULATION_HERE)
        : lut_(l), step_bits_(static_cast<int>(step_bits)), bias_(bias) {
        if (shift_offset != 0) {
            aie_emulation::stop(AIE_EMULATION_PLACE, "linear_approx: floats take no shift_offset");
        }
    }

    /// What is read is kept by way of a scratch pad, a store and a load; 64 bits for each lane.
    accum<accfloat, 16> compute(const vector<bfloat16, 16> &values, AIE_EMULATION_HERE) {
        aie_emulation::Core &core = aie_emulation::core(AIE_EMULATION_PLACE);
        core.counters.load += aie_emulation::words(8 * 16, 32) + 1;
        core.counters.store += 1;
        core.counters.multiply += 1;
        constexpr int run = 2;
        const int last = static_cast<int>(lut_.LUT_elems_) - 1;
        accum<accfloat, 16> sum;
        for (unsigned lane = 0; lane < 16; ++lane) {
            const float value = values[lane];
            const double number = std::floor(std::ldexp(static_cast<double>(value), -step_bits_)) + bias_;
            const int entry = number >= last ? last : number > 0 ? static_cast<int>(number) : 0;
            const auto *table = static_cast<const float *>(lane % 4 < 2 ? lut_.LUT_ab_ : lut_.LUT_cd_);
            const float *at = table + 2 * (entry / run * 2 * run + static_cast<int>(lane % 2) * run + entry % run);
            aie_emulation::check_access(table, 32, 32, false, AIE_EMULATION_PLACE);
            aie_emulation::check_access(at, 8, 8, false, AIE_EMULATION_PLACE);
            sum.lane(lane) = at[0] * value + at[1];  // a product of two bfloat16 numbers is exact
        }
        return sum;
    }

  private:
    lut<4, float, bfloat16> lut_;
    int step_bits_, bias_;
};
#endif

}  // namespace aie
