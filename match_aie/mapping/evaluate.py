"""What one mapping costs and occupies, tile by tile: the scalar form of the search's tables."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np

from match_aie.hardware import (
    SUMS,
    Array,
    Cost,
    Direction,
    ExecModule,
    Mapping,
    Memory,
    TileCostModel,
    Tiled,
    WalkedCostModel,
    facet,
    sums_memory,
)
from match_aie.mapping.footprint import axis_extents, block, resident_bytes
from match_aie.mapping.layout import Layout, Route, dims_of, lay_out
from match_aie.mapping.sequence import prices_of, sequence_cycles
from match_aie.workload import Workload


@dataclass(frozen=True)
class Use:
    """Bytes that one user takes of a memory."""

    memory: str
    user: str
    nbytes: int


def pieces(size: int, step: int) -> list[tuple[int, int]]:
    """Sizes of the tiles that cover a dimension, and how many there are of each.

    >>> pieces(25, 8)
    [(8, 3), (1, 1)]
    """
    full, left = divmod(size, step)
    return [(step, full)] * bool(full) + [(left, 1)] * bool(left)


def _tiles(
    extents: dict[str, int], sizes: dict[str, int], dims: tuple[str, ...]
) -> Iterator[tuple[dict[str, Array], int]]:
    """Every kind of tile along `dims` (the other dimensions at full size), and how many of it."""
    kinds = [pieces(sizes[dim], extents[dim]) for dim in dims]
    for choice in product(*kinds):
        tile = {dim: np.asarray(size) for dim, size in extents.items()}
        tile |= {dim: np.asarray(size) for dim, (size, _) in zip(dims, choice, strict=True)}
        count = 1
        for _, times in choice:
            count *= times
        yield tile, count


def kinds(
    workload: Workload, mapping: Mapping, index: int
) -> Iterator[tuple[dict[str, Array], int]]:
    """Every kind of tile cut at `index` of a mapping's loops, and how many of it.

    Tiles have every dimension that kinds of layers know, of size 1 where this one has none.
    """
    extents = {**workload.sizes, **mapping.extents(index, workload.dims)}
    return _tiles(extents, dict(workload.dims), tuple(dict(workload.dims)))


@dataclass(frozen=True)
class _Sum:
    cycles: float = 0.0
    exposed: float = 0.0
    energy: float = 0.0

    def __add__(self, other: _Sum) -> _Sum:
        return _Sum(
            self.cycles + other.cycles, self.exposed + other.exposed, self.energy + other.energy
        )


class Evaluation:
    """A mapping of a workload on a module whose memories are nested."""

    def __init__(
        self, workload: Workload, module: ExecModule, model: TileCostModel, mapping: Mapping
    ) -> None:
        """Only looks; `cost` and `uses` compute."""
        self._workload = workload
        self._module = module
        self._model = model
        self._mapping = mapping
        self._layout: Layout = lay_out(workload, module)
        self._sizes = dict(workload.dims)

    def _extents(self, index: int) -> dict[str, int]:
        return self._mapping.extents(index, self._workload.dims)

    def _visits(self, extents: dict[str, int], dims: tuple[str, ...]) -> int:
        """Times that a tile is come back to: iterations along dimensions other than `dims`."""
        total = 1
        for dim, size in self._sizes.items():
            if dim not in dims:
                total *= -(-size // extents[dim])
        return total

    def cost(self) -> Cost:
        """Cycles with parts, and picojoules."""
        compute, energy = self._kernel()
        tiers = [self._tier(tier) for tier in range(len(self._layout.tiers))]
        moves = [np.asarray(t.cycles) for t in tiers]
        edges = [np.asarray(t.exposed) for t in tiers]
        prices = prices_of(self._workload, self._module, self._model)
        if prices is not None:
            cycles = sequence_cycles(prices, self._mapping)
        else:
            cycles = float(self._model.combine(np.asarray(compute), moves, edges))
        names = ["+".join(m.name for m in tier) for tier in self._layout.tiers]
        waits: list[tuple[str, float]] = [
            (f"transfers {name}", t.cycles) for name, t in zip(names, tiers, strict=True)
        ]
        if abs(compute + sum(c for _, c in waits) - cycles) > 1e-9 * cycles:
            waits = [("waiting for transfers", cycles - compute)]
        picojoules = energy + sum(t.energy for t in tiers)
        return Cost(cycles, (("compute", compute), *waits), picojoules or None)

    def picojoules(self) -> float | None:
        """Of the kernel and all transfers; None where the model has no energy."""
        tiers = (self._tier(tier) for tier in range(len(self._layout.tiers)))
        return self._kernel()[1] + sum(tier.energy for tier in tiers) or None

    def moved(self) -> float:
        """Cycles of all transfers, one after the other."""
        return sum(self._tier(tier).cycles for tier in range(len(self._layout.tiers)))

    def _kernel(self) -> tuple[float, float]:
        cycles = energy = 0.0
        calls, dims = 0, tuple(self._sizes)
        for tile, count in _tiles(self._extents(self._mapping.kernel), self._sizes, dims):
            cycles += count * float(self._model.kernel_cycles(self._workload, tile))
            energy += count * float(self._model.kernel_energy(self._workload, tile))
            calls += count
        if isinstance(self._model, WalkedCostModel):
            cycles += float(self._model.walk_cycles(np.asarray(calls)))
        return cycles, energy

    def _tier(self, tier: int) -> _Sum:
        total = _Sum()
        groups = [route for group in self._layout.groups for route in group.routes]
        for route in (*groups, *self._layout.whole):
            memory = self._layout.at(route, tier)
            if memory is not None and memory is not route.memories[-1]:
                total += self._moved(route, memory)
        return total

    def _moved(self, route: Route, inner: Memory) -> _Sum:
        operand, dims = route.operand, dims_of(route.operand)
        extents = self._extents(self._mapping.cut(operand.name, inner.name))
        visits = self._visits(extents, dims)
        if operand is not self._workload.output:
            once = self._transfers(route, inner, extents, "load", None)
            return _Sum(visits * once.cycles, once.exposed, visits * once.energy)
        wide = self._workload.partial_itemsize
        last = self._transfers(route, inner, extents, "store", None)
        load = self._transfers(route, inner, extents, "load", wide)
        store = self._transfers(route, inner, extents, "store", wide)
        again = visits - 1
        return _Sum(
            last.cycles + again * (load.cycles + store.cycles),
            last.exposed,
            last.energy + again * (load.energy + store.energy),
        )

    def _transfers(
        self,
        route: Route,
        inner: Memory,
        extents: dict[str, int],
        direction: Direction,
        itemsize: int | None,
    ) -> _Sum:
        """One visit of every tile of an operand."""
        operand, outer = route.operand, route.outward(inner)
        above = self._extents(self._mapping.cut(operand.name, outer.name))
        parent = self._axes(route, {d: np.asarray(s) for d, s in above.items()})
        if outer is route.memories[-1]:
            parent = [np.asarray(size) for size in operand.shape]
        total = _Sum()
        kinds = _tiles(extents, self._sizes, dims_of(operand))
        for at, (tile, count) in enumerate(kinds):
            moved = block(operand, self._axes(route, tile), parent, itemsize, route.order)
            work, model = self._workload, self._model
            cycles = float(model.transfer_cycles(work, moved, outer, inner, direction))
            energy = float(model.transfer_energy(work, moved, outer, inner, direction))
            total += _Sum(count * cycles, 0.0 if at else cycles, count * energy)
        return total

    def _axes(self, route: Route, tile: dict[str, Array]) -> list[Array]:
        return axis_extents(
            route.operand, tile, self._sizes, facet(self._module, Tiled).padded_tiles
        )

    def partial(self, index: int) -> bool:
        """Whether a tile cut at `index` holds a part of a reduction only."""
        extents = self._extents(index)
        return any(extents[dim] < self._sizes[dim] for dim in self._workload.reductions)

    def uses(self) -> list[Use]:
        """Who takes how many bytes of which memory, but for the home memory."""
        found = []
        kernel = {
            dim: np.asarray(size) for dim, size in self._extents(self._mapping.kernel).items()
        }
        whole = {dim: np.asarray(size) for dim, size in self._sizes.items()}
        for tier, memories in enumerate(self._layout.tiers):
            for memory in memories:
                tile = whole if tier else kernel
                own = facet(self._module, Tiled).reserved_bytes(self._workload, memory, tile)
                found.append(Use(memory.name, "reserved", memory.reserved + int(own)))
        groups = [route for group in self._layout.groups for route in group.routes]
        for route in (*groups, *self._layout.whole):
            found += [self._use(route, memory) for memory in route.memories[:-1]]
            if route.operand is self._workload.output:
                found += self._sums(route)
        return found

    def _sums(self, route: Route) -> list[Use]:
        """Partial sums beside the output's innermost tile, where a memory is declared for them."""
        memory = sums_memory(self._module.memories)
        if memory is None or not self.partial(self._mapping.kernel):
            return []
        extents = self._extents(self._mapping.cut(route.operand.name, route.memories[0].name))
        axes = self._axes(route, {d: np.asarray(s) for d, s in extents.items()})
        size = self._workload.partial_itemsize
        alone = np.asarray(False)
        nbytes = resident_bytes(route.operand, axes, memory, alone, size, route.packing)
        return [Use(memory.name, SUMS, int(nbytes))]

    def _use(self, route: Route, memory: Memory) -> Use:
        name = route.operand.name
        extents = self._extents(self._mapping.cut(name, memory.name))
        again = any(extents[dim] < size for dim, size in self._sizes.items())
        inside = self._inside(route, memory)
        beside = memory is route.memories[0] and sums_memory(self._module.memories) is not None
        wide = route.operand is self._workload.output and self.partial(inside) and not beside
        size = self._workload.partial_itemsize if wide else None
        axes = self._axes(route, {d: np.asarray(s) for d, s in extents.items()})
        nbytes = resident_bytes(route.operand, axes, memory, np.asarray(again), size, route.packing)
        return Use(memory.name, name, int(nbytes))

    def _inside(self, route: Route, memory: Memory) -> int:
        """Cut of the next tile inward; the kernel's for the innermost memory."""
        at = route.memories.index(memory)
        if at == 0:
            return self._mapping.kernel
        return self._mapping.cut(route.operand.name, route.memories[at - 1].name)


def overfull(
    workload: Workload, module: ExecModule, model: TileCostModel, mapping: Mapping
) -> dict[str, int]:
    """Bytes wanted of every memory that a mapping asks too much of.

    Args:
        workload: the layer.
        module: that would run it.
        model: of its costs.
        mapping: of the layer.
    """
    wanted: dict[str, int] = {}
    for use in Evaluation(workload, module, model, mapping).uses():
        wanted[use.memory] = wanted.get(use.memory, 0) + use.nbytes
    bounds = {memory.name: memory.bytes for memory in module.memories}
    return {
        name: nbytes
        for name, nbytes in wanted.items()
        if (bound := bounds[name]) is not None and nbytes > bound
    }
