// A word of a stream of programmable logic: as much as emitted kernels use.
#pragma once

#include "ap_int.h"

template <int Data, int User, int Id, int Destination>
struct ap_axiu {
    static_assert(User == 0 && Id == 0 && Destination == 0, "no such signals are emulated");
    ap_uint<Data> data;
    ap_uint<Data / 8> keep, strb;
    ap_uint<1> last;
};
