"""Operators that work element by element, casts, and annotations (which vanish)."""

from __future__ import annotations

from collections.abc import Callable
from math import inf, log

import numpy as np
from tvm import relax

from match_aie.frontend.relay.fixed_point import multiply_shift
from match_aie.frontend.relay.site import Site, dtype, rank, scalar, shape
from match_aie.frontend.relay.types import ALIASES, DTYPES
from match_aie.frontend.relay.values import Expr, Value

op = relax.op
Rule = Callable[[Site], Value]


def _unary(function: Callable[[Expr], Expr]) -> Rule:
    return lambda site: function(site.tensor(0))


def _binary(function: Callable[[Expr, Expr], Expr]) -> Rule:
    def rule(site: Site) -> Value:
        left, right = site.tensor(0), site.tensor(1)
        if dtype(left) != dtype(right):
            raise site.error(f"its inputs are {dtype(left)} and {dtype(right)}")
        return function(left, right)

    return rule


def _log(base: float) -> Rule:
    def rule(site: Site) -> Value:
        x = site.tensor(0)
        return op.divide(site.emit(op.log(x)), scalar(log(base), dtype(x)))

    return rule


def _round(site: Site) -> Value:
    """Half away from zero, as every back end of TVM did for this operator.

    `trunc(x)` and `x - trunc(x)` are exact, so that no value just below a half is rounded up.
    """
    x = site.tensor(0)
    if not dtype(x).startswith("float"):
        return x
    whole = site.emit(op.trunc(x))
    rest = site.emit(op.abs(site.emit(op.subtract(x, whole))))
    up = site.emit(op.greater_equal(rest, scalar(0.5, dtype(x))))
    away = site.emit(op.add(whole, site.emit(op.sign(x))))
    return op.where(up, away, whole)


def _cast(site: Site) -> Value:
    wanted = ALIASES.get(site.word("dtype"), site.word("dtype"))
    if wanted not in DTYPES:
        raise site.error(f"there are no tensors of {wanted or 'no type'} here")
    return cast(site.tensor(0), wanted)


def cast(x: Expr, wanted: str) -> Expr:
    """`x` as elements of `wanted`."""
    return x if dtype(x) == wanted else op.astype(x, wanted)


def _cast_like(site: Site) -> Value:
    return cast(site.tensor(0), dtype(site.tensor(1)))


def _clip(site: Site) -> Value:
    """Bounds are doubles in Relay; of integers they count as far as their type reaches."""
    return clip(site, site.tensor(0), site.number("a_min", -inf), site.number("a_max", inf))


def clip(site: Site, x: Expr, low: float, high: float) -> Expr:
    """`min(max(x, low), high)`.

    Args:
        site: of the call.
        x: a tensor.
        low: the least value; -inf for none.
        high: the largest one; inf for none.
    """
    kind = dtype(x)
    if kind.startswith("float"):
        if low == -inf and high == inf:
            return x
        if low == -inf:
            return op.minimum(x, scalar(high, kind))
        if high == inf:
            return op.maximum(x, scalar(low, kind))
        return op.clip(x, low, high)
    info = np.iinfo(kind)
    least = info.min if low < info.min else int(min(low, info.max))
    most = info.max if high > info.max else int(max(high, info.min))
    if (least, most) == (info.min, info.max):
        return x
    if info.bits < 64:
        return op.clip(x, least, most)
    raised = site.emit(op.maximum(x, scalar(least, kind))) if least > info.min else x
    return op.minimum(raised, scalar(most, kind)) if most < info.max else raised


def _bias_add(site: Site) -> Value:
    x, bias = site.tensor(0), site.tensor(1)
    if rank(bias) != 1:
        raise site.error(f"its bias has rank {rank(bias)}")
    if dtype(x) != dtype(bias):
        raise site.error(f"its inputs are {dtype(x)} and {dtype(bias)}")
    return op.add(x, along(site, bias, rank(x), site.axis(1, rank(x))))


def along(site: Site, vector: Expr, total: int, axis: int) -> Expr:
    """`vector` shaped to broadcast along `axis` of a tensor of rank `total`.

    Args:
        site: of the call.
        vector: of one axis; others are left as they are.
        total: rank of the tensor.
        axis: of the tensor.
    """
    if rank(vector) != 1 or axis == total - 1:
        return vector
    return site.emit(op.reshape(vector, [-1 if i == axis else 1 for i in range(axis, total)]))


def _where(site: Site) -> Value:
    condition = site.tensor(0)
    if dtype(condition) != "bool":
        condition = site.emit(op.astype(condition, "bool"))
    left, right = site.tensor(1), site.tensor(2)
    if dtype(left) != dtype(right):
        raise site.error(f"its branches are {dtype(left)} and {dtype(right)}")
    return op.where(condition, left, right)


def _divide(site: Site) -> Value:
    """Of integers it truncates, as in C."""
    left, right = site.tensor(0), site.tensor(1)
    if dtype(left) != dtype(right):
        raise site.error(f"its inputs are {dtype(left)} and {dtype(right)}")
    return divide(site, left, right)


