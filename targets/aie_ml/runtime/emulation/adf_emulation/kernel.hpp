// Kernels as actors: every argument of the function is a port.
#pragma once

#include <functional>
#include <tuple>

#include "port.hpp"

namespace aie_emulation {

/// What memory holds before anything is written: nobody clears a tile's.
inline constexpr int poison = 0xA5;

/// Storage as a tile's memory has it, aligned for any vector.
class Block {
  public:
    explicit Block(std::size_t bytes)
        : bytes_(static_cast<unsigned char *>(std::aligned_alloc(64, (bytes + 127) / 64 * 64))) {
        std::memset(bytes_, poison, bytes);
    }
    ~Block() { std::free(bytes_); }
    Block(const Block &) = delete;
    Block &operator=(const Block &) = delete;
    unsigned char *data() const { return bytes_; }

  private:
    unsigned char *bytes_;
};

/// What a parameter of type A means: `declare` makes its port; an object of it lives for one firing.
template <typename A>
struct Argument;

template <typename T>
struct Argument<adf::input_buffer<T> &> {
    static void declare(Actor &kernel) { kernel.add(true, format_of<T>()); }
    Argument(Actor &kernel, std::size_t &in, std::size_t &)
        : port(*kernel.in[in++]),
          block(port.elements() * sizeof(T)),
          // The memory is the kernel's until it returns; some kernels make their borders in it.
          mapped(kernel.core, reinterpret_cast<T *>(block.data()), port.elements(), port.name),
          buffer(reinterpret_cast<const T *>(block.data()), static_cast<unsigned>(port.elements())) {
        if (port.elements() == 0) stop({port.name.c_str(), 0}, "adf::dimensions are not set");
        scatter(port, block.data());
    }
    adf::input_buffer<T> &get() { return buffer; }
    void done() {}

    PortState &port;
    Block block;
    Mapped mapped;
    adf::input_buffer<T> buffer;
};

template <typename T>
struct Argument<adf::output_buffer<T> &> {
    static void declare(Actor &kernel) { kernel.add(false, format_of<T>()); }
    Argument(Actor &kernel, std::size_t &, std::size_t &out)
        : port(*kernel.out[out++]),
          block(port.elements() * sizeof(T)),
          mapped(kernel.core, reinterpret_cast<T *>(block.data()), port.elements(), port.name),
          buffer(reinterpret_cast<T *>(block.data()), static_cast<unsigned>(port.elements())) {
        if (port.elements() == 0) stop({port.name.c_str(), 0}, "adf::dimensions are not set");
    }
    adf::output_buffer<T> &get() { return buffer; }
    void done() { gather(port, block.data()); }

    PortState &port;
    Block block;
    Mapped mapped;
    adf::output_buffer<T> buffer;
};

/// Acquired, a buffer's memory is the kernel's; released, nobody's.
template <typename T, template <typename> typename Buffer, bool input>
class AsyncArgument : public Buffer<T> {
  public:
    using Element = std::conditional_t<input, const T, T>;

    static void declare(Actor &kernel) { kernel.add(input, format_of<T>()); }
    AsyncArgument(Actor &kernel, std::size_t &in, std::size_t &out)
        : core_(kernel.core),
          port_(input ? *kernel.in[in++] : *kernel.out[out++]),
          block_(port_.elements() * sizeof(T)) {
        if (port_.elements() == 0) stop({port_.name.c_str(), 0}, "adf::dimensions are not set");
    }

    void acquire() override {
        if (mapped_) stop({port_.name.c_str(), 0}, "acquired twice");
        if constexpr (input) scatter(port_, block_.data());
        mapped_.emplace(core_, reinterpret_cast<Element *>(block_.data()), port_.elements(),
                        port_.name);
    }
    void release() override {
        if (!mapped_) stop({port_.name.c_str(), 0}, "released without being acquired");
        mapped_.reset();
        if constexpr (!input) gather(port_, block_.data());
    }
    Element *data() const override { return reinterpret_cast<Element *>(block_.data()); }
    unsigned size() const override { return static_cast<unsigned>(port_.elements()); }

    Buffer<T> &get() { return *this; }
    void done() {
        if (mapped_) stop({port_.name.c_str(), 0}, "acquired and not released");
    }

  private:
    Core &core_;
    PortState &port_;
    Block block_;
    std::optional<Mapped> mapped_;
};

template <typename T>
struct Argument<adf::input_async_buffer<T> &> : AsyncArgument<T, adf::input_async_buffer, true> {
    using AsyncArgument<T, adf::input_async_buffer, true>::AsyncArgument;
};

template <typename T>
struct Argument<adf::output_async_buffer<T> &> : AsyncArgument<T, adf::output_async_buffer, false> {
    using AsyncArgument<T, adf::output_async_buffer, false>::AsyncArgument;
};

template <typename T>
struct Argument<input_stream<T> *> {
    static void declare(Actor &kernel) { kernel.add(true, format_of<T>()); }
    Argument(Actor &kernel, std::size_t &in, std::size_t &) : stream{&kernel.in[in++]->queue} {}
    input_stream<T> *get() { return &stream; }
    void done() {}

    input_stream<T> stream;
};

template <>
struct Argument<input_pktstream *> {
    static void declare(Actor &kernel) { kernel.add(true, format_of<std::int32_t>()); }
    Argument(Actor &kernel, std::size_t &in, std::size_t &)
        : stream{&kernel.in[in]->queue, &kernel.in[in]->identifiers} {
        ++in;
    }
    input_pktstream *get() { return &stream; }
    void done() {}

