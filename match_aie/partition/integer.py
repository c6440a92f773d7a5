"""Layers of integer graphs: what a chain of element-wise integer operators after a sum means.

Relay's, MATCH's and HTVM's graphs requantise with plain operators: a bias is added, a multiplier
and a constant may follow, the sum is shifted right, cut to a range and cast to 8 bits. Read in
order, these are the fields of a fixed-point tail. Nothing is approximated: where a step has no
place in a tail, or a value might leave its type, the layer is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from match_aie.hardware.graph import Node, Value
from match_aie.partition.view import Refusal, View
from match_aie.workload import Rounding, Tail

_WIDEST = 1 << 62
_MOST_SHIFT = 61


@dataclass(frozen=True, eq=False)
class Line:
    """`clip(((sum + bias) * multiplier + offset) >> shift) + zero, lo, hi)`, as far as it was read.

    Attributes:
        low: least value so far, int64 [channels or 1].
        high: largest value so far.
        bias: added to the sum; None where the kind has no bias.
        multiplier: int64 [channels or 1]; of an `add` [2], one per input.
        offset: int64 [channels or 1].
        shift: None where nothing was shifted yet; the largest where they differ.
        rounding: of the shift.
        zero: added after the shift.
        lo: lower bound of the value so far, in its own units; None for none.
        hi: upper bound.
        bits: of the widest type on the way.
        shifts: int64 [channels] where they differ per channel.
        sums: least and largest sum with its bias then, int64 [channels or 1] each.
    """

    low: np.ndarray
    high: np.ndarray
    bias: np.ndarray | None
    multiplier: np.ndarray
    offset: np.ndarray
    shift: int | None = None
    rounding: Rounding = "floor"
    zero: int = 0
    lo: int | None = None
    hi: int | None = None
    bits: int = 32
    shifts: np.ndarray | None = None
    sums: tuple[np.ndarray, np.ndarray] | None = None

    @property
    def plain(self) -> bool:
        """Whether it is the sum with its bias, and nothing else."""
        scaled = np.any(self.multiplier != 1) or np.any(self.offset)
        bounded = self.lo is not None or self.hi is not None
        return not scaled and not bounded and self.shift is None and not self.zero

    def tail(self, dtype: str) -> Tail:
        """The tail that stores it as `dtype`."""
        info = np.iinfo(dtype)
        lo = int(info.min) if self.lo is None else max(self.lo, int(info.min))
        hi = int(info.max) if self.hi is None else min(self.hi, int(info.max))
        return Tail(self.zero, lo, hi, self.rounding, self.shift or 0, self.bits)


def read(view: View, steps: list[Node], line: Line) -> Line:
    """`line` after `steps`, the element-wise operators that follow the sum, in order.

    Raises:
        Refusal: a step has no place in a fixed-point tail, or a value may leave its type.
    """
    for node in steps:
        line = _RULES[node.operator](view, node, line)
        dtype = view.value(node.output).dtype
        if dtype not in ("int8", "uint8", "int16", "uint16", "int32", "int64"):
            raise Refusal(f"its {node.operator} gives {dtype}")
        info = np.iinfo(dtype)
        least, most = max(int(info.min), -_WIDEST), min(int(info.max), _WIDEST)
        if int(line.low.min()) < least or int(line.high.max()) > most:
            raise Refusal(f"its {node.operator} may leave {dtype}")
        line = replace(line, bits=64 if dtype == "int64" else line.bits)
    return line


def constant(view: View, node: Node) -> np.ndarray:
    """The constant of an element-wise node, int64 [channels] or [1]."""
    values = [view.value(a) for a in node.inputs()]
    known = [v for v in values if v.constant is not None]
    if len(known) != 1:
        raise Refusal(f"its {node.operator} has no constant")
    return vector(known[0], view.value(node.output).shape)


def vector(value: Value, shape: tuple[int, ...]) -> np.ndarray:
    """A constant that broadcasts against `shape` along its last axis only, int64."""
    data = value.constant
    if data is None:
        raise Refusal("a number that is known only at run time")
    if data.dtype.kind not in "iu":
        raise Refusal(f"a constant of type {data.dtype}")
    if data.size != 1 and (data.shape[-1] != shape[-1] or data.size != shape[-1]):
        raise Refusal(f"a constant of shape {data.shape} is not one value per output channel")
    return np.asarray(data.reshape(-1).astype(np.int64))


def _scalar(view: View, node: Node, what: str) -> int:
    value = constant(view, node)
    if np.unique(value).size != 1:
        raise Refusal(f"{what} differs per channel")
    return int(value[0])


def _moved(bound: int | None, by: np.ndarray, what: str) -> int | None:
    """A bound after every value moved by `by`."""
    if bound is None:
        return None
    if np.unique(by).size != 1:
        raise Refusal(f"{what} differs per channel behind a clip")
    return bound + int(by.flat[0])


def _add(view: View, node: Node, line: Line) -> Line:
    return _added(line, constant(view, node))


def _subtract(view: View, node: Node, line: Line) -> Line:
    if view.value(node.inputs()[0]).constant is not None:
        raise Refusal("it subtracts from a constant")
    return _added(line, -constant(view, node))


def _added(line: Line, value: np.ndarray) -> Line:
    moved = replace(
        line,
        low=line.low + value,
        high=line.high + value,
        lo=_moved(line.lo, value, "a constant"),
        hi=_moved(line.hi, value, "a constant"),
    )
    if line.shift is not None:
        if np.unique(value).size != 1:
            raise Refusal("the output's zero point differs per channel")
        return replace(moved, zero=line.zero + int(value[0]))
    untouched = not np.any(line.multiplier != 1) and not np.any(line.offset)
    if line.bias is not None and untouched and line.lo is None and line.hi is None:
        return replace(moved, bias=line.bias + value)
    return replace(moved, offset=line.offset + value)


def _multiply(view: View, node: Node, line: Line) -> Line:
    return _multiplied(line, constant(view, node))


def _left_shift(view: View, node: Node, line: Line) -> Line:
    if view.value(node.inputs()[0]).constant is not None:
        raise Refusal("it shifts a constant")
    return _multiplied(line, np.left_shift(1, constant(view, node)))


def _multiplied(line: Line, value: np.ndarray) -> Line:
    if line.shift is not None:
        raise Refusal("it multiplies after the shift")
    if value.min() < 0:
        raise Refusal("a negative multiplier")
    bounded = line.lo is not None or line.hi is not None
    if (bounded or line.multiplier.size == 2) and np.unique(value).size != 1:
        raise Refusal("a multiplier per channel behind a clip or of a sum of two tensors")
    if (
        float(np.abs(value).max()) * max(abs(int(line.low.min())), abs(int(line.high.max())))
        > 2**62
    ):
        raise Refusal("a product may leave 64 bits")
    factor = int(value[0])
    return replace(
        line,
        low=line.low * value,
        high=line.high * value,
        multiplier=line.multiplier * value,
        offset=line.offset * value,
        lo=None if line.lo is None else line.lo * factor,
        hi=None if line.hi is None else line.hi * factor,
    )


def _right_shift(view: View, node: Node, line: Line) -> Line:
    if view.value(node.inputs()[0]).constant is not None:
        raise Refusal("it shifts a constant")
    shifts = constant(view, node)
    if line.shift is not None:
        raise Refusal("it shifts twice")
    if not 0 <= int(shifts.min()) <= int(shifts.max()) <= _MOST_SHIFT:
        raise Refusal(f"a shift by {int(shifts.min())} to {int(shifts.max())}")
    if np.unique(shifts).size != 1:
        return _shifted_apart(line, shifts)
    shift = int(shifts[0])
    half = (1 << shift) >> 1
    rounds = bool(shift) and bool(np.all(line.offset == half))
    return replace(
        line,
        low=line.low >> shift,
        high=line.high >> shift,
        shift=shift,
        rounding="half_up" if rounds else "floor",
        offset=np.zeros(1, np.int64) if rounds else line.offset,
        lo=None if line.lo is None else line.lo >> shift,
        hi=None if line.hi is None else line.hi >> shift,
    )


def _shifted_apart(line: Line, shifts: np.ndarray) -> Line:
    """A shift per channel: `common_shift` makes it one when all that is stored is known."""
    if line.bias is None:
        raise Refusal("the shift differs per channel")
    if line.lo is not None or line.hi is not None:
        raise Refusal("the shift differs per channel behind a clip")
    factor = np.maximum(line.multiplier, 1)  # where it is 0, no sum matters
    return replace(
        line,
        low=line.low >> shifts,
        high=line.high >> shifts,
        shift=int(shifts.max()),
        shifts=shifts,
        sums=((line.low - line.offset) // factor, (line.high - line.offset) // factor),
    )


def _clip(view: View, node: Node, line: Line) -> Line:
    del view
    bounds = [a for a in node.arguments[1:3] if isinstance(a, float)]
    if len(bounds) != 2 or not bounds[0] <= bounds[1]:
        raise Refusal("a clip without two bounds in order")
    return _bounded(line, int(np.ceil(max(bounds[0], -_WIDEST))), int(min(bounds[1], _WIDEST)))


def _maximum(view: View, node: Node, line: Line) -> Line:
    return _bounded(line, _scalar(view, node, "a bound"), None)


def _minimum(view: View, node: Node, line: Line) -> Line:
    return _bounded(line, None, _scalar(view, node, "a bound"))


def _relu(view: View, node: Node, line: Line) -> Line:
    del view, node
    return _bounded(line, 0, None)


def _bounded(line: Line, low: int | None, high: int | None) -> Line:
    def cut(value: int | None) -> int | None:
        if value is None:
            return None
        value = value if low is None else max(value, low)
        return value if high is None else min(value, high)

    lo = low if line.lo is None else cut(line.lo)
    hi = high if line.hi is None else cut(line.hi)
    return replace(
        line, low=np.clip(line.low, low, high), high=np.clip(line.high, low, high), lo=lo, hi=hi
    )


def _astype(view: View, node: Node, line: Line) -> Line:
    del view, node
    return line


_RULES: Mapping[str, Callable[[View, Node, Line], Line]] = {
    "add": _add,
    "subtract": _subtract,
    "multiply": _multiply,
    "left_shift": _left_shift,
    "right_shift": _right_shift,
    "clip": _clip,
    "maximum": _maximum,
    "minimum": _minimum,
    "nn.relu": _relu,
    "astype": _astype,
}
