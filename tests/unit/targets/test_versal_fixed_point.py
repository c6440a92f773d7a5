"""Models as users of hls4ml and AIE4ML bring them: powers of two, mixed widths, any batch."""

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

import match_aie as match
from match_aie.errors import TargetError
from match_aie.targets.aie_ml.vendor.golden import tensors
from match_aie.targets.versal import VersalAIEML
from match_aie.targets.versal.executing import prove
from tests.qdq import Nodes

TYPES = {"int8": TensorProto.INT8, "int16": TensorProto.INT16}

#: Width and fraction of the input, then of each layer's weight and result, with its outputs.
MIXED = (
    ("int8", 4),
    (("int8", 6, "int16", 8, 48), ("int8", 7, "int8", 2, 40), ("int8", 5, "int8", 0, 30)),
)
WIDE = (("int16", 8), (("int8", 7, "int16", 7, 48), ("int8", 7, "int16", 6, 30)))


class FixedPoint(Nodes):
    """Dense layers with bias and ReLU, every scale a power of two."""

    def __init__(self, batch, inputs, given, layers, seed=3):
        super().__init__()
        rng = np.random.default_rng(seed)
        dtype, fraction = given
        ends = [helper.make_tensor_value_info("x", TYPES[dtype], (batch, inputs))]
        last = self.dequantised("x", dtype, fraction)
        for number, (kind, weight_fraction, dtype, step, outputs) in enumerate(layers):
            values = rng.integers(-90, 90, (inputs, outputs)).astype(kind)
            weight = self.dequantised(self.const(values), kind, weight_fraction)
            bias = rng.integers(-(2**9), 2**9, outputs).astype(np.int32)
            added = self.dequantised(self.const(bias), "int32", fraction + weight_fraction)
            product = self.nodes_at(f"fc{number}", "MatMul", [last, weight])
            real = self.node("Add", [product, added])
            real = self.node("Relu", [real]) if number + 1 < len(layers) else real
            stored = self.node("QuantizeLinear", [real, *self.pair(dtype, step)])
            last, inputs, fraction = self.dequantised(stored, dtype, step), outputs, step
        ends.append(helper.make_tensor_value_info(stored, TYPES[dtype], (batch, outputs)))
        graph = helper.make_graph(self.nodes[:-1], "net", ends[:1], ends[1:], self.constants)
        opset = helper.make_opsetid("", 21)
        self.model = helper.make_model(graph, opset_imports=[opset], ir_version=10)

    def nodes_at(self, name, kind, inputs):
        made = self.node(kind, inputs)
        self.nodes[-1].name = name
        return made

    def pair(self, dtype, fraction):
        return self.const(np.float32(2.0**-fraction)), self.const(np.zeros((), dtype))

    def dequantised(self, name, dtype, fraction):
        return self.node("DequantizeLinear", [name, *self.pair(dtype, fraction)])


def computed(model, x):
    """The model in float64, which is exact for powers of two."""
    values = {c.name: numpy_helper.to_array(c) for c in model.graph.initializer}
    values["x"] = x
    for node in model.graph.node:
        read = [values[name] for name in node.input]
        if node.op_type == "DequantizeLinear":
            made = read[0].astype(np.float64) * np.float64(read[1])
        elif node.op_type == "QuantizeLinear":
            info = np.iinfo(read[2].dtype)
            steps = np.rint(read[0] / np.float64(read[1]))
            made = np.clip(steps, info.min, info.max).astype(read[2].dtype)
        elif node.op_type == "Relu":
            made = np.maximum(read[0], 0)
        else:
            made = read[0] @ read[1] if node.op_type == "MatMul" else read[0] + read[1]
        values[node.output[0]] = made
    return made


@pytest.mark.parametrize(
    ("batch", "given", "layers"),
    [
        (1, *MIXED),
        (17, *WIDE),
        *(
            pytest.param(batch, *each, marks=pytest.mark.slow)
            for batch, each in ((3, MIXED), (17, MIXED), (1, WIDE), (3, WIDE))
        ),
    ],
)
def test_mixed_widths_of_any_batch_are_the_models_bit_for_bit(batch, given, layers):
    model = FixedPoint(batch, 64, given, layers).model
    target = VersalAIEML(modules=("array",), columns_per_layer=1)
    made = match.compile(model, target, arithmetic="model", cache=False)
    mine = made.program.schedule.chosen
    assert [layer.module for layer in mine] == ["array"] * len(layers)
    rng = np.random.default_rng(batch)
    taken, results = tensors(mine, rng)
    np.testing.assert_array_equal(results[-1], computed(model, taken[0]["x"]))
    assert len(np.unique(results[-1])) > 4
    assert prove(mine, "vek280", rng) >= 1


def test_precisions_of_layers_are_held_to_what_the_model_says():
    model = FixedPoint(4, 64, *MIXED).model
    first, second, _ = (node.name for node in model.graph.node if node.op_type == "Add")
    asked = {
        first: {"precision": {"input": "i8", "result": "i16"}},
        second: {"precision": {"input": "i16", "weight": "i8"}, "columns": 1},
    }
    match.compile(
        model, VersalAIEML(modules=("array",), columns_per_layer=1, layers=asked), cache=False
    )
    asked[first] = {"precision": "i16"}
    with pytest.raises(TargetError, match="input int16 is asked for and the layer's is int8"):
        match.compile(
            model, VersalAIEML(modules=("array",), columns_per_layer=1, layers=asked), cache=False
        )
