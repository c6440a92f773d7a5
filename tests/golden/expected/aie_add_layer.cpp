// One layer's sum of two activations: 4 vectors of 32.
#include "add_uint8_uint8_lo.hpp"
#include "sum_kernels.h"

void sum_add(adf::input_buffer<uint8> &__restrict a, adf::input_buffer<uint8> &__restrict b, adf::output_buffer<uint8> &__restrict y) {
    aie::set_rounding(aie::rounding_mode::conv_even);
    aie::set_saturation(aie::saturation_mode::saturate);
    add_uint8_uint8_lo::run({
        .a = a.data(),
        .b = b.data(),
        .y = y.data(),
        .a_factor = 12345,
        .b_factor = 23456,
        .offset = -57344,
        .shift = 15,
        .lo = 10,
        .vectors = 4,
    });
}
