"""How close a GRU or LSTM in fewer bits must be to the float32 layer: a bound of every element.

As `match_aie.workload.real_bound`, step by step from the states that the code really had. A result
is the bfloat16 rounding of a state, and just what the next step's products read; a GRU's state
itself may be off by that rounding. What bfloat16 adds is counted where
`match_aie.workload.recurrent_bfloat16` rounds: operands, arguments of functions, gates, and what
states are moved by; and a function's lines are off by what is measured over every argument.

Large sums may be off by more than tables are long, so errors have caps. Gates, exact ones as well
as rounded lines, lie in [0, 1] and are off by 1 at most; tanh lies in [-1, 1] and is off by 2 at
most. No cell is larger than the steps so far: a step makes f c + i g of the exact one, with f and i
in [0, 1] and |g| of 1 at most. That of the code is (c - v b) + i g, where b is c rounded to
bfloat16, between 0 and 2 c; so |c - v b| is |c| at most, and rounding to float32 keeps what is not
above a whole number there. It is off by the exact cell's magnitude and the steps, at most.

Products of 8 bits (`match_aie.workload.recurrent_int8`) are off by what weights lose as integers,
by half a step of what is read of a state and by what is clipped of it, and by the roundings of sums
and scales.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from match_aie.workload.bfloat16 import TINY_BFLOAT16, UNIT_BFLOAT16
from match_aie.workload.real_reference import real_input, sigmoid
from match_aie.workload.recurrent_int8 import STATE_STEPS, Rows, product_type
from match_aie.workload.running import TINY, Near, exact, gamma
from match_aie.workload.workload import Workload

Arrays = Mapping[str, np.ndarray]

#: Largest distance of a table's lines from the function, over every bfloat16 argument.
SIGMOID_OFF, TANH_OFF = 3.81e-4, 7.61e-4


def _lost(near: Near) -> np.ndarray:
    """What a rounding to bfloat16 may change."""
    return np.asarray(UNIT_BFLOAT16 * (np.abs(near.value) + near.error) + TINY_BFLOAT16)


def _narrow(near: Near) -> Near:
    """Rounded to bfloat16."""
    return Near(near.value, near.error + _lost(near))


def _gate(sums: Near) -> Near:
    """The logistic function of sums, whose slope is 1/4 at most; it or 1 less it is rounded."""
    off = _narrow(sums).error / 4 + SIGMOID_OFF
    return Near(sigmoid(sums.value), off + UNIT_BFLOAT16 * (1 + off)).within(1.0)


def _bent(sums: Near) -> Near:
    """Tanh of sums, not rounded."""
    return Near(np.tanh(sums.value), _narrow(sums).error + TANH_OFF).within(2.0)


def _less(near: Near) -> Near:
    """One minus it."""
    return Near(1.0 - near.value, near.error)


def _products(data: np.ndarray, weight: np.ndarray, bias: np.ndarray) -> Near:
    """Data @ weight^T + bias of operands that are rounded first, in any order."""
    value = data.astype(np.float64) @ weight.T.astype(np.float64) + bias
    plain = np.abs(data) @ np.abs(weight.T) + np.abs(bias)
    grown = (np.abs(data) * (1 + UNIT_BFLOAT16) + TINY_BFLOAT16) @ (
        np.abs(weight.T) * (1 + UNIT_BFLOAT16) + TINY_BFLOAT16
    ) + np.abs(bias)
    terms = data.shape[-1] + 2
    return Near(value, gamma(terms) * grown + (grown - plain) + terms * TINY)


def _integers(x: Near, weight: np.ndarray, bias: np.ndarray) -> Near:
    """Likewise, of integers: `x` is what they mean, and how far what is multiplied is from it."""
    rows = Rows.of(weight)
    wide = (rows.codes * rows.scales.astype(np.float64)[:, None]).T
    value = x.value @ weight.T + bias
    lost = np.abs(x.value) @ np.abs(wide - weight.T) + x.error @ np.abs(wide)
    sums = np.abs(x.value @ wide) + x.error @ np.abs(wide)
    grown = sums * (1 + UNIT_BFLOAT16) ** 2
    roundings = gamma(4) * (grown + np.abs(bias)) + 4 * TINY_BFLOAT16
    return Near(value, lost + (grown - sums) + roundings)


def _in_steps(near: Near) -> Near:
    """As products of 8 bits read a state."""
    over = np.maximum(np.abs(near.value) + near.error - (1 - 1 / STATE_STEPS), 0.0)
    return Near(near.value, near.error + 0.5 / STATE_STEPS + over)


@dataclass(frozen=True, eq=False)
class _Multiplied:
    """Products of a layer.

    Attributes:
        workload: with its precision.
    """

    workload: Workload

    @property
    def integers(self) -> bool:
        """Whether they are of 8 bits."""
        return product_type(self.workload) == "int8"

    def seen(self, arrays: Arrays) -> Near:
        """Of the inputs."""
        x, weight, bias = arrays["x"], arrays["weight"], arrays["bias"][0]
        if self.integers:
            return _integers(exact(real_input(self.workload, arrays)), weight, bias)
        return _products(x, weight, bias)

    def of_states(self, h: np.ndarray, weight: np.ndarray, bias: np.ndarray) -> Near:
        """Of states rounded to bfloat16, which are results."""
        if not self.integers:
            return _products(h, weight, bias)
        return _integers(_in_steps(_narrow(exact(h))), weight, bias)

    def of_reset(self, reset: Near, weight: np.ndarray, bias: np.ndarray) -> Near:
        """Of states times a gate."""
        if self.integers:
            return _integers(_in_steps(reset), weight, bias)
        narrow = _narrow(reset)
        plain = _products(narrow.value, weight, bias)
        more = narrow.error @ np.abs(weight.T) * (1 + UNIT_BFLOAT16) ** 2
        return Near(plain.value, plain.error + more)


def _begin(states: np.ndarray) -> np.ndarray:
    """The rounded state before each step."""
    return np.concatenate([np.zeros_like(states[:1]), states[:-1]]).astype(np.float64)


def recurrent_expected(workload: Workload, arrays: Arrays, states: np.ndarray) -> Near:
    """What the float32 layer's states are, one step from each that was stored, and the bound."""
    wide = {name: array.astype(np.float64) for name, array in arrays.items()}
    with np.errstate(invalid="ignore"):
        return (_gru if workload.kind == "gru" else _lstm)(workload, wide, states)


