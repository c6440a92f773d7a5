"""What a float32 layer costs on a core with vectors and caches; modelled, never measured.

Products: register tiles at the rate of `float_tile.product_cycles`, and what they wait for: rows
until the hardware fetches ahead, and blocks that come slower than tiles take them, by the
latencies and bandwidths of the machine's facts. Everything else: vector operations per element.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from match_aie.cost_models.transfers import MemoryTransfers
from match_aie.hardware import Array, Block, Cost, Direction, Mapping, Memory, Tile
from match_aie.targets.cpu.byte_recurrent import in_bytes
from match_aie.targets.cpu.float_elements import ELEMENTS, converting, element_cycles
from match_aie.targets.cpu.float_kernel import axes, extents, strides, swapped
from match_aie.targets.cpu.float_recurrent import meetings
from match_aie.targets.cpu.float_tile import Tile as RegisterTile
from match_aie.targets.cpu.float_tile import choose, product_cycles, step_cycles
from match_aie.targets.cpu.machine import Machine
from match_aie.targets.cpu.roof import PER_LANE
from match_aie.workload import ITEMSIZE, Activation, Operand, Workload

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

#: Accesses to a stream, each waited for, until the hardware fetches ahead of it: a first one, a
#: second that gives the distance, a third that confirms it (the reference prediction table of Chen
#: and Baer, IEEE Transactions on Computers 44(5), 1995; processors do not state theirs). Rows of
#: a register tile begin together, so they wait once.
STARTS = 3.0

#: Steps of the reduction that a register tile is called for at least (or all there are): fewer
#: would be lost in loading and storing its sums.
LEAST_STEPS = 384

FLOAT = ITEMSIZE["float32"]


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
        """Cycles that register tiles wait for `block` from beyond the second cache.

        Blocks are not fetched ahead: the first register tile that needs a line waits for it. It
        waits where it takes data faster than they come, and, at the beginning of every row that
        is read as it lies, until the hardware fetches ahead along it.
        """
        del outer, inner, direction
        rate, latency = self._beyond(block.operand.nbytes)
        wait = np.maximum(0.0, 1.0 / rate - self._pace(workload, block.operand))
        cycles = np.asarray(block.nbytes * wait)
        if block.operand.name == "x" and rows_as_they_lie(workload):
            rows = np.maximum(block.chunks, block.nbytes / (FLOAT * workload.sizes["C"]))
            cycles = cycles + rows / self.tile.mr * STARTS * latency
        return np.asarray(cycles)

    def _beyond(self, nbytes: int) -> tuple[float, float]:
        """Bytes per cycle and latency of an operand of `nbytes`, from beyond the second cache."""
        for cache in self.machine.caches[2:]:
            if nbytes <= SHARE * cache.bytes:
                return cache.bytes_per_cycle, cache.latency
        return self.machine.memory_bytes_per_cycle, self.machine.memory_latency

    def _pace(self, workload: Workload, operand: Operand) -> float:
        """Cycles in which a register tile takes a byte of an operand for the first time."""
        tile = self.tile
        rows = min(tile.mr, extents(workload)[0])
        step = float(step_cycles(self.machine, np.asarray(rows), np.asarray(tile.vectors)))
        axis = {o.name: a for o, a in factors(workload)}.get(operand.name)
        if axis == "n":
            return step / (FLOAT * tile.width)
        if axis == "m":
            return step / (FLOAT * rows)
        length = min(LEAST_STEPS, workload.sizes["C"])
        return step * length / (FLOAT * rows * tile.width)

    def combine(self, compute: Array, moves: Sequence[Array], exposed: Sequence[Array]) -> Array:
        """The sum: transfers cost only what is waited for."""
        del exposed
        return np.asarray(compute + sum(moves))

    def _streamed(self, m: Array, n: Array, r: Array) -> tuple[Array, Array]:
        """Bytes of a block that come from the second cache to the first, and how often rows begin.

        Rows come again for every panel, and a panel for every row of tiles, but for what stays in
        the first cache meanwhile.
        """
        first = self.machine.caches[0].bytes * SHARE
        panels = -(-np.asarray(n) // self.tile.width)
        tiles = -(-np.asarray(m) // self.tile.mr)
        panel, rows = FLOAT * self.tile.width * r, FLOAT * m * r
        tall = FLOAT * self.tile.mr * r
        often = np.where(panel + tall <= first, 1, tiles)
        again = np.where(panel + rows <= first, 1, panels)
        return np.asarray(panels * panel * often + rows * again), np.asarray(tiles * again)

    def _tiles(self, m: Array, n: Array, r: Array) -> Array:
        """Cycles of a block in the second cache.

        Its bandwidth is used while tiles multiply; where a tile's rows begin there is nothing to
        multiply until they come.
        """
        second = self.machine.caches[min(1, len(self.machine.caches) - 1)]
        nbytes, starts = self._streamed(m, n, r)
        busy = np.maximum(
            product_cycles(self.machine, self.tile, m, n, r), nbytes / second.bytes_per_cycle
        )
        return np.asarray(busy + starts * STARTS * second.latency)

    def kernel_cycles(self, workload: Workload, tile: Tile) -> Array:
        """Register tiles that cover `tile`, and the activation of its outputs."""
        named = axes(workload)
        sides = {axis: tile[dim] for dim, axis in named.items()}
        m, n, r = sides["m"], sides["n"], sides["r"]
        times = np.asarray(1)
        for dim, _ in workload.dims:
            if dim not in named:
                times = times * tile[dim]
        cycles = times * self._tiles(m, n, r)
        share = r / workload.sizes["C"]
        done = times * m * n * share
        packing = packing_stores(workload) / self.machine.peaks.stores
        once = packing * done / workload.output.size
        return np.asarray(cycles + activation_cycles(self.machine, workload, done) + once)

    def part(self, workload: Workload, dim: str, size: int) -> float:
        """Cycles of the layer in one block, of which `dim` has `size` elements only."""
        tile = {name: np.asarray(full) for name, full in workload.dims} | {dim: np.asarray(size)}
        waits = 0.0
        for operand in workload.operands:
            along = any(dim in dict(axis.terms) for axis in operand.axes)
            share = size / workload.sizes[dim] if along else 1.0
            rate, _ = self._beyond(operand.nbytes)
            wait = max(0.0, 1.0 / rate - self._pace(workload, operand))
            waits += share * operand.nbytes * wait
        cycles = self.kernel_cycles(workload, tile)
        return float(self.combine(cycles, [np.asarray(waits)], [])) + CALL


def factors(workload: Workload) -> tuple[tuple[Operand, str], ...]:
    """The two factors, each with the side of the product ("m" or "n") that it gives."""
    second = workload.operand("x1" if workload.kind == "matmul" else "weight")
    sides = ("n", "m") if swapped(workload) else ("m", "n")
    return tuple(zip((workload.operand("x"), second), sides, strict=True))


def rows_as_they_lie(workload: Workload) -> bool:
    """Whether x gives the rows, and register tiles read it where it is."""
    return not swapped(workload) and strides(workload.operand("x"))["C"] == 1


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
        rate = self._rate(workload)
        traffic = sum(o.nbytes for o in workload.operands) / rate
        if workload.kind in ("gru", "lstm"):
            # The state's matrix comes again in every step.
            matrix = workload.operand("recurrent").size
            matrix *= 1 if in_bytes(workload, self.machine) else FLOAT
            inner = self.machine.caches[min(1, len(self.machine.caches) - 1)]
            fits = matrix <= inner.bytes
            again = matrix * (workload.sizes["OY"] - 1)
            traffic += again / (inner.bytes_per_cycle if fits else rate)
        stall = max(0.0, traffic - compute)
        parts = (("compute", compute), ("memory", stall), ("call", CALL))
        return Cost(compute + stall + CALL, parts)

    def _rate(self, workload: Workload) -> float:
        """Bytes per cycle: of the last cache, or of memory for single elements beyond it."""
        last = self.machine.caches[-1]
        if workload.kind in ELEMENTS and workload.nbytes > SHARE * last.bytes:
            return self.machine.memory_bytes_per_cycle
        return last.bytes_per_cycle

    def meetings(self, workload: Workload) -> int:
        """Times that cores wait for each other: recurrent layers have a state."""
        if workload.kind not in ("gru", "lstm"):
            return 0
        return meetings(workload)

    def _compute(self, workload: Workload) -> float:
        d = workload.sizes
        narrow = converting(workload)
        match workload.kind:
            case "conv2d":
                return self._convolution(workload)
            case "avg_pool2d" | "max_pool2d":
                # A load and an addition or comparison per tap and vector.
                pixels, taps = d["B"] * d["OY"] * d["OX"], d["FY"] * d["FX"]
                return self._operations(pixels, d["G"], 2.0 * taps)
            case "function" | "add" | "mul":
                return element_cycles(self.machine, workload)
            case "softmax":
                return self._operations(d["B"], d["K"], EXP_OPERATIONS + 5.0 + narrow)
            case "layer_norm":
                return self._operations(d["B"], d["K"], 9.0 + narrow)
            case "rms_norm":
                return self._operations(d["B"], d["K"], 6.0 + narrow)
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
        if in_bytes(workload, self.machine):
            # As many vector products as a lane takes elements at once; seven more operations for
            # the codes of a vector, a division among them.
            group = PER_LANE[self.machine.dot]
            inputs, state = (-(-d[dim] // group) for dim in ("C", "K"))
            coding = self._operations(steps, d["C"], 12.0) + self._operations(steps, d["K"], 12.0)
        else:
            inputs, state, coding = d["C"], d["K"], 0.0
        return (
            self._product(steps, gates, inputs)
            + d["OY"] * self._product(d["B"], gates, state)
            + self._operations(steps, d["K"], work)
            + coding
        )

    def _operations(self, rows: int, columns: int, each: float) -> float:
        vectors = -(-columns // self.machine.lanes)
        return rows * (vectors * each / self.machine.peaks.operations + 30.0)

    def _product(self, m: int, n: int, r: int) -> float:
        tile = choose(self.machine, m, n, r)
        cycles = product_cycles(self.machine, tile, np.asarray(m), np.asarray(n), np.asarray(r))
        return float(cycles)
