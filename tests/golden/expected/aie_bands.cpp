// One layer's kernel: 2 bands of 12 x 72 x 8.
#include "mmul_uint8_int8_4x8x8_1x1_only_gathered_border_channel_uint8_channel_d1r1.hpp"
#include "conv_kernels.h"

static const int32 conv_only_origins[3] = {
    0, 160, 320,
};

static const int32 conv_only_offsets[9] = {
    40, 8, 48, 120, 88, 128, 200, 168, 208,
};

void conv_only(adf::input_async_buffer<uint8> &__restrict x, const int8 (&w)[576], const int32 (&bias)[48], const int32 (&multiplier)[8], const int32 (&addend)[8], const int32 (&bias_of)[24], const int32 (&band_of)[2], adf::output_async_buffer<uint8> &__restrict y) {
    aie::set_rounding(aie::rounding_mode::conv_even);
    aie::set_saturation(aie::saturation_mode::saturate);
    for (unsigned band = 0; band < 2; ++band) {
        x.acquire();
        y.acquire();
        mmul_uint8_int8_4x8x8_1x1_only_gathered_border_channel_uint8_channel_d1r1::run({
            .x = x.data(),
            .origins = conv_only_origins,
            .offsets = conv_only_offsets,
            .w = w,
            .bias = bias,
            .bias_of = bias_of + band_of[band],
            .y = y.data(),
            .y_m_step = 32,
            .y_n_step = 96,
            .multiplier = multiplier,
            .shift = 24,
            .addend = addend,
            .m_blocks = 3,
            .k_steps = 9,
            .n_blocks = 1,
        });
        y.release();
        x.release();
    }
}
