"""Kernels of the PULP-NN family on a cluster of RISC-V cores: cycles of one call on a tile.

Modelled, not measured. The forms are those of MATCH's cost model for the GAP9 cluster (M. Risso
et al., arXiv:2410.08855, and its 2024 sources), with PULP-NN's loop structure (A. Garofalo et al.,
arXiv:1908.11263): rows of the output over cores, two columns and four channels in registers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from match_aie.cost_models.transfers import MemoryTransfers
from match_aie.hardware import Array, Loop, Mode, Tile
from match_aie.workload import Workload


@dataclass(frozen=True)
class PulpCluster(MemoryTransfers):
    """A cluster of `cores`, its kernels, and a DMA between its memories.

    Attributes:
        cores: that share the output rows (or channels).
        call_overhead: cycles to start a kernel on all cores.
        mode: how kernels and transfers overlap.
    """

    cores: int = 8
    call_overhead: float = 500.0
    mode: Mode = "pipelined"

    def kernel_cycles(self, workload: Workload, tile: Tile) -> Array:
        """Cycles of one call; `tile` has every dimension of the workload."""
        t = {dim: np.asarray(1) for dim in ("B", "G", "K", "C", "OY", "OX", "FY", "FX")} | dict(
            tile
        )
        if workload.depthwise:
            inside = self._depthwise(workload, t)
        elif workload.kind == "conv2d":
            inside = t["G"] * self._conv2d(t)
        elif workload.kind in ("dense", "matmul"):
            rows = t["OY"]
            inside = rows * _up(t["K"], self.cores) * (15 + 3 * _up(t["C"], 4))
        else:
            taps = t["FY"] * t["FX"]
            inside = _up(t["OY"], self.cores) * t["OX"] * t["K"] * t["G"] * (1 + taps)
        return np.asarray(self.call_overhead + t["B"] * inside)

    def _conv2d(self, t: Tile) -> Array:
        """Matrix products over im2col'd columns: 15 + 14 per four inputs, for 4 x 2 outputs."""
        inputs = t["FY"] * t["FX"] * t["C"]
        im2col = np.where(t["FY"] * t["FX"] == 1, 0, 2 * inputs)
        products = _up(t["K"], 4) * (15 + 14 * _up(inputs, 4))
        return np.asarray(_up(t["OY"], self.cores) * _up(t["OX"], 2) * (im2col + products))

    def _depthwise(self, workload: Workload, t: Tile) -> Array:
        """A channel a core: copy a column of the input, then every output row."""
        stride = workload.window.stride[0] if workload.window else 1
        rows = (t["OY"] - 1) * stride + t["FY"]
        each = rows * t["FY"] + t["OY"] * (24 + 7 * _up(t["FY"] * t["FX"], 4))
        return np.asarray(_up(t["G"] * t["K"], self.cores) * t["OX"] * each)

    def spatial(self, workload: Workload) -> Sequence[Loop]:
        """What the kernels do at a time: the unrolling that their formulas have."""
        if workload.depthwise:
            return (Loop("G", self.cores),)
        if workload.kind == "conv2d":
            return (Loop("K", 4), Loop("OY", self.cores), Loop("OX", 2))
        if workload.kind in ("dense", "matmul"):
            return (Loop("K", self.cores),)
        dims = dict(workload.dims)
        return (Loop("OY", self.cores),) if "OY" in dims else ()


def _up(a: Array, b: int) -> Array:
    return np.asarray(-(-a // b))