    input_pktstream stream;
};

template <typename T>
struct Argument<output_stream<T> *> {
    static void declare(Actor &kernel) { kernel.add(false, format_of<T>()); }
    Argument(Actor &kernel, std::size_t &, std::size_t &out) : stream{kernel.out[out++]->reached} {}
    output_stream<T> *get() { return &stream; }
    void done() {}

    output_stream<T> stream;
};

template <typename Tag>
struct Argument<input_cascade<Tag> *> {
    static void declare(Actor &kernel) { kernel.add(true, {})->cascade = true; }
    Argument(Actor &kernel, std::size_t &in, std::size_t &) : cascade{&kernel.in[in++]->queue} {}
    input_cascade<Tag> *get() { return &cascade; }
    void done() {}

    input_cascade<Tag> cascade;
};

template <typename Tag>
struct Argument<output_cascade<Tag> *> {
    static void declare(Actor &kernel) { kernel.add(false, {})->cascade = true; }
    Argument(Actor &kernel, std::size_t &, std::size_t &out) : cascade{nullptr} {
        const PortState &port = *kernel.out[out++];
        if (port.reached.size() != 1) stop({port.name.c_str(), 0}, "a cascade has one reader");
        cascade.queue = port.reached[0];
    }
    output_cascade<Tag> *get() { return &cascade; }
    void done() {}

    output_cascade<Tag> cascade;
};

inline void declare_parameter(Actor &kernel, Format format, std::size_t count) {
    Port port = kernel.add(true, format);
    port->parameter = true;
    port->dimensions = {static_cast<std::uint32_t>(count)};
    port->value.assign(count * format.bytes, 0);
}

template <typename T, std::size_t Count>
struct Argument<const T (&)[Count]> {
    static void declare(Actor &kernel) { declare_parameter(kernel, format_of<T>(), Count); }
    Argument(Actor &kernel, std::size_t &in, std::size_t &)
        : port(*kernel.in[in++]),
          block(sizeof(T) * Count),
          mapped(kernel.core, reinterpret_cast<const T *>(block.data()), Count, port.name) {
        if (!port.updated) stop({port.name.c_str(), 0}, "the parameter was never updated");
        std::memcpy(block.data(), port.value.data(), sizeof(T) * Count);
    }
    const T (&get())[Count] { return *reinterpret_cast<const T(*)[Count]>(block.data()); }
    void done() {}

    PortState &port;
    Block block;
    Mapped mapped;
};

template <typename T>
    requires std::is_arithmetic_v<T>
struct Argument<T> {
    static void declare(Actor &kernel) { declare_parameter(kernel, format_of<T>(), 1); }
    Argument(Actor &kernel, std::size_t &in, std::size_t &) : value{} {
        const PortState &port = *kernel.in[in++];
        if (!port.updated) stop({port.name.c_str(), 0}, "the parameter was never updated");
        std::memcpy(&value, port.value.data(), sizeof(T));
    }
    T get() const { return value; }
    void done() {}

    T value;
};

template <typename... Arguments>
class KernelActor : public Actor {
  public:
    explicit KernelActor(std::function<void(Arguments...)> function) : function_(std::move(function)) {}
    void declare() { (Argument<Arguments>::declare(*this), ...); }
    bool counted() const override { return true; }

    void fire() override {
        std::size_t next_in = 0, next_out = 0;
        // Braces: arguments are made in their order, and unmade in the opposite one.
        std::tuple<std::unique_ptr<Argument<Arguments>>...> live{
            std::make_unique<Argument<Arguments>>(*this, next_in, next_out)...};
        {
            Running running(core);
            std::apply([&](auto &...each) { function_(each->get()...); }, live);
        }
        std::apply([](auto &...each) { (each->done(), ...); }, live);
    }

  private:
    std::function<void(Arguments...)> function_;
};

/// A kernel that is an object of a class: the object lies in the tile's memory.
template <typename Class, typename... Arguments>
class ObjectActor : public KernelActor<Arguments...> {
  public:
    explicit ObjectActor(void (Class::*run)(Arguments...))
        : KernelActor<Arguments...>([this, run](Arguments... values) {
              (object_.get()->*run)(static_cast<Arguments>(values)...);
          }) {}

    /// Makes the object on the core, whose modes it may set.
    void construct(const std::function<std::unique_ptr<Class>()> &make) {
        const Running running(this->core);
        object_ = make();
        memory_.emplace(this->core, reinterpret_cast<unsigned char *>(object_.get()), sizeof(Class),
                        "the object of " + this->name);
    }

  private:
    std::unique_ptr<Class> object_;
    std::optional<Mapped> memory_;
};

/// How the kernels of a class are made: known once its `registerKernelClass` ran.
template <typename Class>
struct Registered {
    using Make = std::function<std::unique_ptr<Class>()>;
    static inline std::function<std::shared_ptr<Actor>(const Make &)> create;
};

template <typename Class, typename... Arguments>
void register_function(void (Class::*run)(Arguments...)) {
    Registered<Class>::create = [run](const typename Registered<Class>::Make &make) {
        auto actor = design().make<ObjectActor<Class, Arguments...>>("kernel", run);
        actor->declare();
        actor->construct(make);
        return actor;
    };
}

}  // namespace aie_emulation

/// Names the function that a kernel's class runs.
#define REGISTER_FUNCTION(function) ::aie_emulation::register_function(&function)
