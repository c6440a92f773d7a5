"""What is placed, and the answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from math import lcm

from match_aie.errors import TargetError

#: First column and first row of a block.
Position = tuple[int, int]


@dataclass(frozen=True)
class Block:
    """A rectangle of tiles.

    Attributes:
        name: unique, for messages.
        width: columns, such as the tiles of a cascade.
        height: rows, such as the cascades above each other.
    """

    name: str
    width: int
    height: int

    @property
    def tiles(self) -> int:
        """That it takes."""
        return self.width * self.height


@dataclass(frozen=True)
class Pin:
    """Where the user wants a block.

    Attributes:
        block: its number.
        at: its first column and row.
    """

    block: int
    at: Position


@dataclass(frozen=True)
class Problem:
    """Blocks, and who hands data to whom.

    Attributes:
        blocks: to be placed, none above another.
        edges: (producer, consumer), numbers of blocks.
        columns: of the array.
        rows: likewise.
        pins: blocks whose place is given.
        lam: what a row between a producer and its consumer costs, in columns.
        mu: what a row below a block costs.
    """

    blocks: tuple[Block, ...]
    edges: tuple[tuple[int, int], ...]
    columns: int
    rows: int
    pins: tuple[Pin, ...] = ()
    lam: Fraction = Fraction(1)
    mu: Fraction = Fraction(1, 20)

    def __post_init__(self) -> None:
        """Refuse what means nothing.

        Raises:
            TargetError: it does not.
        """
        names = [block.name for block in self.blocks]
        if len(set(names)) != len(names):
            raise TargetError(f"two blocks of one name among {names}")
        for block in self.blocks:
            if block.width < 1 or block.height < 1:
                raise TargetError(f"block {block.name} of {block.width} x {block.height} tiles")
        numbers = range(len(self.blocks))
        for edge in self.edges:
            if edge[0] == edge[1] or not all(end in numbers for end in edge):
                raise TargetError(f"an edge between blocks {edge}, of {len(names)}")
        pinned = [pin.block for pin in self.pins]
        if len(set(pinned)) != len(pinned) or not all(at in numbers for at in pinned):
            raise TargetError(f"pins of blocks {pinned}, of {len(names)}")
        if self.columns < 1 or self.rows < 1 or self.lam < 0 or self.mu < 0:
            raise TargetError(
                f"an array of {self.columns} x {self.rows} tiles, weights {self.lam} and {self.mu}"
            )

    @property
    def scale(self) -> int:
        """Every cost times this is a whole number."""
        return lcm(self.lam.denominator, self.mu.denominator)

    def apart(self, edge: tuple[int, int], at: Sequence[Position]) -> tuple[int, int]:
        """Columns and rows between a producer and its consumer.

        Columns are counted from the producer's last to the consumer's first one. Rows are those
        from one interval to the other: 0 where they overlap, 1 where they touch.

        Args:
            edge: numbers of both.
            at: places of all blocks.
        """
        (source, sink), blocks = edge, self.blocks
        across = at[sink][0] - (at[source][0] + blocks[source].width - 1)
        above = at[sink][1] - (at[source][1] + blocks[source].height - 1)
        below = at[source][1] - (at[sink][1] + blocks[sink].height - 1)
        return abs(across), max(0, above, below)

    def cost(self, at: Sequence[Position]) -> Fraction:
        """Of a placement: `sum |columns| + lam rows` over edges, and `mu` a row below each block.

        Args:
            at: places of all blocks.
        """
        found = sum((self.mu * row for _, row in at), Fraction(0))
        for edge in self.edges:
            columns, rows = self.apart(edge, at)
            found += columns + self.lam * rows
        return found

    def clash(self, at: Sequence[Position]) -> tuple[int, ...]:
        """Blocks that lie beyond the array, or else two that overlap; none where all is right.

        Args:
            at: places of all blocks.
        """
        for number, (column, row) in enumerate(at):
            block = self.blocks[number]
            inside = 0 <= column <= self.columns - block.width
            if not inside or not 0 <= row <= self.rows - block.height:
                return (number,)
        for pair in combinations(range(len(at)), 2):
            if overlap(self.blocks, at, *pair):
                return pair
        return ()


def overlap(blocks: Sequence[Block], at: Sequence[Position], one: int, other: int) -> bool:
    """Whether two blocks share a tile.

    Args:
        blocks: all.
        at: places, at least of both.
        one: number of the one.
        other: of the other.
    """
    (a, b), (x, y) = at[one], at[other]
    across = a < x + blocks[other].width and x < a + blocks[one].width
    return across and b < y + blocks[other].height and y < b + blocks[one].height


@dataclass(frozen=True)
class Placement:
    """Where all blocks lie.

    Attributes:
        at: first column and row of each block.
        cost: of it (`Problem.cost`).
        bound: that no placement beats.
    """

    at: tuple[Position, ...]
    cost: Fraction
    bound: Fraction

    @property
    def proven(self) -> bool:
        """Whether nothing is better."""
        return self.cost == self.bound

    @property
    def gap(self) -> Fraction:
        """By which another placement may be better."""
        return self.cost - self.bound
