// Ports to the outside: files of programmable logic's streams, and the chip's memory.
#pragma once

#include "memory.hpp"

namespace aie_emulation {

/// A stream that comes out of a file of numbers; the reader's element type says which numbers. One
/// without a file is fed by an external traffic generator: here the host (`feed`, `drain`).
std::shared_ptr<Actor> make_file_source(const std::string &name, std::string file);

/// A stream that goes into a file, a line for each word of so many bits.
std::shared_ptr<Actor> make_file_sink(const std::string &name, std::string file, unsigned bits);

/// Transfers that a channel between the chip's memory and the array holds; the call that brings one
/// more waits for room (UG1603, "GMIO": four descriptors a channel).
inline constexpr unsigned transfers_held = 4;

/// A DMA of the chip's memory, into the array or out of it.
std::shared_ptr<Actor> make_global_memory(const std::string &name, bool into);
void send_to_array(Actor &port, const void *from, std::size_t bytes);
void ask_array(Actor &port, void *to, std::size_t bytes);

/// Hands over what was asked for, in order, once the array has made it.
void deliver(Actor &port);

}  // namespace aie_emulation

namespace adf {

enum plio_type { plio_32_bits = 32, plio_64_bits = 64, plio_128_bits = 128 };

class input_plio : public actor_handle {
  public:
    using actor_handle::actor_handle;
    static input_plio create(const std::string &name, plio_type, std::string file, double = 0.0) {
        return input_plio(aie_emulation::make_file_source(name, std::move(file)));
    }
    static input_plio create(plio_type width, std::string file) {
        return create("plio", width, std::move(file));
    }
    static input_plio create(const std::string &name, plio_type width) { return create(name, width, ""); }
};

class output_plio : public actor_handle {
  public:
    using actor_handle::actor_handle;
    static output_plio create(const std::string &name, plio_type width, std::string file, double = 0.0) {
        return output_plio(
            aie_emulation::make_file_sink(name, std::move(file), static_cast<unsigned>(width)));
    }
    static output_plio create(plio_type width, std::string file) {
        return create("plio", width, std::move(file));
    }
    static output_plio create(const std::string &name, plio_type width) { return create(name, width, ""); }
};

class input_gmio : public actor_handle {
  public:
    using actor_handle::actor_handle;
    static input_gmio create(const std::string &name, std::size_t, std::size_t) {
        return input_gmio(aie_emulation::make_global_memory(name, true));
    }
    static input_gmio create(std::size_t burst, std::size_t rate) { return create("gmio", burst, rate); }

    /// After the graph's `init`.
    void gm2aie_nb(const void *from, std::size_t bytes) const {
        aie_emulation::send_to_array(actor(), from, bytes);
    }
    void gm2aie(const void *from, std::size_t bytes) const { gm2aie_nb(from, bytes); }
    void wait() const {}
};

class output_gmio : public actor_handle {
  public:
    using actor_handle::actor_handle;
    static output_gmio create(const std::string &name, std::size_t, std::size_t) {
        return output_gmio(aie_emulation::make_global_memory(name, false));
    }
    static output_gmio create(std::size_t burst, std::size_t rate) { return create("gmio", burst, rate); }

    void aie2gm_nb(void *to, std::size_t bytes) const {
        aie_emulation::ask_array(actor(), to, bytes);
    }
    void aie2gm(void *to, std::size_t bytes) const {
        aie2gm_nb(to, bytes);
        wait();
    }
    void wait() const { aie_emulation::deliver(actor()); }
};

}  // namespace adf

namespace aie_emulation {

/// What programmable logic sends and takes: no part of the vendor's API.
void feed(const adf::input_plio &port, const void *from, std::size_t bytes);
void drain(const adf::output_plio &port, void *to, std::size_t bytes);

}  // namespace aie_emulation
