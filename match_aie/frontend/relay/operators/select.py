"""Operators that pick elements: slices, indices, resizing of images."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

import numpy as np
from tvm import relax

from match_aie.frontend.relay.site import Site, dtype, rank, shape
from match_aie.frontend.relay.values import Expr, Value

op = relax.op
Rule = Callable[[Site], Value]

_METHODS = {
    "nearest_neighbor": "nearest_neighbor",
    "nearest": "nearest_neighbor",
    "linear": "linear",
    "bilinear": "linear",
    "cubic": "cubic",
    "bicubic": "cubic",
}


def _bounds(site: Site, name: str, position: int) -> list[int]:
    """Begin, end or strides: an attribute, or an input known at compile time."""
    if len(site.arguments) > position:
        return [int(v) for v in site.array(position, name).reshape(-1)]
    return site.integers(name, [])


def _strided_slice(site: Site) -> Value:
    x = site.tensor(0)
    begin, end, strides = (
        _bounds(site, n, i) for i, n in enumerate(("begin", "end", "strides"), 1)
    )
    axes = [a % rank(x) for a in site.integers("axes", [])] or list(range(len(begin)))
    mode = site.word("slice_mode", "end")
    sizes = [shape(x)[axis] for axis in axes]
    if mode == "size":
        strides = [1] * len(begin)
        starts = [b + s if b < 0 else b for b, s in zip(begin, sizes, strict=True)]
        end = [
            s if count == -1 else b + count for b, count, s in zip(starts, end, sizes, strict=True)
        ]
        begin = starts
    if not strides:
        strides = [1]
    if len(strides) == 1:
        strides *= len(begin)
    if not len(begin) == len(end) == len(strides) == len(axes) or 0 in strides:
        raise site.error(f"begin {begin}, end {end}, strides {strides} do not fit {axes}")
    return _slice(x, axes, begin, end, strides)


def _slice(x: Expr, axes: list[int], begin: list[int], end: list[int], strides: list[int]) -> Expr:
    """A slice whose bounds lie within the tensor, as numpy's do."""
    starts, stops = [], []
    for axis, first, last, step in zip(axes, begin, end, strides, strict=True):
        start, stop, _ = slice(first, last, step).indices(shape(x)[axis])
        if step < 0 and stop < 0:
            stop = -shape(x)[axis] - 1
        starts.append(start)
        stops.append(stop)
    return op.strided_slice(x, axes, starts, stops, strides)


def _slice_like(site: Site) -> Value:
    x, like = site.tensor(0), site.tensor(1)
    axes = [a % rank(x) for a in site.integers("axes", [])] or list(range(rank(x)))
    return _slice(x, axes, [0] * len(axes), [shape(like)[a] for a in axes], [1] * len(axes))


def _take(site: Site) -> Value:
    x, indices = site.tensor(0), site.tensor(1)
    if site.integer("batch_dims", 0):
        raise site.error("batch_dims is not compiled")
    mode = site.word("mode", "clip")
    if mode not in ("clip", "wrap", "fast"):
        raise site.error(f"mode {mode!r} is not compiled")
    if not site.has("axis"):
        x = site.emit(op.reshape(x, [prod(shape(x))]))
    axis = site.axis(0, rank(x))
    if not dtype(indices).startswith("int"):
        indices = site.emit(op.astype(indices, "int64"))
    if rank(indices) == 0:
        one = site.emit(op.reshape(indices, [1]))
        taken = site.emit(op.take(x, one, axis, mode="clip" if mode == "fast" else mode))
        sizes = [s for i, s in enumerate(shape(x)) if i != axis]
        return op.reshape(taken, sizes)
    return op.take(x, indices, axis, mode="clip" if mode == "fast" else mode)


def _gather(site: Site) -> Value:
    """An element per index, along an axis."""
    x, indices = site.tensor(0), site.tensor(1)
    if not dtype(indices).startswith("int"):
        indices = site.emit(op.astype(indices, "int64"))
    return op.gather_elements(x, indices, site.axis(0, rank(x)))


