// A stand-in for XRT's public C++ API (2.18): the part of xrt_device.h and xrt_xclbin.h that hosts use.
#pragma once

#include <string>
#include <vector>

namespace xrt {

class uuid {};

class xclbin {
  public:
    class kernel {
      public:
        explicit kernel(std::string name) : name_(std::move(name)) {}
        std::string get_name() const { return name_; }

      private:
        std::string name_;
    };

    explicit xclbin(const std::string &) {}
    std::vector<kernel> get_kernels() const { return {kernel("other"), kernel("MLIR_AIE_0")}; }
    uuid get_uuid() const { return {}; }
};

class device {
  public:
    device() = default;
    explicit device(unsigned) {}
    uuid register_xclbin(const xclbin &) { return {}; }
};

class hw_context {
  public:
    hw_context() = default;
    hw_context(const device &, const uuid &) {}
};

}  // namespace xrt
