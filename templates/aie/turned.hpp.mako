// A transpose of ${k.a} elements, tile by tile of 8 x 8.
#pragma once

#include <adf.h>
#include <aie_api/aie.hpp>
#include <aie_api/aie_adf.hpp>

<%include file="aie/inline.mako"/>

namespace ${k.family} {

constexpr unsigned lanes = ${k.lanes};

struct Call {
    const ${k.c_type} *__restrict x;
    ${k.c_type} *__restrict y;
    unsigned tiles;
};

MATCH_AIE_INLINE void run(const Call &call) {
    for (unsigned tile = 0; tile < call.tiles; ++tile) chess_prepare_for_pipelining {
        const auto x = aie::load_v<lanes>(call.x + tile * lanes);
        aie::store_v(call.y + tile * lanes, aie::transpose(x, 8, 8));
    }
}

}  // namespace ${k.family}
