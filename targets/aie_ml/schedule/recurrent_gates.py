"""Schedules of recurrent kernels whose gates are spread over a chain (`kernels.recurrent_gates`).

Words of the cascade are read when they are wanted, and written when they are there, in their order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache

from match_aie.targets.aie_ml.devices import Architecture
from match_aie.targets.aie_ml.kernels.recurrent_gates import GatesCall
from match_aie.targets.aie_ml.schedule.call import FRAME_BUNDLES, ArchitectureKey
from match_aie.targets.aie_ml.schedule.line import FAR, NEAR, Line
from match_aie.targets.aie_ml.schedule.machine import STORE, VECTOR, Machine
from match_aie.targets.aie_ml.schedule.recurrent import (
    FLIGHT,
    GroupSchedule,
    best,
)
from match_aie.targets.aie_ml.schedule.recurrent_cascade import Pieces, piece
from match_aie.targets.aie_ml.schedule.recurrent_code import Code, GateTimes, Inputs
from match_aie.targets.aie_ml.schedule.recurrent_quarters import ONLY, QuarteredStep

#: Pairs of weights' registers that are filled ahead of their products.
AHEAD = (7, 5)


def _sums(gate: str) -> str:
    """Where a gate's sums begin."""
    return f"{gate}{ONLY}.q0"


class GateWords(Code):
    """Words ahead of a step: out of memory, or from the cascade and on."""

    def __init__(self, call: GatesCall, core: Machine, times: GateTimes) -> None:
        """All of it."""
        super().__init__(call, core, times)
        for gate in (*call.handed, *call.kept):
            if call.begins:
                self.begin(gate, FAR)
            else:
                self.take(gate)
        for gate in call.handed:
            self.give(gate)


class GatesStep(QuarteredStep):
    """A step of any of the tiles: its gates, and words."""

    call: GatesCall

    def start(self, name: str, side: str) -> None:
        """Sums of the inputs are there where they came as words."""
        if self.call.begins or name == _sums("n"):
            super().start(name, side)

    def _gru(self, chunks: list[str]) -> None:
        del chunks
        if not self.call.ends:
            self._on_the_way()
            return
        self._begun("r", "seen")
        r = self._function(self._gate("r"), "gate.r")
        inner = self._gate("n") if "n" in self.call.own else self._came("n", r)
        self.one("multiply", VECTOR, ("seen", r, inner), "total")
        self._looked_up("total", f"new{ONLY}")
        self._rest(ONLY)
        self._stepped(ONLY, self._came("z", f"rest{ONLY}.r"))

    def _lstm(self, chunks: list[str]) -> None:
        del chunks
        if not self.call.ends:
            self._on_the_way()
            return
        self._begun(*self.call.own)
        gates: dict[str, str] = {}
        for gate in ("i", "g", "f"):
            if gate in self.call.own:
                gates[gate] = self._function(self._gate(gate), f"gate.{gate}")
            else:
                gates[gate] = self._came(gate, gates[self.call.own[-1]])
        self._kept(gates)
        self._bent()
        self._shown(self._came("o", "bent.r"))

    def _begun(self, *names: str) -> None:
        """Words ahead of a step, in accumulators."""
        for name in names:
            self.take(name if name == "seen" else _sums(name))

    def _came(self, gate: str, beside: str) -> str:
        """A gate that comes as a word, rounded; it is read no earlier than `beside` asks for."""
        until = self.core.cascade_read + self.core.srs
        self.take(f"{gate}.word", self.line.ready(beside) - until)
        self.one("srs", STORE, (f"{gate}.word",), f"{gate}.r")
        return f"{gate}.r"

    def _on_the_way(self) -> None:
        """Of a tile without the state: its own gates, then those that come, in their order."""
        call = self.call
        for gate in call.kept:
            self.line.given(_sums(gate), 1, sums=True)
        for gate in call.own:
            made = self._gate(gate)
            if call.spec.cell == "gru" and gate == "n":
                times_one = self.one("multiply", VECTOR, (made,), f"word.{gate}")
                self.line.hold("one", 1, times_one)
            else:
                self._of_rounded(made, f"word.{gate}")
            self.give(f"word.{gate}")
        for gate in call.later:
            self.take(f"word.{gate}", self.line.writes[-1] + 1)
            self.give(f"word.{gate}")

    def _end(self, state: str, out: str) -> None:
        """A state of floats, and its rounded form as a result and as a packet."""
        self.one("srs", STORE, (out,), f"{out}.y")
        for _ in range(2):
            self.store(f"{out}.y", side=NEAR)
        for _ in range(2):
            self.store(state, "store_accumulator")


def _behind(step: GroupSchedule, cycles: int) -> GroupSchedule:
    """A step before which something takes so many cycles."""
    reads, writes = (
        tuple(cycles + each for each in moments) for moments in (step.reads, step.writes)
    )
    return replace(step, step=step.step + cycles, reads=reads, writes=writes)


def _inputs(call: GatesCall, core: Machine, times: GateTimes, gates: int) -> Iterator[Line]:
    """What may be the code of so many gates' inputs."""
    pairs = ((ahead, serial) for serial in (False, True) for ahead in AHEAD)
    for ahead, serial in pairs:
        yield Inputs(call, core, times, ahead, serial=serial, total=gates).line


def _steps(call: GatesCall, core: Machine, times: GateTimes) -> Iterator[Line]:
    """What may be the code of a step."""
    for flight in FLIGHT:
        for ahead in AHEAD:
            yield GatesStep(call, core, times, flight, ahead).line


def gates_schedules(call: GatesCall, arch: Architecture, times: GateTimes = GateTimes()) -> Pieces:
    """Modelled cycles of the pieces of a function, by what `kernels.recurrent_gates` calls them.

    A "later" step is one whose state came as packets.

    Raises:
        TargetError: facts are missing, or registers do not suffice.
    """
    return _scheduled(call, times, ArchitectureKey(arch))


@lru_cache(maxsize=256)
def _scheduled(call: GatesCall, times: GateTimes, arch: ArchitectureKey) -> Pieces:
    core = arch.core
    line = best(core, _steps(call, core, times))
    gates = len(call.spec.gates)
    first, inputs = (
        best(core, _inputs(call, core, times, many)) if call.begins else Line()
        for many in (gates, 1)
    )
    sending = Line() if call.ends else GateWords(call, core, times).line
    # Words of packets are read and stored as they come, by code without a loop.
    packets = call.chains * (1 + 2 * call.words)
    seen = first.cycles + gates * inputs.cycles  # before the first step, and a gate behind others
    bundles = line.cycles + seen + sending.cycles + packets + FRAME_BUNDLES
    step = piece(line, times.turn, bundles)
    ahead = GroupSchedule(inputs.cycles, 0, 0, 0, 1, bundles, (inputs.kinds, Counter()))
    return {
        "inputs": replace(ahead, inputs=first.cycles, kinds=(first.kinds, Counter())),
        "ahead": ahead,
        "send": piece(sending, 0, bundles),
        "step": step,
        "later": _behind(step, times.packet),
    }
