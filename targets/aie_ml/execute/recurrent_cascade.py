"""Cells whose tiles lie along a cascade: what each makes of the words that come."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from match_aie.targets.aie_ml.execute.recurrent import Cell, IntegerCell
from match_aie.targets.aie_ml.execute.sums import Lent
from match_aie.targets.aie_ml.kernels.numeric import from_bfloat16
from match_aie.targets.aie_ml.kernels.recurrent import LANES, TILE_K, TILE_N
from match_aie.targets.aie_ml.kernels.recurrent_cascade import CascadeCall, IntegerCascadeCall
from match_aie.targets.aie_ml.kernels.recurrent_int8 import LARGE
from match_aie.workload.bfloat16 import to_bfloat16 as rounded


class ChainCell(Cell):
    """A cell one of whose tiles' parts is at work, out of words of sixteen sums."""

    _call: CascadeCall

    def words(self, step: int) -> np.ndarray:
        """What the first tile sends of a step of the group that it has seen."""
        names = self._call.spec.gates
        seen = {name: self._kept[at, step] for at, name in enumerate(names)}
        beside = seen["n"] if self._call.beside else None
        if beside is not None:
            seen["n"] = self._apart
        return self._in_words(seen, beside)

    def added(self, came: np.ndarray, h: np.ndarray | None) -> np.ndarray:
        """Words with this tile's products of a whole state, which comes as bytes."""
        zeros = np.zeros(self._call.y_width, np.float32)
        state = zeros if h is None else from_bfloat16(h.view(np.uint16))
        sums, beside = self._out_of(came)
        made = {gate: self._with_state(gate, begin, state) for gate, begin in sums.items()}
        return self._in_words(made, beside)

    def gated(self, came: np.ndarray) -> np.ndarray:
        """States of a step, bfloat16 patterns, of the words that come."""
        sums, beside = self._out_of(came)
        if beside is not None:
            self._apart = sums["n"]
            sums["n"] = beside
        self._step(np.stack([sums[name] for name in self._call.spec.gates]))
        return self._stored()

    def _with_state(self, gate: str, begin: np.ndarray, h: np.ndarray) -> np.ndarray:
        return super()._with_state(gate, begin, h[TILE_K * self._call.first_octet :])

    def _in_words(self, sums: Mapping[str, np.ndarray], beside: np.ndarray | None) -> np.ndarray:
        """[words, 16] of sums [units] of gates."""
        walks, names = self._call.walks, self._call.spec.products[0]
        rows = np.stack([sums[name].reshape(-1, LANES) for name in names], axis=1)
        parts = [rows.reshape(walks, -1, LANES)]
        if beside is not None:
            parts.append(beside.reshape(walks, -1, LANES))
        return np.concatenate(parts, axis=1).reshape(-1, LANES)

    def _out_of(self, words: np.ndarray) -> tuple[dict[str, np.ndarray], np.ndarray | None]:
        """The inverse of `_in_words`."""
        call, names = self._call, self._call.spec.products[0]
        parts = words.reshape(call.walks, -1, LANES)
        rows = parts[:, : call.sums].reshape(call.chunks, len(names), LANES)
        sums = {name: rows[:, at].reshape(-1) for at, name in enumerate(names)}
        return sums, parts[:, call.sums :].reshape(-1) if call.beside else None

    def _state_weights(self, gates: int) -> np.ndarray:
        call, shape = self._call, (TILE_N, self._call.together, gates, TILE_K, TILE_N)
        found = []
        for _ in range(call.walks):
            tiles = self._take(call.h_octets * TILE_N * call.together * gates)
            order = tiles.reshape(call.h_octets, *shape).transpose(3, 0, 4, 2, 1, 5)
            found.append(np.ascontiguousarray(order).reshape(gates, call.h_octets * TILE_K, -1))
        return np.concatenate(found, axis=2)


class IntegerChainCell(IntegerCell):
    """Likewise, with products of 8 bits: sums of a state are integers, in the bits of floats."""

    _call: IntegerCascadeCall

    def words(self, step: int) -> np.ndarray:
        """What the first tile sends of a step of the group that it has seen."""
        return self._in_words(
            {}, dict(zip(self._call.spec.gates, self._kept[:, step], strict=True))
        )

    def added(self, came: np.ndarray, h: np.ndarray | None) -> np.ndarray:
        """Words with this tile's products of a whole state, which comes as bytes."""
        zeros = np.zeros(self._call.y_width, np.int64)
        state = zeros if h is None else self._joined(h)
        sums, seen = self._out_of(came)
        return self._in_words({gate: self._summed(gate, sums, state) for gate in seen}, seen)

    def gated(self, came: np.ndarray) -> Lent | np.ndarray:
        """States of a step, bfloat16 patterns, and as products read them."""
        self._came, seen = self._out_of(came)
        self._step(np.stack([seen[name] for name in self._call.spec.gates]))
        results = Cell._stored(self)
        return Lent(self._lent(), results) if self._call.sent_size else results

    def _summed(self, gate: str, sums: Mapping[str, np.ndarray], h: np.ndarray) -> np.ndarray:
        """Integers [units]: those that came, and this tile's products."""
        weight, first = self._states[gate], TILE_K * self._call.first_octet
        mine = np.asarray(h[first : first + len(weight)] @ weight)
        return mine + sums[gate] if gate in sums else mine

    def _with_state(self, gate: str, begin: np.ndarray, h: np.ndarray) -> np.ndarray:
        sums = rounded(self._summed(gate, self._came, h).astype(np.float32))
        return np.asarray(begin + self._state_scale[gate] * sums)

    def _order(self, *, sums: bool) -> list[tuple[str, int, bool]]:
        """Words as they come: gate, sixteen units, and whether they are sums of a state."""
        call, found = self._call, []
        for chunk in range(call.wides):
            halves = (2 * chunk, 2 * chunk + 1)
            for turn, passed in enumerate(call.passed):
                if sums:
                    gates = call.spec.products[turn]
                    found += [(gate, half, True) for gate in gates for half in halves]
                for together in passed:
                    found += [(gate, half, False) for half in halves for gate in together]
        return found

    def _in_words(
        self, sums: Mapping[str, np.ndarray], seen: Mapping[str, np.ndarray]
    ) -> np.ndarray:
        """[words, 16] of sums [units] of gates, if there are any, and of what inputs add."""
        bits = {gate: (LARGE + each).astype(np.int32) for gate, each in sums.items()}
        floats = {gate: each.view(np.float32) for gate, each in bits.items()}
        return np.stack(
            [
                (floats if of_state else seen)[gate].reshape(-1, LANES)[half]
                for gate, half, of_state in self._order(sums=bool(sums))
            ]
        )

    def _out_of(self, words: np.ndarray) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
        """The inverse of `_in_words`."""
        call = self._call
        order = self._order(sums=call.came == call.words)
        shape = call.chunks, LANES
        found: tuple[dict[str, np.ndarray], dict[str, np.ndarray]] = {}, {}
        for word, (gate, half, of_state) in zip(words.reshape(-1, LANES), order, strict=True):
            found[not of_state].setdefault(gate, np.zeros(shape, np.float32))[half] = word
        sums, seen = ({gate: each.reshape(-1) for gate, each in one.items()} for one in found)
        integers = {gate: each.view(np.int32).astype(np.int64) for gate, each in sums.items()}
        return {gate: each - LARGE for gate, each in integers.items()}, seen
