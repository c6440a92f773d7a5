"""A tile of a recurrent layer in float32 along a cascade: what it makes of words that come."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from match_aie.targets.aie_ml.execute.recurrent_single import SingleCell, added, matrices
from match_aie.targets.aie_ml.execute.sums import Handed, Lent
from match_aie.targets.aie_ml.kernels.recurrent_single import LANES, NUMBERS
from match_aie.targets.aie_ml.kernels.recurrent_single_cascade import LinkCall


class LinkCell(SingleCell):
    """Call after call of the tile's sequence; see `SingleCell`."""

    _call: LinkCall

    def call(self, number: int, inputs: Sequence[np.ndarray]) -> Handed | None:
        """The words that it takes and sends, and the last tile's states."""
        call, (doing, at) = self._call, self._sequence[number]
        if doing == "end":
            return None
        if at == 0:
            self._clear()
        mine = self._elements(at, inputs)[call.columns.start : call.columns.stop]
        words = call.came * call.chunks
        if call.ends:
            return Handed(words, lambda came: (None, self._stored(at, self._summed(came, mine))))
        return Handed(words, lambda came: (self._in_words(self._summed(came, mine)), None))

    def _elements(self, step: int, inputs: Sequence[np.ndarray]) -> np.ndarray:
        """What some columns are multiplied by: a step's inputs, or the state before."""
        if self._call.sees:
            rows = inputs[0].view(np.float32).reshape(self._call.group, -1)
            return np.asarray(rows[step % self._call.group])
        return inputs[0].view(np.float32) if step and not self._call.ends else self._h

    def _read(self, values: Mapping[str, np.ndarray]) -> None:
        call, gates = self._call, self._call.spec.gates
        weights = values["w"].reshape(-1, LANES)
        shape = call.chunks, len(call.columns), len(gates)
        self._order = sum(call.spec.products, ())
        self._states = (
            dict(zip(gates, matrices(weights, *shape), strict=True))
            if call.sees
            else self._state_weights(weights)
        )
        if call.begins:
            bias = values["bias"].reshape(len(gates), -1)
            self._first = dict(zip(gates, bias, strict=True))
        if call.apart:
            self._first = {"n": values["bias"]}
        if call.ends:
            rows = values["numbers"].reshape(-1, LANES)
            self._numbers = {name: rows[at][0] for at, name in enumerate(NUMBERS)}

    def _summed(self, came: np.ndarray, mine: np.ndarray) -> dict[str, np.ndarray]:
        """Sums [units] by gate with this tile's products, and what inputs add to a GRU's last."""
        call = self._call
        beside = ("seen",) * call.beside
        names = self._order if not call.apart else self._order[:-1]
        begins = dict(self._first) if call.begins or call.apart else {}
        if call.came:
            words = came.reshape(call.chunks, call.came, LANES).transpose(1, 0, 2)
            begins |= dict(zip((*names, *beside), words.reshape(call.came, -1), strict=True))
        found = {
            gate: np.asarray(added(begins[gate][None], mine[None], self._states[gate])[0])
            for gate in self._order
        }
        return found | {name: begins[name] for name in beside}

    def _in_words(self, sums: Mapping[str, np.ndarray]) -> np.ndarray:
        """[words, 8], chunk by chunk."""
        names = (*self._order, *("seen",) * self._call.beside)
        rows = np.stack([sums[name].reshape(-1, LANES) for name in names], axis=1)
        return rows.reshape(-1, LANES)

    def _stored(self, step: int, sums: Mapping[str, np.ndarray]) -> np.ndarray | Lent | None:
        """A step's state for other tiles, and results of a group once they are all there."""
        call = self._call
        if call.spec.cell == "lstm":
            made = self._shown(sums)
        else:
            made = self._reset(*(sums[name] for name in ("r", "z", "n", "seen")))
        results = self._results.put(step, made)
        return Lent(made, results) if call.sent_size else results
