// The core that runs a kernel on the host: its control registers, its memory, its counters.
//
// Everything below `aie_emulation` is this emulation's own; emitted kernels use only names of the
// vendor's API (`aie::`, `adf::` and its global types).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <type_traits>
#include <unordered_set>
#include <vector>

#ifndef __AIE_ARCH__
#define __AIE_ARCH__ 20  // AIE-ML
#endif

// The bounds of what this program or library holds in static variables; a linker makes them.
#ifdef __ELF__
extern "C" __attribute__((visibility("hidden"))) const char __ehdr_start[], _end[];
#endif

namespace aie_emulation {

/// Where in a kernel's source an API call stands.
struct Place {
    const char *file;
    int line;
};

/// Encoding of the modes as in AIE-ML's control registers (UG1603, Vitis DSP library table).
enum class Rounding {
    floor = 0,
    ceil = 1,
    symmetric_floor = 2,
    symmetric_ceil = 3,
    negative_inf = 8,
    positive_inf = 9,
    symmetric_zero = 10,
    symmetric_inf = 11,
    conv_even = 12,
    conv_odd = 13,
};

enum class Saturation { none = 0, saturate = 1, symmetric = 3 };

/// What a kernel did. Loads and stores count 256-bit words, cascade transfers 512-bit words;
/// `vmac` counts vector multiply instructions of `mmul`, `multiply` those of element-wise products;
/// `srs` counts 256-bit words of results narrower than their sums.
struct Counters {
    std::uint64_t mmul = 0;
    std::uint64_t vmac = 0;
    std::uint64_t multiply = 0;
    std::uint64_t load = 0;
    std::uint64_t store = 0;
    std::uint64_t srs = 0;
    std::uint64_t cascade_in = 0;
    std::uint64_t cascade_out = 0;
};

/// Bytes that a kernel may touch, under the name that an error says.
struct Region {
    std::uintptr_t begin;
    std::uintptr_t end;
    std::string name;
    bool writable;
};

/// Stack of a kernel unless the graph says otherwise (UG1603, "stack_size": 1 KB).
inline constexpr std::size_t default_stack_bytes = 1024;

struct Core {
    std::string name = "kernel";
    Rounding rounding = Rounding::floor;         // reset value: aie_api, set_rounding
    Saturation saturation = Saturation::none;    // reset value: UG1603
    Counters counters;
    std::vector<Region> regions;
    std::size_t last_region = 0;
    std::uintptr_t stack = 0;  // where the kernel's own variables begin, growing down
    std::size_t stack_bytes = default_stack_bytes;          // adf::stack_size
    std::unordered_set<std::uintptr_t> local_vectors;  // of 16 bytes, of local arrays
};

/// The core whose kernel is running; one thread runs one kernel at a time.
inline Core *&running() {
    thread_local Core *core = nullptr;
    return core;
}

[[noreturn]] inline void stop(Place place, const std::string &what) {
    const Core *core = running();
    std::fprintf(stderr, "%s:%d: in kernel %s: %s\n", place.file, place.line,
                 core ? core->name.c_str() : "(none)", what.c_str());
    std::fflush(stderr);
    std::abort();
}

inline Core &core(Place place = {"emulation", 0}) {
    Core *found = running();
    if (found == nullptr) {
        stop(place, "vector code runs outside of any kernel");
    }
    return *found;
}

/// Runs a kernel on `core` for as long as it lives.
class Running {
  public:
    explicit Running(Core &core) : before_(running()) {
        running() = &core;
        core.stack = reinterpret_cast<std::uintptr_t>(this);
        core.local_vectors.clear();
    }
    ~Running() { running() = before_; }
    Running(const Running &) = delete;
    Running &operator=(const Running &) = delete;

  private:
    Core *before_;
};

/// Lets the kernels of `core` touch `count` elements at `data` for as long as it lives.
class Mapped {
  public:
    template <typename T>
    Mapped(Core &core, T *data, std::size_t count, std::string name)
        : Mapped(core, data, count * sizeof(T), std::move(name), !std::is_const_v<T>) {}
    Mapped(Core &core, const void *data, std::size_t bytes, std::string name, bool writable)
        : core_(core), begin_(reinterpret_cast<std::uintptr_t>(data)) {
        core.regions.push_back({begin_, begin_ + bytes, std::move(name), writable});
    }
    ~Mapped() {
        for (std::size_t i = 0; i < core_.regions.size(); ++i) {
            if (core_.regions[i].begin == begin_) {
                core_.regions.erase(core_.regions.begin() + static_cast<std::ptrdiff_t>(i));
                return;
            }
        }
    }
    Mapped(const Mapped &) = delete;
    Mapped &operator=(const Mapped &) = delete;

