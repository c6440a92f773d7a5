"""What a recurrent kernel in float32 computes from its parameters, as they lie in the tile."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from match_aie.targets.aie_ml.execute.merging import in_order
from match_aie.targets.aie_ml.execute.sums import Grouped, Handed, Whole
from match_aie.targets.aie_ml.kernels.recurrent_single import (
    LANES,
    NUMBERS,
    Doing,
    SingleCall,
    sequence,
)


class SingleCell(Whole):
    """A tile's part of a layer, call after call of its sequence.

    Args:
        call: the function.
        values: of its parameters.
    """

    _h: np.ndarray
    _update: np.ndarray

    def __init__(self, call: SingleCall, values: Mapping[str, np.ndarray]) -> None:
        """Weights are read back from their vectors."""
        self._call, self._sequence = call, sequence(call)
        self._results = Grouped(call.steps, call.group, call.whole, np.float32)
        self._read(values)
        self._clear()

    def call(self, number: int, inputs: Sequence[np.ndarray]) -> np.ndarray | Handed | None:
        """What it stores, float32; `inputs` are bytes."""
        doing, at = self._sequence[number]
        known = [each.view(np.float32) for each in inputs]
        with np.errstate(over="ignore", invalid="ignore"):
            if self._call.role == "rows":
                state = self._came(inputs[-1]) if at or doing != "own" else None
                return None if doing == "end" else self._row(doing, at, known[0], state)
            if doing == "inputs":
                return self._seen(known[0])
            if doing == "group":
                return self._group(at, known[0])
            state = self._came(inputs[-1])
            last = doing == "then" or self._call.exchanges == 1
            return self._results.put(at, state) if last else None

    def _came(self, packets: np.ndarray) -> np.ndarray:
        """The whole state of packets in any order."""
        return in_order(packets, self._call.senders).view(np.float32)

    def _row(
        self, doing: Doing, step: int, sums: np.ndarray, state: np.ndarray | None
    ) -> np.ndarray:
        """A step of a tile with rows, whose first state is zero, or one of two parts of it.

        Args:
            doing: which part, where a reset gate comes before the product.
            step: of the run.
            sums: of the inputs of a group.
            state: of all units, or what reset gates let through; None in the first step.
        """
        if state is None:
            self._clear()
            state = np.zeros(self._call.whole, np.float32)
        seen = sums.reshape(self._call.group, -1)[step % self._call.group]
        if self._call.exchanges == 1:
            return self._step(seen, state)
        sums_of = dict(zip(self._call.spec.gates, seen.reshape(-1, self._call.units), strict=True))
        state = state[: self._call.hidden]
        if doing == "then":
            return self._moved(self._with("n", sums_of["n"], state), self._update)
        self._update = self._with("z", sums_of["z"], state)
        return np.asarray(self._logistic(self._with("r", sums_of["r"], state)) * self._h)

    def _read(self, values: Mapping[str, np.ndarray]) -> None:
        if not self._call.parts:
            return
        call, gates = self._call, len(self._call.spec.gates)
        weights, at = values["w"].reshape(-1, LANES), 0
        if "inputs" in call.parts:
            at = call.chunks * call.inputs * gates
            self._inputs = matrices(weights[:at], call.chunks, call.inputs, gates)
            self._begins = values["bias"][: gates * call.units].reshape(gates, call.units)
        if "steps" not in call.parts:
            return
        self._states = self._state_weights(weights[at:])
        self._apart = values["bias"][-call.units :] if call.spec.cell == "gru" else None
        rows = values["numbers"].reshape(-1, LANES)
        self._numbers = {name: rows[at][0] for at, name in enumerate(NUMBERS)}

    def _state_weights(self, weights: np.ndarray) -> dict[str, np.ndarray]:
        """[hidden, units] by gate."""
        call, turns = self._call, self._call.turns
        found: dict[str, np.ndarray] = {}
        if call.spec.cell == "gru_before":
            at = 0
            for names in turns:
                count = call.chunks * call.hidden * len(names)
                mine = matrices(weights[at : at + count], call.chunks, call.hidden, len(names))
                found |= dict(zip(names, mine, strict=True))
                at += count
            return found
        parts = weights.reshape(call.chunks, -1, LANES)
        at, elements = 0, parts.shape[1] // len(call.spec.gates)
        for names in turns:
            count = elements * len(names)
            mine = parts[:, at : at + count].reshape(-1, LANES)
            found |= dict(
                zip(names, matrices(mine, call.chunks, elements, len(names)), strict=True)
            )
            at += count
        return found

    def _clear(self) -> None:
        """States and cells of zero, and no sums of a gate that is applied later."""
        self._update = np.zeros(self._call.units, np.float32)
        self._h = np.zeros(self._call.units, np.float32)
        self._cell = np.zeros(self._call.units, np.float32)

    def _seen(self, x: np.ndarray) -> np.ndarray:
        """Sums of a group's inputs, [steps, gates, units], flat."""
        call = self._call
        rows = x.reshape(call.group, call.x_width)[:, : call.inputs]
        pairs = zip(self._begins, self._inputs, strict=True)
        sums = [added(np.tile(begin, (call.group, 1)), rows, w) for begin, w in pairs]
        return np.ascontiguousarray(np.stack(sums, axis=1), np.float32).reshape(-1)

    def _group(self, number: int, x: np.ndarray) -> np.ndarray:
        """States of a call's steps."""
        call = self._call
        if number == 0:
            self._clear()
        seen = (self._seen(x) if "inputs" in call.parts else x).reshape(call.group, -1)
        stored = np.zeros((call.group, call.units), np.float32)
        for step in range(call.last if number == call.passes - 1 else call.group):
            stored[step] = self._step(seen[step], self._h)
        return stored.reshape(-1)

    def _step(self, seen: np.ndarray, state: np.ndarray) -> np.ndarray:
        """This tile's units of a step, of the whole state before it."""
        call = self._call
        sums = dict(zip(call.spec.gates, seen.reshape(-1, call.units), strict=True))
        state = state[: call.hidden]
        if call.spec.cell == "lstm":
            return self._shown({gate: self._with(gate, sums[gate], state) for gate in "figo"})
        r, z = (self._with(gate, sums[gate], state) for gate in "rz")
        if self._apart is None:
            reset = (self._logistic(r) * self._h)[: call.hidden]
            return self._moved(self._with("n", sums["n"], reset), z)
        return self._reset(r, z, self._with("n", self._apart, state), sums["n"])

    def _shown(self, made: Mapping[str, np.ndarray]) -> np.ndarray:
        """An LSTM's units after a step whose sums are these."""
        f, i, o = (self._logistic(made[gate]) for gate in "fio")
        self._cell = self._bent(made["g"], i, f * self._cell)
        self._h = self._bent(self._cell, o)
        return self._h

    def _reset(
        self, r: np.ndarray, z: np.ndarray, half: np.ndarray, seen: np.ndarray
    ) -> np.ndarray:
        """A GRU's: half of the state's product is multiplied by the reset gate, half is not."""
        return self._moved((seen + half) + self._bent(r) * half, z)

    def _moved(self, total: np.ndarray, z: np.ndarray) -> np.ndarray:
        z = self._logistic(z)
        self._h = self._bent(total, self._numbers["one"] - z, z * self._h)
        return self._h

    def _with(self, gate: str, sums: np.ndarray, state: np.ndarray) -> np.ndarray:
        return np.asarray(added(sums[None], state[None], self._states[gate])[0])

    def _bent(
        self, x: np.ndarray, gate: np.ndarray | None = None, base: np.ndarray | None = None
    ) -> np.ndarray:
        """Tanh times a gate, and more, with the numbers that lie in the tile."""
        k = self._numbers
        held = np.minimum(np.maximum(x, k["least"]), k["most"])
        s = np.minimum(x * x, k["square"])
        below = ((k["q0"] + k["q1"] * s) + s * s) * ((k["r0"] + k["r1"] * s) + s * s)
        above = (k["t0"] + k["t1"] * s) + s * s
        above = (above if gate is None else above * gate) * (held * (k["c0"] + k["c1"] * s))
        near = (k["bits"].view(np.int32) - below.view(np.int32)).view(np.float32)
        off = k["one"] - below * near
        off2 = off * off
        first = above * near
        second = first + first * off
        third = second + second * off2
        return np.asarray((third if base is None else base + third) + third * (off2 * off2))

    def _logistic(self, x: np.ndarray) -> np.ndarray:
        return np.asarray(self._numbers["half"] + self._numbers["half"] * self._bent(x))


def matrices(vectors: np.ndarray, chunks: int, elements: int, gates: int) -> np.ndarray:
    """[gates, elements, units] of vectors [chunk][element][gate][8]."""
    parts = vectors.reshape(chunks, elements, gates, LANES).transpose(2, 1, 0, 3)
    return np.ascontiguousarray(parts).reshape(gates, elements, -1)


def added(sums: np.ndarray, rows: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Sums [rows, units] and products, one element after the other, each rounded twice."""
    for at, column in enumerate(weight):
        sums = sums + rows[:, at : at + 1] * column
    return sums
