// Actors between the array and what is outside of it.
#pragma once

#include <cinttypes>
#include <deque>
#include <fstream>

#include "../outside.hpp"
#include "port.hpp"

namespace aie_emulation {

AIE_EMULATION_BODY void write_element(std::ostream &file, const unsigned char *bytes, Format format) {
    char text[64];
    if (format.text == Text::integer) {
        std::int64_t value = 0;
        std::memcpy(&value, bytes, format.bytes);
        const unsigned unused = 64 - 8 * static_cast<unsigned>(format.bytes);
        const auto raised = static_cast<std::uint64_t>(value) << unused;
        value = format.is_signed ? static_cast<std::int64_t>(raised) >> unused
                                 : static_cast<std::int64_t>(raised >> unused);
        std::snprintf(text, sizeof(text), "%" PRId64, value);
    } else if (format.text == Text::brain) {
        std::uint16_t bits;
        std::memcpy(&bits, bytes, sizeof(bits));
        std::snprintf(text, sizeof(text), "%.9g", static_cast<double>(bfloat16::from_bits(bits)));
    } else {
        float value;
        std::memcpy(&value, bytes, sizeof(value));
        std::snprintf(text, sizeof(text), "%.9g", static_cast<double>(value));
    }
    file << text;
}

AIE_EMULATION_BODY void read_element(const std::string &word, Format format, std::vector<unsigned char> &to) {
    const std::size_t at = to.size();
    to.resize(at + format.bytes);
    if (format.text == Text::integer) {
        const std::int64_t value = std::strtoll(word.c_str(), nullptr, 10);
        std::memcpy(to.data() + at, &value, format.bytes);  // little-endian hosts
    } else if (format.text == Text::brain) {
        const std::uint16_t bits = bfloat16(std::strtof(word.c_str(), nullptr)).bits;
        std::memcpy(to.data() + at, &bits, sizeof(bits));
    } else {
        const float value = std::strtof(word.c_str(), nullptr);
        std::memcpy(to.data() + at, &value, sizeof(value));
    }
}

/// A stream that comes out of a file of numbers; the reader's element type says which numbers. One
/// without a file is fed by an external traffic generator: here the host (`feed`, `drain`).
class FileSource : public Actor {
  public:
    explicit FileSource(std::string path) : path_(std::move(path)) { }

    void begin() override {
        if (path_.empty()) return;
        std::vector<PortState *> readers;
        reach(*out[0], readers);
        if (readers.empty()) return;
        std::ifstream file(path_);
        if (!file) stop({path_.c_str(), 0}, "the input file of " + name + " cannot be read");
        std::vector<unsigned char> bytes;
        for (std::string word; file >> word;) {
            if (word != "TLAST") read_element(word, readers[0]->format, bytes);
        }
        out[0]->send(bytes.data(), bytes.size());
    }
    void fire() override {}

  private:
    std::string path_;
};

/// A stream that goes into a file, a line for each word of the port.
class FileSink : public Actor {
  public:
    FileSink(std::string path, unsigned bits) : path_(std::move(path)), bits_(bits) {}

    void fire() override {}
    void finish() override {
        if (path_.empty()) return;
        PortState &port = *in[0];
        std::ofstream file(path_);
        if (!file) stop({path_.c_str(), 0}, "the output file of " + name + " cannot be written");
        const std::size_t per_line = std::max<std::size_t>(1, bits_ / 8 / port.format.bytes);
        std::vector<unsigned char> bytes(port.queue.size());
        port.queue.pop(bytes.data(), bytes.size(), {name.c_str(), 0});
        const std::size_t count = bytes.size() / port.format.bytes;
        for (std::size_t i = 0; i < count; ++i) {
            write_element(file, bytes.data() + i * port.format.bytes, port.format);
            file << ((i + 1) % per_line == 0 || i + 1 == count ? '\n' : ' ');
        }
    }

  private:
    std::string path_;
    unsigned bits_;
};

/// Lets the array run until so many bytes have come to the port of an actor outside of it, and no
/// longer: what the host has not sent yet is for later iterations.
AIE_EMULATION_BODY void produce(const Actor &port, std::size_t bytes) {
    Run *run = run_of(port);
    while (run != nullptr && port.in[0]->queue.size() < bytes && run->advance()) {
    }
}

/// A DMA of the chip's memory.
class GlobalMemory : public Actor {
  public:
    struct Wanted {
        void *to;
        std::size_t bytes;
    };

