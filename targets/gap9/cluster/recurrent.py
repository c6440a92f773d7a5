"""GRU and LSTM on the cluster: constants as its kernels read them, scratch, parts of a step.

`runtime/include/ma_cluster.h` (`struct ma_recurrent`) is the counterpart.
"""

from __future__ import annotations

import numpy as np

from match_aie.hardware import Array, Blocked, Constants, Tile
from match_aie.targets.gap9.cluster.words import pad4
from match_aie.workload import RECURRENT, Workload
from match_aie.workload.bfloat16 import starting
from match_aie.workload.recurrent_bfloat16 import Lines, sigmoid_lines, tanh_lines
from match_aie.workload.recurrent_int8 import STATE_STEPS, Rows, scales

#: Bytes behind a row of weights (scale, what the zero point adds) and of the state's (scale).
BEHIND, STATE_BEHIND = 8, 4
#: Bytes of the lines behind the biases: two functions, each of slopes and offsets.
LINES_BYTES = 2 * 2 * 128 * 4


def parts(workload: Workload) -> int:
    """Kernels of a step: two where the reset gate waits for all states, before their product."""
    apart = workload.kind == "lstm" or bool(workload.parameter("linear_before_reset"))
    return 1 if apart else 2


def row_bytes(workload: Workload) -> tuple[int, int]:
    """Of a row of the input's weights, and of the state's."""
    d = workload.sizes
    return int(pad4(d["C"])) + BEHIND, int(pad4(d["FX"])) + STATE_BEHIND


def recurrent_layouts(workload: Workload) -> dict[str, Blocked]:
    """Rows of words with numbers behind them; biases with the lines of both functions."""
    weight, state = row_bytes(workload)
    bias = workload.operand("bias")
    return {
        "weight": Blocked.rows(workload.operand("weight"), weight),
        "recurrent": Blocked.rows(workload.operand("recurrent"), state),
        "bias": Blocked.rows(bias, bias.nbytes + LINES_BYTES),
    }


def recurrent_scratch(workload: Workload) -> int:
    """Bytes: states and update gates in float32; codes of states twice, and behind reset gates."""
    units = workload.sizes["K"]
    return 8 * units + 3 * int(pad4(units))


def whole_layer(workload: Workload, tile: Tile) -> Array:
    """Whether a tile is all of a recurrent layer, whose steps need the one before."""
    found = np.ones_like(next(iter(tile.values())), bool)
    for dim, size in workload.dims if workload.kind in RECURRENT else ():
        if dim in tile:
            found = found & (tile[dim] == size)
    return np.asarray(found)


def pack_recurrent(workload: Workload, constants: Constants) -> Constants:
    """As `struct ma_recurrent` says.

    Where a step has one part the last gate of a GRU begins with the bias of the input alone, and
    its state's product with the other one.
    """
    x, sizes = workload.inputs[0], workload.sizes
    rows = [Rows.of(constants[name]) for name in ("weight", "recurrent")]
    zero = (x.zero_point * rows[0].codes.sum(axis=1)).astype(np.int32)
    steps = (x.scale or 1.0, 1.0 / STATE_STEPS)
    factors = [scales(r, step) for r, step in zip(rows, steps, strict=True)]
    own, state = np.asarray(constants["bias"], np.float32)
    begin = starting(own + state)
    if workload.kind == "gru" and parts(workload) == 1:
        begin[2 * sizes["K"] :] = starting(own[2 * sizes["K"] :])
    lines = [_line_bytes(found) for found in (sigmoid_lines(), tanh_lines())]
    return {
        **constants,
        "weight": np.hstack([_words(rows[0]), _bytes(factors[0]), _bytes(zero)]),
        "recurrent": np.hstack([_words(rows[1]), _bytes(factors[1])]),
        "bias": np.hstack([begin.view(np.uint8), starting(state).view(np.uint8), *lines]),
    }


def _words(rows: Rows) -> np.ndarray:
    """Codes as bytes, zeros to whole words."""
    codes = rows.codes.astype(np.int8).view(np.uint8)
    return np.pad(codes, ((0, 0), (0, -codes.shape[1] % 4)))


def _bytes(values: np.ndarray) -> np.ndarray:
    """A number a row, as four bytes."""
    return np.ascontiguousarray(values).view(np.uint8).reshape(len(values), 4)


def _line_bytes(lines: Lines) -> np.ndarray:
    return np.concatenate([lines.slopes, lines.offsets]).astype(np.float32).view(np.uint8)
