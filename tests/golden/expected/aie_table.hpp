// A function of int8 elements from a table of all their values.
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

namespace table_int8_uint8 {
    constexpr unsigned lanes = 32;
    using Table = aie::lut<4, uint16>;
    using Lookup = aie::parallel_lookup<uint8, Table>;
    struct Call {
        const int8 *__restrict x;
        const int16 *__restrict ab;  // 256 entries of 16 bits, every 8 of them (16 on XDNA2) twice
        const int16 *__restrict cd;  // the same again, in another bank
        uint8 *__restrict y;
        unsigned vectors;            // of 32 lanes
    };
    MATCH_AIE_INLINE auto looked_up(Lookup &lookup, const Call &call, unsigned vector) {
        const aie::vector<int8, lanes> x = aie::load_v<lanes>(call.x + vector * lanes);
        return lookup.fetch(x.cast_to<uint8>());
    }
    MATCH_AIE_INLINE void run(const Call &call) {
        const Table table(256, call.ab, call.cd);
        Lookup lookup(table, 0);
        auto values = looked_up(lookup, call, 0);
        for (unsigned vector = 1; vector < call.vectors; ++vector) chess_prepare_for_pipelining {
            const auto next = looked_up(lookup, call, vector);
            aie::store_v(call.y + (vector - 1) * lanes, values.pack());
            values = next;
        }
        aie::store_v(call.y + (call.vectors - 1) * lanes, values.pack());
    }
}  // namespace table_int8_uint8
