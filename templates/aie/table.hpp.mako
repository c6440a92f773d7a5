<%
    a_type, y_type = k.c_type(k.a), k.c_type(k.dtype)
    entry = f'{"u" if k.dtype.startswith("u") else ""}int16'
%>\
// A function of ${k.a} elements from a table of all their values.
//
// Software-pipelined in the source: the table is read for a vector before the last one is stored,
// since nothing tells a compiler that results do not lie in the table.
#pragma once

#include <adf.h>
#include <aie_api/aie.hpp>
#include <aie_api/aie_adf.hpp>

<%include file="aie/inline.mako"/>

namespace ${k.family} {

constexpr unsigned lanes = ${k.lanes};
using Table = aie::lut<4, ${entry}>;
using Lookup = aie::parallel_lookup<uint8, Table>;

struct Call {
    const ${a_type} *__restrict x;
    const int16 *__restrict ab;  // 256 entries of 16 bits, every 8 of them (16 on XDNA2) twice
    const int16 *__restrict cd;  // the same again, in another bank
    ${y_type} *__restrict y;
    unsigned vectors;            // of ${k.lanes} lanes
};

MATCH_AIE_INLINE auto looked_up(Lookup &lookup, const Call &call, unsigned vector) {
    const aie::vector<${a_type}, lanes> x = aie::load_v<lanes>(call.x + vector * lanes);
    return lookup.fetch(x${'' if k.a == 'uint8' else '.cast_to<uint8>()'});
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

}  // namespace ${k.family}
