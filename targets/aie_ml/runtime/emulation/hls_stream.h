// Streams as kernels of programmable logic see them.
#pragma once

#include <functional>

namespace hls {

/// Words one after the other; whoever runs the kernel says where from and where to.
template <typename T>
class stream {
  public:
    std::function<T()> from;
    std::function<void(const T &)> to;

    T read() { return from(); }
    void write(const T &word) { to(word); }
};

}  // namespace hls
