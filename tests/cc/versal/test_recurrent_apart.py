"""GRU and LSTM of long sequences, whose inputs a tile of its own multiplies: emitted and run."""

import shutil

import numpy as np
import pytest

import match_aie as match
from match_aie.targets.versal import VersalAIEML
from match_aie.workload import product_type
from tests.cc.versal.test_recurrent import network
from tests.cc.versal.test_recurrent_int8 import chosen
from tests.integer_cells import recurrent_target
from tests.networks.recurrent import quantised_cells
from tests.shared import random_inputs

LAYERS = (("GRU", 20, {"linear_before_reset": 1}), ("LSTM", 13, {}))


@pytest.mark.skipif(shutil.which("g++") is None, reason="no C++ compiler")
@pytest.mark.parametrize(
    ("made", "floats", "inputs"), [(network, "bf16", 200), (quantised_cells, "int8", 40)]
)
def test_the_emitted_network_equals_its_references(made, floats, inputs, tmp_path):
    """Bit for bit, both tiles of each layer; the last group of steps is not full.

    The code of 200 inputs is a loop over parts of the units.
    """
    plain = match.compile(made(LAYERS, 41, inputs), target=recurrent_target(floats))
    wishes = {layer.label: {"tiles": 2} for layer in chosen(plain)}
    target = recurrent_target(floats, layers=wishes)
    net = match.compile(made(LAYERS, 41, inputs), target=target)
    assert [[loop.size for loop in layer.mapping.spatial] for layer in chosen(net)] == 2 * [
        [2, 1, 16]
    ]
    project = net.write(tmp_path / "net")
    result = project.run(random_inputs(net.inputs, np.random.default_rng(1)), quick=True)
    assert result.matches_reference
    assert [0 < close.bound_used <= 1 for close in result.floats] == 2 * [True]


@pytest.mark.skipif(shutil.which("g++") is None, reason="no C++ compiler")
@pytest.mark.parametrize(
    ("made", "floats", "cells"),
    [
        (network, "bf16", {"GRU": 90, "LSTM": 17}),
        (quantised_cells, "int8", {"LSTM": 100, "GRU": 64}),
    ],
)
def test_tiles_along_a_cascade_equal_their_references(made, floats, cells, tmp_path):
    """As asked for: units in parts, and states that go back to the tiles in the middle."""
    after = {"GRU": {"linear_before_reset": 1}, "LSTM": {}}
    layers = tuple((cell, units, after[cell]) for cell, units in cells.items())
    plain = match.compile(made(layers, 6, 30), target=recurrent_target(floats))
    wishes = {layer.label: {"cascade": 4 - at} for at, layer in enumerate(chosen(plain))}
    target = recurrent_target(floats, layers=wishes)
    net = match.compile(made(layers, 6, 30), target=target)
    assert [[loop.size for loop in layer.mapping.spatial] for layer in chosen(net)] == [
        [4, 1, 16],
        [3, 1, 16],
    ]
    types = {product_type(layer.workload) for layer in chosen(net)}
    assert types == {{"bf16": "bfloat16"}.get(floats, floats)}
    result = net.write(tmp_path / "net").run(
        random_inputs(net.inputs, np.random.default_rng(1)), quick=True
    )
    assert result.matches_reference
    assert [0 < close.bound_used <= 1 for close in result.floats] == 2 * [True]


@pytest.mark.skipif(shutil.which("g++") is None, reason="no C++ compiler")
@pytest.mark.parametrize(
    ("made", "floats", "units"), [(network, "bf16", 20), (quantised_cells, "int8", 60)]
)
def test_tiles_that_send_each_other_states_equal_their_references(made, floats, units, tmp_path):
    layers = (("GRU", units, {"linear_before_reset": 1}), ("LSTM", units - 3, {}))
    plain = match.compile(made(layers, 9, 30), target=recurrent_target(floats))
    wishes = {layer.label: {"tiles": 2} for layer in chosen(plain)}
    target = recurrent_target(floats, layers=wishes)
    net = match.compile(made(layers, 9, 30), target=target)
    assert [[loop.size for loop in layer.mapping.spatial] for layer in chosen(net)] == 2 * [
        [1, 2, 16]
    ]
    result = net.write(tmp_path / "net").run(
        random_inputs(net.inputs, np.random.default_rng(1)), quick=True
    )
    assert result.matches_reference
    assert [0 < close.bound_used <= 1 for close in result.floats] == 2 * [True]


