"""What a recurrent kernel computes from its parameters, as they lie in the tile."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from match_aie.targets.aie_ml.kernels.numeric import from_bfloat16, to_bfloat16
from match_aie.targets.aie_ml.kernels.recurrent import (
    LANES,
    TILE_K,
    TILE_N,
    RecurrentCall,
    input_turns,
)
from match_aie.targets.aie_ml.kernels.recurrent_exchange import AnyExchange
from match_aie.targets.aie_ml.kernels.recurrent_int8 import (
    COLUMNS,
    LARGE,
    QUARTERS,
    WIDE,
    IntegerCall,
    turned,
)
from match_aie.targets.aie_ml.kernels.recurrent_neighbours import AnyNeighbour
from match_aie.targets.aie_ml.kernels.recurrent_tables import LINE_FLOATS
from match_aie.workload.bfloat16 import summed
from match_aie.workload.bfloat16 import to_bfloat16 as rounded
from match_aie.workload.recurrent_bfloat16 import LINES
from match_aie.workload.recurrent_int8 import steps_of_state

#: Bits of the fraction that tell lines of the tables apart: of the logistic function and of tanh.
FRACTIONS = (3, 4)


class Cell:
    """A recurrent layer's kernel with its state, group after group.

    Args:
        call: the function.
        values: of its parameters.
    """

    def __init__(self, call: RecurrentCall, values: Mapping[str, np.ndarray]) -> None:
        """Weights are read back from their tiles."""
        self._call = call
        if "ab" in values:
            self._tables = [self._lines(values, at) for at in range(2)]
        self._read(values)
        self.clear()

    def _read(self, values: Mapping[str, np.ndarray]) -> None:
        """Weights, by gate, and what sums begin with."""
        call = self._call
        halves = [values[name].reshape(-1, TILE_K // 2, TILE_N) for name in ("w", "v")]
        self._tiles = from_bfloat16(np.concatenate(halves, axis=1))
        self._at = 0
        self._states: dict[str, np.ndarray] = {}
        if "inputs" in call.parts:
            self._inputs = self._input_weights()
        for names in call.products if "steps" in call.parts else ():
            weights = self._state_weights(len(names))
            self._states |= dict(zip(names, weights, strict=True))
        if "bias" not in values:
            return
        gates = len(call.spec.gates)
        begins = values["bias"][: gates * call.y_width].reshape(call.chunks, gates, LANES)
        self._begins = begins.transpose(1, 0, 2).reshape(gates, -1)
        self._apart = values["bias"][gates * call.y_width :]

    def clear(self) -> None:
        """A state of zero."""
        self._state = np.zeros(self._call.y_width, np.float32)
        self._end(self._state)

    def _operand(self, values: np.ndarray) -> np.ndarray:
        """Float32 values of units as products read them."""
        return rounded(values)

    def _end(self, out: np.ndarray) -> None:
        """A step's result, and what the next one reads."""
        self._sums = out
        self._out, self._y = rounded(out), self._operand(out)

    def _take(self, count: int) -> np.ndarray:
        self._at += count
        return self._tiles[self._at - count : self._at]

    def _input_weights(self) -> np.ndarray:
        """[gates, inputs, units]."""
        call, gates = self._call, len(self._call.spec.gates)
        whole = np.zeros((call.chunks * gates, call.x_width, LANES), np.float32)
        for turn in input_turns(call):
            count = len(turn)
            tiles = self._take(call.x_octets * count * TILE_N)
            parts = tiles.reshape(call.x_octets, count, TILE_N, TILE_K, TILE_N)
            whole[turn.start : turn.stop] = parts.transpose(1, 0, 3, 2, 4).reshape(
                count, call.x_width, LANES
            )
        parts = whole.reshape(call.chunks, gates, call.x_width, LANES).transpose(1, 2, 0, 3)
        return np.ascontiguousarray(parts).reshape(gates, call.x_width, -1)

    def _state_weights(self, gates: int) -> np.ndarray:
        """[gates, hidden, units] of a turn."""
        call = self._call
        tiles = self._take(call.h_octets * TILE_N * call.chunks * gates)
        parts = tiles.reshape(call.h_octets, TILE_N, call.chunks, gates, TILE_K, TILE_N)
        order = parts.transpose(3, 0, 4, 2, 1, 5)
        return np.ascontiguousarray(order).reshape(gates, call.h_octets * TILE_K, -1)

    @staticmethod
    def _lines(values: Mapping[str, np.ndarray], at: int) -> np.ndarray:
        """[lanes of four, lines, slope and offset]: each lane reads a copy of its own."""
        copies = [
            values[name].reshape(2, LINES // 2, 2, LINE_FLOATS)[at, :, copy].reshape(LINES, 2)
            for name in ("ab", "cd")
            for copy in range(2)
        ]
        return np.stack(copies)

    def _function(self, which: int, sums: np.ndarray) -> np.ndarray:
        """A line of the argument, float32."""
        x = rounded(sums)
        steps = np.floor(x.astype(np.float64) * 2.0 ** FRACTIONS[which]) + LINES // 2
        line = np.nan_to_num(np.clip(steps, 0, LINES - 1)).astype(np.int64)
        slope, offset = self._tables[which][np.arange(x.size) % 4, line].T
        with np.errstate(invalid="ignore"):
            return np.asarray(slope * x + offset)

    def _gate(self, sums: np.ndarray) -> np.ndarray:
        return rounded(self._function(0, sums))

    def group(self, number: int, x: np.ndarray) -> np.ndarray:
        """States of a call's steps, bfloat16 patterns, of the bytes of its inputs."""
        call = self._call
        seen = self.seen(x) if "inputs" in call.parts else self._sent(x)
        stored = np.zeros((call.group, call.y_width), np.float32)
        for step in range(call.last if number == call.passes - 1 else call.group):
            self._step(seen[:, step])
            stored[step] = self._out
        return to_bfloat16(stored, "conv_even").reshape(-1)

    def see(self, x: np.ndarray) -> None:
        """The inputs of some steps, as bytes."""
        self._kept = self.seen(x)

    def heed(self, sums: np.ndarray) -> None:
        """What another tile has seen of the inputs of a group, as bytes."""
        self._kept = self._sent(sums)

    def _sent(self, sums: np.ndarray) -> np.ndarray:
        """What `seen` of another tile says, [gates, steps, units], of its bytes."""
        call = self._call
        parts = sums.view(np.float32).reshape(call.group, len(call.spec.gates), -1)
        return parts.transpose(1, 0, 2)

    def joined_step(self, number: int, h: np.ndarray | None) -> np.ndarray:
        """Units of a step, bfloat16 patterns, of what was seen; `h` is the whole state as bytes."""
        whole = self._operand(np.zeros(TILE_K * self._call.h_octets, np.float32))
        self._y = whole if h is None else self._whole(self._joined(h))
        self._step(self._kept[:, number])
        return self._stored()

    def lent_step(self, number: int, h: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
        """Likewise: what the tile's neighbour reads, and results, bfloat16 patterns."""
        self.joined_step(number, h)
        return self._lent(), Cell._stored(self)

    def _lent(self) -> np.ndarray:
        """What a neighbour reads of a step."""
        return self._stored()

    def handed(self) -> np.ndarray:
        """A step's units before they are rounded, as words of sixteen."""
        return self._sums.reshape(-1, LANES).copy()

    def _whole(self, came: np.ndarray) -> np.ndarray:
        """A whole state of what came: all of it, or all but the units of this tile."""
        if not isinstance(self._call, AnyExchange):
            return came
        return np.concatenate([self._y, came] if self._call.tile == 0 else [came, self._y])

    def _joined(self, h: np.ndarray) -> np.ndarray:
        """States of their bytes."""
        return from_bfloat16(h.view(np.uint16))

    def _stored(self) -> np.ndarray:
        """What leaves the tile of a step."""
        return to_bfloat16(self._out, "conv_even").reshape(-1)

    def _rows(self, x: np.ndarray) -> np.ndarray:
        """Inputs [steps, inputs] out of their tiles."""
        call = self._call
        tiles = x.reshape(call.x_octets, call.group, TILE_K)
        return np.ascontiguousarray(tiles.transpose(1, 0, 2)).reshape(call.group, -1)

    def seen(self, x: np.ndarray) -> np.ndarray:
        """Sums of the inputs' products [gates, steps, units]."""
        rows = self._rows(from_bfloat16(x.view(np.uint16)))
        pairs = zip(self._begins, self._inputs, strict=True)
        return np.stack([summed(begin, rows, weight) for begin, weight in pairs])

    def _with_state(self, gate: str, begin: np.ndarray, h: np.ndarray) -> np.ndarray:
        """Sums [units] and the products of what gates read of a state."""
        weight = self._states[gate]
        return np.asarray(summed(begin, h[None, : len(weight)], weight)[0])

    def _step(self, seen: np.ndarray) -> None:
        {"gru": self._gru, "gru_before": self._gru_before, "lstm": self._lstm}[
            self._call.spec.cell
        ](seen)

    def _gru(self, seen: np.ndarray) -> None:
        z, r = (self._with_state(gate, seen[at], self._y) for at, gate in enumerate("zr"))
        inner = self._with_state("n", self._apart, self._y)
        total = seen[2] + self._gate(r) * rounded(inner)
        self._move(self._gate(z), total)

    def _gru_before(self, seen: np.ndarray) -> None:
        z, r = (self._with_state(gate, seen[at], self._y) for at, gate in enumerate("zr"))
        total = self._with_state("n", seen[2], self._operand(self._gate(r) * self._out))
        self._move(self._gate(z), total)

    def _move(self, update: np.ndarray, total: np.ndarray) -> None:
        n = self._function(1, total)
        self._state = self._state + update * rounded(n - self._state)
        self._end(self._state)

    def _lstm(self, seen: np.ndarray) -> None:
        i, o, f, g = (self._with_state(gate, seen[at], self._y) for at, gate in enumerate("iofg"))
        i, v, g = self._gate(i), self._gate(f), rounded(self._function(1, g))
        self._state = (self._state - v * rounded(self._state)) + i * g
        self._end(self._gate(o) * rounded(self._function(1, self._state)))


class IntegerCell(Cell):
    """Likewise, with products of 8 bits."""

    def _read(self, values: Mapping[str, np.ndarray]) -> None:
        call = self._call
        assert isinstance(call, IntegerCall)
        gates, units = len(call.spec.gates), call.y_width
        halves = [values[name].reshape(-1, TILE_K // 2, COLUMNS) for name in ("w", "v")]
        self._tiles = np.concatenate(halves, axis=1).astype(np.int64)
        self._at = 0

        def of_gates(array: np.ndarray) -> np.ndarray:
            """[chunk][gate][32] as [gates, units]."""
            return array.reshape(call.wides, gates, WIDE).transpose(1, 0, 2).reshape(gates, -1)

        def of_octets(array: np.ndarray) -> np.ndarray:
            """Likewise, every octet twice."""
            return of_gates(array[: 2 * gates * units].reshape(-1, 2, COLUMNS)[:, 0])

        if "inputs" in call.parts:
            parts = self._take(call.wides * gates * call.x_octets * QUARTERS).reshape(
                call.wides, gates, call.x_octets, QUARTERS, TILE_K, COLUMNS
            )
            self._inputs = parts.transpose(1, 2, 4, 0, 3, 5).reshape(gates, call.x_width, units)
            self._first = of_gates(values["begin"]).astype(np.int64) - LARGE
        self._states = {
            name: np.zeros((WIDE * call.vectors, units), np.int64) for name in call.spec.gates
        }
        for chunk, turn in call.order if "steps" in call.parts else ():
            names = call.spec.products[turn]
            for name, weight in zip(names, self._turned_weights(call, len(names)), strict=True):
                self._states[name][:, WIDE * chunk : WIDE * (chunk + 1)] = weight
        if "bias" not in values:  # sums are all that it makes
            return
        self._begins, self._apart = of_octets(values["bias"]), values["bias"][2 * gates * units :]
        scale = from_bfloat16(values["scale"])
        self._scale = of_octets(scale)
        self._state_scale = dict(
            zip(call.spec.gates, scale[2 * gates * units :].reshape(gates, units), strict=True)
        )

    def _turned_weights(self, call: IntegerCall, gates: int) -> np.ndarray:
        """[gates, hidden, 32] of a turn and a chunk."""
        parts = self._take(call.h_octets * QUARTERS * gates).reshape(
            call.vectors, QUARTERS, QUARTERS, gates, TILE_K, COLUMNS
        )
        found = np.zeros((call.h_octets, QUARTERS, *parts.shape[3:]), np.int64)
        found[turned(call.vectors), np.arange(QUARTERS)] = parts
        return found.transpose(2, 0, 3, 1, 4).reshape(gates, -1, WIDE)

    def _operand(self, values: np.ndarray) -> np.ndarray:
        return steps_of_state(values)

    def _lent(self) -> np.ndarray:
        return self._y.astype(np.int8).view(np.uint8)

    def _joined(self, h: np.ndarray) -> np.ndarray:
        # Behind the rounded states, where these go the same way.
        both = isinstance(self._call, AnyExchange) and not isinstance(self._call, AnyNeighbour)
        return h.view(np.int8)[2 * self._call.y_width if both else 0 :].astype(np.int64)

    def _stored(self) -> np.ndarray:
        rounded_states = super()._stored().view(np.uint8)
        return np.concatenate([rounded_states, self._y.astype(np.int8).view(np.uint8)])

    def seen(self, x: np.ndarray) -> np.ndarray:
        """Likewise, of integers and their scales."""
        assert isinstance(self._call, IntegerCall)
        rows = self._rows(x.view(self._call.x_type)).astype(np.int64)
        sums = [
            rounded((rows @ w + b).astype(np.float32))
            for b, w in zip(self._first, self._inputs, strict=True)
        ]
        return np.stack(
            [b + s * v for b, s, v in zip(self._begins, self._scale, sums, strict=True)]
        )

    def _with_state(self, gate: str, begin: np.ndarray, h: np.ndarray) -> np.ndarray:
        sums = rounded((h @ self._states[gate]).astype(np.float32))
        return np.asarray(begin + self._state_scale[gate] * sums)
