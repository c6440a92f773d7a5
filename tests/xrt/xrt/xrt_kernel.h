// A stand-in for XRT's public C++ API (2.18): the part of xrt_kernel.h that hosts use. A run writes what
// the device sees of its arguments into files, and puts a prepared result into the last one.
#pragma once

#include <fstream>
#include <iterator>
#include <stdexcept>
#include <type_traits>

#include "xrt_bo.h"

enum ert_cmd_state { ERT_CMD_STATE_NEW = 1, ERT_CMD_STATE_COMPLETED = 4, ERT_CMD_STATE_ERROR = 5 };

namespace xrt {

class kernel {
  public:
    kernel() = default;
    kernel(const hw_context &, const std::string &name) {
        if (name != "MLIR_AIE_0") throw std::runtime_error("no kernel " + name);
    }
    int group_id(int argument) const { return 100 + argument; }
};

class run {
  public:
    explicit run(const kernel &) {}
    void set_arg(int at, const bo &buffer) {
        if (buffer.group != 100 + at) throw std::runtime_error("a buffer of another argument");
        if (at == 1) instructions_ = buffer;
        if (at >= 3) buffers_.push_back(buffer);
    }
    template <typename T, typename = std::enable_if_t<std::is_integral_v<std::decay_t<T>>>>
    void set_arg(int at, T &&value) {
        if (at == 0 && value != 3) throw std::runtime_error("another opcode");
        if (at == 2) count_ = value;
    }
    void start() {
        if (4 * count_ != instructions_.device_side().size()) throw std::runtime_error("instructions are cut");
        int at = 0;
        for (const bo &buffer : buffers_) {
            const auto &seen = buffer.device_side();
            std::ofstream file("arg" + std::to_string(at++) + ".bin", std::ios::binary);
            file.write(reinterpret_cast<const char *>(seen.data()), static_cast<std::streamsize>(seen.size()));
        }
        std::ifstream file("result.bin", std::ios::binary);
        const std::vector<unsigned char> result{std::istreambuf_iterator<char>(file), {}};
        if (result.size() != buffers_.back().device_side().size()) throw std::runtime_error("a result of another size");
        buffers_.back().device_side() = result;
    }
    ert_cmd_state wait() { return ERT_CMD_STATE_COMPLETED; }

  private:
    bo instructions_;
    std::vector<bo> buffers_;
    std::size_t count_ = 0;
};

}  // namespace xrt
