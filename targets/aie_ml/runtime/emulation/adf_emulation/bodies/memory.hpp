// Actors of memory tiles and of switches.
#pragma once

#include <algorithm>

#include "../memory.hpp"

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

AIE_EMULATION_BODY std::shared_ptr<Actor> make_shared_buffer(List<std::uint32_t> dimensions, Format format,
                                                             unsigned inputs, unsigned outputs) {
    auto made = std::make_unique<SharedBufferActor>(std::move(dimensions), format);
    SharedBufferActor &actor = *made;
    std::shared_ptr<Actor> kept = design().keep("shared_buffer", std::move(made));
    actor.declare(inputs, outputs);
    return kept;
}

AIE_EMULATION_BODY std::shared_ptr<Actor> make_merge(unsigned inputs, bool ordered) {
    std::unique_ptr<Actor> made;
    if (ordered) {
        made = std::make_unique<OrderedMerge>();
    } else {
        made = std::make_unique<PacketMerge>();
    }
    std::shared_ptr<Actor> kept = design().keep("merge", std::move(made));
    for (unsigned i = 0; i < inputs; ++i) kept->add(true, {});
    kept->add(false, {});
    if (auto *packets = dynamic_cast<PacketMerge *>(kept.get())) packets->number();
    return kept;
}

AIE_EMULATION_BODY void fill(Actor &buffer, const void *values, std::size_t count) {
    static_cast<SharedBufferActor &>(buffer).fill(values, count);
}

AIE_EMULATION_BODY void look(const Actor &buffer, const adf::tiling_parameters &t, void *to) {
    static_cast<const SharedBufferActor &>(buffer).look(t, to);
}

}  // namespace aie_emulation

namespace adf {

AIE_EMULATION_BODY actor_handle::actor_handle() = default;
AIE_EMULATION_BODY actor_handle::actor_handle(const actor_handle &other) = default;
AIE_EMULATION_BODY actor_handle &actor_handle::operator=(const actor_handle &other) = default;
AIE_EMULATION_BODY actor_handle::~actor_handle() = default;
AIE_EMULATION_BODY actor_handle::actor_handle(std::shared_ptr<aie_emulation::Actor> actor)
    : in(actor->in), out(actor->out), actor_(std::move(actor)) {}

AIE_EMULATION_BODY aie_emulation::Actor &actor_handle::actor() const {
    if (!actor_) aie_emulation::stop({"graph", 0}, "something is used that was never created");
    return *actor_;
}

}  // namespace adf
