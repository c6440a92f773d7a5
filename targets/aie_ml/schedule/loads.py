"""How busy a kernel's loads keep the banks of its tile, without a schedule."""

from __future__ import annotations

from dataclasses import replace
from math import ceil

from match_aie.targets.aie_ml.devices import Device
from match_aie.targets.aie_ml.schedule.kernel import ELEMENT_BYTES, Kernel
from match_aie.targets.aie_ml.schedule.machine import machine
from match_aie.targets.aie_ml.schedule.operations import block_operations


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
    if t.lanes:  # short rows are loaded until lanes are full
        w *= t.high
    return min(1.0, a / cycles), min(1.0, w / cycles)


def beside_steps(kernel: Kernel, size: tuple[int, int, int], device: Device) -> int:
    """Loads and stores of a call beside its steps: numbers by column, sums, results.

    Args:
        kernel: in whatever block: every tile of accumulators has its own.
        size: rows, reduction and columns of the call.
        device: the array.
    """
    block = block_operations(replace(kernel, rows=1, columns=1), machine(device.architecture))
    own = sum(bool(op.bank) for op in (*block.start, *(op for each in block.finish for op in each)))
    return own * ceil(size[0] / kernel.tiling.m) * ceil(size[2] / kernel.tiling.n)
