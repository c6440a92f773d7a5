"""Layers on a core with vectors and caches: cycles of a tile, and of filling the caches.

Modelled, not measured. Products cost their register tiles (`cost_models.products`); other kinds a
rate per element. A cache is filled at the bandwidth of the next one outward; data that are
prepared for the kernels (padded, widened) also cost the instructions that do it. Nothing overlaps:
hardware prefetching hides part of the fills, and what it hides is small beside the arithmetic.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from match_aie.cost_models.processor import Dot, Machine
from match_aie.cost_models.products import (
    LOOP,
    REQUANTISE_FOUR,
    REQUANTISE_PAIR,
    START,
    SUMMED,
    RegisterTile,
    requantise_operations,
    step_cycles,
)
from match_aie.cost_models.transfers import MemoryTransfers
from match_aie.hardware import Array, Block, Cost, Direction, Mapping, Memory, Mode, Tile
from match_aie.workload import NORMS, Workload

#: Cycles of a call of a layer: arguments, first misses.
CALL = 60.0
#: Cycles of one run of prepared data: bounds, a loop started and left.
RUN = 25.0
#: Of the second cache, what weights may fill so that the next tile of x finds them there. An
#: assumption, the one of the float32 layers (`PANEL_SHARE`).
KEPT_SHARE = 0.5
#: Cycles to pack an element of a matrix at run time: it is read along columns, one at a time.
PACK = 1.0
#: Operations of a vector of elements that a kind computes, by kind; two vectors of bytes share
#: narrowing, four of a norm. Divisions are counted as four. A norm widens and multiplies for its
#: sums (2.5), then widens, converts, subtracts the mean, multiplies twice, adds the bias, bounds,
#: converts back, and narrows.
ELEMENT_OPERATIONS = {
    "add": 18.0,
    "mul": 18.0,
    "quantize": 12.0,
    "dequantize": 4.0,
    "softmax": 60.0,
    "avg_pool2d": 4.0,
    "max_pool2d": 4.0,
    "layer_norm": 12.0,
    "rms_norm": 11.0,
}
#: The same of a sum of bytes by factors: two are widened, converted, multiplied and added (fused),
#: then it is bounded, converted back and narrowed.
SUM_OPERATIONS = 9.5
#: What it takes more where nothing is fused.
APART_OPERATIONS = 2.0
#: Cycles of a row of a norm beside its elements: some 30 operations that add lanes, a root and a
#: division of float64, which go beside those of other rows (a VSQRTSD and a VDIVSD every 4 to 9
#: cycles; Agner Fog, instruction tables, Skylake to Zen 3).
NORM_ROW = 30.0
#: Operations to look a vector of bytes up (`ma_look_up`), by family and bytes of a vector.
TABLE_OPERATIONS = {("x86-64", 64): 20.0, ("x86-64", 32): 35.0, ("aarch64", 16): 10.0}


@dataclass(frozen=True)
class CoreTiles(MemoryTransfers):
    """Prices tiles of a workload on one core.

    Attributes:
        machine: the core.
        channelwise: bytes of an element of x as a depthwise convolution prepares it; 0 for others.
        operations: of a vector of elements; 0 for what the kind takes.
        mode: nothing overlaps.
    """

    machine: Machine
    channelwise: int = 0
    operations: float = 0.0
    mode: Mode = "sum"

    def kernel_cycles(self, workload: Workload, tile: Tile) -> Array:
        """Operations of all elements over the rate of vectors."""
        if self.channelwise:
            return self._channelwise(workload, tile)
        elements: Array = np.asarray(1.0)
        for dim, _ in workload.dims:
            elements = elements * tile[dim]
        operations = self.operations or ELEMENT_OPERATIONS.get(workload.kind, 4.0)
        rate = self.machine.lanes * self.machine.peaks.operations / operations
        if workload.kind == "table":
            rate = self._looked_up()
        traffic = sum(operand.nbytes for operand in workload.operands)
        rows = NORM_ROW * np.asarray(tile["B"]) if workload.kind in NORMS else 0.0
        return np.asarray(CALL + rows + elements / rate + traffic / self._beyond())

    def _looked_up(self) -> float:
        """Bytes per cycle that go through a table."""
        machine = self.machine
        operations = TABLE_OPERATIONS.get((machine.family, machine.vector_bytes))
        if operations is None:
            return 1.0  # ASSUMED: one by one, two loads and a store
        return machine.vector_bytes * machine.peaks.operations / operations

    def _beyond(self) -> float:
        """Bytes per cycle from behind the first cache."""
        beyond = self.machine.caches[1:2]
        return beyond[0].bytes_per_cycle if beyond else self.machine.memory_bytes_per_cycle

    def cost(self, workload: Workload, mapping: Mapping) -> Cost:
        """Of the layer in one call of the kernel, with what it reads and writes once or again.

        Prepared data that exceed the first cache go behind it, and are read there for every panel.
        """
        del mapping
        tile = {dim: np.asarray(size) for dim, size in workload.dims}
        compute = float(self.kernel_cycles(workload, tile))
        width = self._width()
        if not width:
            return Cost(compute, (("compute", compute),))
        x, y = workload.operand("x"), workload.output
        # Bytes of a depthwise convolution go through a ring of few rows.
        large = width != self.channelwise or width > 1
        large = large and x.nbytes * width > self.machine.caches[0].bytes
        passes = 1 + self._panels(workload) if large else 0
        work = 4.0 * x.nbytes * width / self.machine.vector_bytes / self.machine.peaks.operations
        rows = RUN * x.nbytes / max(1, _row_bytes(workload))
        traffic = (x.nbytes * (1 + width * passes) + y.nbytes) / self._beyond()
        parts = (("compute", compute), ("prepare", work + rows), ("memory", traffic))
        return Cost(sum(cycles for _, cycles in parts), parts)

    def part(self, workload: Workload, dim: str, size: int) -> float:
        """Cycles of the layer in one call of the kernel, of which `dim` has `size` elements only.

        What preparation and memory take shrinks too where x lies along `dim`.
        """
        tile = {name: np.asarray(full) for name, full in workload.dims} | {dim: np.asarray(size)}
        every = self.cost(workload, Mapping((), ()))
        beside = every.cycles - dict(every.parts)["compute"]
        along = any(dim in dict(axis.terms) for axis in workload.operand("x").axes)
        share = size / workload.sizes[dim] if along else 1.0
        return float(self.kernel_cycles(workload, tile)) + beside * share

    def _width(self) -> int:
        """Bytes of a prepared element of x; 0 where it is not prepared."""
        return self.channelwise

    def _panels(self, workload: Workload) -> int:
        """Times that prepared data are read."""
        del workload
        return 1

    def _channelwise(self, workload: Workload, tile: Tile) -> Array:
        """Two vectors of sums at a time: pairs of taps are woven, multiplied and added.

        Of bytes four vectors and taps: eight operations weave them.
        """
        taps = workload.sizes["FY"] * workload.sizes["FX"]
        lines = np.asarray(tile["B"] * tile["OY"])
        if self.channelwise == 1:
            fours = -(-taps // 4)
            vectors = -(-np.asarray(tile["OX"] * tile["G"]) // (4 * self.machine.lanes))
            peaks = self.machine.peaks
            each = (12.0 * fours + REQUANTISE_FOUR) / peaks.operations + 2.0
            return np.asarray(CALL + lines * (RUN + vectors * max(each, 8.0 * fours / peaks.loads)))
        pairs = -(-taps // 2)
        vectors = -(-np.asarray(tile["OX"] * tile["G"]) // (2 * self.machine.lanes))
        peaks = self.machine.peaks
        each = (6.0 * pairs + REQUANTISE_PAIR) / peaks.operations + 2.0
        return np.asarray(CALL + lines * (RUN + vectors * max(each, 4.0 * pairs / peaks.loads)))

    def _prepares(self, block: Block, inner: Memory) -> int:
        """Bytes of a prepared element of `block`; 0 where it is not prepared."""
        return self._width() if block.operand.name == "x" and inner.name == "L1" else 0

    def transfer_cycles(
        self, workload: Workload, block: Block, outer: Memory, inner: Memory, direction: Direction
    ) -> Array:
        """Fill at the outer memory's bandwidth; x into the first cache is prepared on the way."""
        fill = np.asarray(block.nbytes / outer.bytes_per_cycle)
        width = self._prepares(block, inner)
        if not width or direction == "store":
            return fill
        # Load, convert, subtract, store; every row of pixels is a loop of its own.
        vectors = block.nbytes * width / self.machine.vector_bytes
        rows = np.maximum(block.chunks, block.nbytes / max(1, _row_bytes(workload)))
        return np.asarray(fill + 4.0 * vectors / self.machine.peaks.operations + RUN * rows)

    def combine(self, compute: Array, moves: Sequence[Array], exposed: Sequence[Array]) -> Array:
        """The sum of all."""
        del exposed
        return np.asarray(sum(moves, compute))


