// ${'Sum' if k.operator == 'add' else 'Product'} of two tensors of bfloat16 elements, lane by lane.
#pragma once

#include <adf.h>
#include <aie_api/aie.hpp>
#include <aie_api/aie_adf.hpp>

<%include file="aie/inline.mako"/>

namespace ${k.family} {

constexpr unsigned lanes = ${k.lanes};

struct Call {
    const bfloat16 *__restrict a;
    const bfloat16 *__restrict b;
    bfloat16 *__restrict y;
    unsigned vectors;  // of ${k.lanes} lanes
};

MATCH_AIE_INLINE void run(const Call &call) {
    for (unsigned at = 0; at < call.vectors * lanes; at += lanes) chess_prepare_for_pipelining {
        const auto a = aie::load_v<lanes>(call.a + at), b = aie::load_v<lanes>(call.b + at);
% if k.operator == 'add':
        const auto made = aie::add(aie::accum<accfloat, lanes>(a), aie::accum<accfloat, lanes>(b));
% else:
        const aie::accum<accfloat, lanes> made = aie::mul(a, b);
% endif
        aie::store_v(call.y + at, made.to_vector<bfloat16>());
    }
}

}  // namespace ${k.family}
