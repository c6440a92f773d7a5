"""What the functions of a recurrent layer's chains of gates do, call after call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from match_aie.targets.aie_ml.execute.merging import in_order
from match_aie.targets.aie_ml.execute.recurrent import Cell
from match_aie.targets.aie_ml.execute.sums import Grouped, Handed, Lent, Whole
from match_aie.targets.aie_ml.kernels.numeric import from_bfloat16
from match_aie.targets.aie_ml.kernels.recurrent import GROUP, LANES
from match_aie.targets.aie_ml.kernels.recurrent_gates import GatesCall, sequence
from match_aie.workload.bfloat16 import to_bfloat16 as rounded


class GatesCell(Cell):
    """A cell one of whose tiles' gates are at work. Words are arrays of sixteen floats."""

    _call: GatesCall

    def go_on(self, seen: np.ndarray) -> None:
        """The next group, whose inputs' sums these are."""
        self._kept = seen

    def inputs_of(self, gates: Sequence[str], step: int) -> np.ndarray:
        """The sums of the inputs' products of a step of the group that it has seen, as words."""
        at = [self._call.spec.gates.index(gate) for gate in gates]
        return self._kept[at, step]

    def made(self, gate: str, begin: np.ndarray, h: np.ndarray) -> np.ndarray:
        """The word that a gate is: a GRU's product is rounded, others go through their function."""
        if self._call.spec.cell == "gru" and gate == "n":
            return rounded(self._with_state(gate, self._apart, h))
        which = 1 if gate == "g" else 0
        return self._function(which, self._with_state(gate, begin, h))

    def stepped(
        self, begun: Mapping[str, np.ndarray], came: Mapping[str, np.ndarray], h: np.ndarray
    ) -> np.ndarray:
        """Units of a step, bfloat16 patterns.

        Args:
            begun: sums of the inputs, by gate.
            came: words of the gates that other tiles have, by gate.
            h: the whole state before.
        """
        zeros = np.zeros(LANES, np.float32)
        own = {gate: self.made(gate, begun.get(gate, zeros), h) for gate in self._call.own}
        gates = {gate: rounded(word) for gate, word in {**own, **came}.items()}
        if self._call.spec.cell == "gru":
            self._move(gates["z"], begun["n"] + gates["r"] * gates["n"])
        else:
            kept = self._state - gates["f"] * rounded(self._state)
            self._state = kept + gates["i"] * gates["g"]
            self._end(gates["o"] * rounded(self._function(1, self._state)))
        return self._stored()


class GatesTile(Whole):
    """A kernel function of one of the tiles, call after call of its sequence."""

    def __init__(self, call: GatesCall, values: Mapping[str, np.ndarray]) -> None:
        """See `Cell`."""
        self._call, self._cell = call, GatesCell(call, values)
        self._sequence = sequence(call)
        self._results = Grouped(call.steps, call.group, call.y_width, np.uint16)
        self._begun: dict[str, np.ndarray] = {}
        self._next = np.zeros(0, np.float32)

    def call(self, number: int, inputs: Sequence[np.ndarray]) -> Handed | None:
        """The words that it takes and sends; its packet, and with the last of a group its results.

        Packets are behind the buffers of `inputs`.
        """
        doing, at = self._sequence[number]
        call, cell = self._call, self._cell
        if doing == "inputs":
            cell.see(inputs[0])
        if doing == "ahead" and at % GROUP == len(call.spec.gates) - 1:
            self._next = cell.seen(inputs[0])
        if doing == "send" and call.begins:
            if at and at % GROUP == 0:
                cell.go_on(self._next)
            words = cell.inputs_of(call.handed, at % GROUP)
            self._begun = dict(zip(call.own, cell.inputs_of(call.own, at % GROUP), strict=True))
            return Handed(0, lambda _: (words, None))
        if doing == "send":
            return Handed(len(call.handed) + len(call.kept), lambda came: (self._sent(came), None))
        if doing != "step":
            return None
        h = np.zeros(call.whole, np.float32)
        if at:
            h = from_bfloat16(in_order(inputs[-1], call.chains).view(np.uint16))
        if not call.ends:
            return Handed(len(call.later), lambda came: (self._passed(came, h), None))
        if not at:
            cell.clear()
        takes = len(call.kept) + len(call.later)
        return Handed(takes, lambda came: (None, self._stepped(at, came, h)))

    def _sent(self, came: np.ndarray) -> np.ndarray:
        """Words ahead of a step for those further down."""
        on = len(self._call.handed)
        self._begun = dict(zip(self._call.kept, came[on:], strict=True))
        return came[:on]

    def _passed(self, came: np.ndarray, h: np.ndarray) -> np.ndarray:
        """Words of a step: own gates, and those that come."""
        zeros = np.zeros(LANES, np.float32)
        own = [self._cell.made(g, self._begun.get(g, zeros), h) for g in self._call.own]
        return np.concatenate([np.stack(own), came.reshape(-1, LANES)]).astype(np.float32)

    def _stepped(self, step: int, came: np.ndarray, h: np.ndarray) -> Lent | np.ndarray | None:
        """A step of the tile with the state."""
        call, begun = self._call, len(self._call.kept)
        known = dict(zip(call.kept, came[:begun], strict=True))
        later = dict(zip(call.later, came[begun:], strict=True))
        sent = self._cell.stepped(known, later, h)
        results = self._results.put(step, sent)
        return results if step == call.steps - 1 else Lent(sent, results)
