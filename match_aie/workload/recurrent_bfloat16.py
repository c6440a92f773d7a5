"""GRU and LSTM in bfloat16, bit for bit: products, gates and states are all defined.

x, weights and results are rounded to bfloat16, halves to even. Sums are those of
`match_aie.workload.bfloat16`: float32, from the bias on, the input's products before those of the
state, each in ascending order. Where both have a bias and their products go into one sum, it begins
with the rounded sum of the two.

A gate is a line out of a table (`Lines`): the sum is rounded to bfloat16, its floor says which
line, and slope (bfloat16) times argument is added to the line's offset (float32) with one rounding.
Cores have instructions for just this (the vendor's `linear_approx`).

States stay in float32, and what they lose in a step is computed as such: with u = 1 - z a GRU's is
h + u (n - h), and with v = 1 - f an LSTM's cell is (c - v c) + i g. A gate near 1 moves a state by
less than a bfloat16 of it can show; in bfloat16 such steps would be lost, and here u and v are as
exact as they are small. Products read bfloat16 roundings of states, and those are the results.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from match_aie.workload.bfloat16 import (
    LARGEST_BFLOAT16,
    starting,
    summed,
    to_bfloat16,
)
from match_aie.workload.workload import Workload

Arrays = Mapping[str, np.ndarray]

#: Lines of a table.
LINES = 128

#: More than roundings make of sums with states, were states 1 at most: n - h of a GRU, 2 and some,
#: is off by 2**-8 of it, so h may be 1 + 2**-7; and its inner sum by 2**-8 of it, once more.
ROUNDED = 1 + 2.0**-6

#: Kinds whose meaning in bfloat16 is here.
RECURRENT = frozenset({"gru", "lstm"})


@dataclass(frozen=True, eq=False)
class Lines:
    """A function as straight lines over equal steps of its argument.

    Attributes:
        slopes: bfloat16 values as float32 [LINES].
        offsets: float32 [LINES].
        fraction: bits of the fraction that tell lines apart: a step is 2**-fraction.
    """

    slopes: np.ndarray
    offsets: np.ndarray
    fraction: int

    def __call__(self, values: np.ndarray) -> np.ndarray:
        """The function of bfloat16 `values`, float32, not rounded again; infinities give NaN."""
        steps = np.floor(values.astype(np.float64) * 2.0**self.fraction) + LINES // 2
        at = np.nan_to_num(np.clip(steps, 0, LINES - 1)).astype(np.int64)
        with np.errstate(invalid="ignore"):
            return np.asarray(self.slopes[at] * values + self.offsets[at])


def _line(function: Callable[[float], float], begin: float, end: float) -> tuple[float, float]:
    """Slope and offset: the chord's slope as a bfloat16, half way between what lies around it."""
    chord = np.float32((function(end) - function(begin)) / (end - begin))
    slope = float(to_bfloat16(chord.reshape(1))[0])
    places = [begin + (end - begin) * at / 64 for at in range(65)]
    rests = [function(place) - slope * place for place in places]
    return slope, (min(rests) + max(rests)) / 2


