// Ports and what flows between them; actors that own ports; the design they make up.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>

#include "tiling.hpp"

namespace aie_emulation {

enum class Text { none, integer, real, brain };

/// What an element looks like in a PLIO's file.
struct Format {
    Text text = Text::none;
    std::size_t bytes = 0;
    bool is_signed = true;
};

template <typename T>
constexpr Format format_of() {
    if constexpr (std::is_same_v<T, bfloat16>) {
        return {Text::brain, 2, true};
    } else if constexpr (std::is_same_v<T, float>) {
        return {Text::real, 4, true};
    } else if constexpr (std::is_integral_v<T>) {
        return {Text::integer, sizeof(T), std::is_signed_v<T>};
    } else {
        return {};
    }
}

struct Actor;

/// One end of connections. Ports of a graph only pass on; ports of actors hold data.
struct PortState {
    std::string name = "port";
    Actor *owner = nullptr;                           // nullptr for a graph's own port
    unsigned graph = 0;                               // of a graph's own port
    bool input = false;
    bool cascade = false;
    bool parameter = false;
    bool updated = false;
    Format format;
    List<std::uint32_t> dimensions;
    std::optional<adf::tiling_parameters> access;
    std::vector<unsigned char> value;                 // of a run-time parameter
    std::vector<std::shared_ptr<PortState>> sinks;    // as connected
    Queue queue;                                      // of an actor's input
    std::vector<Queue *> reached;                     // by an actor's output
    unsigned firings = 0;                             // in an iteration, of who writes an input
    std::shared_ptr<PortState> passes;                // of a merge's input: its output
    unsigned identifier = 0;                          // likewise: of the packets that come in there
    std::vector<unsigned> identifiers;                // of who reads a merge, by the merge's inputs
    std::vector<std::pair<Queue *, std::uint32_t>> packets;  // readers behind a merge, and headers

    std::size_t elements() const {
        std::size_t count = dimensions.empty() ? 0 : 1;
        for (std::uint32_t size : dimensions) count *= size;
        return count;
    }

    /// The access as indices of elements, worked out once.
    const std::vector<std::int64_t> &path() {
        if (path_.empty()) path_ = traverse(*access, dimensions, {name.c_str(), 0});
        return path_;
    }

    void send(const void *bytes, std::size_t count) const {
        for (Queue *to : reached) to->push(bytes, count);
        for (const auto &[to, header] : packets) {
            to->push(&header, sizeof(header));
            to->push(bytes, count);
        }
    }

