// Ports, what flows through them, and which actors there are.
#pragma once

#include <algorithm>

#include "../port.hpp"

namespace aie_emulation {

AIE_EMULATION_BODY PortState::PortState() = default;
AIE_EMULATION_BODY PortState::~PortState() = default;

AIE_EMULATION_BODY std::size_t PortState::elements() const {
    std::size_t count = dimensions.empty() ? 0 : 1;
    for (std::uint32_t size : dimensions) count *= size;
    return count;
}

AIE_EMULATION_BODY const std::vector<std::int64_t> &PortState::path() {
    if (path_.empty()) path_ = traverse(*access, dimensions, {name.c_str(), 0});
    return path_;
}

AIE_EMULATION_BODY void PortState::send(const void *bytes, std::size_t count) const {
    for (Queue *to : reached) to->push(bytes, count);
    for (const auto &[to, header] : packets) {
        to->push(&header, sizeof(header));
        to->push(bytes, count);
    }
}

AIE_EMULATION_BODY void gather(PortState &port, const unsigned char *buffer) {
    const std::size_t size = port.format.bytes;
    if (!port.access) {
        port.send(buffer, port.elements() * size);
        return;
    }
    const auto &path = port.path();
    std::vector<unsigned char> sent(path.size() * size, 0);
    for (std::size_t i = 0; i < path.size(); ++i) {
        if (path[i] == outside) continue;
        const auto index = static_cast<std::size_t>(path[i]);
        if (index >= port.elements()) {
            stop({port.name.c_str(), 0}, "reads behind the end of the buffer: element " +
                                             std::to_string(index));
        }
        std::memcpy(sent.data() + i * size, buffer + index * size, size);
    }
    for (std::uint32_t r = 0; r < port.access->repetition; ++r) port.send(sent.data(), sent.size());
}

AIE_EMULATION_BODY void scatter(PortState &port, unsigned char *buffer) {
    const Place place{port.name.c_str(), 0};
    const std::size_t size = port.format.bytes;
    if (!port.access) {
        port.queue.pop(buffer, port.elements() * size, place);
        return;
    }
    const auto &path = port.path();
    std::vector<unsigned char> arrived(path.size() * size);
    for (std::uint32_t r = 1; r < port.access->repetition; ++r) {
        port.queue.pop(arrived.data(), arrived.size(), place);  // is written over
    }
    port.queue.pop(arrived.data(), arrived.size(), place);
    for (std::size_t i = 0; i < path.size(); ++i) {
        const auto index = static_cast<std::size_t>(path[i]);
        if (path[i] == outside || index >= port.elements()) {
            stop(place, "writes outside of the buffer");
        }
        std::memcpy(buffer + index * size, arrived.data() + i * size, size);
    }
}

AIE_EMULATION_BODY Actor::Actor() = default;
AIE_EMULATION_BODY Actor::~Actor() = default;

AIE_EMULATION_BODY Port Actor::add(bool input, Format format) {
    auto &ports = input ? in : out;
    auto port = std::make_shared<PortState>();
    port->owner = this;
    port->input = input;
    port->format = format;
    port->name = name + (input ? ".in[" : ".out[") + std::to_string(ports.size()) + "]";
    port->queue.name = port->name;
    ports.push_back(port);
    return port;
}

AIE_EMULATION_BODY Design &design() {
    static Design all;
    return all;
}

AIE_EMULATION_BODY bool Design::turns(unsigned graph) const {
    return std::find(turning.begin(), turning.end(), graph) != turning.end();
}

AIE_EMULATION_BODY unsigned Design::current() const {
    return made.empty() ? 0 : static_cast<unsigned>(made.size() - 1);
}

AIE_EMULATION_BODY unsigned Design::own() {
    if (!made.empty()) made.back() = true;
    return current();
}

AIE_EMULATION_BODY std::shared_ptr<Actor> Design::keep(const std::string &kind, std::unique_ptr<Actor> actor) {
    actor->name = kind + std::to_string(actors.size());
    actor->core.name = actor->name;
    actor->graph = own();
    actors.push_back(std::move(actor));
    return actors.back();
}

/// The initialised program that `actor` is part of; nullptr where there is none.
AIE_EMULATION_BODY Run *run_of(const Actor &actor) {
    for (Run *run : design().runs) {
        if (run->has(actor)) return run;
    }
    return nullptr;
}

/// An actor's input that a port leads to, and the input of a merge on the way, if there is one.
struct Way {
    PortState *reader;
    const PortState *merge;
};

/// Ways from `port` through any ports of graphs, and through merges of packets.
AIE_EMULATION_BODY void ways(const PortState &port, const PortState *merge, std::vector<Way> &found) {
    for (const Port &sink : port.sinks) {
        if (sink->passes != nullptr) {
            ways(*sink->passes, sink.get(), found);
        } else if (sink->owner != nullptr) {
            found.push_back({sink.get(), merge});
        } else {
            ways(*sink, merge, found);
        }
    }
}

/// Actors' inputs that `port` leads to.
AIE_EMULATION_BODY void reach(const PortState &port, std::vector<PortState *> &found) {
    std::vector<Way> all;
    ways(port, nullptr, all);
    for (const Way &way : all) found.push_back(way.reader);
}

}  // namespace aie_emulation

namespace adf {

AIE_EMULATION_BODY port_handle::port_handle() : state_(std::make_shared<aie_emulation::PortState>()) {
    state_->graph = aie_emulation::design().own();
    aie_emulation::design().ports.push_back(state_);
}
AIE_EMULATION_BODY port_handle::port_handle(const port_handle &other) = default;
AIE_EMULATION_BODY port_handle::port_handle(port_handle &&other) noexcept = default;
AIE_EMULATION_BODY port_handle::~port_handle() = default;
AIE_EMULATION_BODY port_handle &port_handle::operator=(const port_handle &other) = default;
AIE_EMULATION_BODY port_handle::port_handle(aie_emulation::Port state) : state_(std::move(state)) {}

AIE_EMULATION_BODY joined::joined(const port_handle &from, const port_handle &to) {
    from.state()->sinks.push_back(to.state());
}

AIE_EMULATION_BODY port_list::port_list() = default;
AIE_EMULATION_BODY port_list::port_list(const port_list &other) = default;
AIE_EMULATION_BODY port_list &port_list::operator=(const port_list &other) = default;
AIE_EMULATION_BODY port_list::~port_list() = default;
AIE_EMULATION_BODY port_list::port_list(const std::vector<aie_emulation::Port> &ports)
    : ports_(std::make_shared<std::vector<port_handle>>()) {
    for (const aie_emulation::Port &port : ports) ports_->push_back(port_handle(port));
}
AIE_EMULATION_BODY port_handle &port_list::operator[](std::size_t index) const {
    if (index >= size()) {
        aie_emulation::stop({"graph", 0}, "no port of number " + std::to_string(index));
    }
    return (*ports_)[index];
}
AIE_EMULATION_BODY std::size_t port_list::size() const { return ports_ == nullptr ? 0 : ports_->size(); }

}  // namespace adf
