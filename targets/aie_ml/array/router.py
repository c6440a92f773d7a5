"""Streams from tile to tile: a way through the switches that no other stream uses."""

from __future__ import annotations

import heapq
import itertools
import random
from collections.abc import Iterator, Sequence
from dataclasses import replace

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
    routes: Sequence[Route], device: Device, columns: tuple[int, int], orders: int = ORDERS
) -> list[Route]:
    """`routes` with hops. Streams that found no way go first in the next of so many `orders`.

    Raises:
        NoRoomError: no order was found in which all of them have a way.
    """
    dice = random.Random(0)
    order = list(range(len(routes)))
    order.sort(key=lambda at: routes[at].role != "out")
    failed = 0
    for _ in range(orders):
        router = Router(device, columns)
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


class Router:
    """Hands out ports of switches, circuit by circuit.

    Args:
        device: whose switches.
        columns: (first, last) that streams between memory tiles and cores may use; interface
            tiles are free for all.
    """

    def __init__(self, device: Device, columns: tuple[int, int]) -> None:
        """Nothing is in use."""
        self._device = device
        self._columns = columns
        self._used: set[tuple[Tile, tuple[str, int]]] = set()

    def route(self, source: Channel, sinks: Sequence[Channel]) -> tuple[Hop, ...] | None:
        """Hops from `source` to all `sinks`, which are then taken; None where there is no way.

        A sink is reached from wherever the stream passes already: switches broadcast.
        """
        tree: list[Place] = [(source.tile, ("dma", source.index))]
        hops: list[Hop] = []
        for sink in sorted(sinks, key=lambda s: _distance(s.tile, source.tile)):
            way = self._way(tree, sink)
            if way is None:
                self._used -= {(hop.tile, hop.master) for hop in hops}
                return None
            self._used |= {(hop.tile, hop.master) for hop in way}
            hops += way
            tree += [place for hop in way if (place := _next(hop)) is not None]
        return tuple(hops)

    def _way(self, tree: list[Place], sink: Channel) -> list[Hop] | None:
        """The shortest way from any place of `tree` (A*, tiles apart as the estimate)."""
        order = itertools.count()
        waiting: list[tuple[int, int, int, Place]] = []
        came: dict[Place, Hop | None] = {}
        before: dict[Place, Place] = {}
        for place in tree:
            came[place] = None
            heapq.heappush(waiting, (_distance(place[0], sink.tile), next(order), 0, place))
        while waiting:
            _, _, taken, place = heapq.heappop(waiting)
            tile, slave = place
            if tile == sink.tile and (tile, ("dma", sink.index)) not in self._used:
                hops = [Hop(tile, slave, ("dma", sink.index))]
                while (hop := came[place]) is not None:
                    hops.append(hop)
                    place = before[place]
                return hops[::-1]
            for hop in self._onward(place, sink):
                there = _next(hop)
                if there is None or there in came:
                    continue
                came[there] = hop
                before[there] = place
                estimate = taken + 1 + _distance(there[0], sink.tile)
                heapq.heappush(waiting, (estimate, next(order), taken + 1, there))
        return None

    def _onward(self, place: Place, sink: Channel) -> Iterator[Hop]:
        """Free ports by which a stream at `place` can go on: the lowest lane of a side."""
        tile, slave = place
        through = self._kind(tile) == "mem_tile" and slave[0] in ("N", "S")
        for side, (dx, dy, _) in _ACROSS.items():
            there = tile[0] + dx, tile[1] + dy
            if side == slave[0] or not self._open(there):
                continue
            lanes = [slave[1]] if through else range(self._lanes(tile, side))
            count = self._lanes(tile, side)
            for lane in lanes:
                if lane < count and (tile, (side, lane)) not in self._used:
                    yield Hop(tile, slave, (side, lane))
                    # Through the memory tiles above, another lane may be the free one.
                    if self._kind(there) != "mem_tile":
                        break
        del sink

    def _kind(self, tile: Tile) -> str:
        if tile[1] < self._device.shim_rows:
            return "shim_tile"
        cores = self._device.shim_rows + self._device.mem_rows
        return "mem_tile" if tile[1] < cores else "core_tile"

    def _lanes(self, tile: Tile, side: str) -> int:
        """Links of a side: masters here, slaves there."""
        ports = self._device.architecture.switch_ports
        dx, dy, arrives = _ACROSS[side]
        there = self._kind((tile[0] + dx, tile[1] + dy))
        here = ports.get((self._kind(tile), "master", side), 0)
        return min(here, ports.get((there, "slave", arrives), 0))

    def _open(self, tile: Tile) -> bool:
        """Whether the stream may enter `tile`."""
        device = self._device
        top = device.shim_rows + device.mem_rows + device.core_rows
        if not (0 <= tile[0] < device.columns and 0 <= tile[1] < top):
            return False
        first, last = self._columns
        return tile[1] < device.shim_rows or first <= tile[0] <= last


def _next(hop: Hop) -> Place | None:
    """Where a hop leads; None into a DMA."""
    side, lane = hop.master
    if side == "dma":
        return None
    dx, dy, arrives = _ACROSS[side]
    return (hop.tile[0] + dx, hop.tile[1] + dy), (arrives, lane)


def _distance(a: Tile, b: Tile) -> int:
    return abs(a[0] - b[0]) + abs(a[1] - b[1])
