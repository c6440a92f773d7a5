// A kernel of programmable logic between ports of a graph: one of the circle that its kernels are.
#pragma once

#include <ap_axi_sdata.h>
#include <hls_stream.h>

#include "outside.hpp"

namespace aie_emulation {

/// Runs again and again: so many steps in an iteration of the graph.
class LogicActor : public Actor {
  public:
    using Word = ap_axiu<128, 0, 0, 0>;
    using Streams = std::vector<hls::stream<Word>>;

    explicit LogicActor(std::function<void(Streams &)> kernel) : kernel_(std::move(kernel)) {}

    /// Takes over the ports of what leads out of the graph, and then of what leads into it.
    void join(const std::vector<Actor *> &sources, const std::vector<Actor *> &sinks) {
        for (Actor *source : sources) {
            in.push_back(source->in.at(0));
            in.back()->owner = this;
            source->in.clear();
            streams_.emplace_back().from = [port = in.back().get()] {
                Word word;
                port->queue.pop(word.data.halves, sizeof(word.data.halves), {port->name.c_str(), 0});
                return word;
            };
        }
        for (Actor *sink : sinks) {
            out.push_back(sink->out.at(0));
            out.back()->owner = this;
            sink->out.clear();
            streams_.emplace_back().to = [port = out.back().get()](const Word &word) {
                port->send(word.data.halves, sizeof(word.data.halves));
            };
            graph = sink->graph;
        }
    }

    void fire() override { kernel_(streams_); }

  private:
    std::function<void(Streams &)> kernel_;
    Streams streams_;
};

/// Puts a kernel between ports of a graph: it gets their streams, those into the graph last.
template <typename Kernel>
class Logic {
  public:
    Logic(const std::vector<adf::output_plio> &sources, const std::vector<adf::input_plio> &sinks, unsigned steps, Kernel kernel) {
        auto made = std::make_unique<LogicActor>(std::move(kernel));
        LogicActor *actor = made.get();
        design().keep("logic", std::move(made));
        actor->repetition = steps;
        std::vector<Actor *> into, from;
        for (const adf::output_plio &source : sources) into.push_back(&source.actor());
        for (const adf::input_plio &sink : sinks) from.push_back(&sink.actor());
        actor->join(into, from);
    }
};

}  // namespace aie_emulation