def asked(layers, steps, tiles, made=network, floats="bf16"):
    """Layers on so many tiles each."""
    plain = match.compile(made(layers, steps, 30), target=recurrent_target(floats))
    pairs = zip(chosen(plain), tiles, strict=True)
    wishes = {layer.label: {"tiles": many} for layer, many in pairs}
    target = recurrent_target(floats, layers=wishes)
    return match.compile(made(layers, steps, 30), target=target)


@pytest.mark.skipif(shutil.which("g++") is None, reason="no C++ compiler")
def test_gates_along_chains_equal_their_references(tmp_path):
    """Chains of two tiles, of three and of four; groups that are not full."""
    after = {"linear_before_reset": 1}
    layers = (("GRU", 48, after), ("GRU", 40, after), ("LSTM", 40, {}))
    net = asked(layers, 21, (6, 9, 12))
    assert [[loop.size for loop in layer.mapping.spatial] for layer in chosen(net)] == [
        [2, 3, 16],
        [3, 3, 16],
        [4, 3, 16],
    ]
    project = net.write(tmp_path / "net")
    graph = (tmp_path / "net" / "aie" / "net_layer0_graph.h").read_text(encoding="utf-8")
    assert "adf::connect(adf::async(tile[0].out[1]), merge0.in[0]);" in graph
    assert "adf::connect<adf::cascade>(tile[1].out[0], tile[0].in[6]);" in graph
    assert "adf::connect(merge0.out[0], tile[0].in[5]);" in graph
    result = project.run(random_inputs(net.inputs, np.random.default_rng(1)), quick=True)
    assert result.matches_reference
    assert [0 < close.bound_used <= 1 for close in result.floats] == 3 * [True]


@pytest.mark.skipif(shutil.which("g++") is None, reason="no C++ compiler")
@pytest.mark.parametrize(
    ("made", "floats", "cells", "tiles", "sent", "came"),
    [
        (network, "bf16", {"GRU": 100, "LSTM": 40}, (7, 3), "out[0]", "in[6]"),
        (quantised_cells, "int8", {"LSTM": 90, "GRU": 70}, (3, 3), "out[1]", "in[8]"),
    ],
)
def test_tiles_that_read_packets_equal_their_references(
    made, floats, cells, tiles, sent, came, tmp_path
):
    """Which come in another order in every step, with identifiers that are no tile's number."""
    after = {"GRU": {"linear_before_reset": 1}, "LSTM": {}}
    layers = tuple((cell, units, after[cell]) for cell, units in cells.items())
    net = asked(layers, 9, tiles, made, floats)
    assert [[loop.size for loop in layer.mapping.spatial] for layer in chosen(net)] == [
        [1, tiles[0], 16],
        [1, tiles[1], 16],
    ]
    project = net.write(tmp_path / "net")
    graph = (tmp_path / "net" / "aie" / "net_layer0_graph.h").read_text(encoding="utf-8")
    assert f"adf::pktmerge<{tiles[0]}> merge0" in graph
    last = tiles[0] - 1
    assert f"adf::connect(adf::async(tile[{last}].{sent}), merge0.in[{last}]);" in graph
    assert f"adf::connect(merge0.out[0], tile[{last}].{came});" in graph
    result = project.run(random_inputs(net.inputs, np.random.default_rng(1)), quick=True)
    assert result.matches_reference
    assert [0 < close.bound_used <= 1 for close in result.floats] == 2 * [True]


