"""Streams that no ways can carry: more cross a border than links lead over it.

A region is the interface and memory tiles of some columns next to each other. A stream that begins
outside and ends inside takes a link into it, one that begins inside and ends outside a link out of
it, and no two share a link. So whichever of the two is more than there are links proves that there
are no ways, before any is looked for. Fewer do not prove that there are some.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

from match_aie.errors import Infeasible
from match_aie.targets.aie_ml.array.program import Route, Tile
from match_aie.targets.aie_ml.array.switches import Switches


def bottleneck(
    routes: Sequence[Route],
    switches: Switches,
    columns: tuple[int, int],
    taken: Sequence[tuple[Tile, tuple[str, int]]] = (),
) -> Infeasible | None:
    """The border that lacks the most links for `routes`; None where none lacks any.

    Args:
        routes: from a tile to others.
        switches: of the array.
        columns: (first, last) that streams between memory tiles and cores may use; interface
            tiles are free for all.
        taken: ports of tiles that others use.
    """
    borders = _Borders(switches, columns, frozenset(taken))
    streams = [_stream(route, switches.below) for route in routes]
    beyond = [
        (
            sum(stream.spans[way][0] < columns[0] for stream in streams),
            sum(stream.spans[way][1] > columns[1] for stream in streams),
        )
        for way in (0, 1)
    ]
    worst: Infeasible | None = None
    for first in range(columns[0], columns[1] + 1):
        needs = _needs(streams, first, columns[1])
        for last, crossing in enumerate(needs, first):
            for way, demand in enumerate(crossing):
                bound = borders.links(first, last, way, beyond[way])
                if demand > bound and (worst is None or demand - bound > _lacks(worst)):
                    worst = _refusal((first, last), way, demand, bound)
    return worst


def _lacks(refusal: Infeasible) -> float:
    return refusal.demand - refusal.bound


def _refusal(columns: tuple[int, int], way: int, demand: int, bound: int) -> Infeasible:
    where = f"interface and memory tiles of columns {columns[0]} to {columns[1]}"
    what = f"ways through the switches {('into', 'out of')[way]} the {where}"
    return Infeasible(what, demand, bound, "streams", ("fewer streams in a column", "more columns"))


@dataclass(frozen=True)
class _Stream:
    """Columns in which a stream begins and ends.

    Attributes:
        source: below the cores; None where it begins at a core.
        ends: below the cores, in ascending order.
        up: whether it ends at a core, too.
        spans: the first and the last column in which it begins, and in which it ends.
    """

    source: int | None
    ends: tuple[int, ...]
    up: bool
    spans: tuple[tuple[int, int], tuple[int, int]]


def _stream(route: Route, below: int) -> _Stream:
    (x, y), sinks = route.source.tile, [sink.tile for sink in route.sinks]
    across = [x for x, _ in sinks]
    return _Stream(
        x if y < below else None,
        tuple(sorted({x for x, y in sinks if y < below})),
        any(y >= below for _, y in sinks),
        ((x, x), (min(across), max(across))),
    )


def _needs(streams: Sequence[_Stream], first: int, end: int) -> list[tuple[int, int]]:
    """Streams that enter and leave regions from column `first` to each one up to `end`."""
    into, out = ([0] * (end - first + 2) for _ in range(2))
    for stream in streams:
        source: float = inf
        if stream.source is not None and stream.source >= first:
            source = stream.source
        inside = next((x for x in stream.ends if x >= first), inf)
        _count(into, first, inside, source)
        beyond = stream.up or (stream.ends and stream.ends[0] < first)
        _count(out, first, source, inf if beyond else stream.ends[-1])
    found, entering, leaving = [], 0, 0
    for more, fewer in zip(into[:-1], out[:-1], strict=True):
        entering, leaving = entering + more, leaving + fewer
        found.append((entering, leaving))
    return found


def _count(steps: list[int], first: int, begin: float, end: float) -> None:
    """One more from column `begin` on, which is no more from `end` on."""
    last = first + len(steps) - 1
    if begin < min(end, last):
        steps[int(begin) - first] += 1
        steps[int(min(end, last)) - first] -= 1


class _Borders:
    """Links over the borders of regions.

    Args:
        switches: of the array.
        columns: as `bottleneck`.
        taken: ports that others use.
    """

    def __init__(
        self,
        switches: Switches,
        columns: tuple[int, int],
        taken: frozenset[tuple[Tile, tuple[str, int]]],
    ) -> None:
        """Links over each column's border are counted once."""
        self._switches, self._columns, self._taken = switches, columns, taken
        below = switches.below
        span = range(columns[0], columns[1] + 1)
        self._above = [
            [self._free((x, y), side) for x in span] for y, side in ((below, "S"), (below - 1, "N"))
        ]

    def _free(self, tile: Tile, side: str) -> int:
        lanes = range(self._switches.lanes(tile, side))
        return sum((tile, (side, lane)) not in self._taken for lane in lanes)

    def links(self, first: int, last: int, way: int, beyond: tuple[int, int]) -> int:
        """Links into a region, or out of it.

        Beyond the columns of all streams there are interface tiles alone; what crosses there began
        or ends there.

        Args:
            first: column of the region.
            last: likewise.
            way: 0 into it, 1 out of it.
            beyond: streams that begin (end) west and east of all columns.
        """
        start, end = self._columns
        sides = (first, first - 1, "E", "W"), (last, last + 1, "W", "E")
        found = sum(self._above[way][first - start : last - start + 1])
        for (inner, outer, enters, leaves), most in zip(sides, beyond, strict=True):
            x, side = (outer, enters) if way == 0 else (inner, leaves)
            able = sum(self._free((x, y), side) for y in range(self._switches.below))
            found += able if start <= outer <= end else min(able, most)
        return found
