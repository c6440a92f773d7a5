// Buffers in memory tiles: written and read by DMAs in any order.
#pragma once

#include "kernel.hpp"

namespace aie_emulation {

class SharedBufferActor : public Actor {
  public:
    SharedBufferActor(List<std::uint32_t> dimensions, Format format)
        : dimensions_(std::move(dimensions)), format_(format), block_(bytes()) {}

    void declare(unsigned inputs, unsigned outputs) {
        for (unsigned i = 0; i < inputs + outputs; ++i) {
            add(i < inputs, format_)->dimensions = dimensions_;
        }
    }

    void fill(const void *values, std::size_t count) {
        if (count * format_.bytes != bytes()) {
            stop({name.c_str(), 0}, "an initial value of another size than the buffer");
        }
        std::memcpy(block_.data(), values, bytes());
    }

    /// What the buffer holds, in the order of `t`.
    void look(const adf::tiling_parameters &t, void *to) const {
        auto *at = static_cast<unsigned char *>(to);
        for (std::int64_t index : traverse(t, dimensions_, {name.c_str(), 0})) {
            const std::size_t first = static_cast<std::size_t>(index) * format_.bytes;
            if (index == outside || first >= bytes()) stop({name.c_str(), 0}, "a look beyond the buffer");
            std::memcpy(at, block_.data() + first, format_.bytes);
            at += format_.bytes;
        }
    }

    void fire() override {
        for (const Port &port : in) scatter(*port, block_.data());
        for (const Port &port : out) gather(*port, block_.data());
    }

  private:
    std::size_t bytes() const {
        std::size_t count = format_.bytes;
        for (std::uint32_t size : dimensions_) count *= size;
        return count;
    }

    List<std::uint32_t> dimensions_;
    Format format_;
    Block block_;
};

/// Passes on what every writer sends in a firing, writer after writer.
class OrderedMerge : public Actor {
  public:
    void adopt() override { out[0]->format = in[0]->format; }

    void fire() override {
        unsigned rounds = 0;
        for (const Port &port : in) rounds = std::max(rounds, port->firings);
        for (unsigned round = 0; round < rounds; ++round) {
            for (const Port &port : in) pass(*port, rounds - round);
        }
    }

  private:
    void pass(PortState &port, unsigned left) {
        const Place place{port.name.c_str(), 0};
        if (port.firings == 0) stop(place, "nothing writes into the merge");
        if (port.queue.size() % left != 0) stop(place, "packets of a merge differ in size");
        std::vector<unsigned char> packet(port.queue.size() / left);
        port.queue.pop(packet.data(), packet.size(), place);
        out[0]->send(packet.data(), packet.size());
    }
};

/// Passes packets on as they come, each with a header that says by which input. Senders reach its
/// readers, so that nothing waits here.
class PacketMerge : public Actor {
  public:
    /// Which identifiers the vendor's compiler gives is its own business: here they go downwards.
    void number() {
        for (std::size_t at = 0; at < in.size(); ++at) {
            in[at]->passes = out[0];
            in[at]->identifier = static_cast<unsigned>(31 - at);
        }
    }

    std::vector<unsigned> identifiers() const {
        std::vector<unsigned> found;
        for (const Port &port : in) found.push_back(port->identifier);
        return found;
    }

    void fire() override {}
};

}  // namespace aie_emulation

namespace adf {

/// A handle of an actor, with its ports.
class actor_handle {
  public:
    port_list in, out, inout;

    actor_handle() = default;
    AIE_EMULATION_ONCE explicit actor_handle(std::shared_ptr<aie_emulation::Actor> actor)
        : in(actor->in), out(actor->out), actor_(std::move(actor)) {}

    AIE_EMULATION_ONCE aie_emulation::Actor &actor() const {
        if (!actor_) aie_emulation::stop({"graph", 0}, "something is used that was never created");
        return *actor_;
    }

  private:
    std::shared_ptr<aie_emulation::Actor> actor_;
};

class kernel : public actor_handle {
  public:
    using actor_handle::actor_handle;

    template <typename... Arguments>
    AIE_EMULATION_ONCE static kernel create(void (*function)(Arguments...)) {
        auto actor = aie_emulation::design().make<aie_emulation::KernelActor<Arguments...>>(
            "kernel", function);
        actor->declare();
        return kernel(actor);
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

    AIE_EMULATION_ONCE static pktorderedmerge create() {
        auto actor = aie_emulation::design().make<aie_emulation::OrderedMerge>("merge");
        for (unsigned i = 0; i < Inputs; ++i) actor->add(true, {});
        actor->add(false, {});
        return pktorderedmerge(actor);
    }
};

/// Packets of several kernels that become one stream, whichever comes first.
template <unsigned Inputs>
class pktmerge : public actor_handle {
  public:
    using actor_handle::actor_handle;

    AIE_EMULATION_ONCE static pktmerge create() {
        static_assert(Inputs <= 32, "identifiers have five bits");
        auto actor = aie_emulation::design().make<aie_emulation::PacketMerge>("merge");
        for (unsigned i = 0; i < Inputs; ++i) actor->add(true, {});
        actor->add(false, {});
        actor->number();
        return pktmerge(actor);
    }
};

template <typename T>
class shared_buffer : public actor_handle {
  public:
    using actor_handle::actor_handle;

    AIE_EMULATION_ONCE static shared_buffer create(aie_emulation::List<std::uint32_t> dimensions, unsigned inputs = 1,
                                unsigned outputs = 1) {
        auto actor = aie_emulation::design().make<aie_emulation::SharedBufferActor>(
            "shared_buffer", std::move(dimensions), aie_emulation::format_of<T>());
        actor->declare(inputs, outputs);
        return shared_buffer(actor);
    }
};

}  // namespace adf

namespace aie_emulation {

/// What a buffer holds after a run: no part of the vendor's API.
template <typename T>
void look(const adf::shared_buffer<T> &buffer, const adf::tiling_parameters &t, void *to) {
    static_cast<const SharedBufferActor &>(buffer.actor()).look(t, to);
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
