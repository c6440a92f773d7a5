"""Partial sums that wait in the results' type: what a product is then, in numpy.

The reduction is walked in turns, tile after tile of a chain. Behind each turn but a tile's last one
its sums are requantised as results are: rounded after a shift, saturated to the type, without
bounds. The next turn shifts them up again and adds its products. Tiles hand each other whole sums.
With v_0 = bias and s bits of shift, turn t of a tile gives

    v_t = saturate(round((v_(t-1) 2^s + x_t w_t) / 2^s)),

in bfloat16 the float32 sum rounded to it. So the result hangs on how the reduction is cut. A bias
and the zero points that it holds are in the sums from the first turn on. Published products whose
core keeps C in its own type while blocks of the reduction go by are *inferred* to be of this kind
(arXiv:2512.13282, whose buffers leave no room for wider sums).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from match_aie.targets.aie_ml.kernels.numeric import from_bfloat16
from match_aie.targets.aie_ml.kernels.reference import Numbers, float_sums, requantised
from match_aie.targets.aie_ml.kernels.spec import KernelSpec


def waiting(spec: KernelSpec, sums: np.ndarray, shift: int) -> np.ndarray:
    """Sums [M, N] as the next turn starts from them.

    Args:
        spec: of a turn that leaves them (`Nest.kernels`): its requantisation.
        sums: int64, or float32.
        shift: bits shifted out, and in again.
    """
    kept = requantised(spec, sums, Numbers(shift))
    if spec.floating:
        return from_bfloat16(kept) if spec.requantise.dtype == "bfloat16" else kept
    return np.asarray(kept.astype(np.int64) << shift)


def rounded_sums(
    spec: KernelSpec,
    x: np.ndarray,
    w: np.ndarray,
    start: np.ndarray,
    tiles: Sequence[Sequence[int]],
    shift: int,
) -> np.ndarray:
    """Sums [M, N] of a chain's last turn, before the result's requantisation.

    Args:
        spec: as of `waiting`.
        x: [M, K] integers, or float32 of bfloat16 values.
        w: [K, N] likewise.
        start: [M, N] or [N], bias and what it holds.
        tiles: of each tile of the chain, the reduction of each turn; K may be shorter.
        shift: bits shifted out.
    """
    floating = spec.floating
    dtype = np.float32 if floating else np.int64
    sums = np.broadcast_to(start, (x.shape[0], w.shape[1])).astype(dtype)
    begin = 0
    for turns in tiles:
        for number, wide in enumerate(turns):
            left, right = x[:, begin : begin + wide], w[begin : begin + wide]
            begin += wide
            if floating:
                sums = float_sums(spec, sums, left, right)
            else:  # float64 holds sums of so few products of 8 or 16 bits
                sums = sums + np.rint(left.astype(float) @ right.astype(float)).astype(np.int64)
            if number + 1 < len(turns):
                sums = waiting(spec, sums, shift)
    return sums