def _gather_nd(site: Site) -> Value:
    """Relay keeps the parts of an index along the first axis, Relax along the last."""
    x, indices = site.tensor(0), site.tensor(1)
    if site.integer("batch_dims", 0):
        raise site.error("batch_dims is not compiled")
    if dtype(indices) != "int64":
        indices = site.emit(op.astype(indices, "int64"))
    moved = site.emit(op.permute_dims(indices, [*range(1, rank(indices)), 0]))
    return op.gather_nd(x, moved)


def _one_hot(site: Site) -> Value:
    kind = site.word("dtype", "int32")
    on = site.array(1, "on value").reshape(()).item()
    off = site.array(2, "off value").reshape(()).item()
    indices, depth = site.tensor(0), site.integer("depth")
    axis = site.axis(-1, rank(indices) + 1)
    sizes = shape(indices)
    wide = site.emit(op.reshape(indices, [*sizes[:axis], 1, *sizes[axis:]]))
    site.reserve(depth)
    steps = np.arange(depth).astype(dtype(indices))
    steps = steps.reshape([-1 if i == axis else 1 for i in range(rank(indices) + 1)])
    hit = site.emit(op.equal(wide, relax.const(steps)))
    values = (relax.const(np.array(value, kind)) for value in (on, off))
    return op.where(hit, *values)


def _resize2d(site: Site) -> Value:
    x = site.tensor(0)
    size = site.integers("size")
    default = "linear" if site.operator == "image.resize2d" else "bilinear"
    return _resized(
        site,
        x,
        size * 2 if len(size) == 1 else size,
        site.word("method", default),
        site.word("coordinate_transformation_mode", "half_pixel"),
    )


def _upsampling(site: Site) -> Value:
    """Nearest neighbours; or bilinear, with corners aligned or not."""
    x = site.tensor(0)
    layout = site.word("layout", "NCHW")
    factors = (site.number("scale_h", 1.0), site.number("scale_w", 1.0))
    have = (shape(x)[layout.index("H")], shape(x)[layout.index("W")])
    size = [round(n * f) for n, f in zip(have, factors, strict=True)]
    method = site.word("method", "nearest_neighbor")
    mode = "align_corners" if site.flag("align_corners") else "asymmetric"
    return _resized(site, x, size, method, mode if method != "nearest_neighbor" else "asymmetric")


def _resized(site: Site, x: Expr, size: list[int], method: str, mode: str) -> Expr:
    layout = site.word("layout", "NCHW")
    known = _METHODS.get(method)
    if layout not in ("NCHW", "NHWC") or known is None:
        raise site.error(f"layout {layout!r} or method {method!r} is not compiled")
    if site.word("out_dtype", dtype(x)) != dtype(x):
        raise site.error("another element type for the result is not compiled")
    if mode not in ("half_pixel", "align_corners", "asymmetric"):
        raise site.error(f"coordinate_transformation_mode {mode!r} is not compiled")
    default = "round" if mode == "align_corners" else "floor"
    rounding = site.word("rounding_method", default)
    return op.image.resize2d(
        x,
        tuple(size),
        roi=(0.0, 0.0, 0.0, 0.0),
        layout=layout,
        method=known,
        coordinate_transformation_mode=mode,
        rounding_method=rounding if known == "nearest_neighbor" else "round",
        cubic_alpha=site.number("cubic_alpha", -0.5),
        cubic_exclude=site.integer("cubic_exclude", 0),
    )


RULES: dict[str, Rule] = {
    "strided_slice": _strided_slice,
    "slice_like": _slice_like,
    "take": _take,
    "gather": _gather,
    "gather_nd": _gather_nd,
    "one_hot": _one_hot,
    "image.resize2d": _resize2d,
    "image.resize": _resize2d,
    "nn.upsampling": _upsampling,
}
