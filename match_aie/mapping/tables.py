"""Costs and footprints of all nodes of a space at once: what the engines look up.

Every quantity of a group of operands in a memory depends on its own node only, or, where the
enclosing tile decides what is contiguous, on that tile too ("parent").
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from match_aie.hardware import (
    Array,
    Block,
    Direction,
    ExecModule,
    Memory,
    TileCostModel,
    Tiled,
    WalkedCostModel,
    facet,
    sums_memory,
)
from match_aie.mapping.answered import for_each
from match_aie.mapping.footprint import axis_extents, block, resident_bytes
from match_aie.mapping.layout import Group, Layout, Route, dims_of, lay_out
from match_aie.mapping.sequence import Prices, prices_of
from match_aie.mapping.space import Projection, Space, every_tile, project
from match_aie.workload import Workload


@dataclass(frozen=True)
class Moves:
    """Transfers of a group into (and out of) one tier.

    Attributes:
        cycles: of all transfers.
        exposed: of these, of the first load or the last store.
        energy: of all transfers, picojoules.
        held: cycles beside `cycles` that compute waits for whatever overlaps; of a
            `SequenceCostModel` only, whose last store counts here too.
    """

    cycles: Array
    exposed: Array
    energy: Array
    held: Array = field(default_factory=lambda: np.zeros(1))

    def stacked(self, count: int) -> Array:
        """Cycles, exposed, energy and held cycles of `count` nodes, float64[4, nodes]."""
        parts = (self.cycles, self.exposed, self.energy, self.held)
        return np.stack([np.broadcast_to(part, count) for part in parts])


@dataclass(frozen=True)
class Problem:
    """A search, ready to be solved: the space, and who prices it.

    Attributes:
        workload: to map.
        module: to map it on.
        model: the module's cost model.
        space: nodes.
        layout: groups, tiers.
        energy: whether energy matters; it counts as 0 otherwise.
        prices: what prices whole layers, where the cost model does; the tables are then of lower
            bounds.
    """

    workload: Workload
    module: ExecModule
    model: TileCostModel
    space: Space
    layout: Layout
    energy: bool
    prices: Prices | None = None


def pose(
    workload: Workload, module: ExecModule, model: TileCostModel, space: Space, energy: bool
) -> Problem:
    """The problem of mapping `workload` on `module` within `space`.

    Args:
        workload: the layer.
        module: that would run it.
        model: of its costs.
        space: of tile sizes.
        energy: is minimised, and not cycles.
    """
    prices = prices_of(workload, module, model)
    return Problem(workload, module, model, space, lay_out(workload, module), energy, prices)


class Leg:
    """One operand between two memories next to each other on its way.

    Attributes:
        route: of the operand.
        inner: the memory that holds the tile.
        outer: where it comes from.
    """

    def __init__(self, problem: Problem, route: Route, inner: Memory) -> None:
        """Tables are made when they are first read."""
        self._problem = problem
        self.route = route
        self.inner = inner
        self.outer = route.outward(inner)
        self._output = route.operand is problem.workload.output
        self._projection: Projection = project(problem.space, dims_of(route.operand))

    @cached_property
    def from_home(self) -> bool:
        """Whether tiles come out of the whole tensor."""
        return self.outer is self.route.memories[-1]

    @cached_property
    def _others(self) -> Array:
        """Tiles of each node along the dimensions that do not index the operand."""
        return self._problem.space.tiles([grid.dim for grid in self._projection.grids])

    def footprint(self, wide: bool = False) -> Array:
        """Bytes of the inner memory, for every node; `wide` where it holds partial sums."""
        problem = self._problem
        extents = self._extents(pieces=False)
        moved_again = problem.space.tiles() > 1
        size = problem.workload.partial_itemsize if wide else None
        spread = [np.broadcast_to(e, self._projection.count) for e in extents]
        at = self._projection.index
        return resident_bytes(
            self.route.operand,
            [e[at] for e in spread],
            self.inner,
            moved_again,
            size,
            self.route.packing,
        )

    def sums(self, memory: Memory) -> Array:
        """Bytes of `memory` that partial sums of the output's tile take, for every node."""
        spread = [
            np.broadcast_to(e, self._projection.count)[self._projection.index]
            for e in self._extents(pieces=False)
        ]
        size = self._problem.workload.partial_itemsize
        alone, packing = np.asarray(False), self.route.packing
        return resident_bytes(self.route.operand, spread, memory, alone, size, packing)

    def moves(self, parent: int | None = None) -> Moves:
        """Transfers for every node, out of the tile of node `parent` (None: whole tensor)."""
        row = 0 if parent is None or self.from_home else int(self._projection.index[parent])
        at = self._projection.index
        return self._spread(*(table[row][at] for table in self._tables))

    @cached_property
    def least(self) -> Moves:
        """The least that transfers can cost for every node, over all enclosing tiles."""
        at = self._projection.index
        return self._spread(*(table.min(axis=0)[at] for table in self._tables))

    def _spread(
        self, once: Array, again: Array, first: Array, energy: Array, more: Array, *held: Array
    ) -> Moves:
        """Totals per node from totals over the operand's own dimensions."""
        visits = self._others
        if not self._output:
            cycles, energy = visits * once, visits * energy
        else:
            cycles, energy = once + (visits - 1) * again, energy + (visits - 1) * more
        if not held:
            return Moves(cycles, first, energy)
        each, edge = held
        return Moves(cycles, first, energy, visits * each + edge)

    def _extents(self, pieces: bool) -> list[Array]:
        problem = self._problem
        return axis_extents(
            self.route.operand,
            self._projection.tile(pieces),
            problem.space.sizes,
            facet(problem.module, Tiled).padded_tiles,
        )

    @cached_property
    def _tables(self) -> tuple[Array, ...]:
        """Cycles of one visit, of each further visit, of the first tile; energy of one, of more.

        Each [parents, candidates of the operand's dimensions]. A visit loads an input, or stores
        the output; a further visit of the output loads and stores its partial sums. Where whole
        layers are priced, two more: held cycles of a visit, and of all visits together.
        """
        operand = self.route.operand
        tile = self._extents(pieces=True)
        if self.from_home:
            parents = [np.asarray([[size]]) for size in operand.shape]
        else:
            parents = [np.reshape(extent, (-1, 1)) for extent in self._extents(pieces=False)]
        moved = block(operand, tile, parents, order=self.route.order)
        cycles, energy = self._price(moved, "store" if self._output else "load")
        zero = self._full(np.zeros((1, self._projection.count)))
        if self._problem.prices is not None:
            return self._bounds(self._problem.prices, parents, self._sum(energy))
        if not self._output or self._others.max() == 1:
            return self._sum(cycles), zero, self._first(cycles), self._sum(energy), zero
        wide = self._problem.workload.partial_itemsize
        sums = block(operand, tile, parents, wide, self.route.order)
        load, load_energy = self._price(sums, "load")
        store, store_energy = self._price(sums, "store")
        return (
            self._sum(cycles),
            self._sum(load + store),
            self._first(cycles),
            self._sum(energy),
            self._sum(None if load_energy is None else load_energy + store_energy),
        )

    def _bounds(self, prices: Prices, parents: list[Array], energy: Array) -> tuple[Array, ...]:
        """`_tables` of lower bounds: tiles at the border are smaller than those inside.

        Nothing moves while the first tiles are loaded, nor after the last one is stored.
        """
        operand, model = self.route.operand, prices.model
        tile = prices.least_extents(operand, self._projection.tile(pieces=True))
        moved = block(operand, tile, parents, order=self.route.order)
        if any(prices.padding(operand)):
            one = np.ones_like(moved.chunks)
            moved = replace(moved, chunks=one, planes=one)
        cycles, _ = self._price(moved, "store" if self._output else "load")
        held = model.held_cycles(self._problem.workload, moved)
        held = np.broadcast_to(held, cycles.shape)
        zero = self._full(np.zeros((1, self._projection.count)))
        total, each = self._sum(cycles), self._sum(held)
        if self._output:
            last = self._full(self._projection.last(cycles - held))
            return total, zero, zero, energy, zero, each, last
        begin = prices.first_extents(operand, self._projection.tile())
        whole = [np.asarray([[size]]) for size in operand.shape]
        moved = block(operand, begin, whole, order=self.route.order)
        first, _ = self._price(moved, "load")
        ahead = np.broadcast_to(model.held_cycles(self._problem.workload, moved), first.shape)
        return total, zero, self._full(first), energy, zero, each, -ahead

    def _sum(self, per_piece: Array | None) -> Array:
        if per_piece is None:
            return self._full(np.zeros((1, self._projection.count)))
        return self._full(self._projection.total(per_piece))

    def _first(self, per_piece: Array) -> Array:
        return self._full(self._projection.first(per_piece))

    def _full(self, table: Array) -> Array:
        """`table` with a row for every parent, where there is more than one."""
        shape = (1 if self.from_home else self._projection.count, self._projection.count)
        return table if table.shape == shape else np.broadcast_to(table, shape)

    def _price(self, moved: Block, direction: Direction) -> tuple[Array, Array | None]:
        """Cycles, and picojoules where they matter, [parents, pieces]."""
        model, workload = self._problem.model, self._problem.workload
        outer, inner = self.outer, self.inner
        shape = np.broadcast_shapes(np.shape(moved.chunks), np.shape(moved.nbytes))
        shape = shape if len(shape) == 2 else (1, *shape)
        cycles = model.transfer_cycles(workload, moved, outer, inner, direction)
        if np.shape(cycles) != shape:
            cycles = for_each(cycles, shape, model, "transfer_cycles")
        if not self._problem.energy:
            return cycles, None
        energy = model.transfer_energy(workload, moved, outer, inner, direction)
        return cycles, for_each(energy, shape, model, "transfer_energy")


