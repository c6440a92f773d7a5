"""Small dense layers in a row on few tiles: a kernel runs several, and tiles hand on by stream.

A layer that needs a single tile can share it with its neighbours: all their weights stay there, and
what one stores is what the next one loads. Where a tile is full, the next ones go on in the tile
above (or below, column by column to and fro), which takes the results from the one core's memory
into the other's by a stream between the two. No memory tile is between them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from match_aie.errors import InternalError
from match_aie.targets.aie_ml.devices import Device
from match_aie.targets.aie_ml.graph.blocks import Blocks
from match_aie.targets.aie_ml.graph.join import Joined, Kept, Link, Member
from match_aie.targets.aie_ml.graph.pipeline import is_stage, padded_rows
from match_aie.targets.aie_ml.graph.plan import (
    Connection,
    End,
    GraphKernel,
    LayerGraph,
    Outside,
    Place,
    Shared,
)
from match_aie.targets.aie_ml.graph.timed import Timed
from match_aie.targets.aie_ml.kernels.block import Access
from match_aie.targets.aie_ml.kernels.nest import Nest
from match_aie.targets.aie_ml.kernels.stack import Stack, follows


def shares(timed: Timed) -> bool:
    """Whether a layer runs on the tile of the one before it.

    Chains of a layer have an order; where a single tile is all, the order by columns says this.
    """
    return is_stage(timed) and timed.tiles == 1 and timed.mapping.order == "n"


def stacked(members: Sequence[Member]) -> bool:
    """Whether each layer in a row is on one tile, and reads what the one before it stores."""
    timed = [m.timed for m in members if m.timed is not None and m.timed.tiles == 1]
    if len(timed) < len(members) or not all(is_stage(each) for each in timed):
        return False
    return all(_follows(before, after) for before, after in pairwise(members))


def tiles_of(members: Sequence[Member]) -> tuple[range, ...]:
    """Which layers are on each tile."""
    begins = [
        at for at, m in enumerate(members) if at == 0 or m.timed is None or not shares(m.timed)
    ]
    return tuple(range(a, b) for a, b in pairwise([*begins, len(members)]))


def _follows(before: Member, after: Member) -> bool:
    a, b = before.timed, after.timed
    assert a is not None
    assert b is not None
    handed = a.rows, a.passes, a.mapping.layer.columns
    alike = handed == (b.rows, b.passes, b.mapping.layer.reduction)
    return alike and follows(_nest(before).call.spec, _nest(after).call.spec)


def _nest(member: Member) -> Nest:
    """The function of a layer on a single tile."""
    (kernel,) = member.graph.kernels
    if not isinstance(kernel.call, Nest):
        raise InternalError(f"{member.graph.name}: a stage that does not walk")
    return kernel.call


def columns_of(members: Sequence[Member], device: Device) -> int:
    """Columns in which the tiles of layers that share them stand above each other."""
    return -(-len(tiles_of(members)) // device.core_rows)


def join_stack(name: str, members: Sequence[Member], device: Device) -> Joined:
    """Layers that share tiles as one graph.

    Args:
        name: of the graph.
        members: dense layers on a tile each, in the order in which they run (`stacked`).
        device: the array.
    """
    return _Stacking(name, members, device).joined()


class _Stacking:
    """The graph of layers that share tiles."""

    def __init__(self, name: str, members: Sequence[Member], device: Device) -> None:
        self.name, self.members, self.device = name, members, device
        self.parts = tiles_of(members)
        self.stacks = tuple(
            Stack(f"{name}_tile{at}", f"{name}_kernels.h", tuple(_nest(members[n]) for n in part))
            for at, part in enumerate(self.parts)
        )

    def joined(self) -> Joined:
        """With all that says where results stay."""
        last = len(self.members) - 1
        (operand,) = self.members[0].names
        links = (Link(at, at + 1, self.members[at + 1].names[0]) for at in range(last))
        held: dict[int, tuple[Kept, ...]] = {
            part[at]: (self._kept(stack, at, part[at]),)
            for stack, part in zip(self.stacks, self.parts, strict=True)
            for at in range(len(part))
            if part[at] < last
        }
        return Joined(self._graph(), ((0, operand),), (last,), frozenset(links), held)

    def _graph(self) -> LayerGraph:
        first, last = self.members[0].graph, self.members[-1].graph
        (x,), (y,) = first.inputs, last.outputs
        tiles = len(self.stacks)
        onward = [Connection(End("buffer", at), End("buffer", at + 1)) for at in range(tiles - 1)]
        into, out = End("buffer", 0), End("buffer", tiles - 1)
        begin, end = [Connection(End("outside", 0), into)], [Connection(out, End("outside", 1))]
        shared: tuple[Shared, ...] = ()
        if first.shared:
            shared = (
                replace(first.shared[0], name=f"{self.name}_x", column=self._place(0)[0]),
                replace(last.shared[-1], name=f"{self.name}_y", column=self._place(tiles - 1)[0]),
            )
            ends = End("shared", 0), End("shared", 1)
            begin = [Connection(End("outside", 0), ends[0]), Connection(ends[0], into)]
            end = [Connection(out, ends[1]), Connection(ends[1], End("outside", 1))]
        return LayerGraph(
            self.name,
            f"{len(self.members)} layers on {tiles} tiles, each of which runs several",
            (replace(x, name="x_way"),),
            (replace(y, name="y_way"),),
            shared,
            tuple(
                stack_kernel(stack, self._place(at), self._values(part))
                for at, (stack, part) in enumerate(zip(self.stacks, self.parts, strict=True))
            ),
            (*begin, *onward, *end),
            columns_of(self.members, self.device),
            first.memory,
        )

    def _place(self, at: int) -> Place:
        """Of a tile: up one column, down the next, so that neighbours in the row touch."""
        column, row = divmod(at, self.device.core_rows)
        return column, self.device.core_rows - 1 - row if column % 2 else row

    def _values(self, part: range) -> tuple[tuple[str, np.ndarray], ...]:
        return tuple(
            (f"{name}{at}", value)
            for at, number in enumerate(part)
            for name, value in self.members[number].graph.kernels[0].values
        )

    def _kept(self, stack: Stack, at: int, number: int) -> Kept:
        """Where the emulation shows a layer's result, and how to read it row by row."""
        timed, s = self.members[number].timed, stack.nests[at].call.spec
        assert timed is not None
        high, tile, wide = padded_rows(timed), s.tiling, s.n // s.tiling.n
        way = Access(
            (tile.n, tile.m, wide, high // tile.m),
            (tile.n, 1, 1, 1),
            (0, 0, 0, 0),
            ((2, 1, wide), (1, 1, tile.m), (3, 1, high // tile.m)),
        )
        blocks = Blocks("y", (timed.rows, timed.mapping.layer.columns), high, s.n)
        outside = Outside("y", s.requantise.dtype, blocks.elements, blocks=blocks)
        return Kept(stack.kept(at), way, outside, in_kernel=True)


def stack_kernel(
    stack: Stack, place: Place, values: tuple[tuple[str, np.ndarray], ...]
) -> GraphKernel:
    """The function of a tile on its core."""
    first, last = stack.nests[0].call.spec, stack.nests[-1].call.spec
    return GraphKernel(stack, place, (first.m * first.k,), last.m * last.n, 1, values, walks=True)
