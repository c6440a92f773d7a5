"""What a float32 layer costs on a core with vectors and caches; modelled, never measured.

Products: register tiles at the rate of `float_tile.product_cycles`, blocks of operands moved
between caches at the bandwidths of the machine's facts, which overlap with the arithmetic but for
the first and the last block. Everything else: vector operations per element.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from match_aie.cost_models.transfers import MemoryTransfers
from match_aie.hardware import Array, Block, Cost, Direction, Mapping, Memory, Tile
from match_aie.targets.cpu.float_kernel import axes, strides, swapped
from match_aie.targets.cpu.float_tile import Tile as RegisterTile
from match_aie.targets.cpu.float_tile import choose, overlapped, product_cycles
from match_aie.targets.cpu.machine import Machine
from match_aie.workload import Activation, Workload

#: Vector operations per vector, counted in ma_cpu_float.h; a division counts as five (VDIVPS of
#: eight lanes: one every 5 cycles on Zen 3 and Ice Lake; Agner Fog, instruction tables).
OPERATIONS: dict[Activation, float] = {
    "identity": 0.0,
    "relu": 2.0,
    "clip": 4.0,
    "gelu": 43.0,
    "gelu_tanh": 34.0,
    "silu": 29.0,
    "tanh": 44.0,
    "sigmoid": 28.0,
}
EXP_OPERATIONS = 21.0

#: Share of a cache that blocks may take: the rest is for what streams past them.
SHARE = 0.75

#: Stores per element of packing at run time: of short rows, and of elements read across rows.
ALONG = 0.5
ACROSS = 2.0

#: Cycles of calling a layer.
CALL = 100.0


def activation_cycles(machine: Machine, workload: Workload, elements: Array) -> Array:
    """Cycles of the activation on `elements` of the output."""
    assert workload.real is not None
    work = OPERATIONS[workload.real.activation] / machine.lanes
    return np.asarray(elements * work / machine.peaks.operations)


@dataclass(frozen=True)
class ProductCost(MemoryTransfers):
    """The price of tiles of a product.

    Attributes:
        machine: the core.
        tile: its register tile for the layer.
    """

    machine: Machine
    tile: RegisterTile

    def transfer_cycles(
        self, workload: Workload, block: Block, outer: Memory, inner: Memory, direction: Direction
    ) -> Array:
        """Bytes over the bandwidth of the first cache beyond the second that holds the operand."""
        del workload, outer, inner, direction
        return np.asarray(block.nbytes / self._rate(block.operand.nbytes))

    def _rate(self, nbytes: int) -> float:
        """Bytes per cycle of an operand of `nbytes`."""
        beyond = self.machine.caches[2:]
        rates = [cache.bytes_per_cycle for cache in beyond if nbytes <= SHARE * cache.bytes]
        return (rates or [self.machine.memory_bytes_per_cycle])[0]

    def combine(self, compute: Array, moves: Sequence[Array], exposed: Sequence[Array]) -> Array:
        """The longer of the two, and a share of the shorter."""
        del exposed
        return overlapped(compute, np.asarray(sum(moves)))

    def _streamed(self, m: Array, n: Array, r: Array) -> Array:
        """Cycles to bring the operands of a block from the second cache to the first.

        Rows come again for every panel, and a panel for every row of tiles, but for what stays in
        the first cache meanwhile.
        """
        first = self.machine.caches[0].bytes * SHARE
        second = self.machine.caches[min(1, len(self.machine.caches) - 1)]
        panels = -(-np.asarray(n) // self.tile.width)
        tiles = -(-np.asarray(m) // self.tile.mr)
        panel, rows = 4.0 * self.tile.width * r, 4.0 * m * r
        tall = 4.0 * self.tile.mr * r
        often = np.where(panel + tall <= first, 1, tiles)
        again = np.where(panel + rows <= first, 1, panels)
        return np.asarray((panels * panel * often + rows * again) / second.bytes_per_cycle)

    def kernel_cycles(self, workload: Workload, tile: Tile) -> Array:
        """Register tiles that cover `tile`, and the activation of its outputs."""
        named = axes(workload)
        sides = {axis: tile[dim] for dim, axis in named.items()}
        m, n, r = sides["m"], sides["n"], sides["r"]
        times = np.asarray(1)
        for dim, _ in workload.dims:
            if dim not in named:
                times = times * tile[dim]
        tiles = product_cycles(self.machine, self.tile, m, n, r)
        cycles = times * overlapped(tiles, self._streamed(m, n, r))
        share = r / workload.sizes["C"]
        done = times * m * n * share
        packing = packing_stores(workload) / self.machine.peaks.stores
        once = packing * done / workload.output.size
        return np.asarray(cycles + activation_cycles(self.machine, workload, done) + once)

    def part(self, workload: Workload, dim: str, size: int) -> float:
        """Cycles of the layer in one block, of which `dim` has `size` elements only."""
        tile = {name: np.asarray(full) for name, full in workload.dims} | {dim: np.asarray(size)}
        moved = 0.0
        for operand in workload.operands:
            along = any(dim in dict(axis.terms) for axis in operand.axes)
            share = size / workload.sizes[dim] if along else 1.0
            moved += share * operand.nbytes / self._rate(operand.nbytes)
        cycles = self.kernel_cycles(workload, tile)
        return float(self.combine(cycles, [np.asarray(moved)], [])) + CALL


def packing_stores(workload: Workload) -> float:
    """Stores to pack inputs at run time, before the product: those that lie the other way."""
    if workload.kind == "dense":
        x = workload.operand("x")
        across = strides(x)["C"] == 1
        if swapped(workload):
            return x.size * (ACROSS if across else ALONG)
        return 0.0 if across else x.size * ALONG
    if workload.kind != "matmul":
        return 0.0
    x, x1 = workload.operand("x"), workload.operand("x1")
    second = x1.size * (ALONG if strides(x1)["K"] == 1 else ACROSS)
    return second + (0.0 if strides(x)["C"] == 1 else x.size * ALONG)


@dataclass(frozen=True)
class RowCost:
    """The price of layers that work along rows and sequences, as a whole."""

    machine: Machine

    def cost(self, workload: Workload, mapping: Mapping) -> Cost:
        """Arithmetic, and the operands' way from the last cache where that is slower."""
        del mapping
        compute = self._compute(workload)
        rate = self.machine.caches[-1].bytes_per_cycle
        traffic = sum(o.nbytes for o in workload.operands) / rate
        if workload.kind in ("gru", "lstm"):
            # The state's matrix comes again in every step.
            again = workload.operand("recurrent").nbytes * (workload.sizes["OY"] - 1)
            inner = self.machine.caches[min(1, len(self.machine.caches) - 1)]
            fits = workload.operand("recurrent").nbytes <= inner.bytes
            traffic += again / (inner.bytes_per_cycle if fits else rate)
        stall = max(0.0, traffic - compute)
        parts = (("compute", compute), ("memory", stall), ("call", CALL))
        return Cost(compute + stall + CALL, parts)

    def meetings(self, workload: Workload) -> int:
        """Times that cores wait for each other: recurrent layers have a state."""
        return workload.sizes["OY"] + 1 if workload.kind in ("gru", "lstm") else 0

    def _compute(self, workload: Workload) -> float:
        d = workload.sizes
        match workload.kind:
            case "conv2d":
                return self._convolution(workload)
            case "avg_pool2d" | "max_pool2d":
                # A load and an addition or comparison per tap and vector.
                pixels, taps = d["B"] * d["OY"] * d["OX"], d["FY"] * d["FX"]
                return self._operations(pixels, d["G"], 2.0 * taps)
            case "softmax":
                return self._operations(d["B"], d["K"], EXP_OPERATIONS + 5.0)
            case "layer_norm":
                return self._operations(d["B"], d["K"], 9.0)
            case "attention":
                heads = d["B"] * d["G"]
                scores = self._product(d["OY"], d["OX"], d["C"])
                values = self._product(d["OY"], d["K"], d["OX"])
                rows = self._operations(heads * d["OY"], d["OX"], EXP_OPERATIONS + 3.0)
                packing = (
                    heads * d["OX"] * (ACROSS * d["C"] + ALONG * d["K"]) / self.machine.peaks.stores
                )
                return heads * (scores + values) + rows + packing
            case _:
                return self._recurrent(workload)

    def _convolution(self, workload: Workload) -> float:
        d, out = workload.sizes, np.asarray(workload.output.size)
        lines = d["B"] * d["OY"]
        tail = float(activation_cycles(self.machine, workload, out))
        if workload.depthwise and d["K"] == 1:
            # Two loads and a comparison per tap and vector.
            taps = d["FY"] * d["FX"]
            return self._operations(lines * d["OX"], d["G"], 3.0 * taps) + tail
        inner = d["C"] * d["FY"] * d["FX"]
        return lines * d["G"] * self._product(d["OX"], d["K"], inner) + tail

    def _recurrent(self, workload: Workload) -> float:
        d = workload.sizes
        gates, steps = d["G"] * d["K"], d["OY"] * d["B"]
        work = 120.0 if workload.kind == "gru" else 200.0
        return (
            self._product(steps, gates, d["C"])
            + steps * self._product(1, gates, d["K"])
            + self._operations(steps, d["K"], work)
        )

    def _operations(self, rows: int, columns: int, each: float) -> float:
        vectors = -(-columns // self.machine.lanes)
        return rows * (vectors * each / self.machine.peaks.operations + 30.0)

    def _product(self, m: int, n: int, r: int) -> float:
        tile = choose(self.machine, m, n, r)
        cycles = product_cycles(self.machine, tile, np.asarray(m), np.asarray(n), np.asarray(r))
        return float(cycles)
