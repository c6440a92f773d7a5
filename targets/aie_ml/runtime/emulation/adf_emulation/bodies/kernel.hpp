// What kernels take: memory of tiles and parameters.
#pragma once

#include "../kernel.hpp"

namespace aie_emulation {

AIE_EMULATION_BODY Block::Block(std::size_t bytes)
    : bytes_(static_cast<unsigned char *>(std::aligned_alloc(64, (bytes + 127) / 64 * 64))) {
    std::memset(bytes_, poison, bytes);
}
AIE_EMULATION_BODY Block::~Block() { std::free(bytes_); }

/// Elements of a port's buffer, which the graph has to say.
AIE_EMULATION_BODY std::size_t elements_of(const PortState &port) {
    const std::size_t count = port.elements();
    if (count == 0) stop({port.name.c_str(), 0}, "adf::dimensions are not set");
    return count;
}

AIE_EMULATION_BODY Storage::Storage(Actor &kernel, PortState &of, std::size_t element)
    : port(of),
      block(elements_of(of) * element),
      mapped(kernel.core, block.data(), of.elements() * element, of.name, true) {}

AIE_EMULATION_BODY AsyncStorage::AsyncStorage(Actor &kernel, PortState &port, std::size_t element, bool input)
    : core_(kernel.core), port_(port), element_(element), input_(input), block_(elements_of(port) * element) {}
AIE_EMULATION_BODY AsyncStorage::~AsyncStorage() = default;

AIE_EMULATION_BODY void AsyncStorage::acquire() {
    if (mapped_) stop({port_.name.c_str(), 0}, "acquired twice");
    if (input_) scatter(port_, block_.data());
    mapped_.emplace(core_, block_.data(), port_.elements() * element_, port_.name, !input_);
}
AIE_EMULATION_BODY void AsyncStorage::release() {
    if (!mapped_) stop({port_.name.c_str(), 0}, "released without being acquired");
    mapped_.reset();
    if (!input_) gather(port_, block_.data());
}
AIE_EMULATION_BODY void AsyncStorage::done() const {
    if (mapped_) stop({port_.name.c_str(), 0}, "acquired and not released");
}

AIE_EMULATION_BODY Queue *only_reader(const PortState &port) {
    if (port.reached.size() != 1) stop({port.name.c_str(), 0}, "a cascade has one reader");
    return port.reached[0];
}

AIE_EMULATION_BODY void declare_parameter(Actor &kernel, Format format, std::size_t count) {
    Port port = kernel.add(true, format);
    port->parameter = true;
    port->dimensions = {static_cast<std::uint32_t>(count)};
    port->value.assign(count * format.bytes, 0);
}

AIE_EMULATION_BODY void read_parameter(const PortState &port, void *to, std::size_t bytes) {
    if (!port.updated) stop({port.name.c_str(), 0}, "the parameter was never updated");
    std::memcpy(to, port.value.data(), bytes);
}

}  // namespace aie_emulation
