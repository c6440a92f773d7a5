"""A workload as NE16 sees it: what its jobs share, what a tile of it is, and its constants.

`runtime/include/ma_ne16_tile.h` does the same for tiles in emitted code.

NE16 pads with 0 only. Where padding means another value p, an output at the border lacks
`p * sum(w)` of the taps that see padding: a constant, but another one than elsewhere. Such a layer
is "bordered": it has nine vectors of offsets, for outputs that see padding above or not or below,
and left or not or right, and each of these nine parts of an image is a job of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from match_aie.errors import ModelError
from match_aie.hardware import Blocked, Constants, Converted
from match_aie.targets.gap9.ne16.job import MOST_ZERO, Mode, Ne16Layer, Ne16Tile
from match_aie.targets.gap9.ne16.packing import LANES, pack_weights, packed_bytes
from match_aie.workload import Workload

#: Bits of a weight, and of a factor per channel.
WEIGHT_BITS, SCALE_BITS = 8, 16

#: (first, how many) of every loop dimension, for one call of the kernel.
Ranges = Mapping[str, tuple[int, int]]


@dataclass(frozen=True)
class Ne16Kernel:
    """What the layer template prints: what all jobs share, and whether the layer is bordered."""

    layer: Ne16Layer
    bordered: bool


def ne16_layer(workload: Workload) -> Ne16Layer:
    """What all jobs of `workload` share; it requantises in fixed point.

    Raises:
        ModelError: it does not.
    """
    tail = workload.tail
    if tail is None or tail.shift is None:
        raise ModelError(f"a {workload.kind} without a shift has no job on NE16")
    mode = Mode.CONV3X3 if workload.sizes["FY"] == 3 else Mode.CONV1X1
    return Ne16Layer(
        Mode.DEPTHWISE if workload.depthwise else mode,
        stride=workload.window.stride[0] if workload.window else 1,
        weight_bits=WEIGHT_BITS,
        out_bytes=4 if workload.output.dtype == "int32" else 1,
        scale_bits=SCALE_BITS,
        shift=tail.shift,
        relu=workload.output.dtype == "uint8",
        weight_zero=_zero(workload),
    )


def _zero(workload: Workload) -> int | None:
    weight = workload.operand("weight")
    return weight.zero_point if weight.dtype == "uint8" else None


def narrowed(found: Converted) -> Converted | str:
    """A layer whose weights are int16 with uint8 ones and their zero point, or why it has none.

    A zero point makes the range of 8-bit weights wider, and register 21 takes it out again.

    Args:
        found: the layer in NE16's arithmetic.
    """
    operand = found.workload.operand("weight")
    if operand.dtype == "int8":
        return found
    weight = found.constants["weight"]
    least, most = min(int(weight.min()), 0), int(weight.max())
    if least < -MOST_ZERO or most - least > np.iinfo(np.uint8).max:
        return f"its weights reach from {least} to {most}; NE16 takes at most 8 bits"
    unsigned = replace(operand, dtype="uint8", zero_point=-least)
    operands = (unsigned if o is operand else o for o in found.workload.operands)
    workload = replace(found.workload, operands=tuple(operands))
    constants = {**found.constants, "weight": (weight - least).astype(np.uint8)}
    return replace(found, workload=workload, constants=constants)


def ne16_tile(workload: Workload, ranges: Ranges) -> Ne16Tile:
    """The tile of one image that a call works on, dense in L1; rows of a dense layer are columns.

    Args:
        workload: the layer.
        ranges: of the loop dimensions; absent ones are whole.
    """

    def size(dim: str) -> int:
        return ranges[dim][1] if dim in ranges else workload.sizes[dim]

    if workload.kind == "dense":
        return Ne16Tile(1, size("B"), size("K"), 1, size("B"), size("C"))
    outputs = size("G") * size("K")
    inputs = size("G") if workload.depthwise else size("C")
    shape, window = workload.operand("x").shape, workload.window
    assert window is not None
    seen = []
    for axis, dim in enumerate(("OY", "OX")):
        start, length = ranges.get(dim, (0, workload.sizes[dim]))
        stride, before = window.stride[axis], window.padding[axis]
        first = start * stride - before
        last = (start + length - 1) * stride - before + workload.sizes["FY"]
        seen.append((min(last, shape[1 + axis]) - max(first, 0), max(-first, 0)))
    (in_rows, top), (in_columns, left) = seen
    return Ne16Tile(size("OY"), size("OX"), outputs, in_rows, in_columns, inputs, top, left)


def bordered(workload: Workload) -> bool:
    """Whether padding means something else than 0."""
    window = workload.window
    return window is not None and any(window.padding) and workload.operand("x").zero_point != 0


def ne16_tiles(workload: Workload, ranges: Ranges) -> tuple[Ne16Tile, ...]:
    """The tiles that one call works on, one after the other: parts of it where it is bordered."""
    if not bordered(workload):
        return (ne16_tile(workload, ranges),)
    rows, columns = (tuple(_bands(workload, axis, ranges)) for axis in (0, 1))
    return tuple(
        ne16_tile(workload, {**ranges, "OY": row, "OX": column})
        for row, column in product(rows, columns)
    )


def _bands(workload: Workload, axis: int, ranges: Ranges) -> Iterator[tuple[int, int]]:
    """Outputs along an axis that see padding before the image, none, and after it."""
    dim, window = ("OY", "OX")[axis], workload.window
    assert window is not None
    size = workload.sizes[dim]
    begin, length = ranges.get(dim, (0, size))
    low = 1 if window.padding[axis] else 0
    seen = (size - 1) * window.stride[axis] + workload.sizes["FY"] - window.padding[axis]
    high = size - 1 if seen > workload.operand("x").shape[1 + axis] else size
    for first, last in ((0, low), (low, high), (high, size)):
        first, last = max(first, begin), min(last, begin + length)
        if first < last:
            yield first, last - first


def _offsets(workload: Workload, constants: Constants) -> np.ndarray:
    """Nine vectors of offsets, int32 [1, 9 * channels]: above, none, below by left, none, right."""
    zero = workload.operand("x").zero_point
    centred = constants["weight"].astype(np.int64) - workload.operand("weight").zero_point
    weight = centred.sum(axis=3)
    factors, offset = constants["multiplier"].astype(np.int64), constants["offset"]
    inside = (slice(1, None), slice(None), slice(None, -1))
    found = [
        offset - factors * zero * weight[:, rows, columns].sum(axis=(1, 2))
        for rows, columns in product(inside, inside)
    ]
    wrapped = np.concatenate(found) & 0xFFFFFFFF
    return wrapped.astype(np.uint32).view(np.int32).reshape(1, -1)


def layouts(workload: Workload) -> Mapping[str, Blocked]:
    """How packed constants lie, by operand name; `pack` makes the bytes."""
    operands = {operand.name: operand for operand in workload.constants}
    weight, sizes = operands["weight"], workload.sizes
    channels, block = weight.shape[0], LANES if workload.depthwise else 1
    nbytes = packed_bytes(
        channels,
        sizes["C"],
        sizes.get("FY", 1) * sizes.get("FX", 1),
        WEIGHT_BITS,
        workload.depthwise,
    )
    found = {
        "weight": Blocked.rows(weight, nbytes // -(-channels // block), block),
        "multiplier": Blocked.rows(operands["multiplier"], SCALE_BITS // 8),
    }
    if bordered(workload):
        found["offset"] = Blocked("...", cell=9 * operands["offset"].nbytes)
    return found


def pack(workload: Workload, constants: Constants) -> Constants:
    """Constants as NE16 reads them, as rows of bytes.

    Weights become uint8 [rows, bytes], a row per output channel (depthwise: per 16 channels), and
    factors uint8 [channels, 2], little-endian words of 16 bits; offsets stay int32, nine
    vectors in a row where the layer is bordered.
    """
    weight = constants["weight"]
    image = weight if weight.ndim == 4 else weight.reshape(len(weight), 1, 1, -1)
    flat = pack_weights(image, WEIGHT_BITS, workload.depthwise)
    rows = -(-len(weight) // 16) if workload.depthwise else len(weight)
    factors = constants["multiplier"].astype("<u2").view(np.uint8).reshape(-1, 2)
    offset = _offsets(workload, constants) if bordered(workload) else constants["offset"]
    return {
        **constants,
        "weight": flat.reshape(rows, -1),
        "multiplier": factors,
        "offset": offset,
    }
