"""What kernels of programmable logic compute, and the tiles that send them sums."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np

from match_aie.targets.aie_ml.array.program import ArrayProgram, Channel, Logic
from match_aie.targets.aie_ml.array.words import WORD
from match_aie.targets.aie_ml.execute.memory import Memory
from match_aie.targets.aie_ml.execute.recurrent import Cell, IntegerCell
from match_aie.targets.aie_ml.execute.recurrent_single_hybrid import SingleGates
from match_aie.targets.aie_ml.execute.streams import Clock, End, Process, ends_of
from match_aie.targets.aie_ml.kernels.numeric import from_bfloat16, to_bfloat16
from match_aie.targets.aie_ml.kernels.recurrent import LANES
from match_aie.targets.aie_ml.kernels.recurrent_hybrid import AnyHybrid, LogicCall
from match_aie.targets.aie_ml.kernels.recurrent_single_hybrid import SingleLogicCall
from match_aie.workload.bfloat16 import to_bfloat16 as rounded
from match_aie.workload.recurrent_bfloat16 import sigmoid_lines, tanh_lines
from match_aie.workload.recurrent_int8 import steps_of_state


class SumsCell(Cell):
    """A tile of a layer whose gates are in logic."""

    _call: AnyHybrid

    def joined_step(self, number: int, h: np.ndarray | None) -> np.ndarray:
        """Sums of a step as words' bytes, of what was seen; `h` is the whole state as bytes."""
        call, seen = self._call, self._kept[:, number]
        zeros = self._operand(np.zeros(call.whole, np.float32))
        state = zeros if h is None else self._joined(h)
        parts = []
        for gate in call.sent:
            apart = gate == "n" and call.beside
            begin = self._apart if apart else seen[call.spec.gates.index(gate)]
            parts.append(to_bfloat16(self._with_state(gate, begin, state), "conv_even"))
        if call.beside:
            parts.append(np.ascontiguousarray(seen[call.spec.gates.index("n")]))
        chunks = [part.reshape(call.chunks, LANES).view(np.uint8) for part in parts]
        return np.concatenate(chunks, axis=1).reshape(-1)


class IntegerSumsCell(SumsCell, IntegerCell):
    """Likewise, with products of 8 bits."""


class LogicGates:
    """The kernel of logic, step after step."""

    def __init__(self, call: LogicCall) -> None:
        """Before the first step of a run."""
        self._call, self._step = call, 0
        self._state = np.zeros(call.whole, np.float32)

    def step(self, sums: Sequence[np.ndarray]) -> tuple[np.ndarray, ...]:
        """Words of each stream that leaves, of the words that came from each tile."""
        if self._step == 0:
            self._state = np.zeros_like(self._state)
        self._step = (self._step + 1) % self._call.steps
        out = self._lstm(sums) if self._call.cell == "lstm" else self._gru(sums)
        results = to_bfloat16(out, "conv_even").reshape(-1).view(np.uint32)
        if not self._call.narrow:
            return (results,)
        return steps_of_state(out).astype(np.int8).view(np.uint32), results

    def _out_of(self, sums: Sequence[np.ndarray]) -> tuple[list[np.ndarray], np.ndarray]:
        """Rounded sums by gate, and the bytes behind them by unit."""
        call = self._call
        rows = np.stack(sums).view(np.uint8).reshape(call.tiles * call.chunks, -1)
        wide = 2 * call.sent * LANES
        gates = rows[:, :wide].copy().view(np.uint16).reshape(-1, call.sent, LANES)
        found = [from_bfloat16(gates[:, at]).reshape(-1) for at in range(call.sent)]
        return found, rows[:, wide:].copy().view(np.float32).reshape(-1)

    @staticmethod
    def _gate(sums: np.ndarray) -> np.ndarray:
        return rounded(sigmoid_lines()(sums))

    @staticmethod
    def _bent(sums: np.ndarray) -> np.ndarray:
        return np.asarray(tanh_lines()(rounded(sums)))

    def _gru(self, sums: Sequence[np.ndarray]) -> np.ndarray:
        (r, inner, z), seen = self._out_of(sums)
        n = self._bent(seen + self._gate(r) * inner)
        self._state = self._state + self._gate(z) * rounded(n - self._state)
        return self._state

    def _lstm(self, sums: Sequence[np.ndarray]) -> np.ndarray:
        (i, o, f, g), _ = self._out_of(sums)
        kept = self._state - self._gate(f) * rounded(self._state)
        self._state = kept + self._gate(i) * rounded(self._bent(g))
        return np.asarray(self._gate(o) * rounded(self._bent(self._state)))


def running(
    program: ArrayProgram,
    memories: dict[tuple[object, str], Memory],
    runs: int,
    clock: Clock,
) -> Iterator[Process]:
    """A process for each kernel of logic.

    Args:
        program: whose kernels.
        memories: of buffers, by place and name.
        runs: of the graph.
        clock: of the interpreter.
    """
    for logic in program.logics:
        into = zip(logic.sources, logic.reads, [logic.bytes] * len(logic.sources), strict=True)
        sources = _ends(program, memories, logic, into, sink=False)
        back = (logic.back(stream) for stream in logic.streams)
        sinks = _ends(
            program, memories, logic, zip(logic.sinks, logic.writes, back, strict=True), sink=True
        )
        yield _steps(logic, sources, sinks, runs * logic.sends, clock)


def _ends(
    program: ArrayProgram,
    memories: Mapping[tuple[object, str], Memory],
    logic: Logic,
    parts: Iterable[tuple[Channel, str, int]],
    *,
    sink: bool,
) -> list[End]:
    """Of channels with their buffers and the bytes of a step."""
    moves: list[tuple[Channel, str, int | None, bool]] = []
    for channel, name, size in parts:
        words = size * logic.sends // WORD
        fills = program.buffer_at[channel.tile, name].fills
        moves.append((channel, name, words // fills if fills else None, sink))
    return ends_of(program, dict(memories), moves)


def _steps(
    logic: Logic, sources: Sequence[End], sinks: Sequence[End], many: int, clock: Clock
) -> Process:
    """Turn after turn: all tiles' sums, and room for the state at all of them."""
    call = logic.function
    gates = SingleGates(call) if isinstance(call, SingleLogicCall) else LogicGates(call)
    for _ in range(many):
        for end in (*sources, *sinks):
            while not end.ready():
                yield end.wait
        leaving = gates.step([end.fetch(logic.bytes // WORD) for end in sources])
        for end, stream in zip(sinks, logic.streams, strict=True):
            end.put(leaving[stream])
        clock.events += 1
