"""Which values are nothing but weights of recurrent layers.

Quantised weights stay quantised for products, whose kernels multiply integers. GRU and LSTM take
theirs as floats: what stands between a constant and such a layer is computed at compile time, so
that a model whose weights are stored as integers is the layer that modules know. Likewise the value
that a Pad fills with, which onnxruntime's quantiser stores as an integer.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import onnx

from match_aie.frontend.onnx_rewrite.graph import Graph, Node

#: Positions of W, R, B and peepholes.
WEIGHTS = {"GRU": (1, 2, 3), "LSTM": (1, 2, 3, 7)}

#: What quantises a constant, and reads it back.
QUANTISING = frozenset({"QuantizeLinear", "DequantizeLinear"})

#: Types of stored integers; values are quantised to the first four.
STORED = tuple(np.dtype(name) for name in ("int8", "uint8", "int16", "uint16", "int32"))

#: What may stand between a constant and a layer.
CARRIERS = QUANTISING | {
    *("Cast", "Concat", "Gather", "Identity", "Reshape", "Slice", "Split", "Squeeze"),
    *("Transpose", "Unsqueeze"),
}


#: Inputs that must be known as floats: weights of recurrent layers, and what a Pad fills with.
KNOWN = {**WEIGHTS, "Pad": (2,)}


def read_otherwise(graph: onnx.GraphProto) -> frozenset[str]:
    """Names of values that something else reads than `KNOWN` inputs.

    Args:
        graph: nodes in the order in which they run.
    """
    found = {value.name for value in graph.output}
    for node in reversed(graph.node):
        kind = node.op_type if not node.domain else ""
        if kind in CARRIERS and found.isdisjoint(node.output):
            continue
        places = KNOWN.get(kind, ())
        found.update(name for at, name in enumerate(node.input) if at not in places)
        found.update(_inside(node))
    return frozenset(found)


def quantised_value(node: Node, graph: Graph) -> np.ndarray | None:
    """What QuantizeLinear or DequantizeLinear makes of constants, as ONNX Runtime computes it.

    Products and quotients are rounded to float32. None where an input is not known or does not fit,
    has other types than float32 and `STORED`, or blocks (`blocked` writes those out).
    """
    x, scale, zero = (graph.constant(node.input(at)) if node.input(at) else None for at in range(3))
    if x is None or scale is None or scale.dtype != np.float32 or node.attr("block_size", 0):
        return None
    if zero is None:
        if node.input(2) or node.op == "QuantizeLinear":
            return None
        zero = np.zeros((), x.dtype)
    wide, shift = (_along(each, x, node) for each in (scale, zero))
    if wide is None or shift is None or zero.dtype not in STORED:
        return None
    if node.op == "DequantizeLinear":
        return _read(x, wide, shift) if x.dtype in STORED else None
    return _stored(x, wide, shift) if x.dtype == np.float32 else None


def _read(x: np.ndarray, scale: np.ndarray, zero: np.ndarray) -> np.ndarray:
    """Integers as floats."""
    return np.asarray((x.astype(np.int64) - zero).astype(np.float32) * scale)


def _stored(x: np.ndarray, scale: np.ndarray, zero: np.ndarray) -> np.ndarray:
    """Floats as integers of the zero point's type, halves to even."""
    bounds = np.iinfo(zero.dtype)
    with np.errstate(all="ignore"):
        whole = np.nan_to_num(np.rint(x / scale).astype(np.float64)) + zero
    return np.clip(whole, bounds.min, bounds.max).astype(zero.dtype)


def _along(parameter: np.ndarray, x: np.ndarray, node: Node) -> np.ndarray | None:
    """A scale or zero point as it is repeated over `x`; None where it does not fit."""
    if parameter.size == 1:
        return parameter.reshape(())
    axis = int(node.attr("axis", 1))
    if not -x.ndim <= axis < x.ndim or parameter.shape != (x.shape[axis],):
        return None
    shape = [1] * x.ndim
    shape[axis] = -1
    return parameter.reshape(shape)


def _inside(node: onnx.NodeProto) -> Iterator[str]:
    """What the graphs within a node read."""
    for attribute in node.attribute:
        for graph in [attribute.g] if attribute.HasField("g") else attribute.graphs:
            yield from (value.name for value in graph.output)
            for inner in graph.node:
                yield from inner.input
                yield from _inside(inner)
