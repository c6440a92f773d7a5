"""Kernels of programmable logic between cores: words over, a step there, words back.

Every stream pays its way through the switches in each step, since a step waits for the one before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from math import ceil

from match_aie.simulation import Acquire, Delay, Release, Resource
from match_aie.targets.aie_ml.array.assumed import Assumed
from match_aie.targets.aie_ml.array.logic import (
    crossing_cycles,
    logic_cycles,
    passed,
    word_cycles,
)
from match_aie.targets.aie_ml.array.program import ArrayProgram, Channel, Logic, Tile
from match_aie.targets.aie_ml.devices import Device
from match_aie.targets.aie_ml.simulate.store import End, Run

#: A buffer: its tile, and its name there.
Place = tuple[Tile, str]

#: Ends of streams at buffers, by kind, number of the stream and buffer.
Ends = Mapping[tuple[str, int, Place], End]


def streams(program: ArrayProgram) -> Iterator[tuple[Place, bool, tuple[str, int, int]]]:
    """Buffers of merged streams and of logic: where, whether written, and by which of them."""
    for number, merge in enumerate(program.merges):
        for source, name in zip(merge.sources, merge.reads, strict=True):
            yield (source.tile, name), False, ("merge", number, merge.sends)
    for number, logic in enumerate(program.logics):
        for source, name in zip(logic.sources, logic.reads, strict=True):
            yield (source.tile, name), False, ("logic", number, logic.sends)
        for sink, name in zip(logic.sinks, logic.writes, strict=True):
            yield (sink.tile, name), True, ("logic", number, logic.sends)


class Logics:
    """The kernels of logic of a program.

    Args:
        program: that runs.
        device: where.
        assumed: times that no document states.
        wrote: is told of each buffer that a state has come to.
    """

    def __init__(
        self,
        program: ArrayProgram,
        device: Device,
        assumed: Assumed,
        wrote: Callable[[Place], None],
    ) -> None:
        """Nothing has come."""
        self._program, self._device = program, device
        self._assumed, self._wrote = assumed, wrote

    def processes(self, ends: Ends, runs: int) -> Iterator[tuple[str, Run]]:
        """Every stream into a kernel, and the kernel, with a name for people."""
        for number, logic in enumerate(self._program.logics):
            came = Resource(f"sums at {logic.name}", len(logic.sources), 0)
            for source, name in zip(logic.sources, logic.reads, strict=True):
                end = ends["logic", number, (source.tile, name)]
                who = f"{logic.name} of {source.tile}"
                yield who, self._sent(logic, source, end, came, runs * logic.sends)
            yield logic.name, self._states(number, logic, came, ends, runs * logic.sends)

    def _words(self, size: int) -> int:
        """Cycles that so many bytes take."""
        return ceil(size / 16 * word_cycles(self._device))

    def _sent(self, logic: Logic, source: Channel, end: End, came: Resource, many: int) -> Run:
        """Sums of one tile, step after step."""
        hop = self._device.architecture.hop_cycles
        over = crossing_cycles(logic.times, self._device) + hop * (source.tile[1] + 1)
        start, cross = Delay(self._assumed.descriptor), Delay(over)
        move = Delay(self._words(logic.bytes), f"sums of {source.tile}", logic.name, "dma")
        for _ in range(many):
            yield from end.store.to_read(end.index)
            yield start
            yield move
            yield from end.store.read(end.index)
            yield cross
            yield Release(came)

    def _states(self, number: int, logic: Logic, came: Resource, ends: Ends, many: int) -> Run:
        """States, step after step, which come to all sinks when the furthest has them.

        Results that leave apart come behind them, where they are the longer stream.
        """
        hop = self._device.architecture.hop_cycles
        places = [(s.tile, n) for s, n in zip(logic.sinks, logic.writes, strict=True)]
        sinks = [ends["logic", number, place] for place in places]
        over = crossing_cycles(logic.times, self._device)
        over += hop * max(passed(logic, tile) for tile, _ in places) + self._assumed.descriptor
        turns = [
            Delay(cycles, logic.name, "a step", "logic")
            for cycles in logic_cycles(logic, self._device)
        ]
        words = [self._words(logic.back(stream)) for stream in range(len(logic.function.back))]
        behind = [after - before for before, after in zip([-over, *words], words, strict=False)]
        for at in range(many):
            yield Acquire(came, len(logic.sources))
            yield turns[at % len(turns)]
            for end in sinks:
                yield from end.store.to_write(end.index)
            for stream, more in enumerate(behind):
                yield Delay(more)
                for place, end, by in zip(places, sinks, logic.streams, strict=True):
                    if by == stream:
                        self._wrote(place)
                        yield from end.store.wrote(end.index)
