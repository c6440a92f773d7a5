// What kernels use of the vendor's graph API, where there are no graphs: buffers as the core's program
// hands them over, and cascades as the core's own instructions. For Peano (llvm-aie) with the
// public aie_api; the emulation has its own `adf.h`, which is found first there.
#pragma once

#include <aie_api/aie.hpp>

// Hints to the vendor's compiler; they mean nothing to Peano.
#ifndef chess_prepare_for_pipelining
#define chess_prepare_for_pipelining
#endif
#ifndef chess_flatten_loop
#define chess_flatten_loop
#endif
#ifndef chess_unroll_loop
#define chess_unroll_loop(...)
#endif

template <typename Tag>
struct input_cascade {};
template <typename Tag>
struct output_cascade {};

namespace adf {

/// What a kernel reads in one call.
template <typename T>
class input_buffer {
  public:
    input_buffer(const T *data, unsigned size) : data_(data), size_(size) {}
    const T *data() const { return data_; }
    unsigned size() const { return size_; }

  private:
    const T *data_;
    unsigned size_;
};

/// What a kernel writes in one call.
template <typename T>
class output_buffer {
  public:
    output_buffer(T *data, unsigned size) : data_(data), size_(size) {}
    T *data() const { return data_; }
    unsigned size() const { return size_; }

  private:
    T *data_;
    unsigned size_;
};

// Of functions that fetch buffers themselves: declared in headers, and not used here.
template <typename T>
class input_async_buffer;
template <typename T>
class output_async_buffer;

}  // namespace adf
