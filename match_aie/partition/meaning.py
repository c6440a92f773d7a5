"""What a graph computes, in numpy and float64: for comparing two forms of one network."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, cast

import numpy as np

from match_aie.hardware.graph import Graph, Node
from match_aie.hardware.passes import SLICED

Array = np.ndarray[Any, Any]


@dataclass
class Evaluated:
    """Results of a graph, and what operators read whose meaning is not known here.

    Each of those gives random numbers, the same for the n-th of its name in any graph: with the
    same arguments it would give the same results.
    """

    results: list[Array] = field(default_factory=list)
    read: dict[tuple[str, int], list[Array]] = field(default_factory=dict)


def evaluate(graph: Graph, inputs: Mapping[str, Array]) -> Evaluated:
    """Run `graph` on `inputs`, by name."""
    found = Evaluated()
    known = {name: v.constant for name, v in graph.values.items() if v.constant is not None}
    now: dict[str, Array] = {**known, **inputs}
    times: dict[str, int] = {}
    for node in graph.nodes:
        read = [now[name] for name in node.inputs() if name in now]
        rule = _RULES.get(node.operator) if _known(node) else None
        value = graph.values[node.output]
        if rule is not None and len(read) == len(node.inputs()):
            now[node.output] = rule(node, read).astype(_kept(value.dtype))
            continue
        count = times[node.operator] = times.get(node.operator, 0) + 1
        found.read[node.operator, count] = read
        now[node.output] = random_tensor(f"{node.operator}{count}", value.dtype, value.shape)
    for name in graph.values:
        if name not in now:
            now[name] = random_tensor(name, graph.values[name].dtype, graph.values[name].shape)
    found.results = [now[name] for name in graph.outputs]
    return found


def random_tensor(name: str, dtype: str, shape: Sequence[int]) -> Array:
    """The same numbers for the same name."""
    rng = np.random.default_rng(list(name.encode()))
    if dtype.startswith(("int", "uint")):
        limits = np.iinfo(dtype)
        low, high = max(limits.min, -(2**15)), min(limits.max, 2**15)
        return rng.integers(low, high, tuple(shape), endpoint=True).astype(dtype)
    if dtype == "bool":
        return rng.integers(0, 2, tuple(shape)).astype(bool)
    return rng.standard_normal(tuple(shape)).astype(_kept(dtype))


def _how(node: Node) -> Mapping[str, Any]:
    return node.attributes


def _kept(dtype: str) -> str:
    return "float64" if dtype.startswith(("float", "bfloat")) else dtype


def _along(node: Node, value: Array, like: Array) -> Array:
    """A scale or zero point of each index along the node's axis, shaped to meet `like`."""
    if value.size == 1:
        return value.reshape(())
    axis = int(_how(node)["axis"]) % like.ndim
    return value.reshape([-1 if at == axis else 1 for at in range(like.ndim)])


def _dequantize(node: Node, read: list[Array]) -> Array:
    x, scale, zero = read
    steps = x.astype(np.float64) - _along(node, zero, x).astype(np.float64)
    return steps * _along(node, scale, x).astype(np.float64)


def _quantize(node: Node, read: list[Array]) -> Array:
    x, scale, zero = read
    limits = np.iinfo(str(np.dtype(_how(node)["out_dtype"])))
    steps = np.rint(x / _along(node, scale, x)) + _along(node, zero, x)
    return np.clip(steps, limits.min, limits.max)


