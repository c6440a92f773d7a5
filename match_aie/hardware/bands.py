"""Which layers of a network are made in bands of rows so that a memory holds their images."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from match_aie.hardware.first_fit import Block, greedy, height
from match_aie.hardware.graph import Graph
from match_aie.hardware.passes import JOINED
from match_aie.hardware.rows import AXIS, Rows, rows_needed, work_of_a_row
from match_aie.hardware.written import Occupied, Written

#: Layers in a row that are made band by band together, at most: each one more makes the bands of
#: those before it overlap more.
MOST_LAYERS = 12

#: Placements take a multiple of so many bytes, and a layer has constants of so many kinds.
ALIGNMENT, CONSTANTS = 64, 4

#: Operations in the time that one layer more takes beside its own. An assumption, which chooses
#: between bands and is in no figure: a thousand cycles to enter, load and start it, 20 in each.
CALL = 20_000

#: Places that are still too full, and operations: those done again, and those of more layers.
Price = tuple[int, int]


@dataclass(frozen=True, eq=False)
class Region:
    """Layers in a row that make the last one's result in bands of rows.

    Attributes:
        occupied: the network's tensors.
        first: place of the first layer's result.
        last: place of the last one's.
        count: bands.
    """

    occupied: Occupied
    first: int
    last: int
    count: int = 1

    @property
    def made(self) -> Sequence[Written]:
        """What the layers make, in order."""
        return self.occupied.written[self.first : self.last + 1]

    @property
    def result(self) -> str:
        """The last layer's, which is there whole."""
        return self.occupied.written[self.last].tensor

    @cached_property
    def inner(self) -> frozenset[str]:
        """Tensors of which only bands are there."""
        return frozenset(each.tensor for each in self.made[:-1])

    def possible(self) -> bool:
        """Whether bands of all results are known, and nobody else reads inner ones."""
        graph, last = self.occupied.graph, self.occupied.last
        if self.inner & set(graph.outputs) or any(last[name] > self.last for name in self.inner):
            return False
        nodes = [n.index for each in self.made for n in each.nodes if n.operator != "dequantize"]
        if len(set(nodes)) < len(nodes):
            return False  # what two layers read is not stored, and would be made twice
        shapes = [graph.values[each.tensor].shape for each in self.made]
        if any(len(shape) != 4 or shape[0] != 1 or shape[AXIS] < 2 for shape in shapes):
            return False
        needed = self.needed((0, shapes[-1][AXIS]))
        return needed is not None and self.inner <= needed.keys()

    def bands(self) -> Iterator[Rows]:
        """Rows of the result, band after band; as even as may be."""
        rows = self.occupied.graph.values[self.result].shape[AXIS]
        for band in range(self.count):
            yield band * rows // self.count, (band + 1) * rows // self.count

    def needed(self, rows: Rows) -> Mapping[str, Rows] | None:
        """Rows of each layer's result for a band of the last one's; None where not known."""
        found = {self.result: rows}
        for each in reversed(self.made):
            if each.tensor not in found:
                return None
            needed = rows_needed(self.occupied.graph, each, found[each.tensor])
            if needed is None:
                return None
            for name in self.inner & set(each.reads):
                known = found.get(name, needed[name])
                found[name] = min(known[0], needed[name][0]), max(known[1], needed[name][1])
        return found

    def price(self) -> int:
        """Operations that are done more than once, and those of more layers."""
        found = (self.count - 1) * len(self.made) * CALL
        for each in self.made:
            rows = -self.occupied.graph.values[each.tensor].shape[AXIS]
            for band in self.bands():
                first, behind = (self.needed(band) or {})[each.tensor]
                rows += behind - first
            found += rows * work_of_a_row(self.occupied.graph, each)
        return found

    def fits(self, room: int) -> bool:
        """Whether a memory of `room` bytes holds what lies there at each layer of each band."""
        graph, places = self.occupied.graph, self.occupied.places
        outside = [name for name in self.occupied.before(self.first)]
        whole = self.occupied.port_bytes
        whole += sum(_rounded(self.occupied.nbytes(name)) for name in (*outside, self.result))
        for band in self.bands():
            needed = self.needed(band)
            assert needed is not None
            for place, each in enumerate(self.made, self.first):
                inner = 0
                for name in self.inner:
                    if places[name] <= place <= self.occupied.last[name]:
                        shape = graph.values[name].shape
                        high = needed[name][1] - needed[name][0]
                        size = self.occupied.nbytes(name) // shape[AXIS] * high
                        inner += _rounded(size)
                if whole + inner + each.least_bytes > room:
                    return False
        return True


def packs(graph: Graph, room: int) -> bool:
    """Whether a network fits with every tensor at a place, and constants while their layer runs.

    What is joined of rows lies there from the first of its parts on, which are made within.

    Args:
        graph: the network.
        room: bytes that the memory has.
    """
    occupied, blocks = Occupied(graph), []
    begins, within = {}, set()
    for place, each in enumerate(occupied.written):
        last = each.nodes[-1]
        rows = last.operator == JOINED and last.attributes.get("axis") == AXIS
        parts = set(each.reads) & occupied.places.keys() if rows else set()
        within |= parts
        begins[each.tensor] = min((occupied.places[name] for name in parts), default=place)
    for place, each in enumerate(occupied.written):
        whole = occupied.taken(place) - each.least_bytes + each.constant_bytes <= room
        constants = each.constant_bytes if whole else each.least_bytes
        constants += CONSTANTS * ALIGNMENT if constants else 0
        blocks.append(Block(place, place, _rounded(constants)))
        if each.tensor not in within and occupied.nbytes(each.tensor):
            life = begins[each.tensor], min(occupied.last[each.tensor], len(occupied.written))
            blocks.append(Block(*life, _rounded(occupied.nbytes(each.tensor))))
    return occupied.port_bytes + height(blocks, greedy(blocks)) <= room


def _rounded(nbytes: int) -> int:
    return -(-nbytes // ALIGNMENT) * ALIGNMENT


def regions(occupied: Occupied, room: int) -> tuple[Region, ...]:
    """The cheapest layers in bands such that everything fits; nothing where that cannot be.

    Args:
        occupied: the network's tensors.
        room: bytes that the memory has.
    """
    places = range(len(occupied.written))
    full = [place for place in places if occupied.taken(place) > room]
    best: dict[int, tuple[Price, tuple[Region, ...]]] = {0: ((0, 0), ())}
    for place in places:
        price, chosen = best[place]
        left = price[0] + (place in full), price[1]
        _better(best, place + 1, left, chosen)
        for last in range(place, min(place + MOST_LAYERS, len(places))):
            if not any(place <= each <= last for each in full):
                continue
            found = _region(Region(occupied, place, last), room)
            if found is not None:
                more = price[0], price[1] + found.price()
                _better(best, last + 1, more, (*chosen, found))
    price, chosen = best[len(places)]
    return chosen if not price[0] else ()


def _better(
    best: dict[int, tuple[Price, tuple[Region, ...]]],
    place: int,
    price: Price,
    chosen: tuple[Region, ...],
) -> None:
    if place not in best or price < best[place][0]:
        best[place] = price, chosen


def _region(region: Region, room: int) -> Region | None:
    """With as few bands as fit; None where no number does."""
    if not region.possible():
        return None
    rows = region.occupied.graph.values[region.result].shape[AXIS]
    tried = (replace(region, count=count) for count in range(2, rows + 1))
    return next((each for each in tried if each.fits(room)), None)
