// One layer's kernel, last of its cascade: 8 x 64 x 16.
#include "mmul_int8_int8_4x8x8_2x2_last_shift_int8_lo_d4r4.hpp"
#include "fc_kernels.h"

void fc_last(adf::input_buffer<int8> &__restrict x, const int8 (&w)[1024], input_cascade<acc32> *from, adf::output_buffer<int8> &__restrict y) {
    aie::set_rounding(aie::rounding_mode::conv_even);
    aie::set_saturation(aie::saturation_mode::saturate);
    mmul_int8_int8_4x8x8_2x2_last_shift_int8_lo_d4r4::run({
        .x = x.data(),
        .w = w,
        .from = from,
        .y = y.data(),
        .y_m_step = 64,
        .y_n_step = 32,
        .shift = 9,
        .lo = 0,
        .m_blocks = 1,
        .k_steps = 8,
        .n_blocks = 1,
    });
}
