"""Which chains of a dense layer stand above each other, and whose results are gathered."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache


@dataclass(frozen=True)
class Rectangle:
    """Chains of a slot: all of these parts of the rows with all of these parts of the columns."""

    slot: int
    rows: range
    columns: range

    @property
    def chains(self) -> int:
        """How many."""
        return len(self.rows) * len(self.columns)

    def pieces(self, most: int) -> tuple[Rectangle, ...]:
        """At most so many, of its rows; of its columns where there is one part of the rows."""
        along = self.rows if len(self.rows) > 1 else self.columns
        size, number = len(along), min(most, len(along))
        cuts = (along[size * at // number : size * (at + 1) // number] for at in range(number))
        if len(self.rows) > 1:
            return tuple(Rectangle(self.slot, cut, self.columns) for cut in cuts)
        return tuple(Rectangle(self.slot, self.rows, cut) for cut in cuts)


@dataclass(frozen=True)
class Slot:
    """The chains above each other in the same columns.

    Attributes:
        number: of the slot, west to east.
        parts: (part of the rows, part of the columns) of each chain.
    """

    number: int
    parts: tuple[tuple[int, int], ...]

    @cached_property
    def rows(self) -> range:
        """Parts of the rows, from the first to the last."""
        found = [row for row, _ in self.parts]
        return range(min(found), max(found) + 1)

    @cached_property
    def columns(self) -> range:
        """Parts of the columns likewise."""
        found = [column for _, column in self.parts]
        return range(min(found), max(found) + 1)

    @property
    def rectangular(self) -> bool:
        """Whether all of these rows meet all of these columns."""
        return len(self.parts) == len(self.rows) * len(self.columns)

    @cached_property
    def shape(self) -> tuple[tuple[int, int], ...]:
        """Its parts counted from the first ones: alike slots take alike buffers."""
        first = self.rows[0], self.columns[0]
        return tuple((row - first[0], column - first[1]) for row, column in self.parts)

    @cached_property
    def bands(self) -> tuple[Rectangle, ...]:
        """Its chains, row by row."""
        found = []
        for row in dict.fromkeys(row for row, _ in self.parts):
            mine = sorted(column for r, column in self.parts if r == row)
            found.append(Rectangle(self.number, range(row, row + 1), range(mine[0], mine[-1] + 1)))
        return tuple(sorted(found, key=lambda band: band.rows[0]))


@lru_cache(maxsize=4096)
def slots_of(row_parts: int, column_parts: int, order: str, high: int) -> tuple[Slot, ...]:
    """Slots of a layer's chains, `high` above each other.

    Args:
        row_parts: of the rows.
        column_parts: of the columns.
        order: "m" where the chains of one part of the rows follow each other, else "n".
        high: rows of cores.
    """
    pairs = [(row, column) for row in range(row_parts) for column in range(column_parts)]
    if order != "m":
        pairs.sort(key=lambda pair: pair[::-1])
    firsts = range(0, len(pairs), high)
    return tuple(Slot(at, tuple(pairs[first : first + high])) for at, first in enumerate(firsts))


@lru_cache(maxsize=4096)
def pieces_of(
    row_parts: int, column_parts: int, order: str, high: int, most: int
) -> tuple[tuple[Rectangle, ...], ...]:
    """Of each of these slots, chains of a row of which at most `most` share a way.

    Args:
        row_parts: of the rows.
        column_parts: of the columns.
        order: see `slots_of`.
        high: rows of cores.
        most: chains of a way.
    """
    found = []
    for slot in slots_of(row_parts, column_parts, order, high):
        pieces = []
        for band in slot.bands:
            wide = len(band.columns)
            size = -(-wide // -(-wide // most))
            for first in range(0, wide, size):
                pieces.append(Rectangle(slot.number, band.rows, band.columns[first : first + size]))
        found.append(tuple(pieces))
    return tuple(found)
