"""A last look at an inner memory that layers share: nothing may lie over anything else."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise

from match_aie.errors import InternalError
from match_aie.hardware import TileProgram


@dataclass(frozen=True)
class Range:
    """Bytes from `begin` to `end`, and what they hold."""

    what: str
    begin: int
    end: int


def ranges(tiles: TileProgram, who: str) -> Iterator[Range]:
    """What a layer takes itself: scratch, the tiles that it moves, partial sums."""
    yield Range(f"scratch of {who}", tiles.scratch, tiles.scratch + tiles.scratch_bytes)
    for operand in tiles.operands:
        if operand.moves == "here":
            end = operand.offset + operand.copies * operand.copy_bytes
            yield Range(f"{operand.name} of {who}", operand.offset, end)
    if tiles.sums is not None:
        end = tiles.sums.offset + tiles.sums.nbytes
        yield Range(f"partial sums of {who}", tiles.sums.offset, end)


def check_apart(found: Iterable[Range], total: int) -> None:
    """Refuse a plan in which two things that are there at a time share bytes.

    Args:
        found: what is there at a time.
        total: bytes that there are.

    Raises:
        InternalError: two ranges meet, or one leaves the memory: emitted code would go wrong.
    """
    ordered = sorted((r for r in found if r.end > r.begin), key=lambda r: (r.begin, r.end))
    for one, other in pairwise(ordered):
        if other.begin < one.end:
            raise InternalError(
                f"inner memory: {other.what} begins at byte {other.begin}, within {one.what}, "
                f"which takes bytes {one.begin} to {one.end}"
            )
    for one in ordered:
        if one.begin < 0 or one.end > total:
            raise InternalError(
                f"inner memory: {one.what} takes bytes {one.begin} to {one.end} of {total}"
            )
