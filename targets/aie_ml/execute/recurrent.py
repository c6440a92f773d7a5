"""What a recurrent kernel computes from its parameters, as they lie in the tile."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from match_aie.targets.aie_ml.execute.errors import ExecutionError
from match_aie.targets.aie_ml.kernels.numeric import from_bfloat16, to_bfloat16
from match_aie.targets.aie_ml.kernels.recurrent import (
    LANES,
    LINE_FLOATS,
    TILE_K,
    TILE_N,
    TOGETHER,
    RecurrentCall,
)
from match_aie.workload.bfloat16 import summed
from match_aie.workload.bfloat16 import to_bfloat16 as rounded
from match_aie.workload.recurrent_bfloat16 import LINES

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
        halves = [values[name].reshape(-1, TILE_K // 2, TILE_N) for name in ("w", "v")]
        self._tiles = from_bfloat16(np.concatenate(halves, axis=1))
        self._at = 0
        self._inputs = self._input_weights()
        self._states = [self._state_weights(len(gates)) for gates in call.spec.products]
        gates = len(call.spec.gates)
        begins = values["bias"][: gates * call.y_width].reshape(call.chunks, gates, LANES)
        self._begins = begins.transpose(1, 0, 2).reshape(gates, -1)
        self._apart = values["bias"][gates * call.y_width :]
        self._tables = [self._lines(values, at) for at in range(2)]
        self.clear()

    def clear(self) -> None:
        """A state of zero."""
        self._state = np.zeros(self._call.y_width, np.float32)
        self._y = np.zeros(self._call.y_width, np.float32)

    def _take(self, count: int) -> np.ndarray:
        self._at += count
        return self._tiles[self._at - count : self._at]

    def _input_weights(self) -> np.ndarray:
        """[gates, inputs, units]."""
        call, gates = self._call, len(self._call.spec.gates)
        whole = np.zeros((call.chunks * gates, call.x_width, LANES), np.float32)
        for first in range(0, len(whole), TOGETHER):
            count = min(TOGETHER, len(whole) - first)
            tiles = self._take(call.x_octets * count * TILE_N)
            parts = tiles.reshape(call.x_octets, count, TILE_N, TILE_K, TILE_N)
            whole[first : first + count] = parts.transpose(1, 0, 3, 2, 4).reshape(
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
        """States of a group's steps, bfloat16 patterns, of the bytes of its inputs."""
        call = self._call
        tiles = from_bfloat16(x.view(np.uint16)).reshape(call.x_octets, call.group, TILE_K)
        rows = np.ascontiguousarray(tiles.transpose(1, 0, 2)).reshape(call.group, -1)
        seen = np.stack(
            [summed(b, rows, w) for b, w in zip(self._begins, self._inputs, strict=True)]
        )
        stored = np.zeros((call.group, call.y_width), np.float32)
        for step in range(call.last if number == call.passes - 1 else call.group):
            self._step(seen[:, step])
            stored[step] = self._y
        return to_bfloat16(stored, "conv_even").reshape(-1)

    def _products(self, turn: int, begins: list[np.ndarray], h: np.ndarray) -> list[np.ndarray]:
        weights = self._states[turn]
        octets = h[None, : weights.shape[1]]
        return [summed(b, octets, w)[0] for b, w in zip(begins, weights, strict=True)]

    def _step(self, seen: np.ndarray) -> None:
        {"gru": self._gru, "gru_before": self._gru_before, "lstm": self._lstm}[
            self._call.spec.cell
        ](seen)

    def _gru(self, seen: np.ndarray) -> None:
        r, inner, z = self._products(0, [seen[1], self._apart, seen[0]], self._y)
        total = seen[2] + self._gate(r) * rounded(inner)
        self._move(self._gate(z), total)

    def _gru_before(self, seen: np.ndarray) -> None:
        z, r = self._products(0, [seen[0], seen[1]], self._y)
        (total,) = self._products(1, [seen[2]], rounded(self._gate(r) * self._y))
        self._move(self._gate(z), total)

    def _move(self, update: np.ndarray, total: np.ndarray) -> None:
        n = self._function(1, total)
        self._state = self._state + update * rounded(n - self._state)
        self._y = rounded(self._state)

    def _lstm(self, seen: np.ndarray) -> None:
        i, f, g, o = self._products(0, [seen[0], seen[2], seen[3], seen[1]], self._y)
        i, v, g = self._gate(i), self._gate(f), rounded(self._function(1, g))
        self._state = (self._state - v * rounded(self._state)) + i * g
        self._y = rounded(self._gate(o) * rounded(self._function(1, self._state)))


class Steps:
    """A kernel function: a group of steps; the state stays."""

    def __init__(self, call: RecurrentCall, values: Mapping[str, np.ndarray]) -> None:
        """See `Cell`."""
        self._call, self._cell = call, Cell(call, values)

    def call(self, number: int, inputs: Sequence[np.ndarray]) -> np.ndarray:
        """Group `number` of a run, the first of which begins with a state of zero."""
        if number == 0:
            self._cell.clear()
        return self._cell.group(number, inputs[0])

    def finish(self, number: int, sums: np.ndarray) -> np.ndarray | None:
        """Never asked."""
        raise ExecutionError(f"{self._call.symbol} has no sums")
