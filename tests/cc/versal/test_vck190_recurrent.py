"""Recurrent layers in float32 as emitted for a VCK190: neighbours' memories and streams."""

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

import match_aie as match
from match_aie.targets.versal import VersalAIEML


def model(operator, hidden, inputs, steps, after=1):
    """A layer alone."""
    rng, gates = np.random.default_rng(0), 3 if operator == "GRU" else 4
    shapes = {"w": (1, gates * hidden, inputs), "r": (1, gates * hidden, hidden)}
    shapes["b"] = (1, 2 * gates * hidden)
    constants = [
        numpy_helper.from_array(rng.uniform(-0.5, 0.5, shape).astype(np.float32), name)
        for name, shape in shapes.items()
    ]
    options = {"hidden_size": hidden}
    if operator == "GRU":
        options["linear_before_reset"] = after
    node = helper.make_node(operator, ["x", *shapes], ["y"], **options)
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, (steps, 1, inputs))
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, (steps, 1, 1, hidden))
    graph = helper.make_graph([node], "net", [x], [y], constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def emulated(made, steps, inputs, folder):
    """The graph's text; two runs equal the reference bit for bit."""
    net = match.compile(made, VersalAIEML("vck190", modules=("array",)), cache=False)
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
    [
        ("GRU", 29, 5, 11, 1, 9),
        ("GRU", 12, 9, 3, 1, 5),
        ("GRU", 12, 9, 8, 0, 1),
        ("LSTM", 32, 3, 2, 1, 9),
        ("LSTM", 8, 17, 9, 1, 2),
    ],
)
def test_layers_are_emulated(operator, hidden, inputs, steps, after, tiles, tmp_path):
    """Units, inputs and steps that fill no vector and no group."""
    made = model(operator, hidden, inputs, steps, after)
    text = emulated(made, steps, inputs, tmp_path / "project")
    assert f"adf::kernel tile[{tiles}];" in text
    assert "shared_buffer" not in text
    if tiles > 2:  # sums, and the lower tile's units, stay where they are stored
        assert "adf::connect(adf::async(tile[0].out[0]), adf::async(tile[1].in[0]));" in text
        assert "adf::connect(adf::async(tile[1].out[0]), adf::async(tile[2].in[1]));" in text
        assert "adf::location<adf::buffer>(tile[1].out[0])" in text
