"""Buffers that a core reads in the memory of a tile next to it.

A core of AIE-ML reaches its own memory, which is the one east of it, and those north, south and
west (AM020). A core of AIE reaches those north and south of its own, and one beside it: east in
even rows and west in odd ones, counted with the interface tiles (facts, `neighbour_memory`).
What a neighbour stores for it no DMA moves: the core that stores and the one that loads share
locks. Or the DMA of the tile there, whose core does nothing, brings it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from match_aie.targets.aie_ml.array.program import ArrayProgram, Buffer, Core, Tile
from match_aie.targets.aie_ml.array.violation import Violation
from match_aie.targets.aie_ml.array.works import Ports
from match_aie.targets.aie_ml.devices import Device
from match_aie.targets.aie_ml.graph.plan import LayerGraph

#: Steps to the tiles whose memory a core reaches by the facts' names, its own aside.
STEPS = {"N": (0, 1), "S": (0, -1), "W": (-1, 0), "E": (1, 0)}


def reached(tile: Tile, device: Device) -> frozenset[tuple[int, int]]:
    """Steps to the tiles whose memory the core of `tile` reaches, its own aside."""
    beside = "E" if tile[1] % 2 == 0 else "W"
    names = (beside if "|" in name else name for name in device.architecture.core.reach)
    return frozenset(STEPS[name] for name in names if name in STEPS)


def reaching(core: Core, buffers: Sequence[Buffer]) -> Core:
    """The core with those of its buffers that lie elsewhere."""
    away = ((each.name, each.tile, each.name) for each in buffers if each.tile != core.tile)
    return replace(core, lent=tuple(away))


def home(core: Core, name: str) -> Tile:
    """The tile in whose memory one of its buffers lies."""
    return next((tile for own, tile, _ in core.lent if own == name), core.tile)


def lent(cores: Sequence[Core], graph: LayerGraph, ports: Sequence[Ports]) -> list[Core]:
    """Cores with what each reads of what neighbours store."""
    found: dict[int, list[tuple[str, Tile, str]]] = {}
    for link in graph.connections:
        if link.sink.kind == "lent":
            name, _ = ports[link.sink.of].inputs[link.sink.port]
            stored = ports[link.source.of].sent or ports[link.source.of].output
            assert stored is not None
            found.setdefault(link.sink.of, []).append((name, cores[link.source.of].tile, stored[0]))
    return [replace(core, lent=(*core.lent, *found.get(at, ()))) for at, core in enumerate(cores)]


def neighbours(program: ArrayProgram, device: Device) -> Iterator[Violation]:
    """Cores reach the memories that they read, and what they read there exists."""
    for core in program.cores:
        for name, tile, buffer in core.lent:
            where = f"{name} of the core of tile {core.tile}"
            step = tile[0] - core.tile[0], tile[1] - core.tile[1]
            if step not in reached(core.tile, device):
                yield Violation(where, "tiles out of reach", 1, 0, "a tile next to it")
            if (tile, buffer) not in program.buffer_at:
                yield Violation(where, "buffers that are not there", 1, 0, "a neighbour's buffer")


def readers(program: ArrayProgram) -> Counter[tuple[Tile, str]]:
    """How many read each buffer, by tile and name: DMA channels, and cores next to its tile."""
    channels = {
        *((route.source, route.reads) for route in program.routes),
        *((c.channel, c.buffer) for c in program.crossings if c.channel.direction == "mm2s"),
        *(
            pair
            for merge in program.merges
            for pair in zip(merge.sources, merge.reads, strict=True)
        ),
    }
    channels |= {
        pair for each in program.logics for pair in zip(each.sources, each.reads, strict=True)
    }
    found = Counter((channel.tile, name) for channel, name in channels)
    found.update((tile, name) for core in program.cores for _, tile, name in core.lent)
    return found
