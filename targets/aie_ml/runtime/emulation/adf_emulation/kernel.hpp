// Kernels as actors: every argument of the function is a port.
#pragma once

#include <functional>

#include "port.hpp"

namespace aie_emulation {

/// What memory holds before anything is written: nobody clears a tile's.
inline constexpr int poison = 0xA5;

/// Storage as a tile's memory has it, aligned for any vector.
class Block {
  public:
    explicit Block(std::size_t bytes);
    ~Block();
    Block(const Block &) = delete;
    Block &operator=(const Block &) = delete;
    unsigned char *data() const { return bytes_; }

  private:
    unsigned char *bytes_;
};

/// A buffer's memory, which is the kernel's for one firing. Also what it reads is writable: some
/// kernels make their borders in it.
struct Storage {
    Storage(Actor &kernel, PortState &port, std::size_t element);

    PortState &port;
    Block block;
    Mapped mapped;
};

/// A buffer's memory. Acquired, it is the kernel's; released, nobody's.
class AsyncStorage {
  public:
    AsyncStorage(Actor &kernel, PortState &port, std::size_t element, bool input);
    ~AsyncStorage();

    void acquire();
    void release();
    void done() const;
    unsigned char *data() const { return block_.data(); }
    std::size_t size() const { return port_.elements(); }

  private:
    Core &core_;
    PortState &port_;
    std::size_t element_;
    bool input_;
    Block block_;
    std::optional<Mapped> mapped_;
};

/// What a parameter of type A means: `declare` makes its port; an object of it lives for one firing.
template <typename A>
struct Argument;

template <typename T>
struct Argument<adf::input_buffer<T> &> {
    static void declare(Actor &kernel) { kernel.add(true, format_of<T>()); }
    Argument(Actor &kernel, std::size_t &in, std::size_t &)
        : storage(kernel, *kernel.in[in++], sizeof(T)),
          buffer(reinterpret_cast<const T *>(storage.block.data()),
                 static_cast<unsigned>(storage.port.elements())) {
        scatter(storage.port, storage.block.data());
    }
    adf::input_buffer<T> &get() { return buffer; }
    void done() {}

    Storage storage;
    adf::input_buffer<T> buffer;
};

template <typename T>
struct Argument<adf::output_buffer<T> &> {
    static void declare(Actor &kernel) { kernel.add(false, format_of<T>()); }
    Argument(Actor &kernel, std::size_t &, std::size_t &out)
        : storage(kernel, *kernel.out[out++], sizeof(T)),
          buffer(reinterpret_cast<T *>(storage.block.data()),
                 static_cast<unsigned>(storage.port.elements())) {}
    adf::output_buffer<T> &get() { return buffer; }
    void done() { gather(storage.port, storage.block.data()); }

    Storage storage;
    adf::output_buffer<T> buffer;
};

template <typename T, template <typename> typename Buffer, bool input>
class AsyncArgument : public Buffer<T> {
  public:
    using Element = std::conditional_t<input, const T, T>;

    static void declare(Actor &kernel) { kernel.add(input, format_of<T>()); }
    AsyncArgument(Actor &kernel, std::size_t &in, std::size_t &out)
        : storage_(kernel, input ? *kernel.in[in++] : *kernel.out[out++], sizeof(T), input) {}

    void acquire() override { storage_.acquire(); }
    void release() override { storage_.release(); }
    Element *data() const override { return reinterpret_cast<Element *>(storage_.data()); }
    unsigned size() const override { return static_cast<unsigned>(storage_.size()); }

    Buffer<T> &get() { return *this; }
    void done() { storage_.done(); }

  private:
    AsyncStorage storage_;
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

/// The queue that a cascade leads to, which has one reader.
Queue *only_reader(const PortState &port);

template <typename Tag>
struct Argument<output_cascade<Tag> *> {
    static void declare(Actor &kernel) { kernel.add(false, {})->cascade = true; }
    Argument(Actor &kernel, std::size_t &, std::size_t &out)
        : cascade{only_reader(*kernel.out[out++])} {}
    output_cascade<Tag> *get() { return &cascade; }
    void done() {}