  private:
    Core &core_;
    std::uintptr_t begin_;
};

/// Bytes that a load or store of `bytes` must be aligned to: its own size up to a whole word of
/// the memory interface (aie_api, `vector_ldst_align`).
constexpr std::size_t access_alignment(std::size_t bytes) {
    constexpr std::size_t word = __AIE_ARCH__ >= 21 ? 64 : 32;
    return bytes < word ? bytes : word;
}

/// Stops where the vectors of local arrays that a firing touched take more than its stack. What
/// compilers keep there beside arrays is not counted.
inline void check_stack(Core &core, std::uintptr_t address, std::size_t bytes, Place place) {
    for (std::uintptr_t at = address / 16; at < (address + bytes + 15) / 16; ++at) {
        core.local_vectors.insert(at);
    }
    const std::size_t used = 16 * core.local_vectors.size();
    if (used > core.stack_bytes) {
        stop(place, "local arrays take at least " + std::to_string(used) +
                        " bytes of stack, and the graph gives " + std::to_string(core.stack_bytes) +
                        " (adf::stack_size)");
    }
}

/// Whether a static variable lies at `address`.
inline bool is_static(std::uintptr_t address) {
#ifdef __ELF__
    return address >= reinterpret_cast<std::uintptr_t>(__ehdr_start) &&
           address < reinterpret_cast<std::uintptr_t>(_end);
#else
    return address == 0;  // unknown
#endif
}

/// Says what is wrong with an access that begins in `region`: its end, what it writes, its address.
[[noreturn]] inline void stop_access(const Region &region, std::uintptr_t address, std::size_t bytes,
                                     std::size_t alignment, const std::string &verb, Place place) {
    const std::string size = std::to_string(bytes) + " bytes";
    const std::string at = " at byte " + std::to_string(address - region.begin) + " of " +
                           region.name + " (" + std::to_string(region.end - region.begin) +
                           " bytes)";
    if (address + bytes > region.end) stop(place, "out-of-bounds " + verb + " of " + size + at);
    if (verb == "store" && !region.writable) stop(place, "store into constant data" + at);
    stop(place, "misaligned " + verb + " of " + size + at + ", wants a multiple of " +
                    std::to_string(alignment));
}

/// Stops unless `bytes` at `address` lie within one buffer and are aligned to `alignment`. Local
/// arrays of the kernel pass with their alignment and their size checked and not their bounds, and
/// static variables with their alignment.
inline void check_access(const void *pointer, std::size_t bytes, std::size_t alignment, bool write,
                         Place place) {
    Core &c = core(place);
    const auto address = reinterpret_cast<std::uintptr_t>(pointer);
    const char *verb = write ? "store" : "load";
    const std::size_t known = c.regions.size();
    for (std::size_t step = 0; step < known; ++step) {
        const std::size_t index = (c.last_region + step) % known;
        const Region &region = c.regions[index];
        if (address < region.begin || address >= region.end) {
            continue;
        }
        c.last_region = index;
        // Every vector comes by here: what an error says is put together where there is one.
        const bool within = address + bytes <= region.end;
        const bool aligned =
            (address - region.begin) % alignment == 0 && region.begin % alignment == 0;
        if (!within || !aligned || (write && !region.writable)) {
            stop_access(region, address, bytes, alignment, verb, place);
        }
        return;
    }
    const char here = 0;
    if (address > reinterpret_cast<std::uintptr_t>(&here) && address < c.stack) {
        check_stack(c, address, bytes, place);
        if (address % alignment == 0) return;
        stop(place, std::string("misaligned ") + verb + " of a local array, wants a multiple of " +
                        std::to_string(alignment));
    }
    if (is_static(address)) {
        if (address % alignment == 0) return;
        stop(place, std::string("misaligned ") + verb + " of a static variable, wants a multiple of " +
                        std::to_string(alignment));
    }
    stop(place, std::string("out-of-bounds ") + verb + " of " + std::to_string(bytes) +
                    " bytes: the address is in no buffer of this tile");
}

constexpr std::uint64_t words(std::size_t bytes, std::size_t word) {
    return (bytes + word - 1) / word;
}

}  // namespace aie_emulation

// Small copies must be inlined early: GCC else merges those of different sizes and then warns of
// accesses outside of the smaller.
#define AIE_EMULATION_INLINE __attribute__((always_inline)) inline
#define AIE_EMULATION_PLACE ::aie_emulation::Place{file, line}
#define AIE_EMULATION_HERE const char *file = __builtin_FILE(), int line = __builtin_LINE()