    void fire() override {}
    /// Transfers whose data are read wait no more, and those that brought what was asked for.
    void settle() override {
        std::size_t left = 0;
        for (const Port &port : out) {
            for (const Queue *queue : port->reached) left = std::max(left, queue->size());
        }
        while (!sizes_.empty() && (left == 0 || sent_ - sizes_.front() >= left)) {
            sent_ -= sizes_.front();
            sizes_.pop_front();
        }
        waiting_ = static_cast<unsigned>(sizes_.size());
    }
    void finish() override { deliver(); }

    /// Takes one more transfer. Stops where the call would never return: nothing runs that makes
    /// room, or what runs waits for a port that the host has not come to.
    void take(std::size_t bytes = 0) {
        if (bytes > 0) {
            sizes_.push_back(bytes);
            sent_ += bytes;
        }
        if (waiting_ < transfers_held) {
            ++waiting_;
            return;
        }
        const Run *run = run_of(*this);
        const std::string which = "transfer " + std::to_string(transfers_held + 1) + " of a channel that holds " +
                                  std::to_string(transfers_held) + " waits for ever: ";
        if (run == nullptr || !run->running()) {
            stop({name.c_str(), 0}, which + "the graph does not run");
        }
        if (!run->fed(*this)) {
            stop({name.c_str(), 0}, which + "another port of the graph has no transfer yet");
        }
    }

    bool asked() const { return waiting_ > 0; }

    /// Hands over what was asked for, in order, once the array has made it.
    void deliver() {
        if (wanted.empty()) return;  // also a port into the array, from which nothing comes
        std::size_t bytes = 0;
        for (const Wanted &w : wanted) bytes += w.bytes;
        produce(*this, bytes);
        for (const Wanted &w : wanted) in[0]->queue.pop(w.to, w.bytes, {name.c_str(), 0});
        wanted.clear();
        waiting_ = 0;
    }

    std::vector<Wanted> wanted;

  private:
    unsigned waiting_ = 0;
    std::deque<std::size_t> sizes_;  // of transfers into the array that wait
    std::size_t sent_ = 0;           // bytes of these
};

/// DMAs move whole words.
AIE_EMULATION_BODY void check_words(const Actor &port, std::size_t bytes) {
    if (bytes % 4 != 0) {
        stop({port.name.c_str(), 0}, std::to_string(bytes) + " bytes are no 32-bit words");
    }
}

AIE_EMULATION_BODY std::shared_ptr<Actor> make_file_source(const std::string &name, std::string file) {
    std::shared_ptr<Actor> kept = design().keep(name, std::make_unique<FileSource>(std::move(file)));
    kept->add(false, {});
    return kept;
}

AIE_EMULATION_BODY std::shared_ptr<Actor> make_file_sink(const std::string &name, std::string file,
                                                         unsigned bits) {
    std::shared_ptr<Actor> kept = design().keep(name, std::make_unique<FileSink>(std::move(file), bits));
    kept->add(true, {});
    return kept;
}

AIE_EMULATION_BODY std::shared_ptr<Actor> make_global_memory(const std::string &name, bool into) {
    std::shared_ptr<Actor> kept = design().keep(name, std::make_unique<GlobalMemory>());
    kept->add(!into, {});
    return kept;
}

AIE_EMULATION_BODY void send_to_array(Actor &port, const void *from, std::size_t bytes) {
    check_words(port, bytes);
    static_cast<GlobalMemory &>(port).take(bytes);
    port.out[0]->send(from, bytes);
}

AIE_EMULATION_BODY void ask_array(Actor &port, void *to, std::size_t bytes) {
    check_words(port, bytes);
    auto &memory = static_cast<GlobalMemory &>(port);
    memory.take();
    memory.wanted.push_back({to, bytes});
}

AIE_EMULATION_BODY void deliver(Actor &port) { static_cast<GlobalMemory &>(port).deliver(); }

AIE_EMULATION_BODY void feed(const adf::input_plio &port, const void *from, std::size_t bytes) {
    check_words(port.actor(), bytes);
    port.actor().out[0]->send(from, bytes);
}

AIE_EMULATION_BODY void drain(const adf::output_plio &port, void *to, std::size_t bytes) {
    produce(port.actor(), bytes);
    port.actor().in[0]->queue.pop(to, bytes, {port.actor().name.c_str(), 0});
}

}  // namespace aie_emulation
