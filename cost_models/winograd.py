"""3x3 convolutions by Winograd's minimal filtering: cycles of its three stages on one core.

F(m x m, 3 x 3) makes m x m outputs of (m + 2)^2 products a channel instead of 9 m^2: S. Winograd,
"Arithmetic complexity of computations", SIAM 1980; A. Lavin and S. Gray, "Fast algorithms for
convolutional neural networks", CVPR 2016. Modelled, not measured: vector operations, loads and
stores of the transforms as `ma_cpu.h` has them, products as register tiles
(`cost_models.products`), and bytes that go through the caches because a block of tiles does not fit
the first one. Weights are asked for ahead, into the second cache, while tiles multiply: of what
lies beyond it, only what it cannot give in that time counts.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

from match_aie.cost_models.cpu import CALL, KEPT_SHARE
from match_aie.cost_models.processor import Dot, Machine
from match_aie.cost_models.products import (
    REQUANTISE_APART,
    REQUANTISE_PAIR,
    START,
    SUMMED,
    RegisterTile,
    registers,
    step_cycles,
)
from match_aie.hardware import Cost, Mapping
from match_aie.workload import Workload

#: Tiles of a block at most: there are no more that share weights to any effect.
MOST_TILES = 64


@dataclass(frozen=True)
class Stage:
    """Vector operations of F(m, 3) in one dimension.

    Attributes:
        data: that bring m + 2 neighbours into the form that is multiplied.
        sums: that make m sums of m + 2 products.
        last: per sum, once both dimensions are done.
    """

    data: float
    sums: float
    last: float


#: By m: the operations of `ma_winograd<m>_data`, `_sums` and `_last`.
STAGES = {2: Stage(4.0, 4.0, 0.0), 4: Stage(17.0, 14.0, 1.0)}


@dataclass(frozen=True)
class WinogradTile:
    """How the stages are blocked.

    Attributes:
        outputs: m, of each tile along either dimension of the image.
        registers: tiles by vectors of channels, summed in registers.
        block: tiles that go through the stages together.
    """

    outputs: int
    registers: RegisterTile
    block: int

    @property
    def points(self) -> int:
        """Products of a tile and a pair of channels."""
        return (self.outputs + 2) ** 2


@dataclass(frozen=True)
class WinogradLayer:
    """Prices a 3x3 convolution.

    Attributes:
        machine: the core.
        dot: how int16 products are summed.
        group: of them that a lane sums at once.
        tile: the blocking.
    """

    machine: Machine
    dot: Dot
    group: int
    tile: WinogradTile

    def cost(self, workload: Workload, mapping: Mapping) -> Cost:
        """Of the layer in one call."""
        del mapping
        return self._cost(workload, workload.sizes)

    def part(self, workload: Workload, dim: str, size: int) -> float:
        """Cycles of a part of the layer, of which `dim` has `size` elements only."""
        return self._cost(workload, {**workload.sizes, dim: size}).cycles

    def _cost(self, workload: Workload, sizes: dict[str, int]) -> Cost:
        m = self.tile.outputs
        tiles = -(-sizes["OY"] // m) * -(-sizes["OX"] // m)
        images = sizes["B"]
        wide, whole = self.tile.registers.vectors, -(-sizes["K"] // self.machine.lanes)
        widths = [wide] * (whole // wide) + [whole % wide] * bool(whole % wide)
        data = images * tiles * self._data(sizes)
        taken = len(workload.added)
        sums = images * tiles * sum(self._sums(vectors, taken) for vectors in widths)
        products = images * sum(self._products(tiles, sizes, vectors) for vectors in widths)
        near, far = self._traffic(workload, sizes, images, tiles, len(widths))
        memory = near + max(0.0, far - products)
        parts = (
            ("call", CALL),
            ("transform", data + sums),
            ("products", products),
            ("memory", memory),
        )
        return Cost(sum(cycles for _, cycles in parts), parts)

    def _busy(self, operations: float, loads: float, stores: float) -> float:
        """Cycles that the busiest of the ports takes."""
        peaks = self.machine.peaks
        return max(operations / peaks.operations, loads / peaks.loads, stores / peaks.stores)

    def _data(self, sizes: dict[str, int]) -> float:
        """Cycles to transform the data of a tile: widened and down the columns, then along rows."""
        points, side = self.tile.points, self.tile.outputs + 2
        operations = points + 2 * side * STAGES[self.tile.outputs].data
        vectors = -(-sizes["C"] // (2 * self.machine.lanes))
        return START + vectors * self._busy(operations, 2 * points, 2 * points)

    def _sums(self, vectors: int, taken: int) -> float:
        """Cycles to transform products of `vectors` channels to sums, and to requantise these.

        With as many quantised sums as are `taken` along.
        """
        points, m, side = self.tile.points, self.tile.outputs, self.tile.outputs + 2
        stage = STAGES[m]
        operations = (side + m) * stage.sums + m * m * stage.last
        cycles = vectors * self._busy(operations, points + m * side, m * side)
        pairs, single = divmod(vectors, 2)
        last = m * m * (pairs * REQUANTISE_PAIR + single * REQUANTISE_APART / 2)
        last += m * m * vectors * SUMMED * taken
        return START + cycles + last / self.machine.peaks.operations

    def _products(self, tiles: int, sizes: dict[str, int], vectors: int) -> float:
        """Cycles of the products of `tiles` with a panel of `vectors`."""
        rows = min(self.tile.registers.rows, tiles)
        register = RegisterTile(rows, vectors)
        blocks, left = divmod(tiles, self.tile.block)
        calls = blocks * -(-self.tile.block // rows) + -(-left // rows)
        steps = -(-sizes["C"] // self.group)
        # Lanes that multiply one product each widen the int16 weights when they are loaded.
        step = step_cycles(self.machine, self.dot, self.dot == "plain", register)
        stored = rows * vectors / self.machine.peaks.stores
        return self.tile.points * calls * (START + steps * step + stored)

    def _traffic(
        self, workload: Workload, sizes: dict[str, int], images: int, tiles: int, panels: int
    ) -> tuple[float, float]:
        """Cycles to move what the first cache does not hold, and weights from beyond the second."""
        lanes, block = self.machine.lanes, min(self.tile.block, tiles)
        channels = -(-sizes["C"] // self.group) * self.group
        wide = self.tile.registers.vectors * lanes
        data = 2 * self.tile.points * block * channels
        products = 4 * self.tile.points * block * wide
        weights = 2 * self.tile.points * channels * wide * panels
        blocks = images * -(-tiles // block)
        first = self.machine.caches[0].bytes
        read = weights * (1 if data + products + weights <= first else blocks)
        moved = 0.0
        if data + products > first:
            moved = blocks * (data * (1 + panels) + 2.0 * products * panels)
        share = sizes["K"] / workload.sizes["K"]
        own = images * tiles / (workload.sizes["B"] * max(1, self._all_tiles(workload)))
        x, y = workload.operand("x").nbytes * own, workload.output.nbytes * own * share
        # Weights that stream through a cache do not push out what the stages hand on in it.
        rate = self._rate(data + products + weights)
        second = self._rate(0)
        near = (
            moved / self._rate(data + products) + read / second + (x + y) / self._rate(int(x + y))
        )
        return near, read / rate - read / second

    def _all_tiles(self, workload: Workload) -> int:
        sizes, m = workload.sizes, self.tile.outputs
        return -(-sizes["OY"] // m) * -(-sizes["OX"] // m)

    def _rate(self, nbytes: int) -> float:
        """Bytes per cycle from the nearest memory behind the first cache that keeps `nbytes`."""
        for cache in self.machine.caches[1:]:
            if nbytes <= KEPT_SHARE * cache.bytes:
                return cache.bytes_per_cycle
        return self.machine.memory_bytes_per_cycle


@lru_cache(maxsize=512)
def best_winograd(
    machine: Machine, dot: Dot, group: int, outputs: int, workload: Workload
) -> WinogradLayer:
    """The blocking of F(outputs x outputs, 3 x 3) that takes least, with its price.

    Args:
        machine: with its vectors.
        dot: the instruction of products.
        group: products that a lane sums at once.
        outputs: rows and columns of a tile.
        workload: the layer.
    """
    sizes = workload.sizes
    tiles = -(-sizes["OY"] // outputs) * -(-sizes["OX"] // outputs)
    found: list[tuple[float, int, int, int]] = []
    start = WinogradLayer(machine, dot, group, WinogradTile(outputs, RegisterTile(1, 1), 1))
    for vectors in range(1, min(4, -(-sizes["K"] // machine.lanes)) + 1):
        for rows in range(1, min(8, tiles) + 1):
            register = RegisterTile(rows, vectors)
            if registers(dot, register) > machine.vector_registers:
                continue
            for block in range(rows, min(MOST_TILES, -(-tiles // rows) * rows) + 1, rows):
                made = replace(start, tile=WinogradTile(outputs, register, min(block, tiles)))
                cycles = made.cost(workload, Mapping((), ())).cycles
                found.append((cycles, block, rows, vectors))
    _, block, rows, vectors = min(found)
    tile = WinogradTile(outputs, RegisterTile(rows, vectors), min(block, tiles))
    return replace(start, tile=tile)