def _convolution(node: Node, read: list[Array]) -> Array:
    x, weight = (value.astype(np.float64) for value in read)
    top, left, bottom, right = _how(node)["padding"]
    x = np.pad(x, ((0, 0), (top, bottom), (left, right), (0, 0)))
    (sy, sx), (dy, dx) = _how(node)["strides"], _how(node)["dilation"]
    fy, fx, inputs, outputs = weight.shape
    rows = (x.shape[1] - dy * (fy - 1) - 1) // sy + 1
    columns = (x.shape[2] - dx * (fx - 1) - 1) // sx + 1
    groups = int(_how(node)["groups"])
    total = np.zeros((x.shape[0], rows, columns, outputs))
    for tap in np.ndindex(fy, fx):
        r, c = tap[0] * dy, tap[1] * dx
        seen = x[:, r : r + sy * rows : sy, c : c + sx * columns : sx]
        seen = seen[:, :rows, :columns].reshape(*seen.shape[:3], groups, inputs)
        taken = weight[tap].reshape(inputs, groups, outputs // groups)
        total += np.einsum("brcgi,igo->brcgo", seen, taken, optimize=True).reshape(total.shape)
    return total


def _windows(node: Node, x: Array, outside: float) -> Iterator[Array]:
    """What each position of a pool's window sees, tap by tap; `outside` in padding."""
    top, left, bottom, right = _how(node)["padding"]
    x = np.pad(x, ((0, 0), (top, bottom), (left, right), (0, 0)), constant_values=outside)
    (sy, sx), (dy, dx) = _how(node)["strides"], _how(node)["dilation"]
    fy, fx = _how(node)["pool_size"]
    rows = (x.shape[1] - dy * (fy - 1) - 1) // sy
    columns = (x.shape[2] - dx * (fx - 1) - 1) // sx
    for r, c in ((r * dy, c * dx) for r, c in np.ndindex(fy, fx)):
        yield x[:, r : r + sy * rows + 1 : sy, c : c + sx * columns + 1 : sx]


def _known(node: Node) -> bool:
    """Whether an operator's rule holds for its attributes: pools of images, slices of each row."""
    if "pool_size" in node.attributes:
        return _how(node)["layout"] == "NHWC" and not _how(node)["ceil_mode"]
    return node.operator != SLICED or len(node.arguments) == 4


def _maximum(node: Node, read: list[Array]) -> Array:
    (x,) = read
    least = -np.inf if x.dtype.kind == "f" else np.iinfo(x.dtype).min
    return np.maximum.reduce(list(_windows(node, x, least)))


def _average(node: Node, read: list[Array]) -> Array:
    (x,) = read
    outside = float(_how(node)["count_include_pad"])
    seen = np.add.reduce(list(_windows(node, np.ones_like(x, np.float64), outside)))
    return np.asarray(np.add.reduce(list(_windows(node, x, 0.0))) / seen)


def _pad(node: Node, read: list[Array]) -> Array:
    width = np.reshape(_how(node)["pad_width"], (-1, 2))
    value = _how(node).get("pad_value", 0)
    return np.pad(read[0], width, constant_values=value)


def _slice(node: Node, read: list[Array]) -> Array:
    axes, begin, end = cast(Sequence[Sequence[float]], node.arguments[1:4])
    place = [slice(None)] * read[0].ndim
    for axis, first, behind in zip(axes, begin, end, strict=True):
        place[int(axis)] = slice(int(first), int(behind))
    return read[0][tuple(place)]


def _clip(node: Node, read: list[Array]) -> Array:
    low, high = (float(a) for a in node.arguments[1:3] if isinstance(a, int | float))
    return np.clip(read[0], low, high)


_Rule = Callable[[Node, list[Array]], Array]
#: Operators whose meaning is known; convolutions in the layout of canonical graphs.
_RULES: Mapping[str, _Rule] = MappingProxyType(
    {
        "dequantize": _dequantize,
        "quantize": _quantize,
        "nn.conv2d": _convolution,
        "matmul": lambda node, read: read[0] @ read[1],
        "add": lambda node, read: read[0] + read[1],
        "subtract": lambda node, read: read[0] - read[1],
        "multiply": lambda node, read: read[0] * read[1],
        "nn.relu": lambda node, read: np.maximum(read[0], 0),
        "permute_dims": lambda node, read: np.transpose(read[0], _how(node)["axes"]),
        "concat": lambda node, read: np.concatenate(read, int(_how(node)["axis"])),
        "nn.pad": _pad,
        "nn.max_pool2d": _maximum,
        "nn.avg_pool2d": _average,
        SLICED: _slice,
        "clip": _clip,
    }
)