def divide(site: Site, left: Expr, right: Expr) -> Expr:
    """Left / right; truncated towards zero where both are integers."""
    kind = dtype(left)
    if kind.startswith(("float", "uint")):
        return op.divide(left, right) if kind.startswith("float") else op.floor_divide(left, right)
    down = site.emit(op.floor_divide(left, right))
    # The floor is one too low where the signs differ and something remains.
    rest = site.emit(op.subtract(left, site.emit(op.multiply(down, right))))
    differ = site.emit(op.less(down, scalar(0, kind)))
    inexact = site.emit(op.not_equal(rest, scalar(0, kind)))
    both = site.emit(op.logical_and(differ, inexact))
    return op.add(down, site.emit(op.astype(both, kind)))


def _mod(site: Site) -> Value:
    """What truncating division leaves: its sign is that of the dividend."""
    left, right = site.tensor(0), site.tensor(1)
    if dtype(left).startswith("float"):
        quotient = site.emit(op.trunc(site.emit(op.divide(left, right))))
    else:
        quotient = site.emit(divide(site, left, right))
    return op.subtract(left, site.emit(op.multiply(quotient, right)))


def _fixed_point_multiply(site: Site) -> Value:
    """`x * multiplier * 2**(shift - 31)` in 64 bits, halves rounded up."""
    multiplier, shift = site.integer("multiplier"), site.integer("shift")
    left, right = np.array([max(shift, 0)]), np.array([max(-shift, 0)])
    return multiply_shift(site, site.tensor(0), np.array([multiplier]), left, right, 0)


def _fixed_point_multiply_per_axis(site: Site) -> Value:
    """The same with a multiplier and two shifts for every element of an axis."""
    x = site.tensor(0)
    axes = site.integers("axes", [0])
    if len(axes) != 1:
        raise site.error(f"attribute axes is {axes}; one axis is compiled")
    vectors = [
        site.array(index, what).reshape(-1).astype(np.int64)
        for index, what in enumerate(("multiplier", "left shift", "right shift"), 1)
    ]
    return multiply_shift(site, x, vectors[0], vectors[1], vectors[2], axes[0] % rank(x))


def _leaky_relu(site: Site) -> Value:
    return op.nn.leakyrelu(site.tensor(0), site.number("alpha", 0.25))


def _prelu(site: Site) -> Value:
    x, alpha = site.tensor(0), site.tensor(1)
    slope = along(site, alpha, rank(x), site.axis(1, rank(x)))
    below = site.emit(op.multiply(x, slope))
    return op.where(site.emit(op.greater(x, scalar(0, dtype(x)))), x, below)


def _dropout(site: Site) -> Value:
    """At inference, the input; the mask is all ones."""
    x = site.tensor(0)
    return x, op.ones(shape(x), dtype(x))


def _first(site: Site) -> Value:
    return site.tensor(0)


def _binaries() -> dict[str, Rule]:
    same = (
        "add subtract multiply floor_divide floor_mod power maximum minimum left_shift "
        "right_shift bitwise_and bitwise_or bitwise_xor logical_and logical_or logical_xor equal "
        "not_equal less less_equal greater greater_equal"
    )
    return {name: _binary(getattr(op, name)) for name in same.split()}


def _unaries() -> dict[str, Rule]:
    same = (
        "abs acos acosh asin asinh atan atanh ceil cos cosh erf exp floor isfinite isinf isnan "
        "log logical_not bitwise_not negative rsqrt sigmoid sign sin sinh sqrt tan tanh trunc"
    )
    fast = {f"fast_{name}": _unary(getattr(op, name)) for name in ("exp", "tanh", "erf")}
    return {name: _unary(getattr(op, name)) for name in same.split()} | fast


#: What only marks a place: devices, fusion, copies.
ANNOTATIONS = (
    "annotation.stop_fusion annotation.on_device on_device annotation.cast_hint "
    "annotation.bitpack_start annotation.bitpack_end annotation.checkpoint "
    "annotation.compiler_begin annotation.compiler_end device_copy copy identity"
)

RULES: dict[str, Rule] = {
    **_unaries(),
    **_binaries(),
    **dict.fromkeys(ANNOTATIONS.split(), _first),
    "divide": _divide,
    "mod": _mod,
    "log2": _log(2.0),
    "log10": _log(10.0),
    "round": _round,
    "cast": _cast,
    "cast_like": _cast_like,
    "clip": _clip,
    "where": _where,
    "nn.relu": _unary(op.nn.relu),
    "nn.leaky_relu": _leaky_relu,
    "nn.prelu": _prelu,
    "nn.bias_add": _bias_add,
    "nn.dropout": _dropout,
    "fixed_point_multiply": _fixed_point_multiply,
    "fixed_point_multiply_per_axis": _fixed_point_multiply_per_axis,
}
