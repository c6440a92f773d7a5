// What every host program does with XRT: opens the device, hands a sequence its buffers, runs it.
//
// Uses the public C++ API of XRT 2.18 and later (xrt::device, xrt::xclbin, xrt::hw_context,
// xrt::kernel, xrt::bo, xrt::run).
#pragma once

#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

#include "xrt/xrt_bo.h"
#include "xrt/xrt_device.h"
#include "xrt/xrt_kernel.h"

namespace ma_xrt {

using Bytes = std::vector<unsigned char>;

inline Bytes bytes_of(const std::string &path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) throw std::runtime_error("cannot read " + path);
    return Bytes(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
}

/// Hexadecimal words, one a line.
inline std::vector<std::uint32_t> words_of(const std::string &path) {
    std::ifstream file(path);
    if (!file) throw std::runtime_error("cannot read " + path);
    std::vector<std::uint32_t> words;
    for (std::string line; file >> line;) words.push_back(static_cast<std::uint32_t>(std::stoul(line, nullptr, 16)));
    return words;
}

/// The sequence's instructions: binary, or text (".txt") of older versions of aiecc.
inline std::vector<std::uint32_t> instructions_of(const std::string &path) {
    if (path.size() > 4 && path.compare(path.size() - 4, 4, ".txt") == 0) return words_of(path);
    const Bytes bytes = bytes_of(path);
    std::vector<std::uint32_t> words(bytes.size() / 4);
    std::memcpy(words.data(), bytes.data(), 4 * words.size());
    return words;
}

/// A configured array, and the buffers of its sequence.
class Array {
  public:
    Array(const std::string &xclbin_path, const std::string &instructions_path, const std::vector<std::size_t> &sizes)
        : device_(0), xclbin_(xclbin_path) {
        device_.register_xclbin(xclbin_);
        context_ = xrt::hw_context(device_, xclbin_.get_uuid());
        kernel_ = xrt::kernel(context_, name());
        const std::vector<std::uint32_t> words = instructions_of(instructions_path);
        count_ = static_cast<unsigned>(words.size());
        instructions_ = xrt::bo(device_, 4 * words.size(), XCL_BO_FLAGS_CACHEABLE, kernel_.group_id(1));
        std::memcpy(instructions_.map<void *>(), words.data(), 4 * words.size());
        instructions_.sync(XCL_BO_SYNC_BO_TO_DEVICE);
        int group = 3;  // behind the opcode, the instructions and their number
        for (const std::size_t size : sizes) {
            buffers_.emplace_back(device_, size, XRT_BO_FLAGS_HOST_ONLY, kernel_.group_id(group++));
        }
    }

    /// Memory of argument `at`.
    unsigned char *data(std::size_t at) { return buffers_[at].map<unsigned char *>(); }
    void send(std::size_t at) { buffers_[at].sync(XCL_BO_SYNC_BO_TO_DEVICE); }
    void fetch(std::size_t at) { buffers_[at].sync(XCL_BO_SYNC_BO_FROM_DEVICE); }

    /// One execution of the sequence.
    void run() {
        constexpr unsigned opcode = 3;
        xrt::run run(kernel_);
        run.set_arg(0, opcode);
        run.set_arg(1, instructions_);
        run.set_arg(2, count_);
        int at = 3;
        for (const xrt::bo &buffer : buffers_) run.set_arg(at++, buffer);
        run.start();
        if (run.wait() != ERT_CMD_STATE_COMPLETED) throw std::runtime_error("the array did not complete");
    }

  private:
    std::string name() const {
        for (const auto &kernel : xclbin_.get_kernels()) {
            if (kernel.get_name().rfind("MLIR_AIE", 0) == 0) return kernel.get_name();
        }
        throw std::runtime_error("the xclbin has no kernel MLIR_AIE");
    }

    xrt::device device_;
    xrt::xclbin xclbin_;
    xrt::hw_context context_;
    xrt::kernel kernel_;
    xrt::bo instructions_;
    std::vector<xrt::bo> buffers_;
    unsigned count_ = 0;
};

}  // namespace ma_xrt
