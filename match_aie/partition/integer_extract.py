"""From a match in an integer graph to a layer with a fixed-point tail."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import prod

import numpy as np

from match_aie.hardware import REQUANTISE
from match_aie.hardware.graph import Node, Value
from match_aie.partition.common_shift import common_shift
from match_aie.partition.integer import Line, constant, read, vector
from match_aie.partition.layer import Extracted
from match_aie.partition.view import Refusal, View, rank4, sliding
from match_aie.workload import (
    Kind,
    Quantized,
    Workload,
    conv2d,
    dense,
    elementwise,
    full_range,
    with_fixed_tail,
)
from match_aie.workload.sums import sum_range

_OPERATORS: Mapping[Kind, str] = {
    "conv2d": "nn.conv2d",
    "dense": "matmul",
    "add": "add",
    "mul": "multiply",
}
_BYTES = ("int8", "uint8")
_INT32 = np.iinfo(np.int32)


def is_integer(view: View) -> bool:
    """Whether the match is of an integer graph: nothing in it is quantised or dequantised."""
    operators = {view.graph.nodes[index].operator for index in view.match.nodes}
    return not operators & {"quantize", "dequantize"}


def integer_layer(view: View, kind: Kind) -> Extracted:
    """The layer that an integer match means.

    Raises:
        Refusal: it has no exact meaning as a workload of `kind`.
    """
    if kind not in _OPERATORS:
        raise Refusal(f"a {kind} has no form in integer graphs")
    core = view.take(_core(view, kind))
    if view.value(core.output).dtype != "int32":
        raise Refusal(f"its sum is {view.value(core.output).dtype}")
    steps = _behind(view, core)
    rule = _weighted if kind in ("conv2d", "dense") else _pair
    return rule(view, kind, core, steps)


def _behind(view: View, core: Node) -> list[Node]:
    """The nodes from behind `core` to the root, each the only reader of the one before it."""
    found: list[Node] = []
    value = core.output
    while value != view.root.output:
        node = view.reader(value, *REQUANTISE)
        if node is None:
            raise Refusal("its sum is read by something that requantises nothing")
        found.append(view.take(node))
        value = node.output
    return found


def _core(view: View, kind: Kind) -> Node:
    """The operator of the match that does the work."""
    for index in view.match.nodes:
        node = view.graph.nodes[index]
        known = [n for n in node.inputs() if view.value(n).constant is not None]
        if node.operator == _OPERATORS[kind] and (kind in ("conv2d", "dense") or not known):
            return node
    raise Refusal(f"no {_OPERATORS[kind]} in the match")


@dataclass(frozen=True, eq=False)
class _Input:
    """An 8-bit tensor below its widening: `(x - zero) * factor`."""

    value: Value
    zero: int
    factor: int

    @property
    def quantized(self) -> Quantized:
        return Quantized(self.value.dtype, None, self.zero)


def _input(view: View, name: str, wanted: str) -> _Input:
    """The tensor that the match binds to `wanted`, and what happens to it before `name`.

    Args:
        view: the match.
        name: of the value that the sum reads.
        wanted: name in the structure.
    """
    bound = view.named(wanted)
    zero, factor = 0, 1
    while name != bound:
        node = view.producer(name)
        moving = _moving(view, node)
        if node.operator != "astype" and node.inputs()[0] != moving:
            raise Refusal(f"its input is the second operand of {node.operator}")
        if node.operator == "subtract":
            # Seen from the sum downwards: what follows has multiplied it already.
            zero = _one(view, node)
        elif node.operator == "multiply":
            factor *= _one(view, node)
        elif node.operator == "left_shift":
            factor <<= _one(view, node)
        if node.operator in ("multiply", "left_shift") and zero:
            raise Refusal("it subtracts a zero point after a multiplication")
        name = moving
    value = view.value(bound)
    if value.dtype not in _BYTES:
        raise Refusal(f"its input is {value.dtype}")
    info = np.iinfo(value.dtype)
    if not int(info.min) <= zero <= int(info.max):
        raise Refusal(f"a zero point of {zero} for {value.dtype}")
    if not 0 < factor <= _INT32.max:
        raise Refusal(f"an input factor of {factor}")
    return _Input(value, zero, factor)


def _moving(view: View, node: Node) -> str:
    """Which input of a link in a chain the chain goes on with; a widened constant is one alone."""
    names = node.inputs()
    return next((name for name in names if view.value(name).constant is None), names[0])


def _one(view: View, node: Node) -> int:
    value = constant(view, node)
    if np.unique(value).size != 1:
        raise Refusal(f"the {node.operator} of an input differs per channel")
    return int(value[0])


def _weights(view: View, name: str) -> np.ndarray:
    """Constant weights after their widening: int8, or int16 where the range needs it."""
    found = view.value(name)
    path: list[Node] = []
    while found.constant is None:
        node = view.producer(name)
        path.append(node)
        name = node.inputs()[0]
        found = view.value(name)
    value = found.constant.astype(np.int64)
    for node in reversed(path):
        if node.operator == "subtract":
            by = view.value(node.inputs()[1])
            value = value - vector(by, value.shape)
        elif node.operator != "astype":
            raise Refusal(f"its weights go through {node.operator}")
    if value.min(initial=0) < -(2**15) or value.max(initial=0) >= 2**15:
        raise Refusal("its weights do not fit 16 bits")
    narrow = -128 <= value.min(initial=0) and value.max(initial=0) <= 127
    return value.astype(np.int8 if narrow else np.int16)


def _weighted(view: View, kind: Kind, core: Node, steps: list[Node]) -> Extracted:
    data, matrix = (str(a) for a in core.arguments[:2])
    x = _input(view, data, "x")
    weight = _weights(view, matrix)
    if x.factor != 1:
        raise Refusal("its input is multiplied before the sum")
    plain, weight = (_conv2d if kind == "conv2d" else _dense)(view, core, x, weight)
    bias = np.zeros(len(weight), np.int32)
    line = _start(plain, {"weight": weight, "bias": bias}, bias.astype(np.int64))
    line = read(view, steps, line)
    assert line.bias is not None
    constants = {"weight": weight, "bias": _int32(np.broadcast_to(line.bias, bias.shape), "bias")}
    output = view.value(view.root.output)
    if output.dtype == "int32":
        if not line.plain:
            raise Refusal("it scales its sum and does not store it in 8 bits")
        return Extracted(plain, constants, (x.value.name,), view.root.output)
    return _finished(plain, line, constants, (x,), view)


def _conv2d(view: View, core: Node, x: _Input, weight: np.ndarray) -> tuple[Workload, np.ndarray]:
    layouts = (core.attributes["data_layout"], core.attributes["kernel_layout"])
    if layouts != ("NHWC", "HWIO"):
        raise Refusal("the convolution is not NHWC with HWIO weights")
    groups = core.attributes["groups"]
    assert isinstance(groups, int)
    filters = np.ascontiguousarray(weight.transpose(3, 0, 1, 2))
    workload = conv2d(
        x.quantized,
        Quantized("int32"),
        shape=rank4(x.value.shape),
        weight_shape=rank4(filters.shape),
        groups=groups,
        window=sliding(core),
        weight_dtype=filters.dtype.name,
    )
    return workload, filters


def _dense(view: View, core: Node, x: _Input, weight: np.ndarray) -> tuple[Workload, np.ndarray]:
    if weight.ndim != 2:
        raise Refusal("the second matrix is not of rank 2")
    rows = np.ascontiguousarray(weight.T)
    workload = dense(
        x.quantized,
        Quantized("int32"),
        rows=prod(x.value.shape[:-1]),
        inputs=rows.shape[1],
        outputs=rows.shape[0],
        weight_dtype=rows.dtype.name,
    )
    return workload, rows


def _pair(view: View, kind: Kind, core: Node, steps: list[Node]) -> Extracted:
    names = [str(a) for a in core.arguments[:2]]
    sides = [_input(view, name, bound) for name, bound in _bound_in_order(view, names)]
    a, b = sides
    y = view.value(view.root.output)
    if y.dtype not in _BYTES:
        raise Refusal(f"its output is {y.dtype}")
    plain = elementwise(
        kind,
        a.quantized,
        b.quantized,
        Quantized(y.dtype),
        shape=rank4(a.value.shape),
        shape1=rank4(b.value.shape),
        out=rank4(view.value(core.output).shape),
        tail=full_range(y.dtype, 0),
    )
    line = _start(plain, {}, None)
    factors = np.array([a.factor, b.factor], np.int64)
    if kind == "mul":
        factors = np.array([a.factor * b.factor], np.int64)
        line = replace(line, low=line.low * factors, high=line.high * factors)
    else:
        ends = np.array([_ends(side) for side in sides], np.int64) * factors[:, None]
        line = replace(line, low=ends.sum(axis=0)[:1], high=ends.sum(axis=0)[1:])
    line = read(view, steps, replace(line, multiplier=factors))
    known = {
        name: side.value.constant.reshape(plain.operand(name).shape)
        for name, side in zip(("x", "x1"), sides, strict=True)
        if side.value.constant is not None
    }
    operands = tuple(replace(o, constant=o.constant or o.name in known) for o in plain.operands)
    moving = tuple(side for side in sides if side.value.constant is None)
    return _finished(replace(plain, operands=operands), line, known, moving, view)


def _bound_in_order(view: View, names: list[str]) -> list[tuple[str, str]]:
    """Which of "x" and "x1" stands below each argument: matching may have exchanged them."""
    reached = set()
    name = names[0]
    while True:
        reached.add(name)
        node = view.graph.producers.get(name)
        if node is None or node.index not in view.match.nodes:
            break
        name = _moving(view, node)
    first = "x" if view.named("x") in reached else "x1"
    return [(names[0], first), (names[1], "x1" if first == "x" else "x")]


def _ends(side: _Input) -> tuple[int, int]:
    info = np.iinfo(side.value.dtype)
    return int(info.min) - side.zero, int(info.max) - side.zero


def _start(plain: Workload, constants: Mapping[str, np.ndarray], bias: np.ndarray | None) -> Line:
    found = sum_range(plain, constants)
    if isinstance(found, str):
        raise Refusal(found)
    one = np.ones(1, np.int64)
    return Line(*found, bias, one, np.zeros(1, np.int64))


def _finished(
    plain: Workload,
    line: Line,
    constants: Mapping[str, np.ndarray],
    inputs: tuple[_Input, ...],
    view: View,
) -> Extracted:
    y = view.value(view.root.output)
    if y.dtype not in _BYTES:
        raise Refusal(f"its output is {y.dtype}")
    stored = replace(plain.output, dtype=y.dtype)
    plain = replace(plain, operands=(*plain.operands[:-1], stored))
    tail = line.tail(y.dtype)
    if line.shifts is not None:
        line = common_shift(line, tail.lo, tail.hi)
        tail = line.tail(y.dtype)
    values = dict(constants)
    if np.any(line.multiplier != 1):
        values["multiplier"] = _int32(line.multiplier, "multiplier")
    if np.any(line.offset):
        values["offset"] = _int32(line.offset, "offset")
    workload = with_fixed_tail(
        plain,
        tail,
        multiplier=values["multiplier"].size if "multiplier" in values else 0,
        offset=values["offset"].size if "offset" in values else 0,
    )
    return Extracted(workload, values, tuple(i.value.name for i in inputs), view.root.output)


def _int32(value: np.ndarray, what: str) -> np.ndarray:
    if value.min() < _INT32.min or value.max() > _INT32.max:
        raise Refusal(f"its {what} does not fit 32 bits")
    return np.ascontiguousarray(value.astype(np.int32))
