"""Pooling; that of integers sums in 32 bits and truncates, as TVM's C did."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from tvm import relax

from match_aie.frontend.relay.operators.convolution import SPATIAL, permuted, window
from match_aie.frontend.relay.operators.elementwise import cast, divide
from match_aie.frontend.relay.site import Site, dtype, scalar, shape
from match_aie.frontend.relay.values import Expr, Value

op = relax.op
Rule = Callable[[Site], Value]

_MAXIMUM = {1: op.nn.max_pool1d, 2: op.nn.max_pool2d, 3: op.nn.max_pool3d}
_AVERAGE = {1: op.nn.avg_pool1d, 2: op.nn.avg_pool2d, 3: op.nn.avg_pool3d}


def _layout(site: Site, ways: int) -> tuple[str, str]:
    """(layout of the input, the one with channels first)."""
    first = f"NC{SPATIAL[ways]}"
    layout = site.word("layout", first)
    if sorted(layout) != sorted(first):
        raise site.error(f"layout {layout!r} is not compiled")
    if site.word("out_layout", layout) != layout:
        raise site.error("its result has another layout than its input")
    return layout, first


def _sliding(site: Site, ways: int) -> dict[str, object]:
    sizes = site.integers("pool_size")
    return {
        "pool_size": sizes * ways if len(sizes) == 1 else sizes,
        **window(site, ways),
        "ceil_mode": site.flag("ceil_mode"),
    }


def _maximum(ways: int) -> Rule:
    def rule(site: Site) -> Value:
        layout, first = _layout(site, ways)
        x = site.tensor(0)
        if ways == 2 and layout == "NHWC":
            return op.nn.max_pool2d(x, **_sliding(site, 2), layout=layout)
        x = permuted(site, x, layout, first)
        pooled = site.emit(_MAXIMUM[ways](x, **_sliding(site, ways), layout=first))
        return permuted(site, pooled, first, layout)

    return rule


def _average(ways: int) -> Rule:
    def rule(site: Site) -> Value:
        layout, first = _layout(site, ways)
        x = site.tensor(0)
        options = _sliding(site, ways) | {"count_include_pad": site.flag("count_include_pad")}
        kind = dtype(x)
        if ways == 2 and layout == "NHWC" and kind.startswith("float"):
            return op.nn.avg_pool2d(x, **options, layout=layout)
        # Channel-first also for integers: a channel-last average between casts is read as
        # TensorFlow Lite's by normalisation, which rounds where Relay truncates.
        x = permuted(site, x, layout, first)
        if not kind.startswith("float"):
            x = site.emit(cast(x, _sum_type(kind)))
        pooled = site.emit(_AVERAGE[ways](x, **options, layout=first))
        return permuted(site, site.emit(cast(pooled, kind)), first, layout)

    return rule


def _sum_type(kind: str) -> str:
    """What integers are summed in."""
    return kind if kind.endswith("64") else "int32" if kind != "uint32" else "int64"


def _spatial(site: Site, ways: int) -> tuple[list[int], int]:
    """Spatial axes of the input, and how many elements they hold."""
    layout, _ = _layout(site, ways)
    axes = [layout.index(letter) for letter in SPATIAL[ways]]
    return axes, prod(shape(site.tensor(0))[axis] for axis in axes)


def _global_maximum(ways: int) -> Rule:
    def rule(site: Site) -> Value:
        axes, _ = _spatial(site, ways)
        return op.max(site.tensor(0), axis=axes, keepdims=True)

    return rule


def _global_average(ways: int) -> Rule:
    def rule(site: Site) -> Value:
        axes, count = _spatial(site, ways)
        return mean(site, site.tensor(0), axes, True, count)

    return rule


def mean(site: Site, x: Expr, axes: list[int], keepdims: bool, count: int) -> Expr:
    """The mean along `axes`; of integers a 32-bit sum, divided and truncated.

    Args:
        site: of the call.
        x: a tensor.
        axes: to take the mean of.
        keepdims: they stay, with one element.
        count: elements of a mean.
    """
    kind = dtype(x)
    if kind.startswith("float"):
        return op.mean(x, axis=axes, keepdims=keepdims)
    wide = _sum_type(kind)
    total = site.emit(op.sum(site.emit(cast(x, wide)), axis=axes, keepdims=keepdims))
    return cast(site.emit(divide(site, total, scalar(count, wide))), kind)


def _adaptive(ways: int, kind: str) -> Rule:
    """Windows of one size each; where sizes do not divide, TVM's windows overlap."""

    def rule(site: Site) -> Value:
        layout, first = _layout(site, ways)
        x = permuted(site, site.tensor(0), layout, first)
        have = shape(x)[2:]
        want = site.integers("output_size", have)
        want = want * ways if len(want) == 1 else want
        if len(want) != ways or any(size < 1 for size in want):
            raise site.error(f"attribute output_size is {want}")
        if any(size % parts for size, parts in zip(have, want, strict=True)):
            raise site.error(f"an output of {want} does not divide an input of {list(have)}")
        sizes = [size // parts for size, parts in zip(have, want, strict=True)]
        if kind == "max":
            pooled = _MAXIMUM[ways](x, pool_size=sizes, strides=sizes, layout=first)
        elif all(parts == 1 for parts in want):
            pooled = mean(site, x, list(range(2, 2 + ways)), True, prod(have))
        else:
            wide = x if dtype(x).startswith("float") else site.emit(cast(x, _sum_type(dtype(x))))
            average = _AVERAGE[ways](wide, pool_size=sizes, strides=sizes, layout=first)
            pooled = cast(site.emit(average), dtype(x))
        return permuted(site, site.emit(pooled), first, layout)

    return rule


def _table() -> dict[str, Rule]:
    found: dict[str, Rule] = {}
    for ways in SPATIAL:
        found[f"nn.max_pool{ways}d"] = _maximum(ways)
        found[f"nn.avg_pool{ways}d"] = _average(ways)
        found[f"nn.global_max_pool{ways}d"] = _global_maximum(ways)
        found[f"nn.global_avg_pool{ways}d"] = _global_average(ways)
        for prefix in ("nn", "contrib"):
            found[f"{prefix}.adaptive_max_pool{ways}d"] = _adaptive(ways, "max")
            found[f"{prefix}.adaptive_avg_pool{ways}d"] = _adaptive(ways, "avg")
    return found


RULES: dict[str, Rule] = _table()