class Legs:
    """The legs of a group into one tier.

    Attributes:
        group: whose operands.
        tier: index into the layout's tiers.
        legs: of the operands.
    """

    def __init__(self, problem: Problem, group: Group, tier: int) -> None:
        """A leg for every operand that the tier serves."""
        pairs = [(route, problem.layout.at(route, tier)) for route in group.routes]
        self.group = group
        self.tier = tier
        self.legs = [Leg(problem, route, memory) for route, memory in pairs if memory is not None]
        self._problem = problem
        self._seen: dict[int | None, Moves] = {}

    def moves(self, parent: int | None = None) -> Moves:
        """Transfers for every node; `parent` is the node of the enclosing tile."""
        key = None if all(leg.from_home for leg in self.legs) else parent
        if key not in self._seen:
            self._seen[key] = _add([leg.moves(parent) for leg in self.legs])
        return self._seen[key]

    @cached_property
    def least(self) -> Moves:
        """A lower bound of `moves` over all parents."""
        return _add([leg.least for leg in self.legs])

    def footprints(self, wide: bool) -> Array:
        """Bytes in every memory of the tier, [memories, nodes]."""
        memories = self._problem.layout.tiers[self.tier]
        found = np.zeros((len(memories), self._problem.space.count))
        wide = wide and self.group.output
        sums = None if self.tier else sums_memory(self._problem.module.memories)
        for leg in self.legs:
            found[memories.index(leg.inner)] += leg.footprint(wide and sums is None)
            if wide and sums is not None:
                found[memories.index(sums)] += leg.sums(sums)
        return found


