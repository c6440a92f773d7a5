"""Tables of a sigmoid and of tanh, as kernels of recurrent layers look them up."""

from __future__ import annotations

import numpy as np

from match_aie.workload.recurrent_bfloat16 import sigmoid_lines, tanh_lines

#: Floats of a line in each array of a table: slope and offset, twice.
LINE_FLOATS = 4


def tables() -> np.ndarray:
    """One array of both tables one after the other: every 128 bits, which are two lines, twice."""
    functions = sigmoid_lines(), tanh_lines()
    lines = [np.stack([each.slopes, each.offsets], axis=1) for each in functions]
    pairs = np.concatenate(lines).reshape(-1, 1, LINE_FLOATS)
    return np.ascontiguousarray(np.repeat(pairs, 2, axis=1), np.float32).reshape(-1)
