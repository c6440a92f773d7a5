"""Switches of an array as a graph: places where streams arrive, and links between them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from threading import Lock

from match_aie.targets.aie_ml.array.program import Tile

#: A place in a switch: whose, and the slave port at which the stream arrives.
Place = tuple[Tile, tuple[str, int]]

#: Where a stream that leaves through a side arrives, and by which side.
_ACROSS = {"N": (0, 1, "S"), "S": (0, -1, "N"), "E": (1, 0, "W"), "W": (-1, 0, "E")}

#: Groups of links by which a stream goes on: the column that they enter (none of interface tiles),
#: then links and where they lead, of which the first free one is taken.
Onward = tuple[tuple[int | None, tuple[tuple[int, int], ...]], ...]


class Switches:
    """The places of an array's switches and the links between them, numbered as they are asked for.

    Args:
        ports: of the switches, by kind of tile, direction and side.
        rows: of interface tiles, memory tiles and cores.
        columns: of the array.
    """

    def __init__(
        self, ports: Mapping[tuple[str, str, str], int], rows: tuple[int, int, int], columns: int
    ) -> None:
        """Nothing is numbered."""
        self._ports, self._rows, self._columns = ports, rows, columns
        self._places: dict[Place, int] = {}
        self._links: dict[tuple[Tile, tuple[str, int]], int] = {}
        self._onward: list[Onward | None] = []
        # Compilations in several threads share the numbers: one at a time gives a new one.
        self._lock = Lock()
        #: Rows below the cores.
        self.below = rows[0] + rows[1]
        #: By number: a place with its tile's column and row, and a link's port.
        self.places: list[Place] = []
        self.across: list[int] = []
        self.up: list[int] = []
        self.masters: list[tuple[str, int]] = []

    def place(self, place: Place) -> int:
        """Its number."""
        number = self._places.get(place)
        if number is not None:
            return number
        with self._lock:
            number = self._places.get(place, len(self.places))
            if number == len(self.places):
                self.across.append(place[0][0])
                self.up.append(place[0][1])
                self._onward.append(None)
                self.places.append(place)
                self._places[place] = number
        return number

    def link(self, tile: Tile, master: tuple[str, int]) -> int:
        """The number of the link from a tile's port."""
        key = tile, master
        number = self._links.get(key)
        if number is not None:
            return number
        with self._lock:
            number = self._links.get(key, len(self.masters))
            if number == len(self.masters):
                self.masters.append(master)
                self._links[key] = number
        return number

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
                (self.link(tile, (side, lane)), self.place((there, (arrives, lane))))
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
