"""Switches of an array as a graph: places where streams arrive, and links between them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from match_aie.targets.aie_ml.array.program import Tile

#: A place in a switch: whose, and the slave port at which the stream arrives.
Place = tuple[Tile, tuple[str, int]]

#: Where a stream that leaves through a side arrives, and by which side.
_ACROSS = {"N": (0, 1, "S"), "S": (0, -1, "N"), "E": (1, 0, "W"), "W": (-1, 0, "E")}

#: Groups of links by which a stream goes on: the column that they enter (none of interface tiles),
#: then links and where they lead, of which the first free one is taken.
Onward = tuple[tuple[int | None, tuple[tuple[int, int], ...]], ...]


class Switches:
    """The places of an array's switches and the links between them, each with its number.

    A number follows from the tile and the port alone, tile by tile up a column, columns from west
    to east. So it is the same whoever asked for which before, and what is decided by numbers, such
    as the order of places that are equally far, is the same in every process.

    Args:
        ports: of the switches, by kind of tile, direction and side.
        rows: of interface tiles, memory tiles and cores.
        columns: of the array.
    """

    def __init__(
        self, ports: Mapping[tuple[str, str, str], int], rows: tuple[int, int, int], columns: int
    ) -> None:
        """Every port of every tile is numbered, as a place and as a link."""
        self._ports, self._rows, self._columns = ports, rows, columns
        #: Rows below the cores.
        self.below = rows[0] + rows[1]
        most: dict[str, int] = {}
        for (_, _, side), count in ports.items():
            most[side] = max(most.get(side, 0), count)
        inside = [(side, lane) for side in sorted(most) for lane in range(most[side])]
        tiles = [(x, y) for x in range(columns) for y in range(sum(rows))]
        #: By number: a place, or a link as the tile and the master port that it leaves; columns
        #: and rows of their tiles.
        self.places: list[Place] = [(tile, port) for tile in tiles for port in inside]
        self.across = [x for (x, _), _ in self.places]
        self.up = [y for (_, y), _ in self.places]
        self._numbers = {place: number for number, place in enumerate(self.places)}
        self._onward: list[Onward | None] = [None] * len(self.places)

    def number(self, tile: Tile, port: tuple[str, int]) -> int:
        """Of the place where a stream arrives at a slave port, or of the link of a master port.

        Raises:
            KeyError: no switch of the array has such a port.
        """
        return self._numbers[tile, port]

    def onward(self, number: int) -> Onward:
        """Links by which a stream at a place can go on: the lowest free lane of a side."""
        found = self._onward[number]
        if found is None:
            found = self._onward[number] = tuple(self._groups(*self.places[number]))
        return found

    def _groups(
        self, tile: Tile, slave: tuple[str, int]
    ) -> Iterator[tuple[int | None, tuple[tuple[int, int], ...]]]:
        through = self._kind(tile) == "mem_tile" and slave[0] in ("N", "S")
        for side, (dx, dy, arrives) in _ACROSS.items():
            there = tile[0] + dx, tile[1] + dy
            inside = 0 <= there[0] < self._columns and 0 <= there[1] < sum(self._rows)
            if side == slave[0] or not inside:
                continue
            count = self.lanes(tile, side)
            able = [lane for lane in ([slave[1]] if through else range(count)) if lane < count]
            ways = [
                (self.number(tile, (side, lane)), self.number(there, (arrives, lane)))
                for lane in able
            ]
            column = there[0] if there[1] >= self._rows[0] else None
            # Through the memory tiles above, another lane may be the free one.
            apart = self._kind(there) == "mem_tile"
            yield from ((column, (way,)) for way in ways) if apart else ((column, tuple(ways)),)

    def _kind(self, tile: Tile) -> str:
        if tile[1] < self._rows[0]:
            return "shim_tile"
        return "mem_tile" if tile[1] < self._rows[0] + self._rows[1] else "core_tile"

    def lanes(self, tile: Tile, side: str) -> int:
        """Links of a side: masters here, slaves there."""
        dx, dy, arrives = _ACROSS[side]
        there = self._kind((tile[0] + dx, tile[1] + dy))
        here = self._ports.get((self._kind(tile), "master", side), 0)
        return min(here, self._ports.get((there, "slave", arrives), 0))