  private:
    std::vector<std::int64_t> path_;
};

using Port = std::shared_ptr<PortState>;

/// Elements of `buffer` in the order of the port's access, padded with zeros, to everyone who reads.
inline void gather(PortState &port, const unsigned char *buffer) {
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

/// What arrives at the port into `buffer`, in the order of its access.
inline void scatter(PortState &port, unsigned char *buffer) {
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

/// Anything that fires: kernels, shared buffers, ports to the outside.
struct Actor {
    std::string name = "actor";
    std::vector<Port> in, out;
    unsigned repetition = 1;
    unsigned graph = 0;                       // that began last when it was made
    std::optional<std::pair<int, int>> tile;  // column, row
    Core core;

    virtual ~Actor() = default;
    virtual void adopt() {}   // once those that write its inputs are known
    virtual void begin() {}   // before the first iteration
    virtual void fire() = 0;
    virtual void settle() {}  // after each run
    virtual void finish() {}  // after the last
    virtual bool counted() const { return false; }

    Port add(bool input, Format format) {
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
};

/// A program's run as the host sees it: it goes on until somebody waits for it.
class Run {
  public:
    virtual ~Run() = default;
    virtual bool has(const Actor &actor) const = 0;
    virtual bool running() const = 0;
    /// Lets the array finish what it was started for.
    virtual void complete() = 0;
    /// Lets it go on with one of the iterations that it was started for; false where none is left.
    virtual bool advance() = 0;
    /// Whether every port to the chip's memory but `waiting` has a transfer.
    virtual bool fed(const Actor &waiting) const = 0;
};

/// Every actor that exists, and which graph was the last to begin when it was made.
struct Design {
    std::vector<std::shared_ptr<Actor>> actors;
    std::vector<bool> made;  // by graph: whether it made anything before the next one began
    unsigned graphs = 0;     // that live
    std::vector<std::string> counted;  // what kernels did, of programs that ended
    std::vector<std::weak_ptr<PortState>> ports;  // graphs' own
    std::vector<Run *> runs;                      // of the programs that were initialised
    std::vector<unsigned> turning;                // graphs that one configuration serves, one at a time

    bool turns(unsigned graph) const { return std::find(turning.begin(), turning.end(), graph) != turning.end(); }

    unsigned current() const { return made.empty() ? 0 : static_cast<unsigned>(made.size() - 1); }

    /// Something is made: the graph that began last gets it.
    unsigned own() {
        if (!made.empty()) made.back() = true;
        return current();
    }

    template <typename A, typename... Arguments>
    std::shared_ptr<A> make(const std::string &kind, Arguments &&...arguments) {
        auto actor = std::make_shared<A>(std::forward<Arguments>(arguments)...);
        actor->name = kind + std::to_string(actors.size());
        actor->core.name = actor->name;
        actor->graph = own();
        actors.push_back(actor);
        return actor;
    }
};

inline Design &design() {
    static Design all;
    return all;
}

/// The initialised program that `actor` is part of; nullptr where there is none.
inline Run *run_of(const Actor &actor) {
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
inline void ways(const PortState &port, const PortState *merge, std::vector<Way> &found) {
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
inline void reach(const PortState &port, std::vector<PortState *> &found) {
    std::vector<Way> all;
    ways(port, nullptr, all);
    for (const Way &way : all) found.push_back(way.reader);
}

}  // namespace aie_emulation

namespace adf {

enum class direction { in, out, inout };
inline constexpr direction input = direction::in;
inline constexpr direction output = direction::out;
inline constexpr direction inout = direction::inout;

/// A handle of a port; a graph's own ports are made here, actors' ports by their actors.
class port_handle {
  public:
    AIE_EMULATION_ONCE port_handle() : state_(std::make_shared<aie_emulation::PortState>()) {
        state_->graph = aie_emulation::design().own();
        aie_emulation::design().ports.push_back(state_);
    }
    AIE_EMULATION_ONCE port_handle(const port_handle &other) : state_(other.state_) {}
    AIE_EMULATION_ONCE port_handle(port_handle &&other) noexcept : state_(std::move(other.state_)) {}
    AIE_EMULATION_ONCE ~port_handle() {}
    AIE_EMULATION_ONCE port_handle &operator=(const port_handle &other) {
        state_ = other.state_;
        return *this;
    }
    AIE_EMULATION_ONCE explicit port_handle(aie_emulation::Port state) : state_(std::move(state)) {}
    const aie_emulation::Port &state() const { return state_; }

  private:
    aie_emulation::Port state_;
};

template <direction D>
class port : public port_handle {
  public:
    using port_handle::port_handle;
};

using input_port = port<direction::in>;
using output_port = port<direction::out>;
using inout_port = port<direction::inout>;

struct stream {};
struct cascade {};
struct parameter {};

template <typename P>
const P &async(const P &p) {
    return p;
}
template <typename P>
const P &sync(const P &p) {
    return p;
}

/// Joins two ports when it is made.
template <typename From = void, typename To = From>
class connect {
  public:
    AIE_EMULATION_ONCE connect(const port_handle &from, const port_handle &to) {
        from.state()->sinks.push_back(to.state());
    }
};
connect(const port_handle &, const port_handle &) -> connect<>;

/// The ports of an actor, by number.
class port_list {
  public:
    port_list() = default;
    AIE_EMULATION_ONCE explicit port_list(const std::vector<aie_emulation::Port> &ports)
        : ports_(std::make_shared<std::vector<port_handle>>()) {
        for (const aie_emulation::Port &port : ports) ports_->push_back(port_handle(port));
    }
    AIE_EMULATION_ONCE port_handle &operator[](std::size_t index) const {
        if (index >= size()) {
            aie_emulation::stop({"graph", 0}, "no port of number " + std::to_string(index));
        }
        return (*ports_)[index];
    }
    std::size_t size() const { return ports_ == nullptr ? 0 : ports_->size(); }

  private:
    std::shared_ptr<std::vector<port_handle>> ports_;  // copies of a handle mean the same ports
};

}  // namespace adf
