"""Operators of a TFLite file whose operands are known, computed while it is imported.

TensorFlow's converter leaves shape arithmetic in the file (`SHAPE`, slices of it, `PACK`), and
weights stored in 16 bits behind a `DEQUANTIZE`. What comes of them is a constant.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil, prod
from types import MappingProxyType
from typing import Any

import numpy as np
import tflite

#: A tensor's value.
Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True)
class Known:
    """An operator all of whose operands are known.

    Attributes:
        kind: its name, as the schema has it.
        operands: their values, in order; none for an optional one that is left out.
        options: the table of its attributes, None where it has none.
        dtype: numpy's name of its result's type.
    """

    kind: str
    operands: tuple[Array, ...]
    options: Any
    dtype: str


def _axis(axis: int, rank: int) -> int:
    """`axis` counted from the front.

    Raises:
        ValueError: there is none.
    """
    if not -rank <= axis < rank:
        raise ValueError(f"axis {axis} of {rank}")
    return axis % rank


def _axes(op: Known) -> tuple[int, ...]:
    """The axes that the second operand lists."""
    rank = op.operands[0].ndim
    return tuple({_axis(int(a), rank) for a in op.operands[1].reshape(-1)})


def _range(op: Known) -> Array:
    start, limit, step = (a.reshape(-1)[0] for a in op.operands)
    return np.arange(start, limit, step)


def _strided_slice(op: Known) -> Array:
    """Ends and strides as the masks say; no axes are added, and none stand for several.

    Raises:
        ValueError: the operator adds axes.
    """
    data, begin, end, stride = op.operands
    given = op.options
    if given.NewAxisMask() or given.EllipsisMask() or given.Offset():
        raise ValueError("axes are added, or ends count from the beginning")
    place: list[slice | int] = []
    for i, (low, high, step) in enumerate(zip(begin, end, stride, strict=True)):
        if given.ShrinkAxisMask() >> i & 1:
            place.append(int(low))
            continue
        first = None if given.BeginMask() >> i & 1 else int(low)
        last = None if given.EndMask() >> i & 1 else int(high)
        place.append(slice(first, last, int(step)))
    return np.asarray(data[tuple(place)])


def _gather(op: Known) -> Array:
    data, indices = op.operands
    if op.options.BatchDims():
        raise ValueError("batches of indices")
    if np.any(indices < 0):
        raise IndexError("a negative index")
    return np.take(data, indices, axis=_axis(op.options.Axis(), data.ndim))


def _pack(op: Known) -> Array:
    rank = op.operands[0].ndim + 1
    return np.stack(op.operands, axis=_axis(op.options.Axis(), rank))


def _concatenation(op: Known) -> Array:
    _plain(op)
    return np.concatenate(op.operands, axis=_axis(op.options.Axis(), op.operands[0].ndim))


def _plain(op: Known) -> None:
    """Refuse an activation in the operator.

    Raises:
        ValueError: there is one.
    """
    if op.options is not None and op.options.FusedActivationFunction():
        raise ValueError("an activation")


def _arithmetic(function: Callable[..., Array]) -> Callable[[Known], Array]:
    """Element by element, in the type of the operands."""

    def computed(op: Known) -> Array:
        if hasattr(op.options, "FusedActivationFunction"):
            _plain(op)
        left, right = op.operands
        return np.asarray(function(left, right))

    return computed


def _split(op: Known) -> tuple[Array, ...]:
    """Equal parts along the axis that the first operand is."""
    axis, data = op.operands
    count = op.options.NumSplits()
    return tuple(np.split(data, count, _axis(int(axis.reshape(-1)[0]), data.ndim)))


def _split_v(op: Known) -> tuple[Array, ...]:
    """Parts of the sizes that the second operand lists; one of them may be -1, the rest."""
    data, sizes, axis = op.operands
    along = _axis(int(axis.reshape(-1)[0]), data.ndim)
    counts = sizes.reshape(-1).astype(np.int64)
    if np.count_nonzero(counts < 0) > 1:
        raise ValueError("two parts are the rest")
    counts[counts < 0] = data.shape[along] - counts[counts >= 0].sum()
    if counts.sum() != data.shape[along] or np.any(counts < 0):
        raise ValueError("parts that are not the whole")
    return tuple(np.split(data, np.cumsum(counts)[:-1], along))


def _expand(op: Known) -> Array:
    rank = op.operands[0].ndim + 1
    return np.expand_dims(op.operands[0], _axis(int(op.operands[1].reshape(-1)[0]), rank))


def _squeeze(op: Known) -> Array:
    data = op.operands[0]
    named = [op.options.SqueezeDims(i) for i in range(op.options.SqueezeDimsLength())]
    axes = tuple(_axis(a, data.ndim) for a in named)
    return np.squeeze(data, axes or None)


_RULES: Mapping[str, Callable[[Known], Array | tuple[Array, ...]]] = MappingProxyType(
    {
        "ADD": _arithmetic(np.add),
        "CAST": lambda op: op.operands[0].astype(op.dtype),
        "CONCATENATION": _concatenation,
        "EXPAND_DIMS": _expand,
        "FLOOR_DIV": _arithmetic(np.floor_divide),
        "GATHER": _gather,
        "LESS": _arithmetic(np.less),
        "LESS_EQUAL": _arithmetic(np.less_equal),
        "GREATER": _arithmetic(np.greater),
        "GREATER_EQUAL": _arithmetic(np.greater_equal),
        "EQUAL": _arithmetic(np.equal),
        "NOT_EQUAL": _arithmetic(np.not_equal),
        "LOGICAL_AND": _arithmetic(np.logical_and),
        "LOGICAL_OR": _arithmetic(np.logical_or),
        "LOGICAL_NOT": lambda op: np.logical_not(op.operands[0]),
        "MAXIMUM": _arithmetic(np.maximum),
        "MINIMUM": _arithmetic(np.minimum),
        "MUL": _arithmetic(np.multiply),
        "PACK": _pack,
        "RANGE": _range,
        "REDUCE_PROD": lambda op: np.asarray(
            np.prod(op.operands[0], _axes(op), op.dtype, keepdims=bool(op.options.KeepDims()))
        ),
        "RESHAPE": lambda op: op.operands[0].reshape(op.operands[1].reshape(-1)),
        "SPLIT": _split,
        "SPLIT_V": _split_v,
        "SQUEEZE": _squeeze,
        "STRIDED_SLICE": _strided_slice,
        "SUB": _arithmetic(np.subtract),
        "TRANSPOSE": lambda op: op.operands[0].transpose(op.operands[1].reshape(-1)),
    }
)
#: Operators of unquantised operands that `fold` computes; the importer does `SHAPE`, `DEQUANTIZE`.
FOLDED = frozenset(_RULES)

_OPTIONS = {
    "ADD": "AddOptions",
    "CALL_ONCE": "CallOnceOptions",
    "CONCATENATION": "ConcatenationOptions",
    "GATHER": "GatherOptions",
    "MUL": "MulOptions",
    "PACK": "PackOptions",
    "REDUCE_PROD": "ReducerOptions",
    "SPLIT": "SplitOptions",
    "SQUEEZE": "SqueezeOptions",
    "STRIDED_SLICE": "StridedSliceOptions",
    "SUB": "SubOptions",
    "VAR_HANDLE": "VarHandleOptions",
}


def table_of(op: Any, name: str) -> Any:
    """The attributes of an operator, which the schema has as `name`; None where it has none."""
    table = op.BuiltinOptions()
    if table is None:
        return None
    options = getattr(tflite, name)()
    options.Init(table.Bytes, table.Pos)
    return options


def options_of(op: Any, kind: str) -> Any:
    """The attributes that a rule needs: the schema's table, None where it needs none.

    Raises:
        ValueError: the operator lacks it.
    """
    name = _OPTIONS.get(kind)
    if name is None:
        return None
    found = table_of(op, name)
    if found is None:
        raise ValueError("no attributes")
    return found


def elements(op: Known) -> int:
    """How many elements the result has at most, before it is made."""
    sizes = [operand.size for operand in op.operands]
    if op.kind == "RANGE":
        start, limit, step = (float(a.reshape(-1)[0]) for a in op.operands)
        return max(0, ceil((limit - start) / step))
    if op.kind == "GATHER":
        return sizes[0] * sizes[1]
    if op.kind in ("PACK", "CONCATENATION"):
        return sum(sizes)
    if op.kind in ("ADD", "SUB", "MUL", "FLOOR_DIV", "MAXIMUM", "MINIMUM"):
        return prod(np.broadcast_shapes(*(a.shape for a in op.operands)))
    return max(sizes)


def fold(op: Known, most: int) -> tuple[Array, ...]:
    """The operator's results; none where it makes no sense, or has too many elements.

    Args:
        op: one of `FOLDED`.
        most: elements that a result may have.
    """
    try:
        if elements(op) > most:
            return ()
        with np.errstate(all="raise", over="ignore"):
            made = _RULES[op.kind](op)
    except (ValueError, IndexError, TypeError, ArithmeticError):
        return ()
    results = made if isinstance(made, tuple) else (made,)
    return tuple(result.astype(op.dtype, copy=False) for result in results)


def reachable(
    steps: Sequence[tuple[str, Sequence[int], Sequence[int]]], constants: set[int]
) -> set[int]:
    """The places of operators that may be computed: `SHAPE`, and those of known tensors alone.

    Args:
        steps: name, operands and results of every operator in order; tensors by number, -1 for
            none.
        constants: tensors whose content is in the file.
    """
    known, found = set(constants), set()
    for place, (kind, operands, results) in enumerate(steps):
        unpacks = kind in ("DEQUANTIZE", "DENSIFY") or kind in FOLDED
        if kind == "SHAPE" or (unpacks and all(t in known for t in operands if t >= 0)):
            found.add(place)
            known |= set(results)
    return found
