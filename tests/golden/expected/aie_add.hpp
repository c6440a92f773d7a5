// Sum of two activations: y = clip(srs(a * a_factor + b * b_factor + offset)), lane by lane.
//
// Software-pipelined in the source: while a vector is rounded and stored, the next is summed.
#pragma once

#include <adf.h>
#include <aie_api/aie.hpp>
#include <aie_api/aie_adf.hpp>

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
    __aie_inline Sum weighted(const Call &call, unsigned vector) {
        const auto a = aie::load_v<lanes>(call.a + vector * lanes).unpack();
        const auto b = aie::load_v<lanes>(call.b + vector * lanes).unpack();
        const Sum start(aie::broadcast<int32, lanes>(call.offset));
        const Sum first = aie::mac(start, a, aie::broadcast<int16, lanes>(static_cast<int16>(call.a_factor)));
        return aie::mac(first, b, aie::broadcast<int16, lanes>(static_cast<int16>(call.b_factor)));
    }
    __aie_inline void store(const Sum &sum, const Call &call, unsigned vector) {
        auto values = sum.to_vector<uint8>(call.shift);
        values = aie::max(values, static_cast<uint8>(call.lo));
        aie::store_v(call.y + vector * lanes, values);
    }
    __aie_inline void run(const Call &call) {
        Sum sum = weighted(call, 0);
        for (unsigned vector = 1; vector < call.vectors; ++vector) chess_prepare_for_pipelining {
            const Sum next = weighted(call, vector);
            store(sum, call, vector - 1);
            sum = next;
        }
        store(sum, call, call.vectors - 1);
    }
}  // namespace add_uint8_uint8_lo
