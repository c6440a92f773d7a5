// One layer's maximum pool: 2 tiles of 4 pixels, 1 blocks of 8 channels.
#include "max_pool_uint8_4x8_2.hpp"
#include "pool_kernels.h"

static const int32 pool_only_origins[2] = {
    0, 128,
};

static const int32 pool_only_offsets[4] = {
    0, 32, 64, 96,
};

void pool_only(adf::input_buffer<uint8> &__restrict x, adf::output_buffer<uint8> &__restrict y) {
    max_pool_uint8_4x8_2::run({
        .x = x.data(),
        .origins = pool_only_origins,
        .offsets = pool_only_offsets,
        .y = y.data(),
        .x_n_step = 256,
        .y_n_step = 64,
        .groups = 1,
        .taps = 4,
        .blocks = 1,
    });
}
