<%
    c_type = k.c_type(k.dtype)
    rows = range(k.rows)
%>\
// Maximum over the taps of a window, lane by lane, ${k.rows} tiles of ${k.m} pixels x ${k.n} channels at a time.
//
// Software-pipelined in the source: a group of tiles is stored while the next one's first taps are
// compared.
#pragma once

#include <adf.h>
#include <aie_api/aie.hpp>
#include <aie_api/aie_adf.hpp>

<%include file="aie/inline.mako"/>

namespace ${k.family} {

constexpr unsigned lanes = ${k.m * k.n};
using Tile = aie::vector<${c_type}, lanes>;

struct Tiles {
    Tile ${', '.join(f't{i}' for i in rows)};
};

struct Call {
    const ${c_type} *__restrict x;
    const int32 *__restrict origins;  // element of x where each tile of pixels begins
    const int32 *__restrict offsets;  // from there to each tap
    ${c_type} *__restrict y;
    unsigned x_n_step;                // elements from one channel block of x to the next
    unsigned y_n_step;                // of y
    unsigned groups;                  // of ${k.rows} tiles in an image
    unsigned taps;
    unsigned blocks;                  // of channels
};

MATCH_AIE_INLINE Tile load(const ${c_type} *from) {
    return aie::load_unaligned_v<lanes>(from, ${k.n});
}

MATCH_AIE_INLINE Tiles most(const Call &call, unsigned block, unsigned group) {
    const ${c_type} *__restrict x = call.x + block * call.x_n_step;
    const int32 *__restrict origin = call.origins + group * ${k.rows};
% for i in rows:
    const ${c_type} *__restrict x${i} = x + origin[${i}];
% endfor
    Tiles tiles{${', '.join(f'load(x{i} + call.offsets[0])' for i in rows)}};
    for (unsigned tap = 1; tap < call.taps; ++tap) chess_prepare_for_pipelining {
        const int32 offset = call.offsets[tap];
% for i in rows:
        tiles.t${i} = aie::max(tiles.t${i}, load(x${i} + offset));
% endfor
    }
    return tiles;
}

MATCH_AIE_INLINE void store(const Tiles &tiles, const Call &call, unsigned block, unsigned group) {
    ${c_type} *__restrict y = call.y + block * call.y_n_step + group * ${k.rows} * lanes;
% for i in rows:
    aie::store_v(y + ${i} * lanes, tiles.t${i});
% endfor
}

MATCH_AIE_INLINE void run(const Call &call) {
    Tiles tiles = most(call, 0, 0);
    unsigned block = 0, group = 0;
    for (unsigned n = 1; n < call.blocks * call.groups; ++n) {
        const unsigned next_group = group + 1 == call.groups ? 0 : group + 1;
        const unsigned next_block = next_group == 0 ? block + 1 : block;
        const Tiles next = most(call, next_block, next_group);
        store(tiles, call, block, group);
        tiles = next;
        block = next_block;
        group = next_group;
    }
    store(tiles, call, block, group);
}

}  // namespace ${k.family}
