// x [M, K] times w [K, N] in mmul tiles 4x8x8, blocks of 2 x 2 accumulators; place in the cascade: only.
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

namespace mmul_int8_int8_4x8x8_2x2_only_bias_shift_int8_lo_d4r4 {
    using Sum = aie::mmul<4, 8, 8, int8, int8, acc32>;
    constexpr unsigned size_a = 32;
    constexpr unsigned size_b = 64;
    constexpr unsigned size_c = 32;
    /// Accumulators of one block.
    struct Sums {
        Sum s00, s01, s10, s11;
    };
    /// Where the kernel reads and writes, and its numbers.
    struct Call {
        const int8 *__restrict x;
        const int8 *__restrict w;
        const int32 *__restrict bias;
        int8 *__restrict y;
        unsigned y_m_step;                // elements of y from one tile of rows to the next
        unsigned y_n_step;                // from one tile of columns to the next
        int shift;
        int lo;
        unsigned m_blocks;
        unsigned k_steps;                 // at least 8
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
    MATCH_AIE_INLINE Sum start(const Call &call, unsigned tile_column) {
        const int32 *row = call.bias + tile_column * 8;
        auto rows0 = aie::concat(aie::load_v<8>(row), aie::load_v<8>(row), aie::load_v<8>(row), aie::load_v<8>(row));
        const aie::accum<acc32, 32> sums0(rows0);
        return Sum(sums0);
    }
    /// Drains the sums that begin at (row, column) of block `place`.
    MATCH_AIE_INLINE void drain(const aie::accum<acc32, 32> &sum, const Call &call, Place place, unsigned row, unsigned column) {
        const unsigned tile_row = place.m * 2 + row;
        const unsigned tile_column = place.n * 2 + column;
        int8 *to = call.y + tile_row * call.y_m_step + tile_column * call.y_n_step;
        auto values = sum.template to_vector<int8>(call.shift);
        values = aie::max(values, static_cast<int8>(call.lo));
        aie::store_v(to, values);
    }
    /// What the next step of a block reads.
    struct Walk {
        const int8 *__restrict a0;
        const int8 *__restrict a1;
        const int8 *__restrict b;
    };
    MATCH_AIE_INLINE Walk begin(const Call &call, Place place) {
        Walk at;
        at.a0 = call.x + (place.m * 2 + 0) * call.k_steps * size_a;
        at.a1 = call.x + (place.m * 2 + 1) * call.k_steps * size_a;
        at.b = call.w + place.n * 2 * size_b;
        return at;
    }
    /// One step: every accumulator of the block takes one product.
    MATCH_AIE_INLINE void step(Sums &c, Walk &at, const Call &call) {
        const auto a0 = aie::load_v<size_a>(at.a0);
        at.a0 += size_a;
        const auto a1 = aie::load_v<size_a>(at.a1);
        at.a1 += size_a;
        const auto b0 = aie::load_v<size_b>(at.b);
        const auto b1 = aie::load_v<size_b>(at.b + 1 * size_b);
        c.s00.mac(a0, b0);
        c.s01.mac(a0, b1);
        c.s10.mac(a1, b0);
        c.s11.mac(a1, b1);
        at.b += call.n_blocks * 2 * size_b;
        (void)call;
    }
    /// Sums block `here` in `c`. With `drains`, the block `before` leaves `p` meanwhile; with
    /// `refills`, `p` is then set to what block `next` starts from.
    template <bool drains, bool refills>
    MATCH_AIE_INLINE void block(Sums &c, Sums &p, const Call &call, Place before, Place here, Place next) {
        Walk at = begin(call, here);
        step(c, at, call);
        if constexpr (drains) {
            drain(p.s00.to_accum(), call, before, 0, 0);
        }
        step(c, at, call);
        if constexpr (drains) {
            drain(p.s01.to_accum(), call, before, 0, 1);
        }
        step(c, at, call);
        if constexpr (drains) {
            drain(p.s10.to_accum(), call, before, 1, 0);
        }
        step(c, at, call);
        if constexpr (drains) {
            drain(p.s11.to_accum(), call, before, 1, 1);
        }
        for (unsigned k = 8; k < call.k_steps; ++k) chess_prepare_for_pipelining {
            step(c, at, call);
        }
        step(c, at, call);
        if constexpr (refills) {
            p.s00 = start(call, next.n * 2 + 0);
        }
        step(c, at, call);
        if constexpr (refills) {
            p.s01 = start(call, next.n * 2 + 1);
        }
        step(c, at, call);
        if constexpr (refills) {
            p.s10 = start(call, next.n * 2 + 0);
        }
        step(c, at, call);
        if constexpr (refills) {
            p.s11 = start(call, next.n * 2 + 1);
        }
        (void)before, (void)next;
    }
    MATCH_AIE_INLINE void drain_all(const Sums &p, const Call &call, Place place) {
        drain(p.s00.to_accum(), call, place, 0, 0);
        drain(p.s01.to_accum(), call, place, 0, 1);
        drain(p.s10.to_accum(), call, place, 1, 0);
        drain(p.s11.to_accum(), call, place, 1, 1);
    }
    /// The whole call: blocks along N first, then along M.
    MATCH_AIE_INLINE void run(const Call &call) {
        const unsigned blocks = call.m_blocks * call.n_blocks;
        Sums even, odd;
        Place before{0, 0}, here{0, 0}, next = after(here, call);
        even.s00 = start(call, here.n * 2 + 0);
        even.s01 = start(call, here.n * 2 + 1);
        even.s10 = start(call, here.n * 2 + 0);
        even.s11 = start(call, here.n * 2 + 1);
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
}  // namespace mmul_int8_int8_4x8x8_2x2_only_bias_shift_int8_lo_d4r4
