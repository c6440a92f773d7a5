"""GRU and LSTM in float32 on cores of the first AI Engine, bit for bit: every operation is defined.

A product is rounded to float32 and added with another rounding, which is how the document describes
the core's units: a multiplier, and an accumulator behind it (AM009, "Floating-Point Vector Unit").
ASSUMPTION: the document does not say that the product is rounded between them, nor what becomes of
numbers below the normal ones; both roundings are to the nearest, halves to even, and no result
depends on such small numbers by more than they are. Sums begin with the bias, and products are
added in ascending order, those of the input before those of the state. Where both have a bias and
their products go into one sum, it begins with the rounded sum of the two.

tanh is x P(x^2) / Q(x^2) of an argument that is held in [-8, 8]: P of degree 3, Q of degree 4, of
least error over that range. The division takes an integer subtraction of Q's bits as a first
reciprocal, and two steps that make it exact to 5e-9. Over all arguments the result is at most
4.8e-7 from tanh (a test measures it). The logistic function is 1/2 + tanh(x / 2) / 2; rows of the
weights of its gates, and their biases, are halved once, which is exact.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from match_aie.workload.workload import Workload

Arrays = Mapping[str, np.ndarray]

#: Arguments of tanh are held between this and its negative.
HELD = 8.0

#: Coefficients of P and Q in x^2, lowest first: a minimax fit in float64, rounded to float32.
NUMERATOR = tuple(
    float.fromhex(text)
    for text in ("0x1.ffffeap-1", "0x1.0878aap-3", "0x1.8132a2p-9", "0x1.7b81f0p-17")
)
DENOMINATOR = tuple(
    float.fromhex(text)
    for text in ("0x1p+0", "0x1.d9910cp-2", "0x1.8558aep-6", "0x1.f11590p-13", "0x1.0441e8p-22")
)

#: A float's bits from these are the bits of a reciprocal that is off by 5.1 % at most.
RECIPROCAL_BITS = 0x7EF31000

#: The first step multiplies by this less what Q times the reciprocal is: 2, and what makes errors
#: of both signs alike.
FIRST_STEP = float(np.float32(2.00131))

#: Gates whose function is the logistic one.
LOGISTIC = {"gru": (0, 1), "lstm": (0, 1, 2)}


def tanh_single(x: np.ndarray) -> np.ndarray:
    """Tanh of float32 values, as cores compute it."""
    one = np.float32
    x = np.minimum(np.maximum(x, one(-HELD)), one(HELD))
    p, q = ([one(value) for value in values] for values in (NUMERATOR, DENOMINATOR))
    s = x * x
    s2 = s * s
    above = ((p[0] + p[1] * s) + (p[2] + p[3] * s) * s2) * x
    below = (q[0] + q[1] * s) + ((q[2] + q[3] * s) + q[4] * s2) * s2
    near = (np.int32(RECIPROCAL_BITS) - below.view(np.int32)).view(np.float32)
    near = near * (one(FIRST_STEP) - below * near)
    off = one(1) - below * near
    rough = above * near
    return np.asarray(rough + rough * (off + off * off))


def logistic_single(half: np.ndarray) -> np.ndarray:
    """The logistic function of twice `half`."""
    return np.asarray(np.float32(0.5) + np.float32(0.5) * tanh_single(half))


def added(sums: np.ndarray, x: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Sums [K] or [steps, K] and products of x [..., C] and weight [C, K], one after the other."""
    for at in range(weight.shape[0]):
        sums = sums + x[..., at : at + 1] * weight[at]
    return np.asarray(sums, np.float32)


def not_finite_single(constants: Arrays) -> str | None:
    """Why a layer is refused some of whose constants are no numbers; None where all are."""
    named = ("weight", "recurrent", "bias")
    finite = all(np.isfinite(constants[name]).all() for name in named)
    return None if finite else "some of its weights or biases are not finite"


@dataclass(frozen=True, eq=False)
class SingleLayer:
    """Constants as sums take them, gate by gate: those of logistic gates are halves.

    Attributes:
        weight: [gates, inputs, K].
        state: [gates, K, K], of the state's products.
        begins: [gates, K], what sums begin with.
        apart: [K], what a GRU's last gate adds to the state's products where it has a sum of them.
    """

    weight: np.ndarray
    state: np.ndarray
    begins: np.ndarray
    apart: np.ndarray

    @classmethod
    def of(cls, workload: Workload, arrays: Arrays) -> SingleLayer:
        """Of a layer's constants."""
        gates, k = workload.sizes["G"], workload.sizes["K"]
        halves = np.ones((gates, 1, 1), np.float32)
        halves[list(LOGISTIC[workload.kind])] = 0.5
        weight, state = (
            np.asarray(arrays[name], np.float32).reshape(gates, k, -1).transpose(0, 2, 1) * halves
            for name in ("weight", "recurrent")
        )
        bias = np.asarray(arrays["bias"], np.float32).reshape(2, gates, k)
        begins, apart = bias[0] + bias[1], np.zeros(k, np.float32)
        if workload.kind == "gru" and workload.parameter("linear_before_reset"):
            begins[2], apart = bias[0][2], bias[1][2]
        return cls(weight, state, begins * halves[:, 0], apart)


def recurrent_single(workload: Workload, arrays: Arrays) -> np.ndarray:
    """Every state of a GRU or LSTM of one sequence, float32."""
    layer, x = SingleLayer.of(workload, arrays), np.asarray(arrays["x"], np.float32)[:, 0]
    with np.errstate(over="ignore", invalid="ignore"):
        pairs = zip(layer.begins, layer.weight, strict=True)
        seen = np.stack([added(begin[None], x, weight) for begin, weight in pairs], axis=1)
        if workload.kind == "lstm":
            found = _lstm(layer, seen)
        else:
            found = _gru(layer, seen, after=bool(workload.parameter("linear_before_reset")))
    return np.ascontiguousarray(found.reshape(workload.output.shape))


def moved(h: np.ndarray, z: np.ndarray, n: np.ndarray) -> np.ndarray:
    """A GRU's state anew: n + z (h - n)."""
    return np.asarray(n + z * (h - n))


def _gru(layer: SingleLayer, seen: np.ndarray, *, after: bool) -> np.ndarray:
    """Gates z, r, n; the reset gate `after` the state's product or before it."""
    h = np.zeros(seen.shape[2], np.float32)
    found = []
    for sums in seen:
        z, r = (logistic_single(added(sums[at], h, layer.state[at])) for at in (0, 1))
        if after:
            total = sums[2] + r * added(layer.apart, h, layer.state[2])
        else:
            total = added(sums[2], r * h, layer.state[2])
        h = moved(h, z, tanh_single(total))
        found.append(h)
    return np.stack(found)


def _lstm(layer: SingleLayer, seen: np.ndarray) -> np.ndarray:
    """Gates i, o, f, g."""
    h = np.zeros(seen.shape[2], np.float32)
    c, found = np.zeros_like(h), []
    for sums in seen:
        i, o, f, g = (added(sums[at], h, layer.state[at]) for at in range(4))
        i, o, f = (logistic_single(half) for half in (i, o, f))
        c = f * c + i * tanh_single(g)
        h = o * tanh_single(c)
        found.append(h)
    return np.stack(found)
