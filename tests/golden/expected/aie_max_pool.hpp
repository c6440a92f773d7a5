// Maximum over the taps of a window, lane by lane, 2 tiles of 4 pixels x 8 channels at a time.
//
// Software-pipelined in the source: a group of tiles is stored while the next one's first taps are
// compared.
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

namespace max_pool_int8_4x8_2 {
    constexpr unsigned lanes = 32;
    using Tile = aie::vector<int8, lanes>;
    struct Tiles {
        Tile t0, t1;
    };
    struct Call {
        const int8 *__restrict x;
        const int32 *__restrict origins;  // element of x where each tile of pixels begins
        const int32 *__restrict offsets;  // from there to each tap
        int8 *__restrict y;
        unsigned x_n_step;                // elements from one channel block of x to the next
        unsigned y_n_step;                // of y
        unsigned groups;                  // of 2 tiles in an image
        unsigned taps;
        unsigned blocks;                  // of channels
    };
    MATCH_AIE_INLINE Tile load(const int8 *from) {
        return aie::load_unaligned_v<lanes>(from, 8);
    }
    MATCH_AIE_INLINE Tiles most(const Call &call, unsigned block, unsigned group) {
        const int8 *__restrict x = call.x + block * call.x_n_step;
        const int32 *__restrict origin = call.origins + group * 2;
        const int8 *__restrict x0 = x + origin[0];
        const int8 *__restrict x1 = x + origin[1];
        Tiles tiles{load(x0 + call.offsets[0]), load(x1 + call.offsets[0])};
        for (unsigned tap = 1; tap < call.taps; ++tap) chess_prepare_for_pipelining {
            const int32 offset = call.offsets[tap];
            tiles.t0 = aie::max(tiles.t0, load(x0 + offset));
            tiles.t1 = aie::max(tiles.t1, load(x1 + offset));
        }
        return tiles;
    }
    MATCH_AIE_INLINE void store(const Tiles &tiles, const Call &call, unsigned block, unsigned group) {
        int8 *__restrict y = call.y + block * call.y_n_step + group * 2 * lanes;
        aie::store_v(y + 0 * lanes, tiles.t0);
        aie::store_v(y + 1 * lanes, tiles.t1);
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
}  // namespace max_pool_int8_4x8_2
