"""Lowering of operators that pick, place and order elements.

TVM's own lowerings of these read and write wherever an index says, or call its run-time library.
Here an index that is out of range (which ONNX calls an error) is clamped or has no effect, and
sorting counts: n * n comparisons along the axis, with no other memory than its result.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import Any

from tvm import te, tirx, topi

from match_aie import tvm_api

Rule = Callable[[Any, Any], Any]


def _take(builder: Any, call: Any) -> Any:
    """Indices out of range are an error in ONNX; here they are clamped, never read beyond."""
    mode = str(call.attrs.mode)
    return builder.call_te(
        topi.take,
        call.args[0],
        call.args[1],
        None if call.attrs.axis is None else int(call.attrs.axis),
        mode="clip" if mode == "fast" else mode,
        primfunc_name_hint="take",
    )


def _ranks(data: Any, axis: int, descending: bool) -> Any:
    """Position of every element in the sorted order along `axis`; equal elements keep order."""

    def element(*indices: Any) -> Any:
        other = te.reduce_axis((0, data.shape[axis]), name="j")
        mine = data[indices]
        theirs = data[_replace(indices, axis, other)]
        before = theirs > mine if descending else theirs < mine
        earlier = tirx.And(tirx.EQ(theirs, mine), other < indices[axis])
        return te.sum(tirx.Select(tirx.Or(before, earlier), _int(1), _int(0)), axis=other)

    return te.compute(data.shape, element, name="rank")


def _int(value: int) -> Any:
    return tirx.IntImm("int32", value)


def _replace(indices: Any, axis: int, index: Any) -> tuple[Any, ...]:
    return (*indices[:axis], index, *indices[axis + 1 :])


def _sorted_indices(ranks: Any, axis: int, count: int) -> Any:
    """For each of the first `count` positions, which element has that rank."""
    shape = list(ranks.shape)
    shape[axis] = tirx.IntImm("int64", count)

    def element(*indices: Any) -> Any:
        j = te.reduce_axis((0, ranks.shape[axis]), name="j")
        here = tirx.EQ(ranks[_replace(indices, axis, j)], indices[axis].astype("int32"))
        return te.max(tirx.Select(here, j.var.astype("int32"), _int(0)), axis=j)

    return te.compute(shape, element, name="order")


def _gather(data: Any, order: Any, axis: int) -> Any:
    def element(*indices: Any) -> Any:
        return data[_replace(indices, axis, order[indices])]

    return te.compute(order.shape, element, name="sorted")


def _sorting(wanted: str) -> Rule:
    """sort, argsort and topk by counting: n*n comparisons along the axis, stable."""

    def rule(builder: Any, call: Any) -> Any:
        size = call.args[0].ty.shape.values
        axis = int(call.attrs.axis) % len(size)
        topk = wanted == "topk"
        descending = bool(call.attrs.largest if topk else call.attrs.descending)
        count = int(size[axis])
        if topk and 0 < int(call.attrs.k) < count:
            count = int(call.attrs.k)
        result = str(call.attrs.ret_type) if topk else {"sort": "values"}.get(wanted, "indices")

        def compute(data: Any) -> Any:
            order = _sorted_indices(_ranks(data, axis, descending), axis, count)
            indices = order
            if result != "values":
                dtype = str(call.attrs.dtype)
                indices = te.compute(order.shape, lambda *i: order[i].astype(dtype), name="index")
            if result == "indices":
                return indices
            values = _gather(data, order, axis)
            return values if result == "values" else [values, indices]

        return builder.call_te(compute, call.args[0], primfunc_name_hint=wanted)

    return rule


def _from_start(index: Any, size: int) -> Any:
    """`index` counted from the start, as int32; negative ones count from the end."""
    wide = index.astype("int64")
    return tirx.Select(wide < _long(0), wide + _long(size), wide)


def _long(value: int) -> Any:
    return tirx.IntImm("int64", value)


def _clamped(index: Any, size: int) -> Any:
    inside = te.max(te.min(_from_start(index, size), _long(size - 1)), _long(0))
    return inside


def _gather_elements(builder: Any, call: Any) -> Any:
    axis = int(call.attrs.axis) % len(call.args[0].ty.shape)

    def compute(data: Any, indices: Any) -> Any:
        def element(*at: Any) -> Any:
            return data[_replace(at, axis, _clamped(indices[at], int(data.shape[axis])))]

        return te.compute(indices.shape, element, name="gather")

    return builder.call_te(compute, *call.args, primfunc_name_hint="gather_elements")


def _gather_nd(builder: Any, call: Any) -> Any:
    batch = int(call.attrs.batch_dims)
    shape = call.ty.shape.values

    def compute(data: Any, indices: Any) -> Any:
        outer = len(indices.shape) - 1
        depth = int(indices.shape[outer])

        def element(*at: Any) -> Any:
            sizes = [int(size) for size in data.shape[batch : batch + depth]]
            picked = [_clamped(indices(*at[:outer], q), size) for q, size in enumerate(sizes)]
            return data(*at[:batch], *picked, *at[outer:])

        return te.compute(shape, element, name="gather_nd")

    return builder.call_te(compute, *call.args, primfunc_name_hint="gather_nd")


def _placed(
    reduction: str, extent: Any, original: Any, hit: Callable[[Any], Any], update: Any
) -> Any:
    """The element `original` after all updates that hit it, applied in order.

    Args:
        reduction: "update", "add", "mul", "max" or "min".
        extent: number of updates that may hit the element.
        original: the element before.
        hit: says whether update number `j` goes to this element.
        update: gives the value of update number `j`.
    """
    # Number 0 of the reduction is the element itself: sums then start from it.
    step = te.reduce_axis((0, extent + 1), name="j")
    number = te.max(step.var - 1, tirx.const(0, step.var.ty.dtype))
    is_hit = tirx.And(step.var > 0, hit(number))
    dtype = str(original.ty.dtype)
    neutral = {"add": tirx.const(0, dtype), "mul": tirx.const(1, dtype)}.get(reduction, original)
    value = tirx.if_then_else(is_hit, update(number), neutral)
    reducer = {"add": te.sum, "mul": _product, "max": te.max, "min": te.min}[reduction]
    return reducer(tirx.if_then_else(step.var < 1, original, value), axis=step)


def _product(value: Any, axis: Any) -> Any:
    reducer = te.comm_reducer(lambda a, b: a * b, lambda dtype: tirx.const(1, dtype), name="prod")
    return reducer(value, axis=axis)


def _last_hit(extent: Any, hit: Callable[[Any], Any]) -> Any:
    """Number of the last update that hits, or -1."""
    step = te.reduce_axis((0, extent), name="j")
    value = tirx.Select(hit(step.var), step.var.astype("int32"), _int(-1))
    return te.max(value, axis=step)


def _scatter(name: str, reduction: str, parts: _Scatter) -> Any:
    """The result tensor of a scatter operator from its three questions."""
    shape = parts.data.shape

    def reduced(*at: Any) -> Any:
        return _placed(
            reduction,
            parts.extent,
            parts.data(*at),
            lambda j: parts.hit(at, j),
            lambda j: parts.update(at, j),
        )

    if reduction != "update":
        return te.compute(shape, reduced, name=name)
    last = te.compute(
        shape, lambda *at: _last_hit(parts.extent, lambda j: parts.hit(at, j)), name="last"
    )

    def chosen(*at: Any) -> Any:
        there = te.max(last[at], _int(0)).astype("int64")
        return tirx.if_then_else(last[at] >= 0, parts.update(at, there), parts.data[at])

    return te.compute(shape, chosen, name=name)


@dataclass(frozen=True, eq=False)
class _Scatter:
    """A scatter operator: the element at `at` and update number `j`.

    Attributes:
        data: the tensor before.
        extent: how many updates may hit one element.
        hit: whether update `j` goes to `at`.
        update: its value there.
    """

    data: Any
    extent: Any
    hit: Callable[[Any, Any], Any]
    update: Callable[[Any, Any], Any]


def _reduction_of(call: Any) -> str:
    reduction = str(call.attrs.reduction)
    if reduction not in ("update", "add", "mul", "max", "min"):
        raise ValueError(f"reduction {reduction!r}")
    return reduction


def _scatter_elements(builder: Any, call: Any) -> Any:
    axis = int(call.attrs.axis) % len(call.args[0].ty.shape)

    def compute(data: Any, indices: Any, updates: Any) -> Any:
        def inside(at: Any) -> list[Any]:
            sizes = zip(at, indices.shape, data.shape, strict=True)
            return [i < n for k, (i, n, m) in enumerate(sizes) if k != axis and int(n) != int(m)]

        def safe(at: Any, j: Any) -> Any:
            sizes = zip(at, indices.shape, data.shape, strict=True)
            return tuple(
                j if k == axis else i if int(n) == int(m) else te.min(i, n - 1)
                for k, (i, n, m) in enumerate(sizes)
            )

        def hit(at: Any, j: Any) -> Any:
            index = _from_start(indices[safe(at, j)], int(data.shape[axis]))
            return tirx.all(tirx.EQ(index, at[axis].astype("int64")), *inside(at))

        parts = _Scatter(data, indices.shape[axis], hit, lambda at, j: updates[safe(at, j)])
        return _scatter("scatter_elements", _reduction_of(call), parts)

    return builder.call_te(compute, *call.args, primfunc_name_hint="scatter_elements")


def _scatter_nd(builder: Any, call: Any) -> Any:
    def compute(data: Any, indices: Any, updates: Any) -> Any:
        outer = [int(size) for size in indices.shape[:-1]]
        depth = int(indices.shape[-1])

        def unravel(j: Any) -> list[Any]:
            at = []
            for size in reversed(outer):
                at.append(j % size)
                j = j // size
            return at[::-1]

        def hit(at: Any, j: Any) -> Any:
            row = unravel(j)
            tests = [
                tirx.EQ(_from_start(indices(*row, q), int(data.shape[q])), at[q].astype("int64"))
                for q in range(depth)
            ]
            return tirx.all(*tests) if tests else tirx.const(True, "bool")

        parts = _Scatter(data, prod(outer), hit, lambda at, j: updates(*unravel(j), *at[depth:]))
        return _scatter("scatter_nd", _reduction_of(call), parts)

    return builder.call_te(compute, *call.args, primfunc_name_hint="scatter_nd")


def _running(wanted: str) -> Rule:
    """Cumsum and cumprod: each element reduces what stands before it, in order."""

    def rule(builder: Any, call: Any) -> Any:
        flat = call.attrs.axis is None
        exclusive = bool(call.attrs.exclusive)
        dtype = tvm_api.dtype_of(call)

        def compute(data: Any) -> Any:
            source = topi.reshape(data, (prod(int(n) for n in data.shape),)) if flat else data
            axis = 0 if flat else int(call.attrs.axis) % len(data.shape)

            def element(*at: Any) -> Any:
                j = te.reduce_axis((0, source.shape[axis]), name="j")
                before = j.var < at[axis] if exclusive else j.var <= at[axis]
                neutral = tirx.const(0 if wanted == "cumsum" else 1, dtype)
                value = source[_replace(at, axis, j)].astype(dtype)
                reducer = te.sum if wanted == "cumsum" else _product
                return reducer(tirx.if_then_else(before, value, neutral), axis=j)

            return te.compute(source.shape, element, name=wanted)

        return builder.call_te(compute, call.args[0], primfunc_name_hint=wanted)

    return rule


#: Operator -> its lowering.
RULES: dict[str, Rule] = {
    "take": _take,
    "gather_elements": _gather_elements,
    "gather_nd": _gather_nd,
    "scatter_elements": _scatter_elements,
    "scatter_nd": _scatter_nd,
    "sort": _sorting("sort"),
    "argsort": _sorting("argsort"),
    "topk": _sorting("topk"),
    "cumsum": _running("cumsum"),
    "cumprod": _running("cumprod"),
}
