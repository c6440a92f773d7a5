// A program: what is checked of it, and in which order its actors fire.
#pragma once

#include <algorithm>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "../graph.hpp"
#include "memory.hpp"
#include "outside.hpp"
#include "port.hpp"

namespace aie_emulation {

/// Which graphs make up one program: those that connections join, and one that had made nothing
/// when the next began, which is a part of it; so is the next of one whose ports lead to no actor.
/// Graphs that nothing joins run on their own.
class Programs {
  public:
    Programs() : parent_(design().made.size()) {
        for (std::size_t i = 0; i < parent_.size(); ++i) parent_[i] = static_cast<unsigned>(i);
        for (unsigned i = 0; i + 1 < parent_.size(); ++i) {
            if (!design().made[i]) join(i, i + 1);
        }
        for (const auto &actor : design().actors) {
            for (const Port &port : actor->out) follow(actor->graph, *port);
        }
        for (const auto &known : design().ports) {  // also those that nothing drives
            if (const Port port = known.lock()) follow(port->graph, *port);
        }
        for (unsigned i = 0; i + 1 < parent_.size(); ++i) {
            if (!has_actor(i)) join(i, i + 1);
        }
    }

    bool same(unsigned a, unsigned b) { return find(a) == find(b); }

  private:
    unsigned find(unsigned i) {
        while (parent_[i] != i) i = parent_[i] = parent_[parent_[i]];
        return i;
    }
    void join(unsigned a, unsigned b) { parent_[find(a)] = find(b); }
    bool has_actor(unsigned graph) {
        for (const auto &actor : design().actors) {
            if (same(actor->graph, graph)) return true;
        }
        return false;
    }
    void follow(unsigned graph, const PortState &port) {
        for (const Port &sink : port.sinks) {
            join(graph, sink->owner != nullptr ? sink->owner->graph : sink->graph);
            if (sink->owner == nullptr) follow(graph, *sink);
        }
    }

    std::vector<unsigned> parent_;
};

/// Connects queues, and finds out who fires before whom.
class Schedule : public Run {
  public:
    Schedule() = default;
    Schedule(const Schedule &) = delete;
    Schedule &operator=(const Schedule &) = delete;
    ~Schedule() override { std::erase(design().runs, this); }

    /// Of the program that graph number `graph` is part of.
    void prepare(unsigned graph) {
        Programs programs;
        std::erase(design().runs, this);
        design().runs.push_back(this);
        actors_.clear();
        graph_ = graph;
        for (const auto &actor : design().actors) {
            if (programs.same(actor->graph, graph)) actors_.push_back(actor.get());
        }
        check_tiles();
        sort();
        for (Actor *actor : order_) connect_outputs(*actor);
        for (Actor *actor : order_) actor->begin();
    }

    /// Starts so many iterations; they happen when somebody waits for them.
    void start(unsigned iterations) {
        if (order_.empty()) stop({"graph", 0}, "run of a graph that has no kernels, or was not initialised");
        if (running()) stop({"graph", 0}, "run before the run before was waited for (graph.wait())");
        for (const Run *other : design().runs) {
            const auto *beside = dynamic_cast<const Schedule *>(other);
            if (beside != nullptr && beside != this && beside->running() && design().turns(graph_) && design().turns(beside->graph_)) {
                stop({"graph", 0}, "run beside another graph of its configuration");
            }
        }
        started_ = iterations;
        waited_ = false;
    }

    /// The host waits for the run, and may start the next.
    void wait() {
        complete();
        waited_ = true;
    }

    bool has(const Actor &actor) const override {
        return std::find(actors_.begin(), actors_.end(), &actor) != actors_.end();
    }

    bool running() const override { return !waited_; }

    void complete() override {
        while (advance()) {
        }
        for (Actor *actor : order_) actor->settle();
    }

    bool advance() override {
        if (started_ == 0) return false;
        --started_;
        iterate();
        for (Actor *actor : order_) actor->settle();
        return true;
    }

