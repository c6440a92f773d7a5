// Tables that four lanes read at once, as the vendor's headers have them for AIE-ML
// (aie_api/detail/lut.hpp, detail/aie2/parallel_lookup.hpp).
#pragma once

#include "memory.hpp"

namespace aie {

enum class lut_oor_policy { saturate, truncate };

/// Two arrays, each with every 128 bits twice: four copies of every value.
template <unsigned ParallelAccesses, typename OffsetType, typename SlopeType = OffsetType>
struct lut {
    static_assert(ParallelAccesses == 4 && __AIE_ARCH__ == 20, "four lanes at once, on AIE-ML");
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
    static_assert(sizeof(T) == 1 && !std::is_signed_v<T>, "keys that are emulated: uint8");
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
        constexpr unsigned run = 16 / sizeof(Value);
        vector<Value, N> found;
        for (unsigned lane = 0; lane < N; ++lane) {
            const unsigned last = lut_.LUT_elems_ - 1, key = keys[lane];
            const unsigned entry = oor_policy == lut_oor_policy::truncate ? key & last
                                   : key < last                          ? key
                                                                         : last;
            const auto *table = static_cast<const Value *>(lane % 4 < 2 ? lut_.LUT_ab_ : lut_.LUT_cd_);
            const Value *at = table + entry / run * 2 * run + lane % 2 * run + entry % run;
            aie_emulation::check_access(table, 2 * run * sizeof(Value), 32, false, AIE_EMULATION_PLACE);
            aie_emulation::check_access(at, sizeof(Value), sizeof(Value), false, AIE_EMULATION_PLACE);
            found[lane] = *at;
        }
        return found;
    }

  private:
    MyLUT lut_;
};

}  // namespace aie
