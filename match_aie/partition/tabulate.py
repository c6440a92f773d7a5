"""A function of a quantised tensor's elements as a table: all 256 values, computed once.

The meaning is the model's: every operator in float32, with one rounding. Those that are no plain
arithmetic are computed in float64 first, so that what they give is the nearest float32.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from math import erf, pi

import numpy as np

from match_aie.hardware.graph import Node
from match_aie.partition.layer import Extracted
from match_aie.partition.view import Refusal, View, elements
from match_aie.workload import Quantized, full_range, table
from match_aie.workload.stored import saturate

_BYTES = ("int8", "uint8")

_ERF = np.vectorize(erf, otypes=[np.float64])


def _sigmoid(v: np.ndarray) -> np.ndarray:
    return np.asarray(1 / (1 + np.exp(-v)))


def _gelu_tanh(v: np.ndarray) -> np.ndarray:
    return np.asarray(0.5 * v * (1 + np.tanh(np.sqrt(2 / pi) * (v + 0.044715 * v**3))))


#: Operators on float32, correctly rounded by numpy.
_EXACT: Mapping[str, Callable[..., np.ndarray]] = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "divide": np.divide,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "negative": np.negative,
    "abs": np.abs,
    "sqrt": np.sqrt,
    "nn.relu": lambda v: np.maximum(v, np.zeros((), v.dtype)),
}

#: Operators on float64, whose result is rounded to float32.
_ROUNDED: Mapping[str, Callable[[np.ndarray], np.ndarray]] = {
    "exp": np.exp,
    "log": np.log,
    "rsqrt": lambda v: np.asarray(1 / np.sqrt(v)),
    "erf": _ERF,
    "tanh": np.tanh,
    "sigmoid": _sigmoid,
    "nn.gelu": lambda v: np.asarray(0.5 * v * (1 + _ERF(v / np.sqrt(2.0)))),
    "nn.gelu_tanh": _gelu_tanh,
    "nn.silu": lambda v: np.asarray(v * _sigmoid(v)),
}


def tabulated(view: View) -> Extracted:
    """The table that the match means.

    Raises:
        Refusal: its result is not one 8-bit element for each of an 8-bit tensor.
    """
    x, y = view.value(view.named("x")), view.value(view.root.output)
    if x.dtype not in _BYTES or y.dtype not in _BYTES:
        raise Refusal(f"a table of {x.dtype} into {y.dtype}")
    if x.shape != y.shape:
        raise Refusal(f"its result of shape {y.shape} is not of its operand's, {x.shape}")
    known = {x.name: np.arange(256, dtype=np.uint8).view(x.dtype)}
    known = values_of(view, [view.graph.nodes[i] for i in set(view.match.nodes)], known)
    layer = table(_around(view, x.name), _around(view, y.name), elements=elements(x))
    return Extracted(layer, {"table": known[y.name]}, (x.name,), y.name)


def values_of(
    view: View, nodes: Iterable[Node], known: Mapping[str, np.ndarray]
) -> dict[str, np.ndarray]:
    """What element-wise `nodes`, which are taken, give for all values of what is known."""
    found = dict(known)
    with np.errstate(all="ignore"):
        for node in sorted(nodes, key=lambda each: each.index):
            found[node.output] = _computed(view, view.take(node), found)
    return found


def _around(view: View, name: str) -> Quantized:
    """Element type, and the quantisation where the match's own nodes at `name` say it."""
    maker = view.graph.producers.get(name)
    nodes = [maker] if maker is not None and maker.index in view.match.nodes else []
    nodes += [view.graph.nodes[index] for index in view.match.nodes]
    dtype = view.value(name).dtype
    for node in nodes:
        if node.operator in ("quantize", "dequantize") and name in (node.output, *node.inputs()):
            scale, zero = view.parameters(node).per_tensor("the tensor")
            return Quantized(dtype, float(scale), zero)
    return Quantized(dtype)


def _computed(view: View, node: Node, known: Mapping[str, np.ndarray]) -> np.ndarray:
    """What `node` gives for each of the 256 values; 0-dimensional of constants alone."""
    operands = [_operand(view, name, known) for name in node.inputs()]
    first = operands[0]
    if node.operator in ("quantize", "dequantize"):
        scale, zero = view.parameters(node).per_tensor("a tensor inside")
        if node.operator == "dequantize":
            return np.asarray((first.astype(np.int64) - zero).astype(np.float32) * scale)
        dtype = view.value(node.output).dtype
        if dtype not in (*_BYTES, "int16", "uint16"):
            raise Refusal(f"it quantises to {dtype} inside")
        return saturate(first / scale, full_range(dtype, zero)).astype(dtype)
    if node.operator == "clip":
        bounds = [bound for bound in node.arguments[1:3] if isinstance(bound, float)]
        if len(bounds) != 2:
            raise Refusal("the bounds of its clip are known only at run time")
        return np.clip(first, *np.array(bounds).astype(first.dtype))
    if first.dtype != np.float32:
        raise Refusal(f"it computes {node.operator} of {first.dtype}")
    if node.operator == "nn.leakyrelu":
        slope = node.attributes["alpha"]
        assert isinstance(slope, float)
        return np.where(first < 0, first * np.float32(slope), first)
    if node.operator == "power":
        return np.power(*(each.astype(np.float64) for each in operands)).astype(np.float32)
    if node.operator in _ROUNDED:
        return np.asarray(_ROUNDED[node.operator](first.astype(np.float64))).astype(np.float32)
    if node.operator not in _EXACT:
        raise Refusal(f"no table is made of a {node.operator}")
    return np.asarray(_EXACT[node.operator](*operands))


def _operand(view: View, name: str, known: Mapping[str, np.ndarray]) -> np.ndarray:
    if name in known:
        return known[name]
    constant = view.value(name).constant
    if constant is None:
        raise Refusal(f"it reads {name}, which is not known")
    if constant.size != 1:
        raise Refusal(f"a constant of shape {constant.shape} is not the same for all elements")
    return constant.reshape(())
