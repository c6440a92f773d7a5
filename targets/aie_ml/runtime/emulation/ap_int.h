// Integers of any width as programmable logic has them: as much as emitted kernels use.
#pragma once

#include <cstdint>
#include <cstdlib>

/// Unsigned, up to 128 bits.
template <int W>
class ap_uint {
    static_assert(W > 0 && W <= 128, "wider integers are not emulated");

  public:
    /// Some bits of it, at most 64.
    class Range {
      public:
        Range(ap_uint &of, unsigned high, unsigned low) : of_(of), high_(high), low_(low) {}
        operator std::uint64_t() const { return of_.bits(high_, low_); }
        Range &operator=(std::uint64_t value) {
            for (unsigned at = low_; at <= high_; ++at, value >>= 1) of_.put(at, value & 1);
            return *this;
        }

      private:
        ap_uint &of_;
        unsigned high_, low_;
    };

    ap_uint() = default;
    ap_uint(long long value) {  // NOLINT: as the vendor's, from any integer
        for (unsigned at = 0; at < W; ++at) put(at, static_cast<std::uint64_t>(value >> (at < 63 ? at : 63)) & 1);
    }

    Range range(unsigned high, unsigned low) { return Range(*this, high, low); }
    std::uint64_t range(unsigned high, unsigned low) const { return bits(high, low); }

    /// Halves of 64 bits, the lower one first.
    std::uint64_t halves[2] = {0, 0};

  private:
    std::uint64_t bits(unsigned high, unsigned low) const {
        if (high >= W || low > high || high - low >= 64) std::abort();
        std::uint64_t found = 0;
        for (unsigned at = high + 1; at-- > low;) found = found << 1 | (halves[at / 64] >> at % 64 & 1);
        return found;
    }
    void put(unsigned at, std::uint64_t bit) {
        if (at >= W) std::abort();
        const std::uint64_t mask = std::uint64_t{1} << at % 64;
        halves[at / 64] = bit != 0 ? halves[at / 64] | mask : halves[at / 64] & ~mask;
    }
};