    bool fed(const Actor &waiting) const override {
        for (const Actor *actor : actors_) {
            const auto *memory = dynamic_cast<const GlobalMemory *>(actor);
            if (memory != nullptr && actor != &waiting && !memory->asked()) return false;
        }
        return true;
    }

    void finish() {
        wait();
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
    void iterate() {
        for (const std::vector<Actor *> &group : groups_) {
            std::vector<std::function<void()>> jobs;
            for (Actor *actor : group) {
                jobs.push_back([actor] {
                    for (unsigned r = 0; r < actor->repetition; ++r) actor->fire();
                });
            }
            if (jobs.size() == 1) {
                jobs[0]();
            } else {
                run_circle(jobs);
            }
        }
    }

    static void connect_outputs(Actor &actor) {
        actor.adopt();
        for (const Port &port : actor.out) {
            std::vector<Way> all;
            ways(*port, nullptr, all);
            port->reached.clear();
            port->packets.clear();
            for (const auto &[reader, merge] : all) {
                if (merge != nullptr) {
                    port->packets.emplace_back(&reader->queue, header(actor, merge->identifier));
                    reader->identifiers = dynamic_cast<const PacketMerge &>(*merge->owner).identifiers();
                } else {
                    port->reached.push_back(&reader->queue);
                }
                reader->firings = actor.repetition;
                if (reader->format.bytes == 0) reader->format = port->format;
            }
        }
    }

    /// The word before a packet: identifier, row and column of its source, odd parity (AM020).
    static std::uint32_t header(const Actor &from, unsigned identifier) {
        std::uint32_t word = identifier;
        if (from.tile) word |= static_cast<std::uint32_t>(from.tile->second) << 16 | static_cast<std::uint32_t>(from.tile->first) << 21;
        return word | (__builtin_popcount(word) % 2 == 0 ? 1u << 31 : 0u);
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

    /// One kernel a tile, of all programs that do not run by turns, and cascades only to the tile east or south (AM020).
    void check_tiles() const {
        for (const Actor *actor : actors_) {
            for (const auto &other : design().actors) {
                const bool turns = actor->graph != other->graph && design().turns(actor->graph) && design().turns(other->graph);
                if (other.get() != actor && !turns && actor->tile && actor->tile == other->tile) {
                    stop({"graph", 0}, actor->core.name + " shares its tile with " + other->name);
                }
            }
            for (const auto &[reader, port] : readers(*actor)) {
                if (port->cascade) check_cascade(*actor, *reader);
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

    /// Writers before readers; otherwise in the order in which actors were made. Those of a circle
    /// are a group.
    void sort() {
        std::map<const Actor *, unsigned> waiting;
        for (const Actor *actor : actors_) {
            for (const auto &edge : readers(*actor)) ++waiting[edge.first];
        }
        order_.clear();
        groups_.clear();
        std::set<const Actor *> placed;
        for (Actor *actor : actors_) {
            if (waiting[actor] == 0) order_.push_back(actor);
        }
        for (std::size_t i = 0; placed.size() < actors_.size();) {
            std::vector<Actor *> group;
            if (i < order_.size()) {
                group.push_back(order_[i++]);
            } else {
                group = circle(placed);
                order_.insert(order_.end(), group.begin(), group.end());
                i = order_.size();
            }
            placed.insert(group.begin(), group.end());
            groups_.push_back(group);
            for (const Actor *actor : group) {
                for (const auto &edge : readers(*actor)) {
                    if (--waiting[edge.first] == 0 && !placed.contains(edge.first)) {
                        order_.push_back(edge.first);
                    }
                }
            }
        }
    }

    /// Actors that read each other's results, of which none reads those of others that are not placed.
    std::vector<Actor *> circle(const std::set<const Actor *> &placed) const {
        std::map<const Actor *, std::set<const Actor *>> after;
        for (Actor *actor : actors_) {
            if (placed.contains(actor)) continue;
            std::vector<const Actor *> ahead{actor};
            while (!ahead.empty()) {
                const Actor *from = ahead.back();
                ahead.pop_back();
                for (const auto &edge : readers(*from)) {
                    if (after[actor].insert(edge.first).second) ahead.push_back(edge.first);
                }
            }
        }
        for (Actor *first : actors_) {
            if (placed.contains(first) || !after[first].contains(first)) continue;
            std::vector<Actor *> found;
            bool alone = true;
            for (Actor *actor : actors_) {
                if (placed.contains(actor) || !after[actor].contains(first)) continue;
                found.push_back(actor);
                alone = alone && after[first].contains(actor);
            }
            if (alone && found.size() > 1) return found;
        }
        stop({"graph", 0}, "a kernel reads what it stores itself");
    }

    /// What every kernel did, of this program and of those that ended before it.
    void write_counters(const char *path) const {
        for (const Actor *actor : order_) {
            if (!actor->counted()) continue;
            const Counters &c = actor->core.counters;
            std::ostringstream row;
            row << "{\"kernel\": \"" << actor->name << "\", \"column\": "
                << (actor->tile ? actor->tile->first : -1) << ", \"row\": "
                << (actor->tile ? actor->tile->second : -1) << ", \"mmul\": " << c.mmul
                << ", \"vmac\": " << c.vmac << ", \"multiply\": " << c.multiply << ", \"load\": "
                << c.load << ", \"store\": " << c.store << ", \"srs\": " << c.srs
                << ", \"cascade_in\": " << c.cascade_in << ", \"cascade_out\": " << c.cascade_out
                << "}";
            design().counted.push_back(row.str());
        }
        std::ofstream file(path);
        file << "[\n";
        for (std::size_t i = 0; i < design().counted.size(); ++i) {
            file << (i == 0 ? "" : ",\n") << design().counted[i];
        }
        file << "\n]\n";
    }

    std::vector<Actor *> actors_, order_;
    std::vector<std::vector<Actor *>> groups_;  // of one each, and circles
    unsigned graph_ = 0;    // of the program
    unsigned started_ = 0;  // iterations that nobody waited for yet
    bool waited_ = true;
};

}  // namespace aie_emulation

namespace adf {

AIE_EMULATION_BODY graph::graph() : schedule_(std::make_unique<aie_emulation::Schedule>()) {
    ++aie_emulation::design().graphs;
    aie_emulation::design().made.push_back(false);
    number_ = aie_emulation::design().current();
}

AIE_EMULATION_BODY graph::~graph() {
    if (--aie_emulation::design().graphs > 0) return;
    aie_emulation::design().actors.clear();
    aie_emulation::design().made.clear();
    aie_emulation::design().turning.clear();
    aie_emulation::design().ports.clear();
}

AIE_EMULATION_BODY return_code graph::init() {
    schedule_->prepare(number_);
    return ok;
}

AIE_EMULATION_BODY void graph::by_turns() { aie_emulation::design().turning.push_back(number_); }

AIE_EMULATION_BODY return_code graph::run(unsigned iterations) {
    schedule_->start(iterations);
    return ok;
}

AIE_EMULATION_BODY void graph::set(const port_handle &port, const void *values, std::size_t bytes) {
    std::vector<aie_emulation::PortState *> readers;
    if (port.state()->owner != nullptr) {
        readers.push_back(port.state().get());
    } else {
        aie_emulation::reach(*port.state(), readers);
    }
    if (readers.empty()) aie_emulation::stop({"graph", 0}, "update of a port that leads nowhere");
    for (aie_emulation::PortState *reader : readers) {
        if (!reader->parameter || reader->value.size() != bytes) {
            aie_emulation::stop({reader->name.c_str(), 0}, "update with another size or of no parameter");
        }
        std::memcpy(reader->value.data(), values, bytes);
        reader->updated = true;
    }
}

AIE_EMULATION_BODY return_code graph::wait() {
    schedule_->wait();
    return ok;
}
AIE_EMULATION_BODY return_code graph::wait(unsigned long long) { return wait(); }

AIE_EMULATION_BODY return_code graph::end() {
    schedule_->finish();
    return ok;
}

}  // namespace adf
