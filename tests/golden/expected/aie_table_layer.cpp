// One layer's function of elements from a table: 7 vectors of 32.
#include "table_int8_uint8.hpp"
#include "gelu_kernels.h"

void gelu_table(adf::input_buffer<int8> &__restrict x, const int16 (&w)[512], const int16 (&cd)[512], adf::output_buffer<uint8> &__restrict y) {
    aie::set_rounding(aie::rounding_mode::conv_even);
    aie::set_saturation(aie::saturation_mode::saturate);
    table_int8_uint8::run({
        .x = x.data(),
        .ab = w,
        .cd = cd,
        .y = y.data(),
        .vectors = 7,
    });
}
