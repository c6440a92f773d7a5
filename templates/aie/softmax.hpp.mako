<%
    a_type, y_type = k.c_type(k.a), k.c_type(k.dtype)
    steps = 'uint16' if k.dtype == 'uint8' else 'int16'
%>\
// Softmax of rows of ${k.a} elements: exponentials of their distances from the largest one out of a table.
#pragma once

#include <adf.h>
#include <aie_api/aie.hpp>
#include <aie_api/aie_adf.hpp>

<%include file="aie/inline.mako"/>

namespace ${k.family} {

constexpr unsigned lanes = 16;
using Table = aie::lut<4, int32>;
using Lookup = aie::parallel_lookup<uint8, Table>;

struct Call {
    const ${a_type} *__restrict x;
    const int32 *__restrict ab;  // 256 entries, every 4 of them (8 on XDNA2) twice
    const int32 *__restrict cd;  // the same again, in another bank
    ${y_type} *__restrict y;
    unsigned rows;
    unsigned width;              // of a row, a multiple of 32
    unsigned run;                // entries of the table that lie twice
    unsigned columns;            // the first of them, which count; behind them lies the least ${a_type}
    int multiplier;
    int shift;
    int zero_point;
};

MATCH_AIE_INLINE ${a_type} largest(const ${a_type} *__restrict x, unsigned width) {
    aie::vector<${a_type}, 32> most = aie::load_v<32>(x);
    for (unsigned at = 32; at < width; at += 32) chess_prepare_for_pipelining {
        most = aie::max(most, aie::load_v<32>(x + at));
    }
    return aie::reduce_max(most);
}

MATCH_AIE_INLINE aie::vector<int32, lanes> exponentials(Lookup &lookup, const ${a_type} *__restrict x,
                                                       const aie::vector<${a_type}, lanes> &most) {
    const auto distance = aie::sub(most, aie::load_v<lanes>(x));
    return lookup.fetch(distance${'' if k.a == 'uint8' else '.template cast_to<uint8>()'});
}

MATCH_AIE_INLINE void softmax(const Call &call, Lookup &lookup, unsigned row) {
    const ${a_type} *__restrict x = call.x + row * call.width;
    ${y_type} *__restrict y = call.y + row * call.width;
    const ${a_type} top = largest(x, call.width);
    const auto most = aie::broadcast<${a_type}, lanes>(top);
    auto sums = aie::zeros<int32, lanes>();
    for (unsigned at = 0; at < call.width; at += lanes) chess_prepare_for_pipelining {
        sums = aie::add(sums, exponentials(lookup, x + at, most));
    }
    // Behind the row's elements lies the least value, whose exponential does not count.
    const unsigned last = static_cast<int>(top) - (${-128 if k.a == 'int8' else 0});
    const int beyond = static_cast<int>(call.width - call.columns);
    const int sum = aie::reduce_add(sums) - beyond * call.ab[last / call.run * 2 * call.run + last % call.run];
    // A row's largest element alone adds more; only what lies behind the tensor may have less.
    const int total = sum < 1 << 15 ? 1 << 15 : sum;
    const int bits = 32 - clb(total);
    const int inverse = ((1 << 29) - 1) / (total >> (bits - 15));
    const auto factor = aie::broadcast<int16, lanes>(static_cast<int16>((inverse * call.multiplier) >> 15));
    const auto zero_point = aie::broadcast<${steps}, lanes>(static_cast<${steps}>(call.zero_point));
    for (unsigned at = 0; at < call.width; at += lanes) chess_prepare_for_pipelining {
        const auto product = aie::mul<acc64>(exponentials(lookup, x + at, most), factor);
        const auto steps = aie::add(product.template to_vector<${steps}>(call.shift + bits), zero_point);
        aie::store_v(y + at, steps.pack());
    }
}

MATCH_AIE_INLINE void run(const Call &call) {
    const Table table(256, call.ab, call.cd);
    Lookup lookup(table, 0);
    for (unsigned row = 0; row < call.rows; ++row) softmax(call, lookup, row);
}

}  // namespace ${k.family}
