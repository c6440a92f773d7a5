// 1 layers of one tile, one after the other, 1 times.
#include "mmul_int8_int8_4x8x8_1x1_only_bias_shift_int8_d1r1_k15.hpp"
#include "net_kernels.h"

// Results that the next layer reads; each kernel stands in program memory once.
static __attribute__((noinline)) void net_tile0_mmul_int8_int8_4x8x8_1x1_only_bias_shift_int8_d1r1_k15(const mmul_int8_int8_4x8x8_1x1_only_bias_shift_int8_d1r1_k15::Call &layer) { mmul_int8_int8_4x8x8_1x1_only_bias_shift_int8_d1r1_k15::run(layer); }

#ifdef AIE_EMULATION
// The same of a whole run, and what leaves the tile, for whoever looks at the emulation.
static int8 net_tile0_y0_seen[832];
#endif

void net_tile0(adf::input_async_buffer<int8> &__restrict x, const int8 (&w0)[12480], const int32 (&bias0)[104], adf::output_async_buffer<int8> &__restrict y) {
    for (unsigned m = 0; m < 1; ++m) {
        (void)m;
        x.acquire();
        y.acquire();
        aie::set_rounding(aie::rounding_mode::conv_even);
        aie::set_saturation(aie::saturation_mode::saturate);
        net_tile0_mmul_int8_int8_4x8x8_1x1_only_bias_shift_int8_d1r1_k15({
            .x = x.data(),
            .w = w0,
            .bias = bias0,
            .y = y.data(),
            .y_m_step = 416,
            .y_n_step = 32,
            .shift = 12,
            .m_blocks = 2,
            .n_blocks = 13,
        });
#ifdef AIE_EMULATION
        std::memcpy(net_tile0_y0_seen + m * 832, y.data(), 832 * sizeof(int8));
#endif
        y.release();
        x.release();
    }
}