def _row_bytes(workload: Workload) -> int:
    """Of x: what one run of preparation covers."""
    shape = workload.operand("x").shape
    return shape[-1] * (shape[-2] if len(shape) == 4 else 1)


@dataclass(frozen=True)
class ProductTiles(CoreTiles):
    """Prices tiles of products: conv2d, dense, matmul.

    Attributes:
        dot: how products are summed.
        narrow: whether weights are widened when they are loaded.
        registers: the register tile.
        steps: of the inner loop, for one sum, on average.
        loops: times that the inner loop is entered for one sum.
        pixel: loop dimension of neighbouring pixels.
        flat: whether rows of them follow each other without a gap.
        prepared: bytes of a prepared element; 0 where x is read as it is.
        sums: that are taken along.
    """

    dot: Dot = "madd"
    narrow: bool = True
    registers: RegisterTile = RegisterTile(1, 1)
    steps: float = 1.0
    loops: int = 1
    pixel: str = "OX"
    flat: bool = False
    prepared: int = 2
    sums: int = 0

    def kernel_cycles(self, workload: Workload, tile: Tile) -> Array:
        """Register tiles over pixels and panels of channels."""
        lanes = self.machine.lanes
        outer, pixels = np.asarray(1.0), np.asarray(tile[self.pixel])
        for dim in ("B", "G", "OY"):
            if dim == "OY" and self.flat:
                pixels = pixels * tile[dim]
            elif dim in tile and dim != self.pixel:
                outer = outer * tile[dim]
        rows, wide = self.registers.rows, self.registers.vectors
        vectors = -(-np.asarray(tile["K"]) // lanes)
        whole, left = vectors // wide, vectors % wide
        tiles = -(-pixels // rows)
        each = whole * self._panel(wide)
        for narrower in range(1, wide):
            each = each + np.where(left == narrower, self._panel(narrower), 0.0)
        sizes = workload.sizes
        seen = sizes["C"] * sizes["FY"] * sizes["FX"] * (1 if self.narrow else 2)
        nbytes = np.asarray(tile["K"]) * seen
        weights, multiplied = nbytes / self._weights_rate(workload), tiles * each
        # What several tiles multiply is asked for ahead, into the second cache (`ma_fetch`).
        near = nbytes / self._beyond()
        fetched = near + np.maximum(0.0, weights - near - multiplied)
        weights = np.where(outer * tiles > 1, fetched, weights)
        if workload.kind == "matmul":
            # The second matrix arrives at run time, and is packed for every image.
            weights = weights + np.asarray(tile["K"]) * sizes["C"] * PACK
        return np.asarray(CALL + outer * (weights + multiplied))

    def _weights_rate(self, workload: Workload) -> float:
        """Bytes of weights per cycle; a second cache that they more than half fill loses them."""
        caches, weights = self.machine.caches, workload.operands[1]
        lost = len(caches) > 2 and weights.nbytes > KEPT_SHARE * caches[1].bytes
        return caches[2].bytes_per_cycle if lost and weights.constant else self._beyond()

    def _panel(self, vectors: int) -> float:
        """Cycles of one register tile that is `vectors` wide."""
        tile = RegisterTile(self.registers.rows, vectors)
        inner = self.steps * step_cycles(self.machine, self.dot, self.narrow, tile)
        last = tile.rows * requantise_operations(self.machine, vectors)
        last += tile.rows * vectors * SUMMED * self.sums
        return START + self.loops * LOOP + inner + last / self.machine.peaks.operations

    def cost(self, workload: Workload, mapping: Mapping) -> Cost:
        """Of the layer in one call, where results go through the caches once for every panel.

        A panel writes a part of each pixel: beyond the second cache, lines come and go each time.
        """
        one, y = super().cost(workload, mapping), workload.output
        again = 2.0 * y.nbytes * (self._panels(workload) - 1)
        if len(self.machine.caches) < 3 or y.nbytes <= self.machine.caches[1].bytes:
            return one
        parts = (*one.parts, ("results", again / self.machine.caches[2].bytes_per_cycle))
        return Cost(sum(cycles for _, cycles in parts), parts)

    def _width(self) -> int:
        """As the layer says."""
        return self.prepared

    def _panels(self, workload: Workload) -> int:
        """One for every panel of channels."""
        return -(-workload.sizes["K"] // (self.registers.vectors * self.machine.lanes))
