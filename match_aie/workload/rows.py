"""Some output rows of a layer, as a layer of its own."""

from __future__ import annotations

from dataclasses import dataclass, replace

from match_aie.workload.workload import Axis, Operand, Workload


@dataclass(frozen=True)
class Rows:
    """Output rows of a layer, and the input rows that they need.

    Attributes:
        workload: the layer that makes these rows alone.
        read: byte of each input at which its input begins.
        written: byte of the output at which its output begins.
    """

    workload: Workload
    read: int
    written: int


def has_rows(workload: Workload) -> bool:
    """Whether `rows_of` is for such a layer: a convolution of one image, or `is_sum_of_images`."""
    sizes = workload.sizes
    if is_sum_of_images(workload):
        return True
    if workload.kind != "conv2d" or sizes["B"] != 1 or workload.window is None:
        return False
    return len(workload.inputs) == 1 and sizes["OY"] > 1


def is_sum_of_images(workload: Workload) -> bool:
    """Whether it adds or multiplies two images of one shape, both as large as the result."""
    if workload.kind not in ("add", "mul") or len(workload.inputs) != 2:
        return False
    y, (x, x1) = workload.output, workload.inputs
    alike = x.shape == x1.shape == y.shape and x.nbytes == x1.nbytes == y.nbytes
    return alike and len(y.shape) == 4 and y.shape[0] == 1 and y.shape[1] > 1


def rows_of(workload: Workload, first: int, count: int) -> Rows | None:
    """Output rows `first` to `first + count` of a layer that `has_rows`.

    Constants are those of the whole layer. None where the rows see nothing but padding.
    """
    window, x, y = workload.window, workload.operand("x"), workload.output
    if is_sum_of_images(workload):
        line = y.nbytes // y.shape[1]
        return Rows(_pointwise(workload, count), first * line, first * line)
    assert window is not None
    (_, height, width, channels), axis = x.shape, x.axes[1]
    steps = dict(axis.terms)
    reach = (workload.sizes["FY"] - 1) * steps.get("FY", 0)
    begin = first * steps["OY"] + axis.offset
    end = begin + (count - 1) * steps["OY"] + reach + 1
    low, high = max(0, begin), min(height, end)
    if high <= low:
        return None
    _, left, _, right = window.padding
    changed = {
        "x": _with_rows(x, high - low, Axis(axis.terms, begin - low)),
        "y": _with_rows(y, count, y.axes[1]),
    }
    part = replace(
        workload,
        dims=tuple((dim, count if dim == "OY" else size) for dim, size in workload.dims),
        operands=tuple(changed.get(o.name, o) for o in workload.operands),
        window=replace(window, padding=(low - begin, left, end - high, right)),
    )
    line = y.nbytes // y.shape[1]
    return Rows(part, low * width * channels * (x.nbytes // x.size), first * line)


def _pointwise(workload: Workload, count: int) -> Workload:
    """So many rows of a layer whose images are all of one shape."""
    images = (*workload.inputs, workload.output)
    changed = {o.name: _with_rows(o, count, o.axes[1]) for o in images}
    return replace(
        workload,
        dims=tuple((dim, count if dim == "OY" else size) for dim, size in workload.dims),
        operands=tuple(changed.get(o.name, o) for o in workload.operands),
    )


def _with_rows(operand: Operand, rows: int, axis: Axis) -> Operand:
    batch, _, *rest = operand.shape
    axes = (operand.axes[0], axis, *operand.axes[2:])
    return replace(operand, shape=(batch, rows, *rest), axes=axes)
