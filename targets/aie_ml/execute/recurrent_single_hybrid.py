"""A recurrent layer in float32 with gates in logic: its tiles that send sums, and the logic."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from match_aie.targets.aie_ml.execute.recurrent_single import SingleCell, added
from match_aie.targets.aie_ml.execute.sums import Grouped, Whole
from match_aie.targets.aie_ml.kernels.recurrent_single import LANES, sequence
from match_aie.targets.aie_ml.kernels.recurrent_single_hybrid import (
    KeepCall,
    SentCall,
    SingleLogicCall,
)
from match_aie.workload.recurrent_single_lines import (
    logistic_single_lines,
    moved_by_lines,
    reset_total,
    shown_by_lines,
)


class SentCell(SingleCell):
    """A tile with rows, turn after turn; see `SingleCell`."""

    _call: SentCall

    def call(self, number: int, inputs: Sequence[np.ndarray]) -> np.ndarray | None:
        """Sums of a turn, chunk by chunk; nothing of the last state."""
        call, (doing, step) = self._call, self._sequence[number]
        if doing == "end":
            return None
        came = inputs[1].view(np.float32)
        state = came[: call.hidden] if came.size else np.zeros(call.hidden, np.float32)
        rows = inputs[0].view(np.float32).reshape(call.group, len(call.spec.gates), -1)
        seen = dict(zip(call.spec.gates, rows[step % call.group], strict=True))
        begins = seen | ({} if self._apart is None else {"n": self._apart})
        gates = call.turns[doing == "then"]
        parts = [added(begins[gate][None], state[None], self._states[gate])[0] for gate in gates]
        if call.beside:
            parts.append(seen["n"])
        parts += [np.zeros(call.units, np.float32)] * (call.width - len(parts))
        chunks = [np.asarray(part, np.float32).reshape(call.chunks, LANES) for part in parts]
        return np.concatenate(chunks, axis=1).reshape(-1)

    def _read(self, values: Mapping[str, np.ndarray]) -> None:
        self._states = self._state_weights(values["w"].reshape(-1, LANES))
        self._apart = values["bias"] if self._call.spec.cell == "gru" else None


class KeptStates(Whole):
    """The tile that collects states: whatever comes in the last turn of a step.

    Args:
        call: the function.
    """

    def __init__(self, call: KeepCall) -> None:
        """Nothing has come."""
        self._call, self._sequence = call, sequence(call)
        self._results = Grouped(call.steps, call.group, call.whole, np.float32)

    def call(self, number: int, inputs: Sequence[np.ndarray]) -> np.ndarray | None:
        """All units of a group of steps, once the last of them is there."""
        _, step = self._sequence[number]
        ends = number == len(self._sequence) - 1 or self._sequence[number + 1][1] != step
        return self._results.put(step, inputs[0].view(np.float32)) if ends else None


class SingleGates:
    """The kernel of logic, turn after turn."""

    def __init__(self, call: SingleLogicCall) -> None:
        """Before the first turn of a run."""
        self._call, self._turn = call, 0
        self._state = np.zeros(call.whole, np.float32)
        self._update = np.zeros(call.whole, np.float32)

    def step(self, sums: Sequence[np.ndarray]) -> tuple[np.ndarray, ...]:
        """Words that leave in a turn, of the words that came from each tile."""
        call = self._call
        if self._turn == 0:
            self._state = np.zeros_like(self._state)
        rows = np.stack(sums).view(np.float32).reshape(call.tiles * call.chunks, call.sent, LANES)
        parts = tuple(rows[:, at].reshape(-1) for at in range(call.sent))
        if call.cell == "lstm":
            self._state, out = shown_by_lines(self._state, parts)
        elif call.cell == "gru":
            z, r, half, seen = parts
            self._state = out = moved_by_lines(self._state, z, reset_total(r, half, seen))
        elif self._turn % 2 == 0:
            self._update = parts[1]
            out = logistic_single_lines()(parts[0]) * self._state
        else:
            self._state = out = moved_by_lines(self._state, self._update, parts[0])
        self._turn = (self._turn + 1) % call.sends
        return (np.asarray(out, np.float32).view(np.uint32),)
