// A function of bfloat16 elements from a table of magnitudes.
//
// Software-pipelined in the source: the table is read for a vector before the last one is stored,
// since nothing tells a compiler that results do not lie in the table.
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

namespace function_half_linear_bfloat16 {
    constexpr unsigned lanes = 32;
    using Bits = aie::vector<int16, lanes>;
    using Table = aie::lut<4, int16>;
    using Lookup = aie::parallel_lookup<uint16, Table>;
    struct Call {
        const bfloat16 *__restrict x;
        const int16 *__restrict ab;  // bits of results, every 8 of them twice
        const int16 *__restrict cd;  // the same again, in another bank
        bfloat16 *__restrict y;
        unsigned vectors;            // of 32 lanes
        unsigned entries;
        int16 low;                   // bits of the least magnitude in the table
        int16 high;                  // of the greatest one of positive numbers
        int16 deep;                  // of negative ones
    };
    MATCH_AIE_INLINE Bits everywhere(int value) { return aie::broadcast<int16, lanes>(static_cast<int16>(value)); }
    MATCH_AIE_INLINE Bits looked_up(Lookup &lookup, const Call &call, unsigned vector) {
        const auto x = aie::load_v<lanes>(call.x + vector * lanes);
        const Bits bits = x.cast_to<int16>(), size = aie::bit_and(bits, everywhere(0x7fff));
        const Bits up = aie::max(size, call.low);
        const Bits above = aie::sub(aie::min(up, call.high), everywhere(call.low));
        const Bits below = aie::add(aie::min(up, call.deep), everywhere(call.high + 1 - 2 * call.low));
        const auto negative = aie::lt(bits, everywhere(0));
        Bits found = lookup.fetch(aie::select(above, below, negative).cast_to<uint16>());
        const auto slope = aie::broadcast<bfloat16, lanes / 2>(0.5f);
        const auto first = aie::mul(x.extract<lanes / 2>(0), slope), second = aie::mul(x.extract<lanes / 2>(1), slope);
        const auto near = aie::concat(first.to_vector<bfloat16>(), second.to_vector<bfloat16>());
        found = aie::select(found, near.cast_to<int16>(), aie::lt(size, everywhere(call.low)));
        found = aie::select(bits, found, aie::lt(bits, everywhere(call.high + 1)));
        return aie::select(found, bits, aie::ge(size, everywhere(0x7f81)));
    }
    MATCH_AIE_INLINE void run(const Call &call) {
        const Table table(call.entries, call.ab, call.cd);
        Lookup lookup(table, 0);
        Bits bits = looked_up(lookup, call, 0);
        for (unsigned vector = 1; vector < call.vectors; ++vector) chess_prepare_for_pipelining {
            const Bits next = looked_up(lookup, call, vector);
            aie::store_v(call.y + (vector - 1) * lanes, bits.cast_to<bfloat16>());
            bits = next;
        }
        aie::store_v(call.y + (call.vectors - 1) * lanes, bits.cast_to<bfloat16>());
    }
}  // namespace function_half_linear_bfloat16
