"""The space of tiles: candidate sizes of each dimension, and which tile may lie in which.

A tile of t elements of a dimension of size N starts at a multiple of t, the last one is what is
left. Tile a may lie in tile b if, in every dimension, a divides b or b is the whole dimension.
That way the remainder of a tile does not depend on the tiles around it. See `docs/mapping.md`.
"""

from __future__ import annotations

from collections.abc import Mapping as MappingOf
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import lcm, prod
from typing import Literal

import numpy as np

from match_aie.errors import TargetError
from match_aie.hardware import Array, ExecModule, Loop, Tiled, facet
from match_aie.mapping.packing import whole_blocks
from match_aie.workload import ROW_KINDS, Workload

#: "divisor": sizes that leave no remainder. "ragged": also those that do.
Tiles = Literal["divisor", "ragged"]


def divisors(n: int) -> list[int]:
    """Of a positive number, ascending.

    >>> divisors(12)
    [1, 2, 3, 4, 6, 12]
    """
    return [d for d in range(1, n + 1) if n % d == 0]


def clipped(unroll: int, size: int) -> int:
    """The largest divisor of `size` that is at most `unroll`.

    >>> clipped(8, 25)
    5
    """
    return max(d for d in divisors(size) if d <= unroll)


def candidates(size: int, unroll: int, tiles: Tiles, block: int = 1) -> list[int]:
    """Tile sizes of a dimension of `size` elements of which the hardware takes `unroll` at a time.

    With u the clipped unrolling: u times the divisors of size / u. Ragged tiles add, for every
    number n of tiles, the smallest multiple of `unroll` of which n cover the dimension.

    Args:
        size: elements of the dimension.
        unroll: of them at a time.
        tiles: "divisor" or "ragged".
        block: elements of a block of packed constants.

    >>> candidates(25, 8, "divisor")
    [5, 25]
    >>> candidates(25, 8, "ragged")
    [5, 8, 16, 25]

    Where packed constants lie in blocks, every tile but the whole is a number of them.

    >>> candidates(40, 8, "ragged", block=16)
    [16, 32, 40]
    """
    if block > 1:
        found = set(candidates(size, min(lcm(unroll, block), size), tiles))
        return sorted(n for n in found if n % block == 0 or n == size)
    step = clipped(unroll, size)
    found = {step * d for d in divisors(size // step)}
    if tiles == "ragged":
        units = -(-size // unroll)
        found |= {min(size, unroll * -(-units // n)) for n in range(1, units + 1)}
    return sorted(found)


@dataclass(frozen=True, eq=False)
class Grid:
    """One dimension's candidate tile sizes.

    Attributes:
        dim: its name.
        size: its elements.
        unroll: of these, how many the hardware takes at a time.
        extents: candidate sizes, ascending; the last is `size`.
    """

    dim: str
    size: int
    unroll: int
    extents: Array

    @cached_property
    def tiles(self) -> Array:
        """Tiles that cover the dimension, for each candidate."""
        return -(-self.size // self.extents)

    @cached_property
    def pieces(self) -> Array:
        """Every size that occurs: candidates and remainders, ascending."""
        left = self.size % self.extents
        return np.unique(np.concatenate([self.extents, left[left > 0]]))

    @cached_property
    def counts(self) -> Array:
        """How many tiles of size `pieces[p]` candidate c leads to, float64[c, p]."""
        full, left = self.size // self.extents, self.size % self.extents
        found = np.zeros((len(self.extents), len(self.pieces)))
        rows = np.arange(len(self.extents))
        found[rows, np.searchsorted(self.pieces, self.extents)] = full
        some = left > 0
        found[rows[some], np.searchsorted(self.pieces, left[some])] += 1
        return found

    @cached_property
    def nests(self) -> Array:
        """Whether candidate a may lie in candidate b, bool[a, b]."""
        divides = self.extents[None, :] % self.extents[:, None] == 0
        return np.asarray(divides | (self.extents == self.size)[None, :])


class Space:
    """All tiles ("nodes") of a workload on a module, numbered in row-major order of the grids.

    Attributes:
        workload: whose.
        spatial: what the hardware unrolls.
        grids: of the dimensions that can be tiled, in the workload's order.
        sizes: elements of every dimension.
        count: number of nodes; the last is the whole layer.
    """

    def __init__(self, workload: Workload, spatial: Sequence[Loop], grids: Sequence[Grid]) -> None:
        """Take the grids; `build_space` makes them."""
        self.workload = workload
        self.spatial = tuple(spatial)
        self.grids = tuple(grids)
        self.sizes = dict(workload.dims)
        self.shape = tuple(len(grid.extents) for grid in self.grids)
        self.count = prod(self.shape)
        self.coordinates = np.indices(self.shape).reshape(len(self.shape), self.count)
        self.whole = self.count - 1

    @cached_property
    def below(self) -> Array:
        """Whether node a may lie in node b, bool[a, b]; true for a == b."""
        found = np.ones((1, 1), bool)
        for grid in self.grids:
            both = found[:, None, :, None] & grid.nests[None, :, None, :]
            found = both.reshape(both.shape[0] * both.shape[1], -1)
        return found

    def tiles(self, without: Sequence[str] = ()) -> Array:
        """How many tiles of each node cover the layer, leaving out some dimensions; float64."""
        total = np.ones(self.count)
        for grid, at in zip(self.grids, self.coordinates, strict=True):
            if grid.dim not in without:
                total = total * grid.tiles[at]
        return total

    def extents(self, node: int) -> dict[str, int]:
        """Elements of every dimension in a full-size tile."""
        found = dict(self.sizes)
        for grid, at in zip(self.grids, self.coordinates, strict=True):
            found[grid.dim] = int(grid.extents[at[node]])
        return found

    def node(self, extents: MappingOf[str, int]) -> int | None:
        """The node with these extents; None if it is not in the space."""
        at = []
        for grid in self.grids:
            found = int(np.searchsorted(grid.extents, extents[grid.dim]))
            if found == len(grid.extents) or grid.extents[found] != extents[grid.dim]:
                return None
            at.append(found)
        return int(np.ravel_multi_index(at, self.shape)) if at else 0


@dataclass(frozen=True, eq=False)
class Projection:
    """The nodes of a space that differ in the dimensions of one operand.

    Attributes:
        grids: of these dimensions.
        index: of every node of the space, its number here.
        sizes: of all dimensions of the workload.
    """

    grids: tuple[Grid, ...]
    index: Array
    sizes: MappingOf[str, int]

    @property
    def count(self) -> int:
        """Number of distinct tiles."""
        return prod(len(grid.extents) for grid in self.grids)

    def tile(self, pieces: bool = False) -> dict[str, Array]:
        """Elements of every dimension, over all candidates, or over all combinations of pieces."""
        axes = [grid.pieces if pieces else grid.extents for grid in self.grids]
        mesh = np.meshgrid(*axes, indexing="ij") if axes else []
        found = {dim: np.asarray([size]) for dim, size in self.sizes.items()}
        found |= {grid.dim: part.ravel() for grid, part in zip(self.grids, mesh, strict=True)}
        return found

    def total(self, per_piece: Array) -> Array:
        """Sum over all tiles of each candidate of a quantity given for every piece.

        Args:
            per_piece: [parents, pieces], in the order of `tile(pieces=True)`.

        Returns:
            [parents, candidates].
        """
        shape = tuple(len(grid.pieces) for grid in self.grids)
        found = per_piece.reshape(per_piece.shape[0], *shape)
        for axis, grid in enumerate(self.grids):
            found = np.moveaxis(np.tensordot(found, grid.counts, (axis + 1, 1)), -1, axis + 1)
        return np.asarray(found.reshape(per_piece.shape[0], self.count))

    def first(self, per_piece: Array) -> Array:
        """The quantity for a full-size tile of each candidate, [parents, candidates]."""
        return self._taken(per_piece, [grid.extents for grid in self.grids])

    def last(self, per_piece: Array) -> Array:
        """The quantity for the last tile of each candidate, [parents, candidates]."""
        sizes = [(grid.size - 1) % grid.extents + 1 for grid in self.grids]
        return self._taken(per_piece, sizes)

    def _taken(self, per_piece: Array, sizes: Sequence[Array]) -> Array:
        """The quantity for one size of each candidate, given by dimension."""
        shape = tuple(len(grid.pieces) for grid in self.grids)
        found = per_piece.reshape(per_piece.shape[0], *shape)
        for axis, (grid, size) in enumerate(zip(self.grids, sizes, strict=True)):
            found = np.take(found, np.searchsorted(grid.pieces, size), axis + 1)
        return np.asarray(found.reshape(per_piece.shape[0], self.count))


def project(space: Space, dims: Sequence[str]) -> Projection:
    """`space` seen by what depends on `dims` only."""
    chosen = [at for at, grid in enumerate(space.grids) if grid.dim in dims]
    grids = tuple(space.grids[at] for at in chosen)
    if not grids:
        return Projection((), np.zeros(space.count, int), space.sizes)
    shape = tuple(len(grid.extents) for grid in grids)
    index = np.ravel_multi_index([space.coordinates[at] for at in chosen], shape)
    return Projection(grids, index, space.sizes)


def kernel_dims(workload: Workload, module: ExecModule) -> set[str]:
    """Dimensions that a kernel always does whole: reductions it cannot split, whole rows."""
    whole = set(workload.reductions) - set(facet(module, Tiled).tiled_reductions(workload))
    return whole | ({"K"} if workload.kind in ROW_KINDS else set())


def build_space(
    workload: Workload, module: ExecModule, spatial: Sequence[Loop], tiles: Tiles
) -> Space:
    """Grids of all dimensions that can be tiled (those with more than one candidate).

    Args:
        workload: the layer.
        module: that would run it.
        spatial: loops that the hardware unrolls.
        tiles: "divisor" or "ragged".
    """
    unroll = {dim: 1 for dim, _ in workload.dims}
    for loop in spatial:
        if loop.dim not in unroll:
            raise TargetError(
                f"{type(module).__name__}.spatial() of a {workload.kind} unrolls {loop.dim}, which "
                "is none of its dimensions",
                where=f"module {module.name}",
                hint=f"one of {', '.join(unroll)}",
            )
        unroll[loop.dim] *= loop.size
    pinned = kernel_dims(workload, module)
    blocks = whole_blocks(workload, module)
    grids = []
    for dim, size in workload.dims:
        if dim in pinned or size == 1:
            continue
        found = candidates(size, min(unroll[dim], size), tiles, blocks.get(dim, 1))
        if len(found) > 1:
            grids.append(Grid(dim, size, unroll[dim], np.asarray(found)))
    return Space(workload, spatial, grids)


def every_tile(space: Space) -> tuple[Projection, dict[str, Array], int]:
    """All sizes of tiles along all dimensions, with how they add up, and how many there are."""
    projection = project(space, [grid.dim for grid in space.grids])
    tile = projection.tile(pieces=True)
    dim = space.grids[0].dim if space.grids else next(iter(tile))
    return projection, tile, len(tile[dim])
