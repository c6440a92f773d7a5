"""GRU and LSTM in float32 on cores of the first AI Engine, bit for bit: every operation is defined.

A product is rounded to float32 and added with another rounding, which is how the document describes
the core's units: a multiplier, and an accumulator behind it (AM009, "Floating-Point Vector Unit").
ASSUMPTION: the document does not say that the product is rounded between them, nor what becomes of
numbers below the normal ones; both roundings are to the nearest, halves to even, and no result
depends on such small numbers by more than they are. Sums begin with the bias, and products are
added in ascending order, those of the input before those of the state. Where both have a bias and
their products go into one sum, it begins with the rounded sum of the two.

tanh is x P(x^2) / Q(x^2) of an argument that is held in [-8, 8]: P of degree 3, Q of degree 4, of
least error over that range, as products of their factors, so that few operations wait for each
other. The division takes an integer subtraction of Q's bits as a first reciprocal, which leaves a
rest e of at most 5.1 %, and multiplies by (1 + e)(1 + e^2)(1 + e^4), which is 1 / (1 - e) to 5e-11.
Over all arguments the result is at most 4.8e-7 from tanh (a test measures it). A gate that the
result is multiplied by is one of P's factors, and a number that it is added to comes before the
last product of the division. The logistic function is 1/2 + tanh(x / 2) / 2; rows of the weights of
its gates, and their biases, are halved once, which is exact; so are those of the state's product
that a GRU's reset gate multiplies.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from match_aie.workload.workload import Workload

Arrays = Mapping[str, np.ndarray]

#: Arguments of tanh are held between this and its negative.
HELD = 8.0

#: Arguments' squares are held below this.
HELD_SQUARE = HELD * HELD

#: P is the product of c0 + c1 s and t0 + t1 s + s^2 with s = x^2, Q that of q0 + q1 s + s^2 and
#: r0 + r1 s + s^2: the factors of a minimax fit in float64, rounded to float32.
FACTORS: dict[str, float] = {
    name: float.fromhex(text)
    for name, text in (
        ("c0", "0x1.cd15acp+8"),
        ("c1", "0x1.754ca2p+5"),
        ("t0", "0x1.179e50p+13"),
        ("t1", "0x1.f3ea08p+7"),
        ("q0", "0x1.bd2192p+5"),
        ("q1", "0x1.9046bep+4"),
        ("r0", "0x1.21a3e0p+16"),
        ("r1", "0x1.dc71aap+9"),
    )
}

#: A float's bits from these are the bits of a reciprocal that is off by 5.1 % at most.
RECIPROCAL_BITS = 0x7EF31000

#: Gates whose function is the logistic one.
LOGISTIC = {"gru": (0, 1), "lstm": (0, 1, 2)}


def _quotient(x: np.ndarray, gate: np.ndarray | np.float32) -> tuple[np.ndarray, np.ndarray]:
    """Values c and e^4 for which gate * tanh(x) is c (1 + e^4)."""
    one = np.float32
    f = {name: one(value) for name, value in FACTORS.items()}
    with np.errstate(over="ignore"):
        s = np.minimum(x * x, one(HELD_SQUARE))
    held = np.minimum(np.maximum(x, one(-HELD)), one(HELD))
    above = (((f["t0"] + f["t1"] * s) + s * s) * gate) * (held * (f["c0"] + f["c1"] * s))
    below = ((f["q0"] + f["q1"] * s) + s * s) * ((f["r0"] + f["r1"] * s) + s * s)
    near = (np.int32(RECIPROCAL_BITS) - below.view(np.int32)).view(np.float32)
    off = one(1) - below * near
    off2 = off * off
    first = above * near
    second = first + first * off
    return second + second * off2, off2 * off2


def tanh_single(x: np.ndarray, gate: np.ndarray | np.float32 = np.float32(1)) -> np.ndarray:
    """Tanh of float32 values times a gate, as cores compute it."""
    third, off4 = _quotient(x, gate)
    return np.asarray(third + third * off4)


def added_tanh(base: np.ndarray, gate: np.ndarray, x: np.ndarray) -> np.ndarray:
    """The sum of `base` and the gate times tanh of x, as cores compute it."""
    third, off4 = _quotient(x, gate)
    return np.asarray((base + third) + third * off4)


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
        apart: [K], what a GRU's last gate adds to the state's products where it has a sum of them;
            then these weights and this are halves, too.
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
            half = np.float32(0.5)
            state[2] *= half
            begins[2], apart = bias[0][2], half * bias[1][2]
        return cls(weight, state, begins * halves[:, 0], apart)


def sums_of_inputs(layer: SingleLayer, arrays: Arrays) -> np.ndarray:
    """What sums of all steps begin with: [steps, gates, K]."""
    x = np.asarray(arrays["x"], np.float32)[:, 0]
    pairs = zip(layer.begins, layer.weight, strict=True)
    return np.stack([added(begin[None], x, weight) for begin, weight in pairs], axis=1)


def recurrent_single(workload: Workload, arrays: Arrays) -> np.ndarray:
    """Every state of a GRU or LSTM of one sequence, float32."""
    layer = SingleLayer.of(workload, arrays)
    with np.errstate(over="ignore", invalid="ignore"):
        seen = sums_of_inputs(layer, arrays)
        if workload.kind == "lstm":
            found = _lstm(layer, seen)
        else:
            found = _gru(layer, seen, after=bool(workload.parameter("linear_before_reset")))
    return np.ascontiguousarray(found.reshape(workload.output.shape))


def moved(h: np.ndarray, z: np.ndarray, total: np.ndarray) -> np.ndarray:
    """A GRU's state anew: z h + (1 - z) tanh(total)."""
    return added_tanh(z * h, np.float32(1) - z, total)


def _gru(layer: SingleLayer, seen: np.ndarray, *, after: bool) -> np.ndarray:
    """Gates z, r, n; the reset gate `after` the state's product or before it."""
    h = np.zeros(seen.shape[2], np.float32)
    found = []
    for sums in seen:
        z, r = (added(sums[at], h, layer.state[at]) for at in (0, 1))
        if after:  # r v is v / 2 + tanh v / 2
            half = added(layer.apart, h, layer.state[2])
            total = (sums[2] + half) + tanh_single(r) * half
        else:
            total = added(sums[2], logistic_single(r) * h, layer.state[2])
        h = moved(h, logistic_single(z), total)
        found.append(h)
    return np.stack(found)


def _lstm(layer: SingleLayer, seen: np.ndarray) -> np.ndarray:
    """Gates i, o, f, g."""
    h = np.zeros(seen.shape[2], np.float32)
    c, found = np.zeros_like(h), []
    for sums in seen:
        i, o, f, g = (added(sums[at], h, layer.state[at]) for at in range(4))
        i, o, f = (logistic_single(half) for half in (i, o, f))
        c = added_tanh(f * c, i, g)
        h = tanh_single(c, o)
        found.append(h)
    return np.stack(found)
