<%
    a_type, y_type = k.c_type(k.a), k.c_type(k.dtype)
%>\
// Sum of two activations: y = clip(srs(a * a_factor + b * b_factor + offset)), lane by lane.
//
// Software-pipelined in the source: while a vector is rounded and stored, the next is summed.
#pragma once

#include <adf.h>
#include <aie_api/aie.hpp>
#include <aie_api/aie_adf.hpp>

<%include file="aie/inline.mako"/>

namespace ${k.family} {

constexpr unsigned lanes = ${k.lanes};
using Sum = aie::accum<${k.accumulator}, lanes>;

struct Call {
    const ${a_type} *__restrict a;
    const ${a_type} *__restrict b;
    ${y_type} *__restrict y;
    int a_factor;
    int b_factor;
    int offset;
    int shift;
% if k.lo:
    int lo;
% endif
% if k.hi:
    int hi;
% endif
    unsigned vectors;  // of ${k.lanes} lanes
};

MATCH_AIE_INLINE Sum weighted(const Call &call, unsigned vector) {
    const auto a = aie::load_v<lanes>(call.a + vector * lanes)${'.unpack()' if k.narrow else ''};
    const auto b = aie::load_v<lanes>(call.b + vector * lanes)${'.unpack()' if k.narrow else ''};
    const Sum start(aie::broadcast<int32, lanes>(call.offset));
    const Sum first = aie::mac(start, a, aie::broadcast<int16, lanes>(static_cast<int16>(call.a_factor)));
    return aie::mac(first, b, aie::broadcast<int16, lanes>(static_cast<int16>(call.b_factor)));
}

MATCH_AIE_INLINE void store(const Sum &sum, const Call &call, unsigned vector) {
    auto values = sum.to_vector<${y_type}>(call.shift);
% if k.lo:
    values = aie::max(values, static_cast<${y_type}>(call.lo));
% endif
% if k.hi:
    values = aie::min(values, static_cast<${y_type}>(call.hi));
% endif
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

}  // namespace ${k.family}
