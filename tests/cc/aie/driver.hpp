// Calls an emitted matrix kernel on plain arrays, for the tests. Every array is copied to memory of
// exactly its size that the kernel may touch, and what the kernel wrote is copied back.
#pragma once

#include <adf.h>
#include <aie_api/aie.hpp>

struct Arguments {
    const void *x, *w, *bias, *multipliers, *origins, *offsets, *bias_of, *row_sums, *addends, *partial, *from;
    void *y, *to;
    std::uint64_t x_bytes, w_bytes, bias_bytes, multipliers_bytes, origins_bytes, offsets_bytes,
        bias_of_bytes, row_sums_bytes, addends_bytes, partial_bytes, from_bytes, y_bytes, to_bytes;
    std::int32_t multiplier, addend, shift, zero, lo, hi, rounding, saturation;
    std::uint32_t m_blocks, k_steps, n_blocks, x_n_step, y_m_step, y_n_step;
    std::uint64_t counters[8];
};

template <typename T>
class Copy {
  public:
    Copy(aie_emulation::Core &core, const void *from, std::size_t bytes, const char *name)
        : bytes_(bytes),
          data_(static_cast<std::remove_const_t<T> *>(std::aligned_alloc(64, (bytes + 127) / 64 * 64))),
          mapped_(core, static_cast<T *>(data_), bytes / sizeof(T), name) {
        if (from != nullptr) std::memcpy(static_cast<void *>(data_), from, bytes);
    }
    ~Copy() { std::free(data_); }
    Copy(const Copy &) = delete;
    Copy &operator=(const Copy &) = delete;
    T *data() const { return data_; }
    void back(void *to) const { std::memcpy(to, data_, bytes_); }

  private:
    std::size_t bytes_;
    std::remove_const_t<T> *data_;
    aie_emulation::Mapped mapped_;
};

template <typename P>
using Pointed = std::remove_reference_t<decltype(*std::declval<P>())>;

inline void report(const aie_emulation::Counters &c, std::uint64_t *to) {
    const std::uint64_t all[] = {c.mmul,  c.vmac, c.multiply,   c.load,
                                 c.store, c.srs,  c.cascade_in, c.cascade_out};
    std::copy(std::begin(all), std::end(all), to);
}

template <typename Call>
void call_kernel(void (*kernel)(const Call &), Arguments &a, const char *name) {
    aie_emulation::Core core;
    core.name = name;
    core.rounding = static_cast<aie_emulation::Rounding>(a.rounding);
    core.saturation = static_cast<aie_emulation::Saturation>(a.saturation);
    Call call{};
    Copy<Pointed<decltype(call.x)>> x(core, a.x, a.x_bytes, "x");
    Copy<const unsigned char> w(core, a.w, a.w_bytes, "w");
    Copy<const int32> bias(core, a.bias, a.bias_bytes, "bias");
    Copy<const int32> multipliers(core, a.multipliers, a.multipliers_bytes, "multipliers");
    Copy<const int32> origins(core, a.origins, a.origins_bytes, "origins");
    Copy<const int32> offsets(core, a.offsets, a.offsets_bytes, "offsets");
    Copy<const int32> bias_of(core, a.bias_of, a.bias_of_bytes, "bias_of");
    Copy<const int32> row_sums(core, a.row_sums, a.row_sums_bytes, "row_sums");
    Copy<const int32> addends(core, a.addends, a.addends_bytes, "addends");
    Copy<const int32> partial(core, a.partial, a.partial_bytes, "partial");
    Copy<unsigned char> y(core, nullptr, a.y_bytes, "y");
    aie_emulation::Queue from, to;
    from.push(a.from, a.from_bytes);
    call.x = x.data();
    if constexpr (requires { call.w; }) call.w = reinterpret_cast<decltype(call.w)>(w.data());
    if constexpr (requires { call.origins; }) {
        call.origins = origins.data();
        call.offsets = offsets.data();
    }
    if constexpr (requires { call.bias_of; }) call.bias_of = bias_of.data();
    if constexpr (requires { call.row_sums; }) call.row_sums = row_sums.data();
    if constexpr (requires { call.x_n_step; }) call.x_n_step = a.x_n_step;
    if constexpr (requires { call.y_m_step; }) {
        call.y_m_step = a.y_m_step;
        call.y_n_step = a.y_n_step;
    }
    if constexpr (requires { call.bias; }) {
        call.bias = reinterpret_cast<decltype(call.bias)>(bias.data());
    }
    if constexpr (requires { *call.multiplier; }) {
        call.multiplier = multipliers.data();
    } else if constexpr (requires { call.multiplier; }) {
        call.multiplier = a.multiplier;
    }
    if constexpr (requires { call.partial; }) {
        call.partial = reinterpret_cast<decltype(call.partial)>(partial.data());
        call.partial_m_step = a.y_m_step;
        call.partial_n_step = a.y_n_step;
    }
    if constexpr (requires { *call.addend; }) {
        call.addend = addends.data();
    } else if constexpr (requires { call.addend; }) {
        call.addend = a.addend;
    }
    if constexpr (requires { call.shift; }) call.shift = a.shift;
    if constexpr (requires { call.zero; }) call.zero = a.zero;
    if constexpr (requires { call.lo; }) call.lo = a.lo;
    if constexpr (requires { call.hi; }) call.hi = a.hi;
    call.m_blocks = a.m_blocks;
    if constexpr (requires { call.k_steps; }) call.k_steps = a.k_steps;
    call.n_blocks = a.n_blocks;
    aie_emulation::Running running(core);
    if constexpr (requires { call.from; }) {
        Pointed<decltype(call.from)> cascade{&from};
        call.from = &cascade;
        if constexpr (requires { call.to; }) {
            Pointed<decltype(call.to)> next{&to};
            call.to = &next;
            kernel(call);
        } else {
            call.y = reinterpret_cast<decltype(call.y)>(y.data());
            kernel(call);
        }
    } else if constexpr (requires { call.to; }) {
        Pointed<decltype(call.to)> next{&to};
        call.to = &next;
        kernel(call);
    } else {
        call.y = reinterpret_cast<decltype(call.y)>(y.data());
        kernel(call);
    }
    if (from.size() != 0) aie_emulation::stop({name, 0}, "sums are left in the cascade");
    if (to.size() != a.to_bytes) aie_emulation::stop({name, 0}, "passed on another number of sums");
    to.pop(a.to, a.to_bytes, {name, 0});
    y.back(a.y);
    report(core.counters, a.counters);
}

#define AIE_TEST_ENTRY(family)                                       \
    extern "C" void call_##family(Arguments *arguments);             \
    extern "C" void call_##family(Arguments *arguments) {            \
        call_kernel<family::Call>(family::run, *arguments, #family); \
    }