@pytest.mark.skipif(shutil.which("g++") is None, reason="no C++ compiler")
@pytest.mark.parametrize(
    ("made", "floats", "units"), [(network, "bf16", 28), (quantised_cells, "int8", 60)]
)
def test_tiles_that_read_each_others_memory_equal_their_references(made, floats, units, tmp_path):
    """The last group of steps is not full; buffers are pinned to the tiles that store them."""
    layers = (("GRU", units, {"linear_before_reset": 1}), ("LSTM", units + 4, {}))
    net = match.compile(made(layers, 41, 30), target=recurrent_target(floats))
    assert [[loop.size for loop in layer.mapping.spatial] for layer in chosen(net)] == 2 * [
        [2, 2, 16]
    ]
    project = net.write(tmp_path / "net")
    graph = (tmp_path / "net" / "aie" / "net_layer0_graph.h").read_text(encoding="utf-8")
    assert "adf::connect(adf::async(tile[1].out[1]), adf::async(tile[2].in[1]));" in graph
    assert "adf::location<adf::buffer>(tile[1].out[1]) = {adf::bank(" in graph
    down = "adf::connect<adf::cascade>(tile[2].out[1], tile[1].in[" in graph
    assert down == (floats == "bf16")
    result = project.run(random_inputs(net.inputs, np.random.default_rng(1)), quick=True)
    assert result.matches_reference
    assert [0 < close.bound_used <= 1 for close in result.floats] == 2 * [True]


@pytest.mark.skipif(shutil.which("g++") is None, reason="no C++ compiler")
@pytest.mark.parametrize(
    ("made", "floats", "cells", "tiles"),
    [
        (network, "bf16", (("GRU", 20), ("LSTM", 40), ("LSTM", 17)), (2, 3, 1)),
        (quantised_cells, "int8", (("GRU", 40), ("LSTM", 17)), (2, 1)),
    ],
)
def test_gates_in_logic_equal_their_references(made, floats, cells, tiles, tmp_path):
    """As asked for: graphs, each with a kernel for synthesis; one chunk a tile, and two."""
    after = {"GRU": {"linear_before_reset": 1}, "LSTM": {}}
    layers = tuple((cell, units, after[cell]) for cell, units in cells)
    plain = match.compile(made(layers, 6, 30), target=recurrent_target(floats))
    wishes = {
        layer.label: {"logic": 1, "tiles": many}
        for layer, many in zip(chosen(plain), tiles, strict=True)
    }
    target = recurrent_target(floats, layers=wishes)
    net = match.compile(made(layers, 6, 30), target=target)
    assert [[loop.size for loop in layer.mapping.spatial] for layer in chosen(net)] == [
        [1, many, 16] for many in tiles
    ]
    assert {product_type(layer.workload) for layer in chosen(net)} == {
        {"bf16": "bfloat16"}.get(floats, floats)
    }
    project = net.write(tmp_path / "net")
    graph = (tmp_path / "net" / "aie" / "net_layer0_graph.h").read_text(encoding="utf-8")
    assert "adf::connect(adf::async(tile[1].out[0]), sums[1].in[0]);" in graph
    linked = (tmp_path / "net" / "logic" / "net_layer0_logic.cfg").read_text(encoding="utf-8")
    assert "stream_connect=net_layer0_logic_0.states:ai_engine_0.net_layer0_states" in linked
    assert ("net_layer0_logic_0.results" in linked) is (floats == "int8")
    result = project.run(random_inputs(net.inputs, np.random.default_rng(1)), quick=True)
    assert result.matches_reference
    assert [0 < close.bound_used <= 1 for close in result.floats] == len(tiles) * [True]


@pytest.mark.parametrize(
    ("operator", "options"), [("GRU", {"linear_before_reset": 1}), ("LSTM", {})]
)
@pytest.mark.skipif(shutil.which("g++") is None, reason="no C++ compiler")
def test_states_in_registers_equal_their_references(tmp_path, operator, options):
    """Of one octet and of two, a tile for both parts and one for steps alone, groups not full."""
    layers = tuple((operator, units, options) for units in (13, 8))
    plain = match.compile(
        network(layers, 11, 30), target=VersalAIEML(floats="bf16", modules=("array",))
    )
    wishes = {layer.label: {"tiles": 1 + at} for at, layer in enumerate(chosen(plain))}
    target = VersalAIEML(floats="bf16", modules=("array",), layers=wishes)
    net = match.compile(network(layers, 11, 30), target=target)
    assert [[loop.size for loop in layer.mapping.spatial] for layer in chosen(net)] == [
        [16],
        [2, 1, 16],
    ]
    project = net.write(tmp_path / "net")
    assert any((tmp_path / "net").rglob(f"recurrent_{operator.lower()}_quarters_held.hpp"))
    result = project.run(random_inputs(net.inputs, np.random.default_rng(1)), quick=True)
    assert result.matches_reference
    assert [0 < close.bound_used <= 1 for close in result.floats] == 2 * [True]
