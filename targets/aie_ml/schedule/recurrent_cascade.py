"""Schedules of recurrent kernels along a cascade (`kernels.recurrent_cascade`), piece by piece.

Words of the cascade are read and written in their order; sums that come over it take the place of
those that a single tile loads.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import lru_cache

from match_aie.targets.aie_ml.devices import Architecture
from match_aie.targets.aie_ml.kernels.recurrent_cascade import (
    AnyCascade,
    CascadeCall,
    IntegerCascadeCall,
)
from match_aie.targets.aie_ml.schedule.call import FRAME_BUNDLES, ArchitectureKey
from match_aie.targets.aie_ml.schedule.line import FAR, NEAR, Line
from match_aie.targets.aie_ml.schedule.machine import Machine
from match_aie.targets.aie_ml.schedule.recurrent import (
    FLIGHT,
    LATER,
    GroupSchedule,
    best,
    input_lines,
    of_parts,
)
from match_aie.targets.aie_ml.schedule.recurrent_code import Code, GateTimes, Step
from match_aie.targets.aie_ml.schedule.recurrent_int8_code import IntegerStep

#: Words of an accumulator of 32 integers.
HALVES = 2


class Sending(Code):
    """The sums of a step's inputs, word after word."""

    def __init__(self, call: AnyCascade, core: Machine, times: GateTimes) -> None:
        """All of it."""
        super().__init__(call, core, times)
        if isinstance(call, CascadeCall):
            apart = [call.spec.cell == "gru" and gate == "n" for gate in call.spec.products[0]]
            sides = [NEAR if each else FAR for each in apart] * call.together + [FAR] * call.beside
        else:
            sides = [FAR] * (call.came // call.walks)
        for at, side in enumerate(sides * call.walks):
            self.begin(f"c{at}", side)
            self.give(f"c{at}")


class Ending(Step):
    """A step of the last tile, with the gates."""

    def start(self, name: str, side: str) -> None:
        """Sums come over the cascade."""
        del side
        self.take(name)


class Adding(Ending):
    """A step of a tile in the middle: words, its products, the words again."""

    call: CascadeCall

    def _gru(self, chunks: list[str]) -> None:
        gates = self.call.spec.products[0]
        self._products(0)
        for name in (f"{gate}{chunk}" for chunk in chunks for gate in gates):
            self.give(name)
        for at in range(self.call.beside):
            self.take(f"beside{at}")
            self.give(f"beside{at}")

    def _lstm(self, chunks: list[str]) -> None:
        self._gru(chunks)


class IntegerLink(IntegerStep):
    """A chunk of a step of a tile with a state, with products of 8 bits."""

    call: IntegerCascadeCall

    def first(self, name: str, after: int) -> None:
        """Both halves of the sums come over the cascade, but to the first tile with a state."""
        if not self.call.first_octet:
            super().first(name, after)
            return
        for _ in range(HALVES):
            self.take(name)


class IntegerAdding(IntegerLink):
    """Of a tile in the middle: words, its products, the words again."""

    def _gru(self, chunks: list[str]) -> None:
        for turn, passed in enumerate(self.call.passed):
            self._products(turn)
            for gate in self.call.spec.products[turn]:
                for _ in range(HALVES):
                    self.give(gate)
            for name in (f"{gate}{at}" for gates in passed for at in chunks for gate in gates):
                self.take(f"beside{name}")
                self.give(f"beside{name}")

    def _lstm(self, chunks: list[str]) -> None:
        self._gru(chunks)


class IntegerEnding(IntegerLink):
    """Of the last tile, with the gates."""

    def _in_steps(self, name: str) -> None:
        super()._in_steps(name)
        if self.call.sent_size:  # for other tiles, too
            self.store(f"{name}.q")

    def start(self, name: str, side: str) -> None:
        """What inputs add comes over the cascade; a GRU's own bias of a state's sums is here."""
        if side == FAR:
            self.take(name)
        else:
            super().start(name, side)


Pieces = dict[str, GroupSchedule]


def cascade_schedules(
    call: AnyCascade, arch: Architecture, times: GateTimes = GateTimes()
) -> Pieces:
    """Modelled cycles of the pieces of a function, by what `kernels.recurrent_cascade` calls them.

    Raises:
        TargetError: facts are missing, or registers do not suffice.
    """
    return _scheduled(call, times, ArchitectureKey(arch))


@lru_cache(maxsize=256)
def _scheduled(call: AnyCascade, times: GateTimes, arch: ArchitectureKey) -> Pieces:
    core = arch.core
    found: Pieces = {}
    if call.role == "first":
        inputs = best(core, input_lines(call, core, times))
        sending = Sending(call, core, times)
        bundles = inputs.cycles + sending.line.cycles + FRAME_BUNDLES
        many, seen = of_parts(call, inputs, times)
        found["inputs"] = GroupSchedule(many, 0, times.turn, 0, 1, bundles, (seen, Counter()))
        found["send"] = piece(sending.line, times.turn, bundles)
        return found
    line = best(core, _lines(call, core, times))
    bundles = line.cycles + FRAME_BUNDLES
    found["step"] = piece(line, times.turn, bundles, call.walks)
    found["end"] = GroupSchedule(0, 0, times.turn, 0, 0, bundles, (Counter(), Counter()))
    return found


def _lines(call: AnyCascade, core: Machine, times: GateTimes) -> Iterator[Line]:
    """What may be the code of a part of a step."""
    flights = (1,) if call.role == "middle" else FLIGHT
    if isinstance(call, IntegerCascadeCall):
        kind = IntegerAdding if call.role == "middle" else IntegerEnding
        yield from (kind(call, core, times, n, later).line for later in LATER for n in flights)
    else:
        code = Adding if call.role == "middle" else Ending
        yield from (code(call.part, core, times, flight).line for flight in flights)


def piece(line: Line, turn: int, bundles: int, walks: int = 1) -> GroupSchedule:
    """Of a step: so many parts of the units, by the same code.

    Args:
        line: the code.
        turn: more cycles of each.
        bundles: of all of the function's code.
        walks: parts.
    """
    each = line.cycles + turn
    begins = [each * part for part in range(walks)]
    return GroupSchedule(
        inputs=0,
        step=walks * each - turn,
        turn=turn,
        steps=1,
        quads=0,
        bundles=bundles,
        kinds=(Counter(), Counter({kind: walks * n for kind, n in line.kinds.items()})),
        reads=tuple(begin + cycle for begin in begins for cycle in line.reads),
        writes=tuple(begin + cycle for begin in begins for cycle in line.writes),
    )
