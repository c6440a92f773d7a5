"""What a tile of a sliding window's outputs sees of the image."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from match_aie.workload import Axis, Workload

Ranges = Mapping[str, tuple[int, int]]


@dataclass(frozen=True)
class Image:
    """A tile of a convolution or a pool.

    Attributes:
        batch: images.
        channels: of the input's tile.
        in_rows: of the image in the tile.
        in_columns: of the image in the tile.
        out_rows: of the output's tile.
        out_columns: of the output's tile.
        pad_left: columns of padding that the first window of a row starts with.
        dilation: of rows and columns.
        rows_seen: for each output row, (filter rows in the padding before it, rows inside).
        columns_seen: the same of each output column.
        direct: windows are single pixels, whose channels are read where they lie.
    """

    batch: int
    channels: int
    in_rows: int
    in_columns: int
    out_rows: int
    out_columns: int
    pad_left: int
    dilation: tuple[int, int]
    rows_seen: tuple[tuple[int, int], ...]
    columns_seen: tuple[tuple[int, int], ...]
    direct: bool


def _extent(axis: Axis, size: int, ranges: Ranges) -> tuple[int, int]:
    """(positions before the tensor, positions inside) of what the ranges touch."""
    first = axis.offset + sum(c * ranges[dim][0] for dim, c in axis.terms)
    last = axis.offset + sum(c * (sum(ranges[dim]) - 1) for dim, c in axis.terms)
    return max(0, -first), max(0, min(last, size - 1) - max(first, 0) + 1)


def _seen(
    out: tuple[int, int], filter_: int, stride: int, dilation: int, pad: int, size: int
) -> tuple[tuple[int, int], ...]:
    """(filter positions before the image, positions inside) for each output of a range."""
    found = []
    for o in range(out[0], sum(out)):
        at = [o * stride - pad + f * dilation for f in range(filter_)]
        found.append((sum(a < 0 for a in at), sum(0 <= a < size for a in at)))
    return tuple(found)


def image_of(workload: Workload, ranges: Ranges) -> Image:
    """The tile of `workload` that the loop ranges (start, length) cover.

    Raises:
        ValueError: the workload has no window.
    """
    window, d, x = workload.window, workload.sizes, workload.operand("x")
    if window is None:
        raise ValueError(f"a {workload.kind} has no window")
    (_, in_rows), (pad_left, in_columns) = (_extent(x.axes[a], x.shape[a], ranges) for a in (1, 2))
    channels = ranges["G"][1] * (d["C"] if workload.kind == "conv2d" else 1)
    seen = [
        _seen(ranges[out], d[f], window.stride[i], window.dilation[i], pad, x.shape[1 + i])
        for i, (out, f, pad) in enumerate(
            zip(("OY", "OX"), ("FY", "FX"), window.padding[:2], strict=True)
        )
    ]
    one = d["FY"] * d["FX"] == 1 and not any(window.padding)
    return Image(
        ranges["B"][1],
        channels,
        in_rows,
        in_columns,
        ranges["OY"][1],
        ranges["OX"][1],
        pad_left,
        window.dilation,
        seen[0],
        seen[1],
        one and channels % 4 == 0,
    )
