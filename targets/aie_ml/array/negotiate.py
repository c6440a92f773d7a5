"""Ways for all streams at once where none is found one after the other: negotiated congestion.

Streams may meet on a link at first, at a price that grows with each round and stays with links on
which many met before; those that meet look for another way, until no two share a link. Published
for routing on FPGAs (L. McMurchie, C. Ebeling: PathFinder, FPGA 1995).
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Sequence

from match_aie.targets.aie_ml.array.program import Channel, Hop, Route, Tile
from match_aie.targets.aie_ml.array.switches import Switches

#: Rounds in which streams look for other ways; from one in which all look again to the next such.
ROUNDS, AGAIN = 96, 12

#: A round after which links with company must be few, and how many are few.
SOON, FEW = 24, 12

#: What another stream on a link costs at first, in links, times which in a later round, at most.
PRESSURE, GROWTH, MOST = 0.5, 1.3, 3.0

#: A step of a way: place, link, and the next place; none behind a DMA's link.
Step = tuple[int, int, int | None]


def negotiated(
    routes: Sequence[Route],
    switches: Switches,
    columns: tuple[int, int],
    taken: Sequence[tuple[Tile, tuple[str, int]]] = (),
) -> list[tuple[Hop, ...]] | None:
    """Hops of each stream, no two of which share a link; None where rounds do not suffice.

    Args:
        routes: from a tile to others.
        switches: of the array.
        columns: (first, last) that streams between memory tiles and cores may use.
        taken: ports of tiles that others use.
    """
    trees = _Trees(switches, columns, frozenset(switches.number(*port) for port in taken))
    ways: list[list[Step]] = [[] for _ in routes]
    waiting = list(range(len(routes)))
    for number in range(ROUNDS):
        for at in waiting:
            trees.release(ways[at])
            found = trees.route(routes[at].source, routes[at].sinks)
            if found is None:
                return None
            ways[at] = found
            trees.take(found)
        crowded = trees.crowded()
        if not crowded:
            return [trees.hops(each) for each in ways]
        if number >= SOON and len(crowded) > FEW:
            return None
        waiting = [
            at
            for at, way in enumerate(ways)
            if (number + 1) % AGAIN == 0 or any(link in crowded for _, link, _ in way)
        ]
        trees.remember(crowded)
    return None


class _Trees:
    """Prices of links, and the cheapest trees at them.

    Args:
        switches: of the array.
        columns: as `negotiated`.
        taken: links that no stream may use.
    """

    def __init__(self, switches: Switches, columns: tuple[int, int], taken: frozenset[int]) -> None:
        """No stream has a way."""
        self._switches, self._columns, self._taken = switches, columns, taken
        self._users: Counter[int] = Counter()
        self._history: Counter[int] = Counter()
        self._pressure = PRESSURE
        #: Of links that some stream is or was on; 1, the least of all, of others.
        self._prices: dict[int, float] = {}
        self._groups: dict[int, tuple[tuple[tuple[int, int], ...], ...]] = {}

    def take(self, way: Sequence[Step]) -> None:
        """A stream is on the links of `way`."""
        for _, link, _ in way:
            self._users[link] += 1
            self._prices[link] = self._price(link)

    def release(self, way: Sequence[Step]) -> None:
        """It is there no more."""
        for _, link, _ in way:
            self._users[link] -= 1
            self._prices[link] = self._price(link)

    def crowded(self) -> set[int]:
        """Links with more than one stream."""
        return {link for link, users in self._users.items() if users > 1}

    def remember(self, crowded: set[int]) -> None:
        """These links stay dearer, and company is dearer everywhere."""
        self._history.update(crowded)
        self._pressure = min(MOST, self._pressure * GROWTH)
        self._prices = {link: self._price(link) for link in self._users}

    def hops(self, way: Sequence[Step]) -> tuple[Hop, ...]:
        """Of a program."""
        places = self._switches.places
        return tuple(Hop(*places[place], places[link][1]) for place, link, _ in way)

    def _price(self, link: int) -> float:
        return (1 + self._history[link]) * (1 + self._pressure * self._users[link])

    def route(self, source: Channel, sinks: Sequence[Channel]) -> list[Step] | None:
        """The links of a tree from `source` to all `sinks`; None where one cannot be reached."""
        tree = [self._switches.number(source.tile, ("dma", source.index))]
        steps: list[Step] = []
        for sink in sorted(sinks, key=lambda sink: apart(sink.tile, source.tile)):
            way = self._way(tree, sink)
            if way is None:
                return None
            steps += way
            tree += [there for _, _, there in way if there is not None]
        return steps

    def _way(self, tree: Sequence[int], sink: Channel) -> list[Step] | None:
        """The cheapest way from any place of `tree` (A*, tiles apart as the estimate)."""
        switches, (x, y) = self._switches, sink.tile
        across, up = switches.across, switches.up
        last = switches.number(sink.tile, ("dma", sink.index))
        if last in self._taken:
            return None
        paid = dict.fromkeys(tree, 0.0)
        came: dict[int, tuple[int, int]] = {}
        heap = [(float(abs(across[at] - x) + abs(up[at] - y)), at) for at in paid]
        heapq.heapify(heap)
        done: set[int] = set()
        while heap:
            _, place = heapq.heappop(heap)
            if place in done:
                continue
            done.add(place)
            if across[place] == x and up[place] == y:
                return self._back(place, came, last)
            for link, there, more in self._onward(place):
                price = paid[place] + more
                if there not in paid or price < paid[there]:
                    paid[there], came[there] = price, (place, link)
                    far = price + abs(across[there] - x) + abs(up[there] - y)
                    heapq.heappush(heap, (far, there))
        return None

    def _onward(self, place: int) -> list[tuple[int, int, float]]:
        """Of each group of links that lead alike the cheapest, where it leads, and its price."""
        groups = self._groups.get(place)
        if groups is None:
            groups = self._groups[place] = self._free(place)
        found, price_of = [], self._prices.get
        for ways in groups:
            best, least = ways[0], price_of(ways[0][0], 1.0)
            for way in ways[1:]:
                if least == 1.0:
                    break
                price = price_of(way[0], 1.0)
                if price < least:
                    best, least = way, price
            found.append((*best, least))
        return found

    def _free(self, place: int) -> tuple[tuple[tuple[int, int], ...], ...]:
        """Links that streams may use, in their order, by the groups that lead alike."""
        first, last = self._columns
        free = (
            tuple(sorted(way for way in ways if way[0] not in self._taken))
            for column, ways in self._switches.onward(place)
            if column is None or first <= column <= last
        )
        return tuple(ways for ways in free if ways)

    @staticmethod
    def _back(place: int, came: dict[int, tuple[int, int]], last: int) -> list[Step]:
        """The way to `place`, and the DMA's link behind it."""
        steps: list[Step] = [(place, last, None)]
        while place in came:
            before, link = came[place]
            steps.append((before, link, place))
            place = before
        return steps[::-1]


def apart(a: Tile, b: Tile) -> int:
    """Tiles between two, along columns and rows."""
    return abs(a[0] - b[0]) + abs(a[1] - b[1])
