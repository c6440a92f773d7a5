"""How busy a kernel's loads keep the banks of its tile, without a schedule."""

from __future__ import annotations

from math import ceil

from match_aie.targets.aie_ml.devices import Device
from match_aie.targets.aie_ml.schedule.kernel import ELEMENT_BYTES, Kernel


def loading(kernel: Kernel, size: tuple[int, int, int], device: Device) -> tuple[float, float]:
    """Share of a call's cycles with a load of activations, and of weights: at most 1.

    Cycles are those of the products alone, so that no schedule has larger shares.

    Args:
        kernel: whose block says how often a tile is loaded.
        size: rows, reduction and columns of the call.
        device: the array.
    """
    t, core = kernel.tiling, device.architecture.core
    width = core.loads.bits // 8
    tiles = ceil(size[0] / t.m) * ceil(size[1] / t.k) * ceil(size[2] / t.n)
    cycles = tiles * t.macs / (core.macs_of(kernel.a, kernel.w) or 1)
    a = ceil(t.m * t.k * ELEMENT_BYTES[kernel.a] / width) * tiles / kernel.columns
    w = ceil(t.k * t.n * ELEMENT_BYTES[kernel.w] / width) * tiles / kernel.rows
    return min(1.0, a / cycles), min(1.0, w / cycles)
