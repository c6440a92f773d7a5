"""Constants of a layer as the cluster's kernels read them, and the scratch that the kernels need.

`runtime/include/ma_cluster.h` defines both; this is its counterpart.
"""

from __future__ import annotations

import numpy as np

from match_aie.cost_models.pulp_half import is_half, reads_in_place
from match_aie.hardware import Array, Constants, Tile
from match_aie.targets.gap9.cluster.kernels import is_real
from match_aie.targets.gap9.cluster.recurrent import pack_recurrent, recurrent_scratch
from match_aie.targets.gap9.cluster.words import pad4, up
from match_aie.workload import RECURRENT, ShortFloat, Workload, short_float

#: Worker cores.
CORES = 8


def weight_row_bytes(workload: Workload) -> int:
    """Bytes of one output channel's weights, zeros to whole words included; 0 without weights."""
    d = workload.sizes
    if is_half(workload) or short_float(workload) is not None:
        taps = d["FY"] * d["FX"] * (1 if workload.depthwise else d["C"])
        return int(pad4(2 * taps))
    if is_real(workload):
        return 0
    if workload.kind == "dense":
        return int(pad4(d["C"]))
    if workload.kind != "conv2d":
        return 0
    if workload.depthwise:
        return d["FX"] * int(pad4(d["FY"]))
    return int(pad4(d["FY"] * d["FX"] * d["C"]))


def pack(workload: Workload, constants: Constants) -> Constants:
    """Weights in whole words, and everything that is added before the shift in "offset".

    Kernels sum raw products, of inputs as they are stored. With `c = bias - zx * sum(w)`, the
    offset becomes `offset + multiplier * c`, and where the output is the sum itself, the bias
    becomes `c`; both modulo 2**32, as the kernels compute.

    Args:
        workload: the layer, in the cluster's arithmetic.
        constants: by operand name, not packed.
    """
    packed = dict(constants)
    if workload.kind in RECURRENT:
        return pack_recurrent(workload, constants)
    short = short_float(workload)
    if short is not None:
        return {**packed, "weight": _pack_short_floats(short, constants["weight"])}
    if is_real(workload):
        return packed
    if is_half(workload):
        return _pack_half(workload, constants)
    if workload.kind in ("conv2d", "dense"):
        weight = constants["weight"]
        packed["weight"] = _weights(workload, weight)
        sums = weight.reshape(len(weight), -1).astype(np.int64).sum(axis=1)
        added = -sums * workload.operand("x").zero_point
        if "bias" in constants:
            added = added + constants["bias"]
        if workload.fixed_point:
            added = constants["offset"] + constants["multiplier"].astype(np.int64) * added
        packed["offset" if workload.fixed_point else "bias"] = wrap32(added)
    elif workload.kind == "add":
        zeros = np.array([o.zero_point for o in workload.data], np.int64)
        packed["offset"] = wrap32(constants["offset"] - (constants["multiplier"] * zeros).sum())
    return packed


def _pack_short_floats(of: ShortFloat, weight: np.ndarray) -> np.ndarray:
    """Weights in 16 bits, rows of whole words."""
    rows = of.bits(weight.reshape(len(weight), -1))
    return np.pad(rows, ((0, 0), (0, rows.shape[1] % 2))).view(np.int8)


def _pack_half(workload: Workload, constants: Constants) -> Constants:
    """Weights in int16, rows of whole words; what zero points add in the bias.

    uint16 are read as int16 of 32768 less. A depthwise kernel subtracts the zero point itself.
    """
    rows = constants["weight"].reshape(len(constants["weight"]), -1).astype(np.int16)
    weight = np.pad(rows, ((0, 0), (0, rows.shape[1] % 2)))
    bias = constants["bias"].astype(np.int64)
    if not workload.depthwise:
        x = workload.operand("x")
        zero = x.zero_point - (1 << 15 if x.dtype == "uint16" else 0)
        bias = bias - zero * rows.astype(np.int64).sum(axis=1)
    return {
        "weight": np.ascontiguousarray(weight).view(np.int8),
        "bias": wrap32(bias),
        "multiplier": constants["multiplier"],
    }


def wrap32(values: np.ndarray) -> np.ndarray:
    """`values` modulo 2**32 as int32.

    >>> wrap32(np.array([2**31, -(2**31) - 1]))
    array([-2147483648,  2147483647], dtype=int32)
    """
    return (values.astype(np.int64) & 0xFFFFFFFF).astype(np.uint32).view(np.int32)


def _weights(workload: Workload, weight: np.ndarray) -> np.ndarray:
    """[channels, bytes]; depthwise columns first, each column's rows to whole words."""
    channels = len(weight)
    if workload.depthwise:
        columns = weight[..., 0].transpose(0, 2, 1)
        short = -columns.shape[-1] % 4
        return np.pad(columns, ((0, 0), (0, 0), (0, short))).reshape(channels, -1)
    rows = weight.reshape(channels, -1)
    return np.pad(rows, ((0, 0), (0, -rows.shape[1] % 4)))


def is_direct(workload: Workload) -> bool:
    """Whether a window is one pixel, whose channels the kernel reads where they lie."""
    d, window = workload.sizes, workload.window
    return (
        d["FY"] * d["FX"] == 1
        and d["C"] % 4 == 0
        and window is not None
        and not any(window.padding)
    )


def scratch_bytes(workload: Workload, tile: Tile) -> Array:
    """Bytes of scratch for all cores, where the kernel works on `tile`."""
    none = np.zeros_like(next(iter(tile.values())))
    window = workload.window
    if short_float(workload) is not None:
        narrow = workload.operand("x").dtype != "float32"
        apart = narrow and reads_in_place(workload)
        return none if apart else none + CORES * weight_row_bytes(workload)
    if is_real(workload):
        return none
    if workload.kind in RECURRENT:
        return np.asarray(none + recurrent_scratch(workload))
    if is_half(workload):
        apart = workload.depthwise or reads_in_place(workload)
        return none if apart else none + CORES * 2 * weight_row_bytes(workload)
    if workload.kind == "matmul":
        return np.asarray(none + CORES * 16 * int(up(workload.sizes["C"], 4)))
    if workload.kind != "conv2d" or window is None:
        return none
    if workload.depthwise:
        d = workload.sizes
        reach = (d["FX"] - 1) * window.dilation[1] + 1
        columns = (tile["OX"] - 1) * window.stride[1] + reach
        return np.asarray(CORES * 4 * pad4(d["FY"]) * columns)
    if is_direct(workload):
        return none
    return np.asarray(none + CORES * 2 * weight_row_bytes(workload))
