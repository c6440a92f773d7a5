// lane by lane products over taps, tiles of 4x8, blocks of 2 x 1 accumulators; place in the cascade: only.
//
// The block loop is software-pipelined here, in the source: while the first steps of a block run,
// the block before it is drained (rounded and stored), and while its last steps run, the accumulators so
// freed are set to what the block after it starts from.
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

namespace multiply_uint8_int8_4x1x8_2x1_only_gathered_border_tensor_uint8_d2r2 {
    using Sum = aie::accum<acc32, 32>;
    constexpr unsigned size_a = 32;
    constexpr unsigned size_b = 32;
    constexpr unsigned size_c = 32;
    /// Accumulators of one block.
    struct Sums {
        Sum s00, s10;
    };
    /// Where the kernel reads and writes, and its numbers.
    struct Call {
        const uint8 *__restrict x;
        const int32 *__restrict origins;  // element of x where each tile of rows begins
        const int32 *__restrict offsets;  // from there to what each step reads
        unsigned x_n_step;                // elements of x from one tile of columns to the next
        const int8 *__restrict w;
        const int32 *__restrict bias;
        const int32 *__restrict bias_of;  // where each row's bias begins
        uint8 *__restrict y;
        unsigned y_m_step;                // elements of y from one tile of rows to the next
        unsigned y_n_step;                // from one tile of columns to the next
        int32 multiplier;
        int shift;
        int zero;
        unsigned m_blocks;
        unsigned k_steps;                 // at least 4
        unsigned n_blocks;
    };
    /// A block's place: along M and along N, in blocks.
    struct Place {
        unsigned m, n;
    };
    MATCH_AIE_INLINE Place after(Place place, const Call &call) {
        const unsigned n = place.n + 1;
        return n == call.n_blocks ? Place{place.m + 1, 0} : Place{place.m, n};
    }
    /// What a block's sums start from.
    MATCH_AIE_INLINE Sum start(const Call &call, unsigned tile_row, unsigned tile_column) {
        const int32 *row = call.bias + tile_column * 8;
        auto rows0 = aie::concat(aie::load_v<8>(row + call.bias_of[tile_row * 4 + 0]), aie::load_v<8>(row + call.bias_of[tile_row * 4 + 1]), aie::load_v<8>(row + call.bias_of[tile_row * 4 + 2]), aie::load_v<8>(row + call.bias_of[tile_row * 4 + 3]));
        const aie::accum<acc32, 32> sums0(rows0);
        return Sum(sums0);
    }
    /// Drains the sums that begin at (row, column) of block `place`.
    MATCH_AIE_INLINE void drain(const aie::accum<acc32, 32> &sum, const Call &call, Place place, unsigned row, unsigned column) {
        const unsigned tile_row = place.m * 2 + row;
        const unsigned tile_column = place.n * 1 + column;
        uint8 *to = call.y + tile_row * call.y_m_step + tile_column * call.y_n_step;
        const auto sums = sum.template to_vector<int32>(0);
        const auto factor = aie::broadcast<int32, 16>(call.multiplier);
        const aie::accum<acc64, 16> addend(aie::broadcast<int32, 16>(call.zero), call.shift);
        const auto wide0 = aie::mac(addend, sums.template extract<16>(0), factor);
        const auto wide1 = aie::mac(addend, sums.template extract<16>(1), factor);
        auto values = aie::concat(wide0.to_vector<uint8>(call.shift), wide1.to_vector<uint8>(call.shift));
        aie::store_v(to, values);
    }
    /// What the next step of a block reads.
    struct Walk {
        const uint8 *__restrict a00;
        const uint8 *__restrict a10;
        const int8 *__restrict b;
        const int32 *__restrict offset;
    };
    MATCH_AIE_INLINE Walk begin(const Call &call, Place place) {
        Walk at;
        at.a00 = call.x + call.origins[place.m * 2 + 0] + (place.n * 1 + 0) * call.x_n_step;
        at.a10 = call.x + call.origins[place.m * 2 + 1] + (place.n * 1 + 0) * call.x_n_step;
        at.b = call.w + place.n * 1 * call.k_steps * size_b;
        at.offset = call.offsets;
        return at;
    }
    /// One step: every accumulator of the block takes one product.
    MATCH_AIE_INLINE void step(Sums &c, Walk &at, const Call &call) {
        const int32 offset = *at.offset++;
        const auto a00 = aie::load_unaligned_v<size_a>(at.a00 + offset, 8);
        const auto a10 = aie::load_unaligned_v<size_a>(at.a10 + offset, 8);
        const auto b0 = aie::load_v<size_b>(at.b);
        c.s00 = aie::mac(c.s00, a00, b0);
        c.s10 = aie::mac(c.s10, a10, b0);
        at.b += size_b;
        (void)call;
    }
    /// Sums block `here` in `c`. With `drains`, the block `before` leaves `p` meanwhile; with
    /// `refills`, `p` is then set to what block `next` starts from.
    template <bool drains, bool refills>
    MATCH_AIE_INLINE void block(Sums &c, Sums &p, const Call &call, Place before, Place here, Place next) {
        Walk at = begin(call, here);
        step(c, at, call);
        if constexpr (drains) {
            drain(p.s00, call, before, 0, 0);
        }
        step(c, at, call);
        if constexpr (drains) {
            drain(p.s10, call, before, 1, 0);
        }
        for (unsigned k = 4; k < call.k_steps; ++k) chess_prepare_for_pipelining {
            step(c, at, call);
        }
        step(c, at, call);
        if constexpr (refills) {
            p.s00 = start(call, next.m * 2 + 0, next.n * 1 + 0);
        }
        step(c, at, call);
        if constexpr (refills) {
            p.s10 = start(call, next.m * 2 + 1, next.n * 1 + 0);
        }
        (void)before, (void)next;
    }
    MATCH_AIE_INLINE void drain_all(const Sums &p, const Call &call, Place place) {
        drain(p.s00, call, place, 0, 0);
        drain(p.s10, call, place, 1, 0);
    }
    /// The whole call: blocks along N first, then along M.
    MATCH_AIE_INLINE void run(const Call &call) {
        const unsigned blocks = call.m_blocks * call.n_blocks;
        Sums even, odd;
        Place before{0, 0}, here{0, 0}, next = after(here, call);
        even.s00 = start(call, here.m * 2 + 0, here.n * 1 + 0);
        even.s10 = start(call, here.m * 2 + 1, here.n * 1 + 0);
        if (blocks == 1) {
            block<false, false>(even, odd, call, before, here, next);
            drain_all(even, call, here);
            return;
        }
        block<false, true>(even, odd, call, before, here, next);
        const auto advance = [&]() {
            before = here;
            here = next;
            next = after(next, call);
        };
        advance();
        for (unsigned pair = 0; pair < (blocks - 2) / 2; ++pair) {
            block<true, true>(odd, even, call, before, here, next);
            advance();
            block<true, true>(even, odd, call, before, here, next);
            advance();
        }
        if (blocks % 2 == 0) {
            block<true, false>(odd, even, call, before, here, next);
            drain_all(odd, call, here);
        } else {
            block<true, true>(odd, even, call, before, here, next);
            advance();
            block<true, false>(even, odd, call, before, here, next);
            drain_all(even, call, here);
        }
    }
}  // namespace multiply_uint8_int8_4x1x8_2x1_only_gathered_border_tensor_uint8_d2r2
