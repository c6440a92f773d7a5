"""Streams of packets from cores to cores: who sends, who waits, how long it takes.

A switch lets one packet after the other through, whichever is there first. Words go on while all
cores that read them read: what switches could keep on the way is left out, so that a packet moves
when all of them wait for one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import ceil

from match_aie.simulation import Acquire, Command, Delay, Release, Resource
from match_aie.targets.aie_ml.array.assumed import Assumed
from match_aie.targets.aie_ml.array.merging import far
from match_aie.targets.aie_ml.array.program import ArrayProgram, Channel, Merge, Tile
from match_aie.targets.aie_ml.devices import Device
from match_aie.targets.aie_ml.simulate.store import End, Run

#: Ends of streams at buffers, by kind, number of the stream and buffer.
Ends = Mapping[tuple[str, int, tuple[Tile, str]], End]


class Packets:
    """The merged streams of a program.

    Args:
        program: that runs.
        device: where.
        assumed: times that no document states.
    """

    def __init__(self, program: ArrayProgram, device: Device, assumed: Assumed) -> None:
        """Nobody waits, nothing has come."""
        self._program, self._assumed = program, assumed
        self._hop = device.architecture.hop_cycles
        self._rate = device.architecture.core.dma.bytes_per_cycle
        many = {sink: len(merge.sources) for merge in program.merges for sink in merge.sinks}
        self._asked = {tile: Resource(f"{tile} reads packets", n, 0) for tile, n in many.items()}
        self._came = {tile: Resource(f"packets at {tile}", n, 0) for tile, n in many.items()}

    def taken(self, tile: Tile, count: int) -> list[Command]:
        """What a core does to read so many packets: it says so, and waits."""
        if not count:
            return []
        return [Release(self._asked[tile], count), Acquire(self._came[tile], count)]

    def processes(self, ends: Ends, runs: int) -> Iterator[tuple[str, Run]]:
        """Every source, with a name for people."""
        for number, merge in enumerate(self._program.merges):
            lane = Resource(f"lane of {merge.name}")
            for source, name in zip(merge.sources, merge.reads, strict=True):
                end = ends["merge", number, (source.tile, name)]
                who = f"{merge.name} of {source.tile}"
                yield who, self._sent(merge, source, end, lane, runs * merge.sends)

    def _sent(self, merge: Merge, source: Channel, end: End, lane: Resource, many: int) -> Run:
        """All packets of one source; a header goes before each."""
        up, down = far(merge)
        ready = end.store.to_read(end.index)
        start = Delay(self._assumed.descriptor + self._hop * up[source.tile])
        cycles = 1 + ceil(merge.bytes / self._rate)
        move = Delay(cycles, f"packets of {source.tile}", merge.name, "dma")
        asked = [Acquire(self._asked[sink]) for sink in merge.sinks]
        came = self._arrivals(merge, down)
        take, give = Acquire(lane), Release(lane)
        for _ in range(many):
            yield from ready
            yield start
            yield take
            yield from asked
            yield move
            yield give
            yield from came
            yield from end.store.read(end.index)

    def _arrivals(self, merge: Merge, down: Mapping[Tile, int]) -> list[Command]:
        """Every core reads a packet as soon as it is there: those near the root's switch first."""
        found: list[Command] = []
        passed = 0
        for sink in sorted(merge.sinks, key=lambda sink: down[sink]):
            found += [Delay(self._hop * (down[sink] - passed))] * (down[sink] > passed)
            found.append(Release(self._came[sink]))
            passed = down[sink]
        return found
