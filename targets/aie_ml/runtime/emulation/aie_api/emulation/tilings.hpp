// Legal mmul shapes, their accumulators, products per instruction: from the facts.
// A test holds this file to the facts: change those, then write it again from
// match_aie.targets.aie_ml.emulation.tilings_header().
#pragma once

namespace aie_emulation {

enum class Element { i8, i16, i32, bf16, fp32 };

struct Shape {
    int arch;
    Element a, b;
    unsigned m, k, n;
    bool native;
    unsigned tag_bits, lane_bits;  // of the tag that names it, and of its sums
};

struct Rate {
    int arch;
    Element a, b;
    unsigned macs;
};

inline constexpr Shape shapes[] = {
    {10, Element::i8, Element::i8, 4, 8, 4, true, 48, 48},
    {10, Element::i8, Element::i8, 2, 8, 8, true, 48, 48},
    {10, Element::i8, Element::i8, 1, 16, 8, true, 48, 48},
    {10, Element::i8, Element::i8, 8, 8, 4, false, 48, 48},
    {10, Element::i8, Element::i8, 4, 8, 8, false, 48, 48},
    {10, Element::i8, Element::i8, 2, 16, 8, false, 48, 48},
    {10, Element::i8, Element::i8, 4, 16, 4, false, 48, 48},
    {10, Element::i8, Element::i8, 4, 16, 8, false, 48, 48},
    {10, Element::i16, Element::i8, 4, 4, 4, true, 48, 48},
    {10, Element::i16, Element::i8, 4, 8, 4, false, 48, 48},
    {10, Element::i16, Element::i8, 4, 4, 8, false, 48, 48},
    {10, Element::i16, Element::i8, 8, 4, 4, false, 48, 48},
    {20, Element::i8, Element::i8, 4, 8, 8, true, 32, 32},
    {20, Element::i8, Element::i8, 2, 8, 8, true, 32, 32},
    {20, Element::i8, Element::i8, 4, 8, 4, false, 32, 32},
    {20, Element::i8, Element::i8, 4, 16, 4, false, 32, 32},
    {20, Element::i8, Element::i8, 8, 8, 4, false, 32, 32},
    {20, Element::i8, Element::i8, 8, 8, 8, false, 32, 32},
    {20, Element::i8, Element::i8, 1, 16, 8, false, 32, 32},
    {20, Element::i8, Element::i8, 2, 16, 8, false, 32, 32},
    {20, Element::i8, Element::i8, 4, 16, 8, false, 32, 32},
    {20, Element::i16, Element::i8, 4, 4, 8, true, 32, 32},
    {20, Element::i16, Element::i8, 4, 8, 4, true, 32, 64},
    {20, Element::i16, Element::i8, 2, 8, 8, true, 32, 64},
    {20, Element::i16, Element::i8, 4, 4, 4, false, 32, 32},
    {20, Element::i16, Element::i8, 8, 4, 4, false, 32, 32},
    {20, Element::i16, Element::i8, 8, 4, 8, false, 32, 32},
    {20, Element::i16, Element::i16, 4, 4, 4, true, 64, 64},
    {20, Element::i16, Element::i16, 2, 4, 8, true, 64, 64},
    {20, Element::i16, Element::i16, 4, 2, 8, true, 32, 32},
    {20, Element::i16, Element::i16, 4, 4, 8, false, 64, 64},
    {20, Element::i16, Element::i16, 8, 2, 8, false, 32, 32},
    {20, Element::i16, Element::i16, 8, 1, 8, false, 32, 32},
    {20, Element::i32, Element::i16, 4, 2, 4, true, 64, 64},
    {20, Element::i32, Element::i16, 4, 4, 4, false, 64, 64},
    {20, Element::i32, Element::i16, 2, 4, 8, false, 64, 64},
    {20, Element::i32, Element::i16, 4, 4, 8, false, 64, 64},
    {20, Element::i32, Element::i16, 4, 1, 8, false, 64, 64},
    {20, Element::bf16, Element::bf16, 4, 8, 4, true, 32, 32},
    {20, Element::bf16, Element::bf16, 8, 8, 4, false, 32, 32},
    {20, Element::bf16, Element::bf16, 8, 8, 8, false, 32, 32},
    {20, Element::bf16, Element::bf16, 4, 8, 8, false, 32, 32},
    {20, Element::bf16, Element::bf16, 8, 1, 8, false, 32, 32},
    {20, Element::fp32, Element::fp32, 4, 8, 4, false, 32, 32},
    {20, Element::fp32, Element::fp32, 4, 1, 4, false, 32, 32},
    {20, Element::fp32, Element::fp32, 4, 1, 8, false, 32, 32},
    {20, Element::i8, Element::i16, 4, 4, 8, false, 32, 64},
    {20, Element::i8, Element::i16, 4, 4, 4, false, 32, 64},
    {20, Element::i16, Element::i32, 4, 4, 4, false, 64, 64},
    {20, Element::i16, Element::i32, 2, 4, 8, false, 64, 64},
    {20, Element::i32, Element::i32, 4, 2, 4, false, 64, 64},
    {20, Element::i32, Element::i32, 4, 4, 4, false, 64, 64},
    {20, Element::i32, Element::i32, 8, 2, 4, false, 64, 64},
    {21, Element::i8, Element::i8, 8, 8, 8, true, 32, 32},
    {21, Element::i8, Element::i8, 4, 8, 8, true, 32, 32},
    {21, Element::i8, Element::i8, 2, 8, 8, false, 32, 32},
    {21, Element::i16, Element::i8, 8, 4, 8, true, 32, 32},
    {21, Element::i16, Element::i8, 4, 8, 8, true, 64, 64},
    {21, Element::i16, Element::i8, 4, 4, 8, true, 32, 32},
    {21, Element::i16, Element::i16, 8, 2, 8, true, 32, 32},
    {21, Element::i16, Element::i16, 4, 4, 8, true, 64, 64},
    {21, Element::i16, Element::i16, 4, 2, 8, true, 32, 32},
    {21, Element::i16, Element::i16, 2, 4, 8, true, 64, 64},
    {21, Element::i16, Element::i16, 8, 1, 8, false, 32, 32},
    {21, Element::i32, Element::i16, 4, 2, 8, true, 64, 64},
    {21, Element::i32, Element::i16, 2, 4, 8, false, 64, 64},
    {21, Element::i32, Element::i16, 4, 4, 8, false, 64, 64},
    {21, Element::i32, Element::i16, 4, 1, 8, false, 64, 64},
    {21, Element::bf16, Element::bf16, 8, 8, 8, false, 32, 32},
    {21, Element::bf16, Element::bf16, 4, 8, 8, false, 32, 32},
    {21, Element::bf16, Element::bf16, 8, 8, 4, false, 32, 32},
    {21, Element::bf16, Element::bf16, 4, 8, 4, false, 32, 32},
    {21, Element::bf16, Element::bf16, 8, 1, 8, false, 32, 32},
    {22, Element::i8, Element::i8, 8, 8, 8, true, 32, 32},
    {22, Element::i8, Element::i8, 4, 8, 8, true, 32, 32},
    {22, Element::i16, Element::i8, 4, 4, 8, true, 32, 32},
    {22, Element::i16, Element::i8, 8, 2, 8, true, 32, 32},
    {22, Element::i8, Element::i16, 4, 4, 8, true, 32, 32},
    {22, Element::i8, Element::i16, 8, 2, 8, true, 32, 32},
    {22, Element::i16, Element::i16, 8, 2, 8, true, 64, 64},
    {22, Element::bf16, Element::bf16, 4, 8, 8, true, 32, 32},
    {22, Element::fp32, Element::fp32, 4, 8, 4, true, 32, 32},
};

inline constexpr Rate rates[] = {
    {10, Element::i8, Element::i8, 128},
    {10, Element::i16, Element::i8, 64},
    {10, Element::i16, Element::i16, 32},
    {10, Element::i32, Element::i16, 16},
    {10, Element::i32, Element::i32, 8},
    {10, Element::fp32, Element::fp32, 8},
    {20, Element::i8, Element::i8, 256},
    {20, Element::i16, Element::i8, 128},
    {20, Element::i16, Element::i16, 64},
    {20, Element::i32, Element::i16, 32},
    {20, Element::i16, Element::i32, 32},
    {20, Element::i32, Element::i32, 16},
    {20, Element::bf16, Element::bf16, 128},
    {20, Element::fp32, Element::fp32, 21},
    {21, Element::i8, Element::i8, 512},
    {21, Element::i16, Element::i8, 256},
    {21, Element::i16, Element::i16, 128},
    {21, Element::bf16, Element::bf16, 64},
    {22, Element::i8, Element::i8, 512},
    {22, Element::i16, Element::i8, 128},
    {22, Element::i16, Element::i16, 128},
    {22, Element::bf16, Element::bf16, 256},
};

}  // namespace aie_emulation
