<%
    a_type, y_type = k.c_type(k.a), k.c_type(k.dtype)
%>\
// Product of two activations: y = clip(srs((a - a_zero) * (b - b_zero) * multiplier + offset)), lane
// by lane.
//
// Software-pipelined in the source: while a vector is rounded and stored, the next is multiplied.
#pragma once

#include <adf.h>
#include <aie_api/aie.hpp>
#include <aie_api/aie_adf.hpp>

<%include file="aie/inline.mako"/>

namespace ${k.family} {

constexpr unsigned lanes = ${k.lanes};
using Sum = aie::accum<acc32, lanes>;
using Wide = aie::accum<acc64, lanes / 2>;

struct Call {
    const ${a_type} *__restrict a;
    const ${a_type} *__restrict b;
    ${y_type} *__restrict y;
    int a_zero;
    int b_zero;
    int multiplier;
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

// Elements of 16 bits less their zero point.
MATCH_AIE_INLINE aie::vector<int16, lanes> centred(const ${a_type} *__restrict from, int zero) {
    const auto wide = aie::load_v<lanes>(from).unpack()${'.cast_to<int16>()' if k.a == 'uint8' else ''};
    return aie::sub(wide, aie::broadcast<int16, lanes>(static_cast<int16>(zero)));
}

MATCH_AIE_INLINE Sum multiplied(const Call &call, unsigned vector) {
    return aie::mul<acc32>(centred(call.a + vector * lanes, call.a_zero), centred(call.b + vector * lanes, call.b_zero));
}

MATCH_AIE_INLINE void store(const Sum &sum, const Call &call, unsigned vector) {
    const auto products = sum.to_vector<int32>(0);
    const auto factor = aie::broadcast<int16, lanes / 2>(static_cast<int16>(call.multiplier));
    const Wide start(aie::broadcast<int32, lanes / 2>(call.offset));
    const Wide low = aie::mac(start, products.extract<lanes / 2>(0), factor);
    const Wide high = aie::mac(start, products.extract<lanes / 2>(1), factor);
    auto values = aie::concat(low.to_vector<${y_type}>(call.shift), high.to_vector<${y_type}>(call.shift));
% if k.lo:
    values = aie::max(values, static_cast<${y_type}>(call.lo));
% endif
% if k.hi:
    values = aie::min(values, static_cast<${y_type}>(call.hi));
% endif
    aie::store_v(call.y + vector * lanes, values);
}

MATCH_AIE_INLINE void run(const Call &call) {
    Sum sum = multiplied(call, 0);
    for (unsigned vector = 1; vector < call.vectors; ++vector) chess_prepare_for_pipelining {
        const Sum next = multiplied(call, vector);
        store(sum, call, vector - 1);
        sum = next;
    }
    store(sum, call, call.vectors - 1);
}

}  // namespace ${k.family}
