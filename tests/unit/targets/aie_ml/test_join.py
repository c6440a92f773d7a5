"""Chains of layers as one graph: what it computes, and that the array holds it."""

import numpy as np
import pytest

import match_aie as match
from match_aie.hardware import Flow
from match_aie.targets.aie_ml.array.check import violations
from match_aie.targets.aie_ml.array.layout import lay_out
from match_aie.targets.aie_ml.graph.inplace import trimmed
from match_aie.targets.aie_ml.graph.join import Link
from match_aie.targets.aie_ml.graph.plan import (
    Connection,
    End,
    LayerGraph,
    Outside,
    Part,
    Shared,
)
from match_aie.targets.aie_ml.kernels.block import Access
from match_aie.targets.aie_ml.known import device
from match_aie.targets.aie_ml.simulate import run_layer
from match_aie.targets.versal import VersalAIEML
from match_aie.targets.versal.chained import given
from match_aie.targets.versal.chains import chains, joined
from match_aie.workload import reference
from tests import integer_graphs as ig
from tests.aie_graph import interpret, path
from tests.aie_programs import network_equals

TARGET = VersalAIEML(modules=("array",))
ARRAY = device("vek280")


def network(channels, size, seed=0):
    """A convolution, then two ways to a sum: 3x3 strided, and 1x1 strided; then one more."""
    rng = np.random.default_rng(seed)

    def weights(*shape):
        return rng.integers(-128, 128, shape).astype(np.int8)

    def body(builder, inputs):
        wide = {"layout": "NHWC", "padding": (1, 1, 1, 1)}
        tail = {"shift": 9, "bias": rng.integers(-999, 999, channels)}

        def conv(x, side, **how):
            total = ig.convolution(builder, x, weights(channels, channels, side, side), **how)
            return ig.requantised(builder, total, "NHWC", **tail)

        first = conv(inputs[0], 3, **wide)
        a = conv(first, 3, **wide, strides=(2, 2))
        b = conv(conv(a, 3, **wide), 3, **wide)
        c = conv(first, 1, layout="NHWC", strides=(2, 2))
        return conv(ig.residual(builder, b, c, "NHWC", shift=1), 1, layout="NHWC")

    return ig.module(body, ((1, size, size + 2, channels), "int8"))


def chosen(net):
    return [layer for layer in net.program.schedule.chosen if layer.module == "array"]


def whole(net):
    """The joined graph of a network that is one chain."""
    layers = chosen(net)
    facts = tuple(given(layer) for layer in layers)
    (chain,) = chains(facts, "vek280")
    graphs = [
        TARGET._array.plan(la.workload, la.mapping).graph(la.symbol, la.workload, la.constants)
        for la in layers
    ]
    return chain, joined("chain", chain, graphs, facts, "vek280")


def expected(net, x):
    """What the layers' references make of `x`, one after the other."""
    values = {}
    for layer in chosen(net):
        sources = [x if s not in values else values[s] for s in layer.flow.sources]
        values[layer.flow.step] = reference(layer.workload, sources, layer.constants)
    return values[max(values)]


@pytest.fixture(scope="module", params=[(8, 10), (12, 9)], ids=str)
def net(request):
    return match.compile(network(*request.param), TARGET)


def test_a_chain_computes_what_its_layers_do(net):
    layers = chosen(net)
    assert len(layers) == 7
    chain, made = whole(net)
    assert len(chain.layers) == 7
    assert len(made.graph.inputs) == len(made.graph.outputs) == 1
    rng = np.random.default_rng(5)
    x = rng.integers(-128, 128, layers[0].workload.inputs[0].shape).astype(np.int8)
    y = expected(net, x)
    np.testing.assert_array_equal(interpret(made.graph, {"x": x}, y), y)
    assert np.unique(y).size > 20


def test_the_array_holds_a_chain_by_all_rules_and_computes_it(net):
    _, made = whole(net)
    program = lay_out(made.graph, ARRAY)
    assert not list(violations(program, ARRAY))
    assert network_equals(net, np.random.default_rng(5)) == 1
    run = run_layer(program, ARRAY)
    assert run.whole
    ends = [run.written[kept.buffer] for (kept,) in made.held.values()]
    assert all(0 < end < run.cycles for end in ends)


def test_layers_that_lie_alike_need_no_buffer_of_their_own(net):
    """A 3x3 convolution reads its input where it was left; a strided one has columns apart."""
    chain, made = whole(net)
    strided = {
        n
        for n in chain.layers
        if (window := chosen(net)[n].workload.window) is not None
        and window.stride != (1, 1)
        and chosen(net)[n].workload.sizes["FX"] > 1
    }
    assert strided
    read = {link.reader for link in made.in_place}
    assert read
    assert not read & strided