def _lines(function: Callable[[float], float], fraction: int, ends: tuple[float, float]) -> Lines:
    """Lines between two constants, which the function has beyond the table."""
    step, first = 2.0**-fraction, -(LINES // 2)
    found = [
        _line(function, at * step, (at + 1) * step) for at in range(first + 1, first + LINES - 1)
    ]
    pairs = np.array([(0.0, ends[0]), *found, (0.0, ends[1])], np.float32)
    return Lines(pairs[:, 0].copy(), pairs[:, 1].copy(), fraction)


def _logistic(value: float) -> float:
    return 1.0 / (1.0 + math.exp(-value))


@lru_cache(maxsize=1)
def sigmoid_lines() -> Lines:
    """1 / (1 + exp(-x)) in steps of 1/8; 0 below -7.875, and 1 from 7.875 on."""
    return _lines(_logistic, 3, (0.0, 1.0))


@lru_cache(maxsize=1)
def tanh_lines() -> Lines:
    """Tanh in steps of 1/16, -1 and 1 from 3.9375 on; around 0 it is its argument."""
    made = _lines(math.tanh, 4, (-1.0, 1.0))
    middle = slice(LINES // 2 - 1, LINES // 2 + 1)
    made.slopes[middle], made.offsets[middle] = 1.0, 0.0
    return made


def refuses_recurrent(workload: Workload) -> str | None:
    """Why a GRU or LSTM of float32 tensors has no meaning in bfloat16; None where it has one."""
    if workload.real is None or workload.kind not in RECURRENT:
        return f"a {workload.kind} is no recurrent layer of floats"
    if workload.sizes["B"] > 1:
        return f"it runs {workload.sizes['B']} sequences side by side, and not one"
    if len(workload.data) > 1 or workload.gives_cell:
        return "its first state or cell is given, or its last cell is asked for"
    if workload.cell_clip or workload.state_codes or workload.input_codes:
        return "its cells are clipped, or its states or inputs stored in 8 bits as they come"
    return None


def not_finite(constants: Arrays) -> str | None:
    """Why a layer is refused whose constants alone may give infinities or NaN; None where not.

    Kernels add products of zeros with any weight, so each is finite. Of every gate's unit both
    biases and all products with a state, whatever it is, stay below what bfloat16 holds; what
    inputs bring beside them is known at run time only.
    """
    weight, recurrent = (to_bfloat16(constants[name]) for name in ("weight", "recurrent"))
    bias = np.abs(constants["bias"].astype(np.float64)).reshape(2, -1).sum(axis=0)
    state = np.abs(recurrent.astype(np.float64)).sum(axis=1)
    below = ROUNDED * (bias + state) < LARGEST_BFLOAT16  # NaN is not
    finite = np.isfinite(weight).all() and below.all()
    return None if finite else "sums of its biases and weights may not be finite in bfloat16"


@dataclass(frozen=True, eq=False)
class Layer:
    """Constants of a layer, gate by gate: weights [gates, inputs, K], biases [gates, K]."""

    weight: np.ndarray
    state: np.ndarray
    bias: np.ndarray
    state_bias: np.ndarray

    @classmethod
    def of(cls, workload: Workload, arrays: Arrays) -> Layer:
        """Rounded to bfloat16, biases not."""
        gates, k = workload.sizes["G"], workload.sizes["K"]
        weight, state = (
            to_bfloat16(arrays[name]).reshape(gates, k, -1).transpose(0, 2, 1)
            for name in ("weight", "recurrent")
        )
        bias = np.asarray(arrays["bias"], np.float32).reshape(2, gates, k)
        return cls(weight, state, bias[0], bias[1])

    def seen(self, gate: int, x: np.ndarray, *, apart: bool = False) -> np.ndarray:
        """Sums of x [steps, inputs]: both biases, or the input's own, and the input's products."""
        start = self.bias[gate] if apart else self.bias[gate] + self.state_bias[gate]
        return summed(starting(start), x, self.weight[gate])

    def with_state(self, gate: int, sums: np.ndarray, h: np.ndarray) -> np.ndarray:
        """Sums [K] and the products of a state [K]."""
        return np.asarray(summed(sums, h[None], self.state[gate])[0])

    def operand(self, values: np.ndarray) -> np.ndarray:
        """Float32 values as products read them."""
        return to_bfloat16(values)


def recurrent_bfloat16(workload: Workload, arrays: Arrays) -> np.ndarray:
    """Every state of a GRU or LSTM of one sequence, float32 of bfloat16 values."""
    return walked(workload, Layer.of(workload, arrays), to_bfloat16(arrays["x"])[:, 0])


def walked(workload: Workload, layer: Layer, x: np.ndarray) -> np.ndarray:
    """Likewise, of inputs [steps, inputs] as products read them."""
    if workload.kind == "gru":
        found = _gru(layer, x, apart=bool(workload.parameter("linear_before_reset")))
    else:
        found = _lstm(layer, x)
    return np.ascontiguousarray(found.reshape(workload.output.shape))


def _gru(layer: Layer, x: np.ndarray, *, apart: bool) -> np.ndarray:
    """Gates z, r, n; `apart` where the reset gate is applied behind the state's product."""
    sigmoid, tanh = sigmoid_lines(), tanh_lines()
    seen = [layer.seen(gate, x, apart=apart and gate == 2) for gate in range(3)]
    h = np.zeros(layer.bias.shape[1:], np.float32)
    found = []
    for step in range(len(x)):
        y = layer.operand(h)
        z, r = (layer.with_state(gate, seen[gate][step], y) for gate in (0, 1))
        u, r = (to_bfloat16(sigmoid(to_bfloat16(sums))) for sums in (-z, r))
        if apart:
            inner = layer.with_state(2, starting(layer.state_bias[2]), y)
            total = seen[2][step] + r * to_bfloat16(inner)
        else:
            total = layer.with_state(2, seen[2][step], layer.operand(r * to_bfloat16(h)))
        n = tanh(to_bfloat16(total))
        h = h + u * to_bfloat16(n - h)
        found.append(to_bfloat16(h))
    return np.stack(found)


def _lstm(layer: Layer, x: np.ndarray) -> np.ndarray:
    """Gates i, o, f, g."""
    sigmoid, tanh = sigmoid_lines(), tanh_lines()
    seen = [layer.seen(gate, x) for gate in range(4)]
    y = np.zeros(layer.bias.shape[1:], np.float32)
    c = np.zeros_like(y)
    found = []
    for step in range(len(x)):
        i, o, f, g = (layer.with_state(gate, seen[gate][step], y) for gate in range(4))
        i, o, v = (to_bfloat16(sigmoid(to_bfloat16(sums))) for sums in (i, o, -f))
        g = to_bfloat16(tanh(to_bfloat16(g)))
        c = (c - v * to_bfloat16(c)) + i * g
        h = o * to_bfloat16(tanh(to_bfloat16(c)))
        y = layer.operand(h)
        found.append(to_bfloat16(h))
    return np.stack(found)
