"""Dense layers in bfloat16, bit for bit: operands, order of the sums and result are all defined.

x, weights and result are rounded to bfloat16, halves to even; tensors stay float32 and hold such
values. A sum begins with the bias, a float32, and takes one product after the other in ascending
order of the reduction, each sum rounded to float32. A product of two bfloat16 numbers has 16
significant bits and is exact, so whether it is fused with the sum makes no difference. The sum is
rounded to bfloat16, and ReLU comes last. No sum is -0.0: padding may add zeros anywhere behind.

Layers of precision "bfp16" are the same but for their products and sums (`block_float`), and some
round sums on the way (`rounded_sums`).
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from match_aie.errors import ModelError
from match_aie.workload.block_float import summed_blocks
from match_aie.workload.rounded_sums import turns_of, walked
from match_aie.workload.workload import Workload

Arrays = Mapping[str, np.ndarray]

#: Relative error of a rounding to bfloat16, whose numbers have 8 significant bits.
UNIT_BFLOAT16 = 2.0**-8

#: Absolute error of one below the normal numbers.
TINY_BFLOAT16 = 2.0**-134

#: Largest of its numbers.
LARGEST_BFLOAT16 = (2.0 - 2.0**-7) * 2.0**127

#: From here on the nearest number is infinity: half a step beyond the largest, which is odd.
OVERFLOW_BFLOAT16 = (2.0 - 2.0**-8) * 2.0**127


def to_bfloat16(values: np.ndarray) -> np.ndarray:
    """float32 `values` rounded to bfloat16, halves to even, as float32; NaN stays NaN."""
    bits = np.ascontiguousarray(values, np.float32).view(np.uint32)
    kept = (bits + (0x7FFF + (bits >> 16 & 1))) & np.uint32(0xFFFF0000)
    quiet = (bits & np.uint32(0xFFFF0000)) | np.uint32(0x00400000)
    return np.asarray(np.where(np.isnan(values), quiet, kept).view(np.float32))


def summed(start: np.ndarray, x: np.ndarray, w: np.ndarray) -> np.ndarray:
    """`start` [M, N] and then every product of x [M, K] and w [K, N], k ascending, in float32."""
    sums = np.broadcast_to(start, (x.shape[0], w.shape[1])).astype(np.float32)
    with np.errstate(over="ignore", invalid="ignore"):
        for k in range(x.shape[1]):
            sums += x[:, k, None] * w[None, k, :]
    return sums


def starting(bias: np.ndarray) -> np.ndarray:
    """What sums begin with: a bias without -0.0."""
    return np.asarray(bias.astype(np.float32) + np.float32(0))


def refuses_bfloat16(workload: Workload) -> str | None:
    """Why a float32 layer has no meaning in bfloat16; None where it has one."""
    real = workload.real
    if workload.kind != "dense" or real is None:
        return f"a {workload.kind} has no meaning in bfloat16"
    if real.activation not in ("identity", "relu") or real.factor != 1.0:
        return f"in bfloat16 sums are stored as they are or behind a ReLU, not {real.activation}"
    if "residual" in (operand.name for operand in workload.operands):
        return "it adds a residual, which in bfloat16 is a layer of its own"
    ends = workload.inputs[0], workload.output
    axes = [tuple(axis.terms[0][0] for axis in operand.axes) for operand in ends]
    if axes != [("B", "C"), ("B", "K")]:
        return "x or its result lie transposed"
    return None


def dense_bfloat16(workload: Workload, arrays: Arrays) -> np.ndarray:
    """What the layer stores, float32 of bfloat16 values.

    Raises:
        ModelError: the layer has no such meaning.
    """
    refused = refuses_bfloat16(workload)
    if refused is not None or workload.real is None:
        raise ModelError(refused or "no float layer")
    x, weight = to_bfloat16(arrays["x"]), to_bfloat16(arrays["weight"])
    start = starting(arrays.get("bias", np.zeros(1, np.float32)))
    add = summed_blocks if workload.real.precision == "bfp16" else summed
    turns, operands = turns_of(workload), (x, weight.T)
    if turns is None:
        sums = add(start, *operands)
    else:
        sums = walked(start, operands, turns.widths, add, to_bfloat16)
    stored = to_bfloat16(sums)
    if workload.real.activation == "relu":
        stored = np.where(stored < 0, np.float32(0), stored)
    return np.ascontiguousarray(stored.reshape(workload.output.shape))


def while_waiting(workload: Workload, error: np.ndarray, most: np.ndarray) -> np.ndarray:
    """`error` of sums that are rounded to bfloat16 while they wait, as often as the layer does.

    Each rounding makes a sum, and what it is off, larger by (1 + u) at most.

    Args:
        workload: whose sums these are.
        error: of sums that are not rounded.
        most: sum of the magnitudes of what is added.
    """
    turns = turns_of(workload)
    if turns is None:
        return error
    times = (1 + UNIT_BFLOAT16) ** turns.waits
    return np.asarray(times * error + (times - 1) * most + turns.waits * times * TINY_BFLOAT16)
