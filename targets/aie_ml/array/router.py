"""Streams from tile to tile: a way through the switches that no other stream uses."""

from __future__ import annotations

import heapq
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from threading import Lock

from match_aie.errors import Infeasible
from match_aie.targets.aie_ml.array.give import NoRoomError
from match_aie.targets.aie_ml.array.program import Channel, Hop, Route, Tile
from match_aie.targets.aie_ml.devices import Device

#: A place in a switch: whose, and the slave port at which the stream arrives.
Place = tuple[Tile, tuple[str, int]]

#: Where a stream that leaves through a side arrives, and by which side.
_ACROSS = {"N": (0, 1, "S"), "S": (0, -1, "N"), "E": (1, 0, "W"), "W": (-1, 0, "E")}

#: Orders of the streams that are tried, those after the first few at random with a fixed seed.
ORDERS = 40


def routed(
    routes: Sequence[Route],
    device: Device,
    columns: tuple[int, int],
    orders: int = ORDERS,
    taken: Sequence[tuple[Tile, tuple[str, int]]] = (),
) -> list[Route]:
    """`routes` with hops. Streams that found no way go first in the next of so many `orders`.

    Args:
        routes: without them.
        device: whose switches.
        columns: (first, last) that they may use.
        orders: that are tried.
        taken: ports of tiles that others use.

    Raises:
        NoRoomError: no order was found in which all of them have a way.
    """
    dice = random.Random(0)
    order = list(range(len(routes)))
    order.sort(key=lambda at: routes[at].role != "out")
    failed = 0
    for _ in range(orders):
        router = Router(device, columns, taken)
        hops: dict[int, tuple[Hop, ...]] = {}
        for at in order:
            way = router.route(routes[at].source, routes[at].sinks)
            if way is None:
                failed = at
                break
            hops[at] = way
        else:
            return [replace(route, hops=hops[at]) for at, route in enumerate(routes)]
        order.remove(failed)
        dice.shuffle(order)
        order.insert(0, failed)
    raise NoRoomError(
        Infeasible(
            f"ways through the switches, such as for {routes[failed].name}",
            len(routes),
            len(routes) - 1,
            "streams",
            ("fewer streams in a column", "more columns"),
        )
    )


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
            count = self._lanes(tile, side)
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

    def _lanes(self, tile: Tile, side: str) -> int:
        """Links of a side: masters here, slaves there."""
        dx, dy, arrives = _ACROSS[side]
        there = self._kind((tile[0] + dx, tile[1] + dy))
        here = self._ports.get((self._kind(tile), "master", side), 0)
        return min(here, self._ports.get((there, "slave", arrives), 0))


@lru_cache(maxsize=8)
def _switches(
    ports: frozenset[tuple[tuple[str, str, str], int]], rows: tuple[int, int, int], columns: int
) -> Switches:
    return Switches(dict(ports), rows, columns)


class Router:
    """Hands out ports of switches, circuit by circuit.

    Args:
        device: whose switches.
        columns: (first, last) that streams between memory tiles and cores may use; interface
            tiles are free for all.
        taken: ports of tiles that others use.
    """

    def __init__(
        self,
        device: Device,
        columns: tuple[int, int],
        taken: Sequence[tuple[Tile, tuple[str, int]]] = (),
    ) -> None:
        """Nothing is in use but what is taken."""
        ports = frozenset(device.architecture.switch_ports.items())
        rows = device.shim_rows, device.mem_rows, device.core_rows
        self._switches = _switches(ports, rows, device.columns)
        self._columns = columns
        self._used = {self._switches.link(*port) for port in taken}

    def route(self, source: Channel, sinks: Sequence[Channel]) -> tuple[Hop, ...] | None:
        """Hops from `source` to all `sinks`, which are then taken; None where there is no way.

        A sink is reached from wherever the stream passes already: switches broadcast.
        """
        switches = self._switches
        tree = [switches.place((source.tile, ("dma", source.index)))]
        hops: list[Hop] = []
        taken: set[int] = set()
        for sink in sorted(sinks, key=lambda s: _distance(s.tile, source.tile)):
            way = self._way(tree, sink)
            if way is None:
                self._used -= taken
                return None
            for place, link, there in way:
                taken.add(link)
                hops.append(Hop(*switches.places[place], switches.masters[link]))
                if there is not None:
                    tree.append(there)
            self._used |= taken
        return tuple(hops)

    def _way(self, tree: list[int], sink: Channel) -> list[tuple[int, int, int | None]] | None:
        """The shortest way from any place of `tree` (A*, tiles apart as the estimate).

        It is (place, link, next place) for every hop, None in the place of a DMA.
        """
        used, switches, (first, last) = self._used, self._switches, self._columns
        last_link = switches.link(sink.tile, ("dma", sink.index))
        if last_link in used:
            return None
        x, y = sink.tile
        across, up = switches.across, switches.up
        waiting: list[tuple[int, int, int, int]] = []
        came: dict[int, tuple[int, int] | None] = {}
        for order, place in enumerate(tree):
            came[place] = None
            heapq.heappush(waiting, (abs(across[place] - x) + abs(up[place] - y), order, 0, place))
        order = len(tree)
        while waiting:
            _, _, taken, place = heapq.heappop(waiting)
            if across[place] == x and up[place] == y:
                hops: list[tuple[int, int, int | None]] = [(place, last_link, None)]
                while (hop := came[place]) is not None:
                    hops.append((*hop, place))
                    place = hop[0]
                return hops[::-1]
            for column, ways in switches.onward(place):
                if column is not None and not first <= column <= last:
                    continue
                for link, there in ways:
                    if link in used:
                        continue
                    if there not in came:
                        came[there] = place, link
                        far = taken + 1 + abs(across[there] - x) + abs(up[there] - y)
                        heapq.heappush(waiting, (far, order, taken + 1, there))
                        order += 1
                    break
        return None


def _distance(a: Tile, b: Tile) -> int:
    return abs(a[0] - b[0]) + abs(a[1] - b[1])
