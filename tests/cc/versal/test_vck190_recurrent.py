"""Recurrent layers in float32 as emitted for a VCK190: neighbours' memories and streams."""

import shutil

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

import match_aie as match
from match_aie.targets.versal import VersalAIEML
from tests.cc.versal.test_recurrent import network
from tests.cc.versal.test_recurrent_int8 import chosen
from tests.shared import random_inputs


def model(operator, hidden, inputs, steps, after=1, *, ways=1, states=("y",)):
    """A layer alone, of so many directions, which gives these of its results."""
    rng, gates = np.random.default_rng(0), 3 if operator == "GRU" else 4
    shapes = {"w": (ways, gates * hidden, inputs), "r": (ways, gates * hidden, hidden)}
    shapes["b"] = (ways, 2 * gates * hidden)
    constants = [
        numpy_helper.from_array(rng.uniform(-0.5, 0.5, shape).astype(np.float32), name)
        for name, shape in shapes.items()
    ]
    options = {"hidden_size": hidden}
    if operator == "GRU":
        options["linear_before_reset"] = after
    if ways == 2:
        options["direction"] = "bidirectional"
    node = helper.make_node(operator, ["x", *shapes], list(states), **options)
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, (steps, 1, inputs))
    found = [
        helper.make_tensor_value_info(
            name, TensorProto.FLOAT, (*((steps,) if name == "y" else ()), ways, 1, hidden)
        )
        for name in states
    ]
    graph = helper.make_graph([node], "net", [x], found, constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


@pytest.mark.parametrize(("device", "floats"), [("vck190", "float32"), ("vek280", "bf16")])
def test_directions_and_last_states_are_layers_of_the_array(device, floats):
    """Each direction is a layer; a last state is one of the states, but a last cell is not."""
    for ways, states, module in (
        (2, ("y",), "array"),
        (1, ("y", "h"), "array"),
        (1, ("y", "h", "c"), "cpu_rows"),
    ):
        made = model("LSTM", 32, 32, 64, ways=ways, states=states)
        net = match.compile(made, VersalAIEML(device, floats=floats), cache=False)
        assert [layer.module for layer in net.program.schedule.chosen] == [module] * ways


def emulated(made, steps, inputs, folder, layers=None):
    """The graph's text; two runs equal the reference bit for bit."""
    target = VersalAIEML("vck190", modules=("array",), layers=layers or {})
    net = match.compile(made, target, cache=False)
    assert [layer.module for layer in net.program.schedule.chosen] == ["array"]
    project = net.write(folder)
    rng = np.random.default_rng(2)
    for _ in range(2):
        x = rng.standard_normal((steps, 1, inputs)).astype(np.float32)
        result = project.run({"x": x}, quick=True)
        assert result.matches_reference
        assert result.layers_checked == 1
    (graph,) = (folder / "aie").glob("*_graph.h")
    return graph.read_text()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("operator", "hidden", "inputs", "steps", "after", "tiles"),
    [("GRU", 12, 9, 8, 0, 1), ("GRU", 8, 17, 9, 0, 2), ("GRU", 12, 9, 3, 1, 5)],
)
def test_layers_are_emulated(operator, hidden, inputs, steps, after, tiles, tmp_path):
    """Units, inputs and steps that fill no vector and no group."""
    made = model(operator, hidden, inputs, steps, after)
    text = emulated(made, steps, inputs, tmp_path / "project", {"y": {"tiles": tiles}})
    assert f"adf::kernel tile[{tiles}];" in text
    assert "shared_buffer" not in text
    if tiles > 1:  # sums stay where they are stored
        assert "adf::connect(adf::async(tile[0].out[0]), adf::async(tile[1].in[0]));" in text


@pytest.mark.slow
@pytest.mark.parametrize(
    ("operator", "hidden", "inputs", "steps", "senders", "after"),
    [
        ("GRU", 30, 6, 11, 4, 1),
        ("LSTM", 31, 4, 2, 4, 1),
        ("GRU", 20, 33, 1, 3, 1),
        ("GRU", 20, 3, 9, 3, 0),
    ],
)
def test_tiles_with_states_are_emulated(operator, hidden, inputs, steps, senders, after, tmp_path):
    """States as packets, sums of inputs in neighbours' memories; what reset gates let through."""
    made = model(operator, hidden, inputs, steps, after)
    text = emulated(made, steps, inputs, tmp_path / "project")
    assert f"adf::kernel tile[{2 * senders + 1}];" in text
    assert "shared_buffer" not in text
    assert f"adf::pktmerge<{senders}>" in text


@pytest.mark.slow
@pytest.mark.parametrize(
    ("operator", "hidden", "inputs", "steps", "tiles"),
    [("GRU", 20, 9, 10, 4), ("LSTM", 8, 17, 9, 2)],
)
def test_tiles_along_a_cascade_are_emulated(operator, hidden, inputs, steps, tiles, tmp_path):
    """Columns of inputs and of the state; one tile has all of the state's, or several have some."""
    made = model(operator, hidden, inputs, steps)
    asked = {"y": {"cascade": tiles}} if tiles > 2 else None  # so few units lie along one anyway
    text = emulated(made, steps, inputs, tmp_path / "project", asked)
    assert f"adf::kernel tile[{tiles}];" in text
    assert text.count("adf::connect<adf::cascade>") == tiles - 1
    assert "shared_buffer" not in text


@pytest.mark.skipif(shutil.which("g++") is None, reason="no C++ compiler")
def test_gates_in_logic_are_emulated(tmp_path):
    """One chunk a tile, and several; a reset gate before the product takes two turns a step."""
    cells = ("GRU", 20, {"linear_before_reset": 1}), ("GRU", 12, {}), ("LSTM", 23, {})
    plain = VersalAIEML("vck190", floats="float32_logic", modules=("array",))
    labels = [layer.label for layer in chosen(match.compile(network(cells, 10, 9), plain))]
    asked = {
        label: {"logic": 1, "tiles": many} for label, many in zip(labels, (7, 5, 3), strict=True)
    }
    target = VersalAIEML("vck190", floats="float32_logic", modules=("array",), layers=asked)
    net = match.compile(network(cells, 10, 9), target, cache=False)
    assert [[loop.size for loop in layer.mapping.spatial] for layer in chosen(net)] == [
        [1, 3, 8],
        [1, 2, 8],
        [1, 1, 8],
    ]
    project = net.write(tmp_path / "net")
    text = (tmp_path / "net" / "aie" / "net_layer0_graph.h").read_text(encoding="utf-8")
    assert "adf::output_plio sums[3];" in text
    assert "adf::connect(states.out[0], adf::async(tile[0].in[1]));" not in text
    assert "adf::connect(states.out[0], adf::async(tile[1].in[1]));" in text
    assert "adf::connect(states.out[0], adf::async(tile[6].in[0]));" in text
    linked = (tmp_path / "net" / "logic" / "net_layer0_logic.cfg").read_text(encoding="utf-8")
    assert linked.count("stream_connect") == 4
    result = project.run(random_inputs(net.inputs, np.random.default_rng(1)), quick=True)
    assert result.matches_reference
    assert [0 < close.bound_used <= 1 for close in result.floats] == 3 * [True]
