"""What no public example shows is found in graphs, and not emitted where it is unwanted."""

from dataclasses import replace

import numpy as np
import pytest

import match_aie as match
from match_aie.hardware import Loop, Mapping
from match_aie.targets.aie_ml.graph.cut_plan import cut_plan
from match_aie.targets.aie_ml.graph.documented import undocumented
from match_aie.targets.aie_ml.graph.plan import Connection, End
from match_aie.targets.aie_ml.graph.proof import cannot_lie
from match_aie.targets.aie_ml.known import device, documented
from match_aie.targets.versal import VersalAIEML
from tests.networks.graph import Graph
from tests.unit.targets.aie_ml.test_join import two_ends
from tests.unit.workload.test_recurrent_bfloat16 import layer as recurrent_layer


def graphs(**options):
    """Every layer's graph, as the target emits it when layers do not hand over."""
    target = VersalAIEML(modules=("array",), **options)
    net = match.compile(two_ends(), target)
    found = []
    for layer in net.program.schedule.layers:
        if layer.module == "array":
            zeros = {o.name: np.zeros(o.shape, o.dtype) for o in layer.workload.constants}
            plan = target.modules()[0].plan(layer.workload, layer.mapping)
            found.append(plan.graph("layer", layer.workload, zeros))
    return net, found


@pytest.fixture(scope="module")
def plain():
    return graphs(documented_only=True)


def test_single_layers_hand_on_between_memory_tiles_too() -> None:
    _, found = graphs(handover=False, columns_per_layer=8)
    sentences = [sentence for graph in found for sentence in undocumented(graph)]
    assert sentences
    assert all("a stream leads from memory tile buffer" in each for each in sentences)


def test_documented_only_emits_none_of_it(plain) -> None:
    net, found = plain
    assert len(found) == 3
    assert all(undocumented(graph) == () for graph in found)
    assert net.target.options()["documented_only"] is True
    assert all(layer.held_until is None for layer in net.program.schedule.layers)


def test_each_construct_is_found_and_refused(plain) -> None:
    graph = plain[1][0]
    array = device(documented("vek280"))
    assert cannot_lie(graph, array) is None
    handed = Connection(End("shared", 0), End("shared", 1))
    stored = next(c for c in graph.connections if c.source.kind == "buffer")
    twice = Connection(stored.source, End("shared", 0))
    sent = next(
        c for c in graph.connections if (c.source.kind, c.sink.kind) == ("shared", "buffer")
    )
    back = Connection(End("buffer", sent.sink.of), End("shared", sent.source.of))
    shared = graph.shared[0]
    way = shared.reads[0]
    inner = tuple(max(1, size - 1) for size in way.buffer)
    cut = replace(shared, reads=(replace(way, boundary=inner), *shared.reads[1:]))
    cases = {
        "a stream leads from memory tile buffer": replace(
            graph, connections=(*graph.connections, handed)
        ),
        "stores to 2 memory tile buffers": replace(graph, connections=(*graph.connections, twice)),
        "in a circle of connections": replace(graph, connections=(*graph.connections, back)),
        "has a boundary inside of it": replace(graph, shared=(cut, *graph.shared[1:])),
    }
    for sentence, changed in cases.items():
        assert any(sentence in each for each in undocumented(changed)), sentence
        refused = cannot_lie(changed, array)
        assert refused is not None
        assert "documented constructs" in str(refused)


@pytest.mark.parametrize(
    "spatial", [(1, 2), (1, 3), (2, 2)], ids=["streams", "packets", "memories"]
)
def test_states_that_go_round_are_a_circle_whatever_carries_them(spatial) -> None:
    """By streams, packets or neighbours' memories; each tile but those for inputs is on it."""
    workload, constants, _ = recurrent_layer("gru", True, 4, 8, 40)
    first, tiles = spatial
    loops = Loop("C" if first == 2 else "K", first), Loop("K", tiles), Loop("K", 16)
    plan = cut_plan(workload, "vek280", Mapping(loops, ()))
    found = undocumented(plan.graph("layer", workload, constants))
    assert len(found) == tiles
    assert all("in a circle of connections" in sentence for sentence in found)


def gru(units):
    graph = Graph(9)
    gates = [
        graph.normal(1, *shape, deviation=0.2)
        for shape in ((3 * units, 24), (3 * units, units), (6 * units,))
    ]
    y = graph.add("GRU", "x", *gates, hidden_size=units, linear_before_reset=1)
    return graph.model("gru", {"x": (16, 1, 24)}, {y: (16, 1, 1, units)})


@pytest.mark.parametrize(("units", "without"), [(20, "array"), (96, "cpu_rows")])
def test_recurrent_layers_send_states_in_a_circle_only_where_that_is_wanted(units, without) -> None:
    """Ninety-six units take several tiles, which exchange their states: one has no room."""

    def modules(**options):
        net = match.compile(gru(units), VersalAIEML(floats="bf16", **options))
        return {layer.module for layer in net.program.schedule.chosen}

    assert modules() == {"array"}
    assert modules(documented_only=True) == {without}


def test_documented_devices_are_the_same_otherwise() -> None:
    array = device(documented("vek280"))
    assert replace(array, name="vek280", documented_only=False) == device("vek280")
    assert documented(array.name) == array.name