def _gru(workload: Workload, arrays: Arrays, states: np.ndarray) -> Near:
    k, bias, weight = workload.sizes["K"], arrays["bias"], arrays["recurrent"]
    h = _begin(states)
    multiplied = _Multiplied(workload)
    seen = multiplied.seen(arrays)
    of_state = multiplied.of_states(h, weight, bias[1])
    both = (seen.last(at, at + k) + of_state.last(at, at + k) for at in (0, k))
    z, r = (_gate(sums) for sums in both)
    if workload.parameter("linear_before_reset"):
        inner = r * _narrow(of_state.last(2 * k, 3 * k))
    else:
        inner = multiplied.of_reset(r * exact(h), weight[2 * k :], bias[1][2 * k :])
    n = _bent(seen.last(2 * k, 3 * k) + inner)
    state = _narrow(exact(h))
    u = _less(z)
    rest = _narrow(Near(n.value - h, n.error + state.error + gamma(1) * np.abs(n.value - h)))
    # With a state that is off by e, h + u (n - h) is off by (1 - u) e: what is added to `rest` and
    # to the state cancels but for that.
    moved = np.abs(rest.value) * u.error + (np.abs(u.value) + u.error) * rest.error
    error = moved + state.error + gamma(3) * (np.abs(h) + np.abs(n.value) + n.error) + TINY
    return _narrow(Near(u.value * n.value + z.value * h, error))


def _lstm(workload: Workload, arrays: Arrays, states: np.ndarray) -> Near:
    k, bias = workload.sizes["K"], arrays["bias"]
    multiplied = _Multiplied(workload)
    of_states = multiplied.of_states(_begin(states), arrays["recurrent"], bias[1])
    total = multiplied.seen(arrays) + of_states
    i, o, f = (_gate(total.last(at * k, (at + 1) * k)) for at in range(3))
    added = i * _narrow(_bent(total.last(3 * k, 4 * k)))
    cell = exact(np.zeros(states.shape[1:]))
    found = []
    for step in range(len(states)):
        v = _less(f.step(step))
        lost = (np.abs(v.value) + v.error) * _lost(cell)
        kept = f.step(step) * cell
        cell = Near(kept.value, kept.error + lost) + added.step(step)
        cell = cell.within(np.abs(cell.value) + step + 1)
        found.append(_narrow(o.step(step) * _narrow(_bent(cell))))
    return Near(np.stack([each.value for each in found]), np.stack([each.error for each in found]))
