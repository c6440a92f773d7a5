// Sum of two activations: y = clip(srs(a * a_factor + b * b_factor + offset)), lane by lane.
//
// Software-pipelined in the source: while a vector is rounded and stored, the next is summed.
#pragma once

#include <adf.h>
#include <aie_api/aie.hpp>
#include <aie_api/aie_adf.hpp>

// On the core everything must end up in one function, so that accumulators stay in registers.
#ifdef __AIENGINE__
#define MATCH_AIE_INLINE inline __attribute__((always_inline))
#else
#define MATCH_AIE_INLINE inline
#endif

namespace add_uint8_uint8_lo {
    constexpr unsigned lanes = 32;
    using Sum = aie::accum<acc32, lanes>;
    struct Call {
        const uint8 *__restrict a;
        const uint8 *__restrict b;
        uint8 *__restrict y;
        int a_factor;
        int b_factor;
        int offset;
        int shift;
        int lo;
        unsigned vectors;  // of 32 lanes
    };
    MATCH_AIE_INLINE Sum weighted(const Call &call, unsigned vector) {
        const auto a = aie::load_v<lanes>(call.a + vector * lanes).unpack();
        const auto b = aie::load_v<lanes>(call.b + vector * lanes).unpack();
        const Sum start(aie::broadcast<int32, lanes>(call.offset));
        const Sum first = aie::mac(start, a, aie::broadcast<int16, lanes>(static_cast<int16>(call.a_factor)));
        return aie::mac(first, b, aie::broadcast<int16, lanes>(static_cast<int16>(call.b_factor)));
    }
    MATCH_AIE_INLINE void store(const Sum &sum, const Call &call, unsigned vector) {
        auto values = sum.to_vector<uint8>(call.shift);
        values = aie::max(values, static_cast<uint8>(call.lo));
        aie::store_v(call.y + vector * lanes, values);
    }
    MATCH_AIE_INLINE void run(const Call &call) {
        Sum sum = weighted(call, 0);
        for (unsigned vector = 1; vector < call.vectors; ++vector) chess_prepare_for_pipelining {
            const Sum next = weighted(call, vector);
            store(sum, call, vector - 1);
            sum = next;
        }
        store(sum, call, call.vectors - 1);
    }
}  // namespace add_uint8_uint8_lo
