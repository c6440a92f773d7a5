"""Reductions."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from tvm import relax

from match_aie.frontend.relay.operators.elementwise import divide
from match_aie.frontend.relay.operators.pool import mean
from match_aie.frontend.relay.site import Site, dtype, rank, scalar, shape
from match_aie.frontend.relay.values import Expr, Value

op = relax.op
Rule = Callable[[Site], Value]


def axes_of(site: Site, x: Expr) -> list[int]:
    """Reduced axes, counted from the front; `exclude` means all others."""
    every = list(range(rank(x)))
    given = [a % max(rank(x), 1) for a in site.integers("axis", [])]
    if site.flag("exclude"):
        return [axis for axis in every if axis not in given]
    return sorted(set(given)) if site.has("axis") and given else every


def _plain(function: Callable[..., Expr]) -> Rule:
    def rule(site: Site) -> Value:
        x = site.tensor(0)
        return function(x, axis=axes_of(site, x), keepdims=site.flag("keepdims"))

    return rule


def _logical(function: Callable[..., Expr]) -> Rule:
    """`all` and `any`, as smallest and largest of truth values."""

    def rule(site: Site) -> Value:
        x = site.tensor(0)
        small = site.emit(op.astype(x, "uint8")) if dtype(x) == "bool" else x
        found = site.emit(function(small, axis=axes_of(site, x), keepdims=site.flag("keepdims")))
        return op.astype(found, "bool")

    return rule


def _count(x: Expr, axes: list[int]) -> int:
    return prod(shape(x)[axis] for axis in axes)


def _mean(site: Site) -> Value:
    x = site.tensor(0)
    axes = axes_of(site, x)
    return mean(site, x, axes, site.flag("keepdims"), _count(x, axes))


def _variance(site: Site) -> Value:
    """Of the data about the mean that is its second input (the data's own where there is none)."""
    x = site.tensor(0)
    axes = axes_of(site, x)
    count = _count(x, axes)
    if len(site.arguments) > 1:
        middle = site.tensor(1)
    else:
        middle = site.emit(mean(site, x, axes, True, count))
    distance = site.emit(op.subtract(x, middle))
    squares = site.emit(op.multiply(distance, distance))
    total = site.emit(op.sum(squares, axis=axes, keepdims=site.flag("keepdims")))
    degrees = count - 1 if site.flag("unbiased") else count
    return divide(site, total, scalar(degrees, dtype(x)))


def _arg(function: Callable[..., Expr]) -> Rule:
    """Index of the first largest or smallest element, int32."""

    def rule(site: Site) -> Value:
        x = site.tensor(0)
        axes = axes_of(site, x)
        if site.flag("select_last_index"):
            raise site.error("select_last_index is not compiled")
        if len(axes) not in (1, rank(x)):
            raise site.error(f"axes {axes} at once are not compiled")
        axis = axes[0] if len(axes) == 1 else None
        return op.astype(site.emit(function(x, axis, site.flag("keepdims"))), "int32")

    return rule


def _cumulative(function: Callable[..., Expr]) -> Rule:
    def rule(site: Site) -> Value:
        x = site.tensor(0)
        axis = site.axis(0, rank(x)) if site.has("axis") else None
        kind = site.word("dtype", dtype(x))
        return function(x, axis, kind, site.flag("exclusive"))

    return rule


RULES: dict[str, Rule] = {
    "sum": _plain(op.sum),
    "max": _plain(op.max),
    "min": _plain(op.min),
    "prod": _plain(op.prod),
    "mean": _mean,
    "variance": _variance,
    "all": _logical(op.min),
    "any": _logical(op.max),
    "argmax": _arg(op.argmax),
    "argmin": _arg(op.argmin),
    "cumsum": _cumulative(op.cumsum),
    "cumprod": _cumulative(op.cumprod),
}
