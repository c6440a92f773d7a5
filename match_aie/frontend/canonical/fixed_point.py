"""Requantisation written out in integers becomes one composite, `match.requantize`.

MATCH-style networks, and Relay's `qnn.requantize` once lowered, end a layer with

    astype(clip(shift(sum * multiplier + offset) + zero point, lo, hi), int8)

with any part but the shift and the clip absent, in int32 or int64. The composite computes
`clip(round(t / 2**shift) + zero_point, lo, hi)`, `t = sum * multiplier + offset`, so it is the same
integers. It is called as `requantize(sum, multiplier, offset)`, constants of shape [1] or [channels].
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from tvm import relax

from match_aie import tvm_api
from match_aie.frontend.canonical.constants import constant
from match_aie.frontend.rebuild import Emitter, Expr
from match_aie.hardware import REQUANTIZE

_STORED = ("int8", "uint8", "int16", "uint16")
_WIDE = ("int32", "int64")


@dataclass(frozen=True, eq=False)
class _Chain:
    """What a chain of operators means.

    Attributes:
        total: the sum that is requantised, int32.
        multiplier: [1] or [channels], int64.
        offset: the same.
        shift: bits.
        rounding: "floor", "half_up" or "half_away".
        zero_point: added after the shift.
        lo: least value stored.
        hi: largest value stored.
        bits: 32 or 64, in which it was computed.
        narrowed: whether what was shifted is cut to 32 bits before it is saturated.
    """

    total: Expr
    multiplier: np.ndarray
    offset: np.ndarray
    shift: int
    rounding: str
    zero_point: int
    lo: int
    hi: int
    bits: int
    narrowed: bool


def fixed_point(emitter: Emitter, var: Any, value: Expr) -> Expr:
    """The visit function of this pass."""
    if tvm_api.operator_name(value) != "astype" or not tvm_api.is_tensor(var):
        return value
    stored = tvm_api.dtype_of(var)
    if stored not in _STORED or tvm_api.dtype_of(value.args[0]) not in _WIDE:
        return value
    found = _chain(emitter, value.args[0], np.iinfo(stored))
    if found is None:
        return value
    function = _composite(found, stored)
    name = emitter.builder.add_func(function, f"requantize_{len(emitter.definitions)}")
    integers = (constant(v.astype(np.int32)) for v in (found.multiplier, found.offset))
    return relax.Call(name, [found.total, *integers])


def _chain(emitter: Emitter, expr: Expr, stored: Any) -> _Chain | None:
    """The requantisation that ends in `expr`, None where it is something else."""
    low, high, narrowed = -np.inf, np.inf, False
    node = emitter.definition(expr)
    while tvm_api.operator_name(node) in ("clip", "nn.relu", "astype"):
        if tvm_api.operator_name(node) == "clip":
            bounds = [getattr(arg, "value", arg) for arg in node.args[1:3]]
            below, above = float(bounds[0]), float(bounds[1])
            # clip(clip(v, a, b), c, d): what is inside counts first.
            low, high = min(max(below, low), high), max(min(above, high), low)
        elif tvm_api.operator_name(node) == "nn.relu":
            low, high = max(low, 0.0), max(high, 0.0)
        elif tvm_api.dtype_of(node.args[0]) == "int64":
            narrowed = True
        else:
            return None
        node = emitter.definition(node.args[0])
    if not stored.min <= low <= high <= stored.max:
        return None
    node, zero = _without_scalar(emitter, node)
    if tvm_api.operator_name(node) == "astype" and tvm_api.dtype_of(node.args[0]) == "int64":
        node, narrowed = emitter.definition(node.args[0]), True
    if tvm_api.operator_name(node) != "right_shift":
        return None
    shift = _number(node.args[1])
    bits = 64 if tvm_api.dtype_of(node.args[0]) == "int64" else 32
    if shift is None or not 0 <= shift < bits - 1:
        return None
    after = (zero, int(low), int(high), bits, narrowed)
    return _product(emitter, node.args[0], shift, after)


def _without_scalar(emitter: Emitter, node: Expr) -> tuple[Expr, int]:
    """`node` without the scalar that it adds last, and that scalar."""
    if tvm_api.operator_name(node) == "add":
        zero = _number(node.args[1])
        if zero is not None:
            return emitter.definition(node.args[0]), zero
    return node, 0


def _product(
    emitter: Emitter, expr: Expr, shift: int, after: tuple[int, int, int, int, bool]
) -> _Chain | None:
    """The chain whose shifted value is `expr`."""
    half = (1 << shift) >> 1
    node, rounding, offset = emitter.definition(expr), "floor", np.zeros(1, np.int64)
    if tvm_api.operator_name(node) == "add":
        inner = emitter.definition(node.args[0])
        added = _vector(node.args[1])
        if _rounds_away(emitter, node, half):
            node, rounding, expr = inner, "half_away", node.args[0]
        elif added is not None and (added == half).all() and shift:
            node, rounding, expr = inner, "half_up", node.args[0]
        elif added is not None and tvm_api.operator_name(inner) in ("multiply", "astype"):
            node, offset, expr = inner, added, node.args[0]
    multiplier = np.ones(1, np.int64)
    if tvm_api.operator_name(node) == "multiply":
        factor = _vector(node.args[1])
        if factor is None:
            return None
        multiplier, expr = factor, node.args[0]
        node = emitter.definition(expr)
    if tvm_api.operator_name(node) == "left_shift":
        extra = _number(node.args[1])
        if extra is None or extra > shift - 1 or offset.any():
            return None
        shift, expr = shift - extra, node.args[0]
        node = emitter.definition(expr)
    if tvm_api.operator_name(node) == "astype" and tvm_api.dtype_of(node.args[0]) == "int32":
        expr = node.args[0]
    limits = np.iinfo(np.int32)
    whole = np.concatenate([multiplier, offset])
    if tvm_api.dtype_of(expr) != "int32" or whole.min() < limits.min or whole.max() > limits.max:
        return None
    channels = tvm_api.shape_of(expr)[-1:] or (1,)
    if any(v.size not in (1, channels[0]) for v in (multiplier, offset)):
        return None
    return _Chain(expr, multiplier, offset, shift, rounding, *after)


def _rounds_away(emitter: Emitter, node: Expr, half: int) -> bool:
    """Whether what is added to t is `half` where t is not negative, else `half - 1`."""
    choice = emitter.definition(node.args[1])
    if tvm_api.operator_name(choice) != "where" or half < 1:
        return False
    test = emitter.definition(choice.args[0])
    return (
        tvm_api.operator_name(test) == "greater_equal"
        and test.args[0].same_as(node.args[0])
        and _number(test.args[1]) == 0
        and _number(choice.args[1]) == half
        and _number(choice.args[2]) == half - 1
    )


def _number(expr: Expr) -> int | None:
    """The one value of an integer constant."""
    vector = _vector(expr)
    return None if vector is None or (vector != vector[0]).any() else int(vector[0])


def _vector(expr: Expr) -> np.ndarray | None:
    """An integer constant that broadcasts along the last axis, flat; None where it does not."""
    if not tvm_api.is_constant(expr):
        return None
    value = tvm_api.constant_value(expr)
    if value.dtype.kind not in "iu" or value.size < 1:
        return None
    if value.size > 1 and value.shape[-1] != value.size:
        return None
    return np.asarray(value.reshape(-1).astype(np.int64))


def _composite(chain: _Chain, stored: str) -> Any:
    """The function `requantize(total, multiplier, offset)`, in operators that anything runs."""
    op = relax.op
    wide = f"int{chain.bits}"
    shape = tvm_api.shape_of(chain.total)
    types = (shape, (chain.multiplier.size,), (chain.offset.size,))
    params = [
        relax.Var(name, relax.TensorType(size, "int32"))
        for name, size in zip(("total", "multiplier", "offset"), types, strict=True)
    ]

    def number(value: int) -> Expr:
        return constant(np.array(value, wide))

    attributes = {
        "Composite": REQUANTIZE,
        "shift": chain.shift,
        "rounding": chain.rounding,
        "zero_point": chain.zero_point,
        "lo": chain.lo,
        "hi": chain.hi,
        "bits": chain.bits,
    }
    builder = relax.BlockBuilder()
    with builder.function("requantize", params, attrs=attributes, private=True):
        with builder.dataflow():
            t, factor, added = (builder.emit(op.astype(p, wide)) for p in params)
            if (chain.multiplier != 1).any():
                t = builder.emit(op.multiply(t, factor))
            if chain.offset.any():
                t = builder.emit(op.add(t, added))
            if chain.rounding != "floor" and chain.shift:
                half: Expr = number(1 << (chain.shift - 1))
                if chain.rounding == "half_away":
                    positive = builder.emit(op.greater_equal(t, number(0)))
                    less = number((1 << (chain.shift - 1)) - 1)
                    half = builder.emit(op.where(positive, half, less))
                t = builder.emit(op.add(t, half))
            if chain.shift:
                t = builder.emit(op.right_shift(t, number(chain.shift)))
            if chain.narrowed:
                t = builder.emit(op.astype(builder.emit(op.astype(t, "int32")), wide))
            if chain.zero_point:
                t = builder.emit(op.add(t, number(chain.zero_point)))
            low = builder.emit(op.maximum(t, number(chain.lo)))
            high = builder.emit(op.minimum(low, number(chain.hi)))
            result = builder.emit_output(op.astype(high, stored))
        builder.emit_func_output(result)
    return builder.get()["requantize"]