def _add(moves: Sequence[Moves]) -> Moves:
    return Moves(
        sum((m.cycles for m in moves), np.zeros(1)),
        sum((m.exposed for m in moves), np.zeros(1)),
        sum((m.energy for m in moves), np.zeros(1)),
        sum((m.held for m in moves), np.zeros(1)),
    )


def legal_kernels(problem: Problem) -> Array:
    """Nodes that may be the kernel's tile: every tile that they lead to is legal; bool[nodes]."""
    projection, tile, count = every_tile(problem.space)
    legal = np.broadcast_to(facet(problem.module, Tiled).constrain(problem.workload, tile), count)
    return np.asarray(projection.total(np.where(legal, 0.0, 1.0)[None])[0] == 0)


def kernel_totals(problem: Problem) -> tuple[Array, Array]:
    """Cycles and picojoules of all calls of the kernel, for every node as the kernel's tile.

    Where whole layers are priced, the cycles are what the layer takes at least beside transfers.
    """
    projection, tile, count = every_tile(problem.space)
    if problem.prices is None:
        cycles = problem.model.kernel_cycles(problem.workload, tile)
        cycles = for_each(cycles, (count,), problem.model, "kernel_cycles")
        total = projection.total(cycles[None])[0]
        if isinstance(problem.model, WalkedCostModel):
            total = total + problem.model.walk_cycles(problem.space.tiles())
    else:
        model = problem.prices.model
        bounds = model.call_bounds(problem.workload, tile)
        sums = [projection.total(np.broadcast_to(each, count)[None])[0] for each in bounds]
        beside = model.layer_bounds(problem.space.tiles())
        total = np.max([a + b for a, b in zip(sums, beside, strict=True)], axis=0)
    if not problem.energy:
        return total, np.zeros_like(total)
    energy = problem.model.kernel_energy(problem.workload, tile)
    energy = for_each(energy, (count,), problem.model, "kernel_energy")
    return total, projection.total(energy[None])[0]


def reserved(problem: Problem, tier: int) -> Array:
    """Bytes in every memory of a tier that are no tile's, [memories, nodes].

    In an innermost tier for a kernel working on each node, further out for the whole layer.
    """
    space, workload = problem.space, problem.workload
    tile = project(space, [grid.dim for grid in space.grids]).tile()
    if tier > 0:
        tile = {dim: np.asarray([size]) for dim, size in workload.dims}
    memories = problem.layout.tiers[tier]
    found = np.zeros((len(memories), space.count))
    for at, memory in enumerate(memories):
        found[at] = memory.reserved + facet(problem.module, Tiled).reserved_bytes(
            workload, memory, tile
        )
        for route in problem.layout.whole:
            if memory in route.memories[:-1]:
                found[at] += _whole_bytes(problem, route, memory)
    return found


def _whole_bytes(problem: Problem, route: Route, memory: Memory) -> float:
    shape = [np.asarray(size) for size in route.operand.shape]
    alone = np.asarray(False)
    return float(resident_bytes(route.operand, shape, memory, alone, None, route.packing))


def fixed_moves(problem: Problem, tier: int) -> Moves:
    """Transfers into a tier of the operands that are brought in once and whole."""
    found = [Moves(np.zeros(1), np.zeros(1), np.zeros(1))]
    for route in problem.layout.whole:
        memory = problem.layout.at(route, tier)
        if memory is None or memory is route.memories[-1]:
            continue
        shape = [np.asarray(size) for size in route.operand.shape]
        moved = block(route.operand, shape, shape, order=route.order)
        outer = route.outward(memory)
        model, work = problem.model, problem.workload
        cycles = np.reshape(model.transfer_cycles(work, moved, outer, memory, "load"), 1)
        energy = np.reshape(model.transfer_energy(work, moved, outer, memory, "load"), 1)
        found.append(Moves(cycles, cycles, energy))
    return _add(found)
