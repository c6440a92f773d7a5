"""Streams of packets from cores to cores: channels, and ways through the switches.

Packets go up a tree of tiles to its root, where they meet, and from there down again to all: along
a tile's row to the column of the root, then along that column. In a switch several slave ports
send to one master port, a packet at a time.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from match_aie.targets.aie_ml.array.access import linear
from match_aie.targets.aie_ml.array.give import Giver
from match_aie.targets.aie_ml.array.program import Channel, Hop, Merge, Tile
from match_aie.targets.aie_ml.array.works import Ports
from match_aie.targets.aie_ml.graph.plan import LayerGraph

#: Sides of a switch by the step to the next tile.
SIDES = {(0, 1): "N", (0, -1): "S", (1, 0): "E", (-1, 0): "W"}

#: The port at which a core reads streams itself.
CORE = ("core", 0)


def merges_of(
    graph: LayerGraph,
    tiles: Sequence[Tile],
    ports: Sequence[Ports],
    uses: Sequence[dict[str, int]],
    give: Giver,
) -> list[Merge]:
    """The merged streams of a graph, with channels and descriptors given out.

    Args:
        graph: one layer's.
        tiles: of its kernels.
        ports: likewise.
        uses: how often a run gives each buffer of a kernel.
        give: what hands out channels and descriptors.

    Raises:
        NoRoomError: a tile has no channel left.
    """
    found = []
    for number, (kernels, sinks) in enumerate(graph.merges.items()):
        channels, names, size, sends = [], [], 0, 0
        for kernel in kernels:
            stored = ports[kernel].sent or ports[kernel].output
            assert stored is not None
            name, size = stored
            channel = give.channel(tiles[kernel], "mm2s", None)
            give.descriptors_of(channel, name, 2, (linear(size),))
            channels.append(channel)
            names.append(name)
            sends = uses[kernel][name]
        to = tuple(tiles[kernel] for kernel in sinks)
        root, hops = ways(channels, to)
        merge = Merge(
            f"packets {number}", tuple(channels), tuple(names), to, root, hops, size, sends
        )
        found.append(merge)
    return found


def ways(sources: Sequence[Channel], sinks: Sequence[Tile]) -> tuple[Tile, tuple[Hop, ...]]:
    """The tile where packets meet, in the middle of all, and connections of every switch."""
    dma = {source.tile: ("dma", source.index) for source in sources}
    tree = _Tree((*dma, *sinks), tuple(dma))
    hops: list[Hop] = []
    for tile in tree.tiles:
        into = [(tree.side(tile, child), 0) for child in tree.children(tile, dma)]
        into += [dma[tile]] if tile in dma else []
        out = [(tree.side(tile, child), 0) for child in tree.children(tile, sinks)]
        out += [CORE] if tile in sinks else []
        if tile == tree.root:
            hops += [Hop(tile, slave, master) for slave in into for master in out]
            continue
        up = tree.side(tile, tree.parent(tile)), 0
        hops += [Hop(tile, slave, up) for slave in into]
        hops += [Hop(tile, up, master) for master in out]
    return tree.root, tuple(hops)


@dataclass(frozen=True)
class _Tree:
    """Tiles between some and the root.

    Attributes:
        members: all of them.
        sources: those that send.
    """

    members: tuple[Tile, ...]
    sources: tuple[Tile, ...]

    @property
    def root(self) -> Tile:
        """In the middle of the sources' columns and rows, or below where columns are on both sides.

        So no port gets packets from more than four others.
        """
        columns = sorted({column for column, _ in self.sources})
        column = columns[(len(columns) - 1) // 2]
        rows = sorted({row for _, row in self.sources})
        return column, rows[(len(rows) - 1) // 2 if len(columns) < 3 else 0]

    @property
    def tiles(self) -> list[Tile]:
        """All that packets pass."""
        return sorted({tile for member in self.members for tile in self.way(member)})

    def parent(self, tile: Tile) -> Tile:
        """The next one on the way to the root."""
        (column, row), (to, at) = tile, self.root
        if column != to:
            return column + (1 if to > column else -1), row
        return column, row + (1 if at > row else -1)

    def way(self, tile: Tile) -> Iterator[Tile]:
        """All tiles from one to the root."""
        while tile != self.root:
            yield tile
            tile = self.parent(tile)
        yield tile

    def children(self, tile: Tile, ends: Collection[Tile]) -> list[Tile]:
        """Tiles next to one that are further from the root, with some of `ends` behind them."""
        found = {
            before
            for end in ends
            for before in self.way(end)
            if before != self.root and self.parent(before) == tile
        }
        return sorted(found)

    @staticmethod
    def side(tile: Tile, other: Tile) -> str:
        """The side of a switch at which another tile is."""
        return SIDES[other[0] - tile[0], other[1] - tile[1]]


def turnaround(sources: Sequence[Tile], sinks: Sequence[Tile], words: int, hop: int) -> int:
    """Cycles from when a state has passed the root's switch until the next one has.

    All that a source does meanwhile is left out. It is as late as it is far away, both ways.

    Args:
        sources: tiles that send a packet of each state.
        sinks: tiles that read them.
        words: of a packet, its header among them.
        hop: cycles of a switch.
    """
    (column, row), _ = ways([Channel(tile, "mm2s", 0) for tile in sources], sinks)
    late = sorted(hop * (1 + 2 * (abs(x - column) + abs(y - row))) for x, y in sources)
    return max(each + words * (len(late) - at) for at, each in enumerate(late))


def far(merge: Merge) -> tuple[dict[Tile, int], dict[Tile, int]]:
    """Switches that packets of each source pass up to the root's, and behind it to each sink."""

    def steps(tile: Tile) -> int:
        return abs(tile[0] - merge.root[0]) + abs(tile[1] - merge.root[1])

    up = {source.tile: steps(source.tile) + 1 for source in merge.sources}
    return up, {sink: steps(sink) for sink in merge.sinks}
