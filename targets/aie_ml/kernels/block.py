"""One dense layer as a block of tiles: K runs along the cascade, N over the rows of the block.

Column c of the block holds the c-th slice of K, row r the r-th slice of N. A memory tile hands each
column its slice of x, broadcast to the rows, as `mmul` tiles and padded with zeros; another gathers
what the last column stores.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from match_aie.errors import TargetError
from match_aie.targets.aie_ml.kernels.spec import KernelSpec, Position


@dataclass(frozen=True)
class Access:
    """A DMA's way through a buffer, dimension 0 contiguous (adf::tiling_parameters).

    Attributes:
        buffer: its dimensions.
        tile: dimensions of one tile.
        offset: of the first tile.
        traversal: (dimension, stride, wrap) of the loops over tiles, innermost first.
        boundary: dimensions of the data; what lies outside is read as zero. Empty for none.
    """

    buffer: tuple[int, ...]
    tile: tuple[int, ...]
    offset: tuple[int, ...]
    traversal: tuple[tuple[int, int, int], ...] = ()
    boundary: tuple[int, ...] = ()


@dataclass(frozen=True)
class DenseBlock:
    """A dense layer on `length` x `count` tiles.

    Attributes:
        name: prefix of everything emitted, a C identifier.
        spec: the kernel of one tile as position "only"; its k and n are a tile's slices, and M is
            walked in `spec.m` rows at a time.
        length: tiles along the cascade, which K is cut over.
        count: cascades, which N is cut over.
        m: rows of x.
        k: columns of x.
        n: columns of y.
        column: of the array, of the block's first tile.
        row: likewise.
    """

    name: str
    spec: KernelSpec
    length: int
    count: int
    m: int
    k: int
    n: int
    column: int = 0
    row: int = 0

    def __post_init__(self) -> None:
        """Refuse slices that do not cover the layer, or cover nothing of it."""
        s = self.spec
        for name, whole, slices, size in (
            ("K", self.k, self.length, s.k),
            ("N", self.n, self.count, s.n),
        ):
            if not size * (slices - 1) < whole <= size * slices:
                raise TargetError(
                    f"{slices} slices of {size} do not fit {name} = {whole} of layer {self.name}",
                    where=f"block {self.name}",
                )
        if self.m < 1:
            raise TargetError(f"layer {self.name} has no rows")
        if s.position != "only":
            raise TargetError("a block is described by its kernel without a cascade")

    @property
    def repetitions(self) -> int:
        """Firings of every kernel for one x."""
        return -(-self.m // self.spec.m)

    @property
    def padded_m(self) -> int:
        """Rows that the kernels work on."""
        return self.repetitions * self.spec.m

    def position(self, column: int) -> Position:
        """Place in the cascade of the tiles in `column` of the block."""
        if self.length == 1:
            return "only"
        if column == 0:
            return "first"
        return "last" if column == self.length - 1 else "middle"

    def kernel(self, column: int) -> KernelSpec:
        """The kernel of the tiles in `column` of the block."""
        position = self.position(column)
        biased = self.spec.bias and position in ("only", "first")
        return replace(self.spec, position=position, bias=biased)

    @property
    def positions(self) -> tuple[Position, ...]:
        """The positions that occur, first column first."""
        return tuple(dict.fromkeys(self.position(c) for c in range(self.length)))

    def kernel_at(self, position: Position) -> KernelSpec:
        """The kernel of the tiles at `position`."""
        return next(self.kernel(c) for c in range(self.length) if self.position(c) == position)

    def read_x(self, column: int) -> Access:
        """How the slice of x for `column` leaves the memory tile: [M/m][K/k][m][k]."""
        s, t = self.spec, self.spec.tiling
        return Access(
            (self.k, self.m),
            (t.k, t.m),
            (column * s.k, 0),
            ((0, t.k, s.k // t.k), (1, t.m, self.padded_m // t.m)),
            (self.k, self.m),
        )

    def write_y(self, row: int) -> Access:
        """How the slice of y of `row` arrives in its memory tile: [M/m][N/n][m][n]."""
        s, t = self.spec, self.spec.tiling
        return Access(
            self.y_buffer,
            (t.n, t.m),
            (row * s.n, 0),
            ((0, t.n, s.n // t.n), (1, t.m, self.padded_m // t.m)),
        )

    @property
    def y_buffer(self) -> tuple[int, int]:
        """Dimensions of y in its memory tile, padded to whole tiles."""
        return self.count * self.spec.n, self.padded_m

    @property
    def read_y(self) -> Access:
        """How y leaves, row-major, without its padding."""
        return Access(self.y_buffer, (self.n, self.m), (0, 0))
