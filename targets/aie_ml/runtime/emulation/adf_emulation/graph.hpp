// The graph: checks what it is made of, then fires every actor in the order of the data.
#pragma once

#include <map>

#include "attributes.hpp"

namespace aie_emulation {

/// Connects queues, and finds out who fires before whom.
class Schedule {
  public:
    void prepare() {
        for (const auto &actor : design().actors) connect_outputs(*actor);
        check_tiles();
        sort();
        for (Actor *actor : order_) actor->begin();
    }

    void iterate() {
        for (Actor *actor : order_) {
            for (unsigned r = 0; r < actor->repetition; ++r) actor->fire();
        }
    }

    void finish() {
        for (Actor *actor : order_) {
            actor->finish();
            for (const Port &port : actor->in) {
                if (port->queue.size() != 0) {
                    stop({port->name.c_str(), 0}, std::to_string(port->queue.size()) +
                                                      " bytes arrived that nobody read");
                }
            }
        }
        if (const char *path = std::getenv("AIE_EMULATION_COUNTERS")) write_counters(path);
    }

  private:
    static void connect_outputs(Actor &actor) {
        for (const Port &port : actor.out) {
            std::vector<PortState *> readers;
            reach(*port, readers);
            port->reached.clear();
            for (PortState *reader : readers) {
                port->reached.push_back(&reader->queue);
                if (reader->format.bytes == 0) reader->format = port->format;
            }
        }
    }

    static std::vector<std::pair<Actor *, const PortState *>> readers(const Actor &actor) {
        std::vector<std::pair<Actor *, const PortState *>> found;
        for (const Port &port : actor.out) {
            std::vector<PortState *> inputs;
            reach(*port, inputs);
            for (PortState *input : inputs) found.emplace_back(input->owner, port.get());
        }
        return found;
    }

    /// One kernel a tile, and cascades only to the tile east or south (AM020).
    static void check_tiles() {
        const auto &actors = design().actors;
        for (std::size_t i = 0; i < actors.size(); ++i) {
            for (std::size_t j = 0; j < i; ++j) {
                if (actors[i]->tile && actors[i]->tile == actors[j]->tile) {
                    stop({"graph", 0}, actors[i]->core.name + " shares its tile with " +
                                           actors[j]->name);
                }
            }
            for (const auto &[reader, port] : readers(*actors[i])) {
                if (port->cascade) check_cascade(*actors[i], *reader);
            }
        }
    }

    static void check_cascade(const Actor &from, const Actor &to) {
        if (!from.tile || !to.tile) return;
        const int east = to.tile->first - from.tile->first;
        const int south = from.tile->second - to.tile->second;
        if (!((east == 1 && south == 0) || (east == 0 && south == 1))) {
            stop({"graph", 0}, "no cascade leads from " + from.core.name + " to " + to.core.name);
        }
    }

    /// Writers before readers; otherwise in the order in which actors were made.
    void sort() {
        std::map<const Actor *, unsigned> waiting;
        for (const auto &actor : design().actors) {
            for (const auto &edge : readers(*actor)) ++waiting[edge.first];
        }
        order_.clear();
        for (const auto &actor : design().actors) {
            if (waiting[actor.get()] == 0) order_.push_back(actor.get());
        }
        for (std::size_t i = 0; i < order_.size(); ++i) {
            for (const auto &edge : readers(*order_[i])) {
                if (--waiting[edge.first] == 0) order_.push_back(edge.first);
            }
        }
        if (order_.size() != design().actors.size()) {
            stop({"graph", 0}, "the graph's connections run in a circle");
        }
    }

    void write_counters(const char *path) const {
        std::ofstream file(path);
        file << "[\n";
        bool first = true;
        for (const Actor *actor : order_) {
            if (!actor->counted()) continue;
            const Counters &c = actor->core.counters;
            file << (first ? "" : ",\n") << "{\"kernel\": \"" << actor->name << "\", \"column\": "
                 << (actor->tile ? actor->tile->first : -1) << ", \"row\": "
                 << (actor->tile ? actor->tile->second : -1) << ", \"mmul\": " << c.mmul
                 << ", \"vmac\": " << c.vmac << ", \"multiply\": " << c.multiply << ", \"load\": "
                 << c.load << ", \"store\": " << c.store << ", \"srs\": " << c.srs
                 << ", \"cascade_in\": " << c.cascade_in << ", \"cascade_out\": " << c.cascade_out
                 << "}";
            first = false;
        }
        file << "\n]\n";
    }

    std::vector<Actor *> order_;
};

}  // namespace aie_emulation

namespace adf {

enum return_code { ok = 0, user_error };

/// A graph; the outermost one is the program. Everything that exists belongs to it.
class graph {
  public:
    graph() { ++aie_emulation::design().graphs; }
    virtual ~graph() {
        if (--aie_emulation::design().graphs == 0) aie_emulation::design().actors.clear();
    }
    graph(const graph &) = delete;
    graph &operator=(const graph &) = delete;

    virtual return_code init() {
        schedule_.prepare();
        return ok;
    }

    virtual return_code run(unsigned iterations) {
        for (unsigned i = 0; i < iterations; ++i) schedule_.iterate();
        return ok;
    }

    template <typename T>
    return_code update(const port_handle &port, const T *values, std::size_t count) {
        std::vector<aie_emulation::PortState *> readers;
        if (port.state()->owner != nullptr) {
            readers.push_back(port.state().get());
        } else {
            aie_emulation::reach(*port.state(), readers);
        }
        if (readers.empty()) aie_emulation::stop({"graph", 0}, "update of a port that leads nowhere");
        for (aie_emulation::PortState *reader : readers) {
            if (!reader->parameter || reader->value.size() != count * sizeof(T)) {
                aie_emulation::stop({reader->name.c_str(), 0}, "update with another size or of no parameter");
            }
            std::memcpy(reader->value.data(), values, count * sizeof(T));
            reader->updated = true;
        }
        return ok;
    }

    template <typename T>
        requires std::is_arithmetic_v<T>
    return_code update(const port_handle &port, T value) {
        return update(port, &value, 1);
    }

    virtual return_code wait() { return ok; }
    virtual return_code wait(unsigned long long) { return ok; }
    virtual return_code end() {
        schedule_.finish();
        return ok;
    }

  private:
    aie_emulation::Schedule schedule_;
};

}  // namespace adf
