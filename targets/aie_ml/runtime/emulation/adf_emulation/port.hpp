// Ports and what flows between them; actors that own ports; the design they make up.
#pragma once

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
    PortState();
    ~PortState();

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

    std::size_t elements() const;

    /// The access as indices of elements, worked out once.
    const std::vector<std::int64_t> &path();

    void send(const void *bytes, std::size_t count) const;

  private:
    std::vector<std::int64_t> path_;
};

using Port = std::shared_ptr<PortState>;

/// Elements of `buffer` in the order of the port's access, padded with zeros, to everyone who reads.
void gather(PortState &port, const unsigned char *buffer);

/// What arrives at the port into `buffer`, in the order of its access.
void scatter(PortState &port, unsigned char *buffer);

/// Anything that fires: kernels, shared buffers, ports to the outside.
struct Actor {
    std::string name = "actor";
    std::vector<Port> in, out;
    unsigned repetition = 1;
    unsigned graph = 0;                       // that began last when it was made
    std::optional<std::pair<int, int>> tile;  // column, row
    Core core;

    Actor();
    virtual ~Actor();
    virtual void adopt() {}   // once those that write its inputs are known
    virtual void begin() {}   // before the first iteration
    virtual void fire() = 0;
    virtual void settle() {}  // after each run
    virtual void finish() {}  // after the last
    virtual bool counted() const { return false; }

    Port add(bool input, Format format);
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

    bool turns(unsigned graph) const;
    unsigned current() const;

    /// Something is made: the graph that began last gets it.
    unsigned own();

    /// Keeps an actor, and names it by its kind and number.
    std::shared_ptr<Actor> keep(const std::string &kind, std::unique_ptr<Actor> actor);
};

Design &design();

/// Actors' inputs that `port` leads to, through any ports of graphs and through merges of packets.
void reach(const PortState &port, std::vector<PortState *> &found);

}  // namespace aie_emulation

namespace adf {

enum class direction { in, out, inout };
inline constexpr direction input = direction::in;
inline constexpr direction output = direction::out;
inline constexpr direction inout = direction::inout;

/// A handle of a port; a graph's own ports are made here, actors' ports by their actors.
class port_handle {
  public:
    port_handle();
    port_handle(const port_handle &other);
    port_handle(port_handle &&other) noexcept;
    ~port_handle();
    port_handle &operator=(const port_handle &other);
    explicit port_handle(aie_emulation::Port state);
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
class joined {
  public:
    joined(const port_handle &from, const port_handle &to);
};

template <typename From = void, typename To = From>
class connect : public joined {
  public:
    using joined::joined;
};
connect(const port_handle &, const port_handle &) -> connect<>;

/// The ports of an actor, by number.
class port_list {
  public:
    port_list();
    explicit port_list(const std::vector<aie_emulation::Port> &ports);
    port_list(const port_list &other);
    port_list &operator=(const port_list &other);
    ~port_list();
    port_handle &operator[](std::size_t index) const;
    std::size_t size() const;

  private:
    std::shared_ptr<std::vector<port_handle>> ports_;  // copies of a handle mean the same ports
};

}  // namespace adf