    output_cascade<Tag> cascade;
};

void declare_parameter(Actor &kernel, Format format, std::size_t count);

/// Copies what the host last updated a parameter with.
void read_parameter(const PortState &port, void *to, std::size_t bytes);

template <typename T, std::size_t Count>
struct Argument<const T (&)[Count]> {
    static void declare(Actor &kernel) { declare_parameter(kernel, format_of<T>(), Count); }
    Argument(Actor &kernel, std::size_t &in, std::size_t &)
        : port(*kernel.in[in++]),
          block(sizeof(T) * Count),
          mapped(kernel.core, block.data(), sizeof(T) * Count, port.name, false) {
        read_parameter(port, block.data(), sizeof(T) * Count);
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
        read_parameter(*kernel.in[in++], &value, sizeof(T));
    }
    T get() const { return value; }
    void done() {}

    T value;
};

/// A kernel's arguments for one firing: made in their order, and unmade in the opposite one.
template <typename... Arguments>
struct Live {
    Live(Actor &, std::size_t &, std::size_t &) {}
    template <typename Function, typename... Made>
    void call(const Function &function, Made &&...made) {
        function(static_cast<Made &&>(made)...);
    }
    void done() {}
};

template <typename First, typename... Rest>
struct Live<First, Rest...> {
    Live(Actor &kernel, std::size_t &in, std::size_t &out)
        : first(kernel, in, out), rest(kernel, in, out) {}
    template <typename Function, typename... Made>
    void call(const Function &function, Made &&...made) {
        rest.call(function, static_cast<Made &&>(made)..., first.get());
    }
    void done() {
        first.done();
        rest.done();
    }

    Argument<First> first;
    Live<Rest...> rest;
};

template <typename... Arguments>
class KernelActor : public Actor {
  public:
    void declare() { (Argument<Arguments>::declare(*this), ...); }
    bool counted() const override { return true; }

  protected:
    template <typename Function>
    void fire_with(const Function &function) {
        std::size_t next_in = 0, next_out = 0;
        Live<Arguments...> live(*this, next_in, next_out);
        {
            Running running(core);
            live.call(function);
        }
        live.done();
    }
};

/// A kernel that is a function.
template <typename... Arguments>
class FunctionActor : public KernelActor<Arguments...> {
  public:
    explicit FunctionActor(void (*function)(Arguments...)) : function_(function) {}
    void fire() override { this->fire_with(function_); }

  private:
    void (*function_)(Arguments...);
};

/// A kernel that is an object of a class: the object lies in the tile's memory.
template <typename Class, typename... Arguments>
class ObjectActor : public KernelActor<Arguments...> {
  public:
    explicit ObjectActor(void (Class::*run)(Arguments...)) : run_(run) {}

    void fire() override {
        this->fire_with([this](auto &&...values) {
            (object_.get()->*run_)(static_cast<decltype(values)>(values)...);
        });
    }

    /// Makes the object on the core, whose modes it may set.
    void construct(const std::function<std::unique_ptr<Class>()> &make) {
        const Running running(this->core);
        object_ = make();
        memory_.emplace(this->core, reinterpret_cast<unsigned char *>(object_.get()), sizeof(Class),
                        "the object of " + this->name);
    }

  private:
    void (Class::*run_)(Arguments...);
    std::unique_ptr<Class> object_;
    std::optional<Mapped> memory_;
};

/// Makes an actor, names it and declares its ports.
template <typename A, typename... From>
std::shared_ptr<Actor> make_kernel(const From &...from) {
    auto made = std::make_unique<A>(from...);
    A &actor = *made;
    std::shared_ptr<Actor> kept = design().keep("kernel", std::move(made));
    actor.declare();
    return kept;
}

/// How the kernels of a class are made: known once its `registerKernelClass` ran.
template <typename Class>
struct Registered {
    using Make = std::function<std::unique_ptr<Class>()>;
    static inline std::function<std::shared_ptr<Actor>(const Make &)> create;
};

template <typename Class, typename... Arguments>
void register_function(void (Class::*run)(Arguments...)) {
    Registered<Class>::create = [run](const typename Registered<Class>::Make &make) {
        using Kind = ObjectActor<Class, Arguments...>;
        std::shared_ptr<Actor> actor = make_kernel<Kind>(run);
        static_cast<Kind &>(*actor).construct(make);
        return actor;
    };
}

}  // namespace aie_emulation

/// Names the function that a kernel's class runs.
#define REGISTER_FUNCTION(function) ::aie_emulation::register_function(&function)
