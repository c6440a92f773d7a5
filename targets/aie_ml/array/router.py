"""Streams from tile to tile: a way through the switches that no other stream uses."""

from __future__ import annotations

import heapq
import random
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

from match_aie.errors import Infeasible
from match_aie.targets.aie_ml.array.bottleneck import bottleneck
from match_aie.targets.aie_ml.array.give import NoRoomError
from match_aie.targets.aie_ml.array.negotiate import apart, negotiated
from match_aie.targets.aie_ml.array.program import Channel, Hop, Route, Tile
from match_aie.targets.aie_ml.array.switches import Switches
from match_aie.targets.aie_ml.devices import Device

#: Orders of the streams that are tried, those after the first few at random with a fixed seed.
ORDERS = 40

#: Orders after which all streams look for ways together.
ONE_BY_ONE = 6


def routed(
    routes: Sequence[Route],
    device: Device,
    columns: tuple[int, int],
    orders: int = ORDERS,
    taken: Sequence[tuple[Tile, tuple[str, int]]] = (),
) -> list[Route]:
    """`routes` with hops. Streams that found no way go first in the next of so many `orders`.

    Where the first does not suffice, it is asked whether links over a border are too few for any;
    where a few do not, all look for ways together before more are tried.

    Args:
        routes: without them.
        device: whose switches.
        columns: (first, last) that they may use.
        orders: that are tried.
        taken: ports of tiles that others use.

    Raises:
        NoRoomError: too many streams cross a border, or no order was found in which all of them
            have a way.
    """
    dice = random.Random(0)
    order = list(range(len(routes)))
    order.sort(key=lambda at: routes[at].role != "out")
    failed = 0
    for number in range(orders):
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
        if not number:
            _refuse_crossing(routes, device, columns, taken)
        if number + 1 == ONE_BY_ONE:
            found = negotiated(routes, switches_of(device), columns, taken)
            if found is not None:
                return [replace(route, hops=way) for route, way in zip(routes, found, strict=True)]
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


def _refuse_crossing(
    routes: Sequence[Route],
    device: Device,
    columns: tuple[int, int],
    taken: Sequence[tuple[Tile, tuple[str, int]]],
) -> None:
    """Nothing where no border has too few links.

    Args:
        routes: without hops.
        device: whose switches.
        columns: (first, last) that they may use.
        taken: ports of tiles that others use.

    Raises:
        NoRoomError: a border has.
    """
    reason = bottleneck(routes, switches_of(device), columns, taken)
    if reason is not None:
        raise NoRoomError(reason)


@lru_cache(maxsize=8)
def _switches(
    ports: frozenset[tuple[tuple[str, str, str], int]], rows: tuple[int, int, int], columns: int
) -> Switches:
    return Switches(dict(ports), rows, columns)


def switches_of(device: Device) -> Switches:
    """The switches of a device, the same object each time."""
    ports = frozenset(device.architecture.switch_ports.items())
    rows = device.shim_rows, device.mem_rows, device.core_rows
    return _switches(ports, rows, device.columns)


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
        self._switches = switches_of(device)
        self._columns = columns
        self._used = {self._switches.number(*port) for port in taken}

    def route(self, source: Channel, sinks: Sequence[Channel]) -> tuple[Hop, ...] | None:
        """Hops from `source` to all `sinks`, which are then taken; None where there is no way.

        A sink is reached from wherever the stream passes already: switches broadcast.
        """
        switches = self._switches
        tree = [switches.number(source.tile, ("dma", source.index))]
        hops: list[Hop] = []
        taken: set[int] = set()
        for sink in sorted(sinks, key=lambda s: apart(s.tile, source.tile)):
            way = self._way(tree, sink)
            if way is None:
                self._used -= taken
                return None
            for place, link, there in way:
                taken.add(link)
                hops.append(Hop(*switches.places[place], switches.places[link][1]))
                if there is not None:
                    tree.append(there)
            self._used |= taken
        return tuple(hops)

    def _way(self, tree: list[int], sink: Channel) -> list[tuple[int, int, int | None]] | None:
        """The shortest way from any place of `tree` (A*, tiles apart as the estimate).

        It is (place, link, next place) for every hop, None in the place of a DMA.
        """
        used, switches, (first, last) = self._used, self._switches, self._columns
        last_link = switches.number(sink.tile, ("dma", sink.index))
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
