"""Sums that wait in the results' type as kernels leave and find them (`workload.rounded_sums`).

Published products whose core keeps C in its own type while blocks of the reduction go by are
*inferred* to be of this kind (arXiv:2512.13282, whose buffers leave no room for wider sums).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from match_aie.targets.aie_ml.kernels.numeric import from_bfloat16
from match_aie.targets.aie_ml.kernels.reference import Numbers, float_sums, requantised
from match_aie.targets.aie_ml.kernels.spec import KernelSpec
from match_aie.workload import summed_exactly, walked


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
    dtype = np.float32 if spec.floating else np.int64
    add = partial(float_sums, spec) if spec.floating else summed_exactly
    return walked(start.astype(dtype), (x, w), tiles, add, partial(waiting, spec, shift=shift))
