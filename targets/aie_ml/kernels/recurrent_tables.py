"""Values of parameters that all kernels of recurrent layers have: tables, signs, biases."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from match_aie.workload.bfloat16 import starting
from match_aie.workload.recurrent_bfloat16 import sigmoid_lines, tanh_lines

#: Floats of a line in each array of a table: slope and offset, twice.
LINE_FLOATS = 4

#: Gates that kernels compute from negated sums: 1 - gate.
NEGATED = ("z", "f")


def tables() -> np.ndarray:
    """One array of both tables one after the other: every 128 bits, which are two lines, twice."""
    functions = sigmoid_lines(), tanh_lines()
    lines = [np.stack([each.slopes, each.offsets], axis=1) for each in functions]
    pairs = np.concatenate(lines).reshape(-1, 1, LINE_FLOATS)
    return np.ascontiguousarray(np.repeat(pairs, 2, axis=1), np.float32).reshape(-1)


def signs_of(gates: Sequence[str]) -> np.ndarray:
    """Of the sums of gates, [gates, 1], float32."""
    return np.array([[-1.0 if name in NEGATED else 1.0] for name in gates], np.float32)


def padded(rows: np.ndarray, high: int, wide: int) -> np.ndarray:
    """Matrices [gates, rows, columns] with so many rows and columns, filled up with zeros."""
    return np.pad(rows, ((0, 0), (0, high - rows.shape[1]), (0, wide - rows.shape[2])))


def biases(bias: np.ndarray, width: int, *, apart: bool) -> tuple[np.ndarray, np.ndarray]:
    """Of the inputs' sums [gates, hidden], and of a GRU's last gate's of the state, [width].

    Args:
        bias: [2, gates, hidden], of the inputs' and of the state's products.
        width: units, filled up.
        apart: whether these sums have one of their own: the reset gate is applied behind them.
    """
    both, state = bias[0] + bias[1], np.zeros(width, np.float32)
    if apart:
        both[2] = bias[0][2]
        state[: bias.shape[2]] = starting(bias[1][2])
    return both, state
