"""A workload as NE16 sees it: what its jobs share, what a tile of it is, and its constants.

`runtime/include/ma_ne16_tile.h` does the same for tiles in emitted code.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from match_aie.errors import ModelError
from match_aie.hardware.module import Constants
from match_aie.targets.gap9.ne16.job import Mode, Ne16Layer, Ne16Tile
from match_aie.targets.gap9.ne16.packing import pack_weights
from match_aie.workload import Workload

#: Bits of a weight, and of a factor per channel.
WEIGHT_BITS, SCALE_BITS = 8, 16

#: (first, how many) of every loop dimension, for one call of the kernel.
Ranges = Mapping[str, tuple[int, int]]


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
    )


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


def pack(workload: Workload, constants: Constants) -> Constants:
    """Constants as NE16 reads them, as rows of bytes.

    Weights become uint8 [rows, bytes], a row per output channel (depthwise: per 16 channels), and
    factors uint8 [channels, 2], little-endian words of 16 bits; offsets stay int32.
    """
    weight = constants["weight"]
    image = weight if weight.ndim == 4 else weight.reshape(len(weight), 1, 1, -1)
    flat = pack_weights(image, WEIGHT_BITS, workload.depthwise)
    rows = -(-len(weight) // 16) if workload.depthwise else len(weight)
    factors = constants["multiplier"].astype("<u2").view(np.uint8).reshape(-1, 2)
    return {**constants, "weight": flat.reshape(rows, -1), "multiplier": factors}
