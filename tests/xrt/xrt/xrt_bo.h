// A stand-in for XRT's public C++ API (2.18): the part of xrt_bo.h that hosts use.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <vector>

#include "xrt_device.h"

#define XCL_BO_FLAGS_CACHEABLE (1U << 24)
#define XRT_BO_FLAGS_HOST_ONLY (1U << 29)

enum xclBOSyncDirection { XCL_BO_SYNC_BO_TO_DEVICE = 0, XCL_BO_SYNC_BO_FROM_DEVICE };

namespace xrt {

/// What the host sees and what the device sees differ until they are synchronised.
class bo {
  public:
    bo() = default;
    bo(const device &, std::size_t size, std::uint64_t flags, int group)
        : both_(std::make_shared<Both>(size)), flags(flags), group(group) {}
    template <typename T>
    T map() { return reinterpret_cast<T>(both_->host.data()); }
    void sync(xclBOSyncDirection way) {
        (way == XCL_BO_SYNC_BO_TO_DEVICE ? both_->device : both_->host) =
            way == XCL_BO_SYNC_BO_TO_DEVICE ? both_->host : both_->device;
    }
    std::vector<unsigned char> &device_side() const { return both_->device; }

  private:
    struct Both {
        explicit Both(std::size_t size) : host(size, 0xA5), device(size, 0x5A) {}
        std::vector<unsigned char> host, device;
    };
    std::shared_ptr<Both> both_;

  public:
    std::uint64_t flags = 0;
    int group = 0;
};

}  // namespace xrt
