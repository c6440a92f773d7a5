"""The calls of a mapping in order, priced piece by piece: what a `SequenceCostModel` adds up."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from functools import cached_property

import numpy as np

from match_aie.hardware import (
    Array,
    Call,
    Direction,
    ExecModule,
    Mapping,
    Repeat,
    SequenceCostModel,
    Tile,
    sums_memory,
)
from match_aie.mapping.footprint import block
from match_aie.mapping.layout import Route, dims_of, lay_out
from match_aie.workload import Operand, Workload

#: (first index, elements), of every loop dimension in the workload's order.
Ranges = tuple[tuple[int, int], ...]


class Prices:
    """What calls and transfers of one layer on one module cost; each kind is priced once."""

    def __init__(self, workload: Workload, module: ExecModule, model: SequenceCostModel) -> None:
        """Only looks."""
        self.workload = workload
        self.model = model
        layout = lay_out(workload, module)
        routes = [route for group in layout.groups for route in group.routes] + [*layout.whole]
        order = [operand.name for operand in workload.operands]
        self.routes = sorted(routes, key=lambda route: order.index(route.operand.name))
        self.sizes = dict(workload.dims)
        self._dims = tuple(self.sizes)
        self._indexed = [
            [self._dims.index(dim) for dim in dims_of(route.operand)] for route in self.routes
        ]
        self._moves: dict[tuple[object, ...], Hashable | None] = {}
        self._calls: dict[Ranges, Hashable] = {}
        self._pieces: dict[tuple[int, ...], tuple[tuple[tuple[int, int], int], ...]] = {}

    @cached_property
    def border(self) -> tuple[tuple[int, int], ...]:
        """Of every dimension, iterations at its begin, and at its end, that may see padding."""
        found = {dim: (0, 0) for dim in self._dims}
        for operand in self.workload.operands:
            for axis, size in zip(operand.axes, operand.shape, strict=True):
                last = axis.offset + sum(c * (self.sizes[d] - 1) for d, c in axis.terms)
                for dim, step in axis.terms:
                    before = -(-max(0, -axis.offset) // step)
                    after = -(-max(0, last - size + 1) // step)
                    low, high = found[dim]
                    found[dim] = (max(low, before), max(high, after))
        return tuple(found.values())

    def padding(self, operand: Operand) -> tuple[int, ...]:
        """Rows of padding on both sides of each axis that tiles may see."""
        found = []
        for axis, size in zip(operand.axes, operand.shape, strict=True):
            last = axis.offset + sum(c * (self.sizes[d] - 1) for d, c in axis.terms)
            found.append(max(0, -axis.offset) + max(0, last - size + 1) if axis.terms else 0)
        return tuple(found)

    def least_extents(self, operand: Operand, tile: Tile) -> list[Array]:
        """What tiles of these sizes touch at least, wherever they are, along each axis."""
        found = []
        for axis, size, seen in zip(
            operand.axes, operand.shape, self.padding(operand), strict=True
        ):
            if not axis.terms:
                found.append(np.asarray(size))
                continue
            span = 1 - seen + sum(step * (tile[dim] - 1) for dim, step in axis.terms)
            found.append(np.clip(span, 0, size))
        return found

    def first_extents(self, operand: Operand, tile: Tile) -> list[Array]:
        """What the first tiles of these sizes touch, along each axis."""
        found = []
        for axis, size in zip(operand.axes, operand.shape, strict=True):
            if not axis.terms:
                found.append(np.asarray(size))
                continue
            last = axis.offset + sum(step * (tile[dim] - 1) for dim, step in axis.terms)
            touched = np.minimum(last, size - 1) - max(axis.offset, 0) + 1
            found.append(np.asarray(np.maximum(touched, 0)))
        return found

    def pieces(
        self, at: int, begin: int, length: int, step: int
    ) -> tuple[tuple[tuple[int, int], int], ...]:
        """What a loop over [begin, begin + length) visits: (range, how many that are alike).

        The first stands alone. Ranges that see no padding are alike; each is given as the first
        one of the dimension that sees none.
        """
        key = (at, begin, length, step)
        if key not in self._pieces:
            self._pieces[key] = tuple(self._divided(*key))
        return self._pieces[key]

    def _divided(
        self, at: int, begin: int, length: int, step: int
    ) -> Iterator[tuple[tuple[int, int], int]]:
        low, high = self.border[at]
        size, end = self.sizes[self._dims[at]], begin + length
        count = -(-length // step)
        inside = max(1, -(-(low - begin) // step))
        beyond = max(inside, (min(end, size - high) - begin) // step)
        runs = [(index, 1) for index in range(min(inside, count))]
        runs += [(inside, beyond - inside)] if beyond > inside else []
        runs += [(index, 1) for index in range(beyond, count)]
        for index, times in runs:
            start = begin + index * step
            here = min(step, end - start)
            if start > low and start + here <= size - high:
                start = low
            yield (start, here), times

    def call(self, ranges: Ranges) -> Hashable:
        """The price of a call of the kernel."""
        if ranges not in self._calls:
            named = dict(zip(self._dims, ranges, strict=True))
            self._calls[ranges] = self.model.call_price(self.workload, named)
        return self._calls[ranges]

    def move(self, at: int, ranges: Ranges) -> Hashable | None:
        """The price of moving the tile of operand `at`; None where nothing moves."""
        key = (at, *[ranges[dim] for dim in self._indexed[at]])
        if key not in self._moves:
            route = self.routes[at]
            named = dict(zip(self._dims, ranges, strict=True))
            extents = tuple(_touched(route.operand, named))
            moves = len(route.memories) > 1 and all(extents)
            self._moves[key] = self._moved(route, extents) if moves else None
        return self._moves[key]

    def _moved(self, route: Route, extents: tuple[int, ...]) -> Hashable:
        inner, outer = route.memories[0], route.memories[-1]
        axes = [np.asarray(extent) for extent in extents]
        whole = [np.asarray(size) for size in route.operand.shape]
        moved = block(route.operand, axes, whole, order=route.order)
        way: Direction = "store" if route.operand is self.workload.output else "load"
        return self.model.transfer_price(self.workload, moved, outer, inner, way)


def _touched(operand: Operand, ranges: dict[str, tuple[int, int]]) -> Iterator[int]:
    """Elements along each axis that the ranges touch, without padding."""
    for axis, size in zip(operand.axes, operand.shape, strict=True):
        if not axis.terms:
            yield size
            continue
        first = last = axis.offset
        for dim, step in axis.terms:
            start, length = ranges[dim]
            first += step * start
            last += step * (start + length - 1)
        yield max(0, min(last, size - 1) - max(first, 0) + 1)


class Nest:
    """The calls of one mapping."""

    def __init__(self, prices: Prices, mapping: Mapping) -> None:
        """Only looks."""
        self._prices = prices
        self._loops = mapping.temporal[: mapping.kernel]
        dims = list(prices.sizes)
        self._at = [dims.index(loop.dim) for loop in self._loops]
        self._cuts = [mapping.cut(r.operand.name, r.memories[0].name) for r in prices.routes]

    def calls(self) -> tuple[Call | Repeat, ...]:
        """In order, those that are alike in loops."""
        whole = tuple((0, size) for size in self._prices.sizes.values())
        return self._inside((whole,), -1)

    def _inside(self, ranges: tuple[Ranges, ...], turn: int) -> tuple[Call | Repeat, ...]:
        """What the loops from `len(ranges) - 1` on do within `ranges[-1]`.

        Args:
            ranges: by loop, what is left before it; then within all of them.
            turn: the outermost loop that moved on right before; -1 at the begin.
        """
        depth = len(ranges) - 1
        if depth == len(self._loops):
            return (self._call(ranges, turn),)
        loop, at = self._loops[depth], self._at[depth]
        found: list[Call | Repeat] = []
        for piece, times in self._prices.pieces(at, *ranges[-1][at], loop.step):
            here = (*ranges, (*ranges[-1][:at], piece, *ranges[-1][at + 1 :]))
            body = self._inside(here, depth if found else turn)
            found += body if times == 1 else [Repeat(body, times)]
        return tuple(found)

    def _call(self, ranges: tuple[Ranges, ...], turn: int) -> Call:
        prices, last = self._prices, len(self._cuts) - 1
        moves = [
            prices.move(at, ranges[cut])
            for at, cut in enumerate(self._cuts)
            if at == last or turn < cut or turn < 0
        ]
        loads = tuple(move for move in moves[:-1] if move is not None)
        opens = turn < self._cuts[-1] or turn < 0
        return Call(prices.call(ranges[-1]), loads, moves[-1], opens)


def prices_of(workload: Workload, module: ExecModule, model: object) -> Prices | None:
    """Who prices whole layers; None where tiles are added up.

    That is also so where there are memories between the innermost and the home memory, and where
    partial sums may have to leave it: `Nest` knows neither.
    """
    if not isinstance(model, SequenceCostModel):
        return None
    if module.tiled_reductions(workload) and (
        sums_memory(module.memories) is None or module.stores_partial_sums(workload)
    ):
        return None
    if len(lay_out(workload, module).tiers) != 1:
        return None
    return Prices(workload, module, model)


def sequence_cycles(prices: Prices, mapping: Mapping) -> float:
    """Cycles of the layer as `mapping` runs it."""
    return prices.model.sequence_cycles(prices.workload, Nest(prices, mapping).calls())
