"""Dense networks whose scales are all powers of two, so that requantisation is a shift."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


def dense() -> onnx.ModelProto:
    """One int8 layer of 128 rows, 128 to 128."""
    return _layers("dense", 128, (128, 128), np.int8, relu=False)


def perceptron() -> onnx.ModelProto:
    """Three int8 layers with ReLU on 16 rows."""
    return _layers("perceptron", 16, (64, 128, 64, 32), np.int8)


def wide_perceptron() -> onnx.ModelProto:
    """Two layers of int16 activations and int8 weights with ReLU on 16 rows."""
    return _layers("wide_perceptron", 16, (64, 96, 32), np.int16)


def dense_chain(rows: int, widths: Sequence[int], dtype: type) -> onnx.ModelProto:
    """Layers with ReLU, of int8 or int16 activations and int8 weights."""
    return _layers("dense_chain", rows, widths, dtype)


def _layers(
    name: str, rows: int, widths: Sequence[int], dtype: type, *, relu: bool = True
) -> onnx.ModelProto:
    """Dense layers from float to float; int16 activations have finer steps.

    Args:
        name: of the graph.
        rows: of the input.
        widths: of the input and of every layer's output.
        dtype: of activations.
        relu: whether every layer ends in one.
    """
    rng = np.random.default_rng(7)
    nodes: list[onnx.NodeProto] = []
    constants: list[onnx.TensorProto] = []
    # Standard normal inputs fill the range; biases are a tenth of the sums.
    step, largest = (-5, 2**12) if dtype == np.int8 else (-12, 2**18)
    weight_step = -7

    def constant(value: object) -> str:
        constants.append(numpy_helper.from_array(np.asarray(value), f"constant_{len(constants)}"))
        return str(constants[-1].name)

    def node(operator: str, *inputs: str, **attributes: object) -> str:
        label = f"{operator.lower()}_{len(nodes)}"
        nodes.append(helper.make_node(operator, inputs, [label], label, **attributes))
        return label

    def scale(exponent: int, kind: type) -> tuple[str, str]:
        return constant(np.float32(2.0**exponent)), constant(kind(0))

    def stored(x: str, exponent: int) -> str:
        steps = scale(exponent, dtype)
        return node("DequantizeLinear", node("QuantizeLinear", x, *steps), *steps)

    x = stored("x", step)
    for inputs, outputs in pairwise(widths):
        weight = rng.integers(-127, 128, (inputs, outputs)).astype(np.int8)
        bias = rng.integers(-largest, largest, outputs).astype(np.int32)
        w = node("DequantizeLinear", constant(weight), *scale(weight_step, np.int8))
        b = node("DequantizeLinear", constant(bias), *scale(step + weight_step, np.int32))
        x = node("Gemm", x, w, b)
        x = node("Relu", x) if relu else x
        # Sums of `inputs` products are about 0.58 * sqrt(inputs) times as large as the input.
        step += round(np.log2(0.58 * np.sqrt(inputs)))
        x = stored(x, step)
    ports = (("x", widths[0]), (x, widths[-1]))
    ends = [helper.make_tensor_value_info(n, TensorProto.FLOAT, (rows, w)) for n, w in ports]
    graph = helper.make_graph(nodes, name, ends[:1], ends[1:], constants)
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    onnx.checker.check_model(made)
    return made
