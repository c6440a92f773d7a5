// What a graph says of its kernels, ports and buffers beside connecting them.
#pragma once

#include "outside.hpp"

namespace adf {

struct buffer {};
struct stack {};
struct ratio {};
struct interface_tile {};
struct PLIO {};

/// Memory that the array's interfaces reach.
struct GMIO {
    static void *malloc(std::size_t bytes) { return std::aligned_alloc(64, (bytes + 63) / 64 * 64); }
    static void free(void *memory) { std::free(memory); }
};

struct location_constraint {
    int column = -1;
    int row = -1;
};

inline location_constraint tile(int column, int row) { return {column, row}; }
inline location_constraint bank(int column, int row, int) { return {column, row}; }
inline location_constraint address(int column, int row, int) { return {column, row}; }
inline location_constraint offset(int) { return {}; }
inline location_constraint shim(int column, int = 0) { return {column, -1}; }
inline location_constraint memory_tile(int column, int row) { return {column, row}; }
inline location_constraint memory_tile(int column, int row, int) { return {column, row}; }

/// Takes a place of a buffer, a stack or a port: of no consequence for what is computed.
class location_slot {
  public:
    location_slot &operator=(const location_constraint &) { return *this; }
    location_slot &operator=(std::initializer_list<location_constraint>) { return *this; }
    location_slot &operator=(const location_slot &) { return *this; }
};

/// Takes a kernel's place.
class tile_slot {
  public:
    explicit tile_slot(aie_emulation::Actor &actor) : actor_(actor) {}
    tile_slot &operator=(const location_constraint &place);

  private:
    aie_emulation::Actor &actor_;
};

template <typename What, typename Of>
auto location(const Of &of) {
    if constexpr (std::is_same_v<What, kernel> && std::is_same_v<Of, kernel>) {
        return tile_slot(of.actor());
    } else {
        return location_slot();
    }
}

/// Takes and forgets a value.
class ignored {
  public:
    template <typename T>
    ignored &operator=(const T &) {
        return *this;
    }
    template <typename T>
    ignored &operator=(std::initializer_list<T>) {
        return *this;
    }
};

inline ignored source(const kernel &) { return {}; }
inline ignored headers(const kernel &) { return {}; }
template <typename What>
ignored runtime(const kernel &) {
    return {};
}
/// Bytes of a kernel's stack.
std::size_t &stack_size(const kernel &of);
template <typename T>
ignored num_buffers(const shared_buffer<T> &) {
    return {};
}
inline ignored initial_value(const port_handle &) { return {}; }
inline void single_buffer(const port_handle &) {}

unsigned &repetition_count(const actor_handle &of);

class initial_value_slot {
  public:
    explicit initial_value_slot(aie_emulation::Actor &buffer) : buffer_(buffer) {}
    template <typename T>
    initial_value_slot &operator=(const std::vector<T> &values) {
        aie_emulation::fill(buffer_, values.data(), values.size());
        return *this;
    }

  private:
    aie_emulation::Actor &buffer_;
};

template <typename T>
initial_value_slot initial_value(const shared_buffer<T> &buffer) {
    return initial_value_slot(buffer.actor());
}

aie_emulation::List<std::uint32_t> &dimensions(const port_handle &port);

class access_slot {
  public:
    explicit access_slot(const port_handle &port);
    access_slot &operator=(tiling_parameters parameters);

  private:
    port_handle port_;
};

access_slot read_access(const port_handle &port);
access_slot write_access(const port_handle &port);

}  // namespace adf