def test_results_that_leave_end_a_chain(net):
    layers = [given(layer) for layer in chosen(net)]
    at = 3
    flow = layers[at].flow
    leaving = Flow(flow.step, flow.sources, flow.readers, leaves=True)
    layers[at] = type(layers[at])(layers[at].workload, layers[at].mapping, leaving)
    found = chains(tuple(layers), "vek280")
    assert any(chain.last == at for chain in found)
    for chain in found:
        inside = {layers[n].flow.step for n in chain.layers}
        for n in list(chain.layers)[:-1]:
            assert set(layers[n].flow.readers) <= inside
            assert not layers[n].flow.leaves


def test_calls_in_between_end_a_chain(net):
    layers = []
    for at, layer in enumerate(given(each) for each in chosen(net)):
        f = layer.flow
        later = 1 if at >= 5 else 0
        moved = tuple(None if s is None else s + (s >= layers_step(net, 5)) for s in f.sources)
        readers = tuple(r + (r >= layers_step(net, 5)) for r in f.readers)
        flow = Flow(f.step + later, moved, readers, f.leaves)
        layers.append(type(layer)(layer.workload, layer.mapping, flow))
    found = chains(tuple(layers), "vek280")
    assert any(chain.first == 5 for chain in found)


def layers_step(net, at):
    return chosen(net)[at].flow.step


def test_links_say_who_reads_whom(net):
    chain, _ = whole(net)
    writers = {link.reader: link.writer for link in chain.links if link.operand == "x"}
    assert Link(0, 1, "x") in chain.links
    assert all(writer < reader for reader, writer in writers.items())


class Narrow(VersalAIEML):
    """A device with a single channel each way."""

    def capacities(self):
        return {name: most if "tiles" in name else 1 for name, most in super().capacities().items()}


def two_ends():
    """Two convolutions of one image, neither of which the other reads."""
    rng = np.random.default_rng(1)

    def body(builder, inputs):
        ends = []
        for _ in range(2):
            weight = rng.integers(-128, 128, (8, 8, 3, 3)).astype(np.int8)
            total = ig.convolution(builder, inputs[0], weight, "NHWC")
            ends.append(ig.requantised(builder, total, "NHWC", shift=9, bias=np.zeros(8, np.int32)))
        return ig.residual(builder, *ends, "NHWC", shift=1)

    return ig.module(body, ((1, 12, 12, 8), "int8"))


def test_what_no_chain_spares_is_selected_again_within_all_capacities():
    """Without chains, three layers want three channels out; there is one."""
    layers = two_ends()
    free = chosen(match.compile(layers, VersalAIEML(modules=("array",))))
    assert len(free) == 3
    narrow = Narrow(modules=("array", "arm"))
    assert len(chosen(match.compile(layers, narrow))) <= 3
    narrow._handover = False
    assert len(chosen(match.compile(layers, narrow))) <= 1


def test_without_hand_over_every_layer_is_a_graph_of_its_own():
    net = match.compile(two_ends(), VersalAIEML(modules=("array",), handover=False))
    paths = [unit.path for unit in net.program.units if unit.path.endswith("_graph.h")]
    assert len(paths) == 3
    assert all(layer.held_until is None for layer in net.program.schedule.layers)
    assert net.target.options()["handover"] is False


def padded_result(parts, width, columns, rows):
    """A buffer of `parts` times `width` columns of which `columns` are real, and its way out."""
    size = (width, parts, rows)
    buffer = Shared("y", "int8", size, (Access(size, (8, 1, 4), (0, 1, 0)),), (whole_of(size),))
    part = Part("y", (rows, 1, columns), 0, rows, 1, parts * width)
    out = Outside("y", "int8", part.elements, part)
    link = Connection(End("shared", 0), End("outside", 0))
    return LayerGraph("g", "", (), (out,), (buffer,), (), (link,), 1)


def whole_of(size):
    return Access(size, size, (0,) * len(size))


def test_results_leave_without_the_columns_behind_them():
    graph = trimmed(padded_result(6, 88, 512, 5))
    held = np.arange(88 * 6 * 5)
    tensor = held.reshape(5, 528)[:, :512].reshape(-1)
    np.testing.assert_array_equal(held[path(graph.shared[0].reads[0])], tensor)
    assert graph.outputs[0].elements == tensor.size
    assert graph.outputs[0].part.contiguous
    # Writers find their places where these were.
    before, after = padded_result(6, 88, 512, 5).shared[0].writes[0], graph.shared[0].writes[0]
    np.testing.assert_array_equal(path(after), path(before))


def test_results_of_no_whole_words_leave_as_they_were():
    graph = padded_result(2, 8, 10, 3)
    assert trimmed(graph) is graph
