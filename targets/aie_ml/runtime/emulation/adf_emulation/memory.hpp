// Buffers in memory tiles, written and read by DMAs in any order, and merges of streams.
#pragma once

#include "kernel.hpp"

namespace aie_emulation {

std::shared_ptr<Actor> make_shared_buffer(List<std::uint32_t> dimensions, Format format, unsigned inputs,
                                          unsigned outputs);

/// Streams that become one: a packet of each in turn, in the order of the ports, or as they come.
std::shared_ptr<Actor> make_merge(unsigned inputs, bool ordered);

/// Initial values of a buffer in a memory tile.
void fill(Actor &buffer, const void *values, std::size_t count);

/// What such a buffer holds, in the order of `t`.
void look(const Actor &buffer, const adf::tiling_parameters &t, void *to);

}  // namespace aie_emulation

namespace adf {

/// A handle of an actor, with its ports.
class actor_handle {
  public:
    port_list in, out, inout;

    actor_handle();
    actor_handle(const actor_handle &other);
    actor_handle &operator=(const actor_handle &other);
    ~actor_handle();
    explicit actor_handle(std::shared_ptr<aie_emulation::Actor> actor);

    aie_emulation::Actor &actor() const;

  private:
    std::shared_ptr<aie_emulation::Actor> actor_;
};

class kernel : public actor_handle {
  public:
    using actor_handle::actor_handle;

    template <typename... Arguments>
    AIE_EMULATION_ONCE static kernel create(void (*function)(Arguments...)) {
        return kernel(aie_emulation::make_kernel<aie_emulation::FunctionActor<Arguments...>>(function));
    }

    /// A kernel that is an object of `Class`, made of `arguments`.
    template <typename Class, typename... Arguments>
    AIE_EMULATION_ONCE static kernel create_object(Arguments... arguments) {
        Class::registerKernelClass();
        const auto &create = aie_emulation::Registered<Class>::create;
        if (!create) aie_emulation::stop({"graph", 0}, "a kernel's class registers no function of its own");
        return kernel(create([&] { return std::make_unique<Class>(arguments...); }));
    }
};

/// Streams that become one: a packet of each in turn, in the order of the ports.
template <unsigned Inputs>
class pktorderedmerge : public actor_handle {
  public:
    using actor_handle::actor_handle;

    static pktorderedmerge create() { return pktorderedmerge(aie_emulation::make_merge(Inputs, true)); }
};

/// Packets of several kernels that become one stream, whichever comes first.
template <unsigned Inputs>
class pktmerge : public actor_handle {
  public:
    using actor_handle::actor_handle;

    static pktmerge create() {
        static_assert(Inputs <= 32, "identifiers have five bits");
        return pktmerge(aie_emulation::make_merge(Inputs, false));
    }
};

template <typename T>
class shared_buffer : public actor_handle {
  public:
    using actor_handle::actor_handle;

    AIE_EMULATION_ONCE static shared_buffer create(aie_emulation::List<std::uint32_t> dimensions, unsigned inputs = 1,
                                unsigned outputs = 1) {
        return shared_buffer(aie_emulation::make_shared_buffer(
            std::move(dimensions), aie_emulation::format_of<T>(), inputs, outputs));
    }
};

}  // namespace adf

namespace aie_emulation {

/// What a buffer holds after a run: no part of the vendor's API.
template <typename T>
void look(const adf::shared_buffer<T> &buffer, const adf::tiling_parameters &t, void *to) {
    look(buffer.actor(), t, to);
}

/// What an array of a kernel's source holds after a run: likewise.
template <typename T, std::size_t Size>
void look(const T (&array)[Size], const adf::tiling_parameters &t, void *to) {
    auto *at = static_cast<T *>(to);
    for (std::int64_t index : traverse(t, t.buffer_dimension, {"array", 0})) {
        if (index < 0 || index >= static_cast<std::int64_t>(Size)) {
            stop({"array", 0}, "a look beyond the array");
        }
        *at++ = array[index];
    }
}

}  // namespace aie_emulation
