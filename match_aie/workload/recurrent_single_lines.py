"""GRU and LSTM in float32 whose gates are in programmable logic: functions are lines of tables.

Sums are those of `match_aie.workload.recurrent_single`: arguments of the logistic function are half
of the model's. A function is one of 4096 lines over [-8, 8], beyond which it is held: slope times
argument and an offset, each operation rounded to float32. tanh is within 8.0e-7 of its function and
the logistic function within 4.5e-7 (a test measures both). Gates and states are formed with as few
operations in a row as may be: a GRU's state is z h + (1 - z) n, and an LSTM's cell f c + i g.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from match_aie.workload.recurrent_single import HELD, SingleLayer, added, sums_of_inputs
from match_aie.workload.workload import Workload

Arrays = Mapping[str, np.ndarray]

#: Lines of a table, and those in an interval of length 1.
LINES, PER_UNIT = 4096, 256

#: Places of a line that its offset is fitted to.
_PLACES = 16


@dataclass(frozen=True, eq=False)
class SingleLines:
    """A function as straight lines over equal steps of [-8, 8].

    Attributes:
        slopes: float32 [LINES].
        offsets: float32 [LINES].
    """

    slopes: np.ndarray
    offsets: np.ndarray

    def __call__(self, values: np.ndarray) -> np.ndarray:
        """The function of float32 `values`, float32; what is no number stays none."""
        held = np.minimum(np.maximum(values, np.float32(-HELD)), np.float32(HELD))
        steps = np.floor(held * np.float32(PER_UNIT)) + LINES // 2
        at = np.nan_to_num(np.minimum(steps, LINES - 1)).astype(np.int64)
        return np.asarray(self.slopes[at] * held + self.offsets[at])


def _lines(function: Callable[[float], float]) -> SingleLines:
    """Chords' slopes, each half way between what lies around it."""
    pairs = []
    for at in range(-LINES // 2, LINES // 2):
        begin, step = at / PER_UNIT, 1 / PER_UNIT
        chord = np.float32((function(begin + step) - function(begin)) / step)
        places = (begin + step * place / _PLACES for place in range(_PLACES + 1))
        rests = [function(place) - float(chord) * place for place in places]
        pairs.append((chord, np.float32((min(rests) + max(rests)) / 2)))
    found = np.array(pairs, np.float32)
    return SingleLines(found[:, 0].copy(), found[:, 1].copy())


@lru_cache(maxsize=1)
def tanh_single_lines() -> SingleLines:
    """Tanh."""
    return _lines(math.tanh)


@lru_cache(maxsize=1)
def logistic_single_lines() -> SingleLines:
    """The logistic function of twice its argument."""
    return _lines(lambda half: 1.0 / (1.0 + math.exp(-2.0 * half)))


def reset_total(r: np.ndarray, half: np.ndarray, seen: np.ndarray) -> np.ndarray:
    """What a GRU's tanh is of, the reset gate behind the product, half of which is given."""
    return np.asarray(seen + logistic_single_lines()(r) * (half + half))


def moved_by_lines(h: np.ndarray, z: np.ndarray, total: np.ndarray) -> np.ndarray:
    """A GRU's state anew, of the sums of z and of the new state."""
    gate = logistic_single_lines()(z)
    return np.asarray(gate * h + (np.float32(1) - gate) * tanh_single_lines()(total))


def shown_by_lines(cell: np.ndarray, sums: tuple[np.ndarray, ...]) -> tuple[np.ndarray, np.ndarray]:
    """An LSTM's cell and state anew, of the cell and the sums of i, o, f, g."""
    i, o, f = (logistic_single_lines()(each) for each in sums[:3])
    bent = tanh_single_lines()
    cell = np.asarray(f * cell + i * bent(sums[3]))
    return cell, np.asarray(o * bent(cell))


def recurrent_single_lines(workload: Workload, arrays: Arrays) -> np.ndarray:
    """Every state of a GRU or LSTM of one sequence, float32."""
    layer, found = SingleLayer.of(workload, arrays), []
    with np.errstate(over="ignore", invalid="ignore"):
        seen = sums_of_inputs(layer, arrays)
        h = np.zeros(seen.shape[2], np.float32)
        cell = np.zeros_like(h)
        for sums in seen:
            if workload.kind == "lstm":
                gates = tuple(added(sums[at], h, layer.state[at]) for at in range(4))
                cell, h = shown_by_lines(cell, gates)
            else:
                z, r = (added(sums[at], h, layer.state[at]) for at in (0, 1))
                if workload.parameter("linear_before_reset"):
                    total = reset_total(r, added(layer.apart, h, layer.state[2]), sums[2])
                else:
                    reset = logistic_single_lines()(r) * h
                    total = added(sums[2], reset, layer.state[2])
                h = moved_by_lines(h, z, total)
            found.append(h)
    return np.ascontiguousarray(np.stack(found).reshape(workload.output.shape))
