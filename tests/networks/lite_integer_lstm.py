"""LSTMs of TFLite files whose weights, activations and states are integers, and what they compute.

Formulas: LiteRT's integer kernel (`LstmStepInteger8x8_16` in `lstm_eval.cc`, the portable
functions of `tensor_utils`), one row after the other, with the compiler's tables.
`tests/data/lite_integer_lstm.npz` holds what LiteRT itself gave. Sizes: T steps, B rows, I inputs,
H hidden units.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from match_aie.frontend.tflite_fixed_point import (
    divided,
    doubled_high,
    hyperbolic_table,
    logistic_table,
    multiplier,
)
from match_aie.frontend.tflite_site import OPTIONS
from tests.networks.tflite_file import Step, Stored, flatbuffer

TANH = 4
#: Scale of a gate's sum where nothing normalises it.
GATE = np.float32(2.0**-12)


@dataclass(frozen=True)
class Layer:
    """One operator.

    Attributes:
        kind: its name.
        steps: T.
        rows: B.
        inputs: I.
        hidden: H.
        normed: whether sums are normalised in each gate.
        coupled: whether the input gate is one minus the forget gate.
        time_major: whether steps come before rows.
        clip: largest magnitude of a cell, 0 for none.
        cell: a cell's scale is two to this.
        zeros: zero points of the input and of the output.
        act: number of the activation.
        silent: whether nothing says how inner results are quantised.
        wide: how much larger weights are than usual.
    """

    kind: str = "UNIDIRECTIONAL_SEQUENCE_LSTM"
    steps: int = 3
    rows: int = 1
    inputs: int = 6
    hidden: int = 8
    normed: bool = False
    coupled: bool = False
    time_major: bool = False
    clip: float = 0.0
    cell: float = -11
    act: int = TANH
    silent: bool = False
    zeros: tuple[int, int] = (-3, 5)
    wide: float = 1.0

    @property
    def given(self) -> tuple[int, ...]:
        """Shape of the input."""
        if self.kind == "LSTM":
            return (self.rows, self.inputs)
        pair = (self.steps, self.rows) if self.time_major else (self.rows, self.steps)
        return (*pair, self.inputs)

    @property
    def gates(self) -> tuple[int, ...]:
        """Those that are there: input, forget, cell, output."""
        return (1, 2, 3) if self.coupled else (0, 1, 2, 3)


@dataclass
class Built:
    """A layer's integers, and their scales, by operand position.

    Those of `computed` are not in the file; the result is of floats where `real` says so.
    """

    layer: Layer
    content: dict[int, np.ndarray] = field(default_factory=dict)
    scales: dict[int, np.float32] = field(default_factory=dict)
    of_input: np.float32 = np.float32(0.03)
    of_output: np.float32 = np.float32(1 / 128)
    inner: tuple[np.float32, ...] = (GATE,) * 4
    computed: tuple[int, ...] = ()
    real: bool = False

    def calls(self) -> np.ndarray:
        """Inputs of three calls."""
        rng = np.random.default_rng(51)
        return rng.integers(-128, 128, (3, *self.layer.given)).astype(np.int8)

    def file(self) -> bytes:
        """The flatbuffer."""
        layer = self.layer
        shape, zeros = layer.given, layer.zeros
        state = (layer.rows, layer.hidden)

        def scaled(name: str, shape: tuple[int, ...], dtype: str, scale, zero=0, **more) -> Stored:
            return Stored(name, shape, dtype, np.array([scale], np.float32), zero, **more)

        tensors = [
            scaled("x", shape, "int8", self.of_input, zeros[0]),
            scaled("y", (*shape[:-1], layer.hidden), "int8", self.of_output, zeros[1]),
            scaled("h", state, "int8", self.of_output, zeros[1], variable=True),
            scaled("c", state, "int16", np.float32(2.0**layer.cell), variable=True),
        ]
        names = {0: "x", 18: "h", 19: "c"}
        for at, values in self.content.items():
            names[at] = f"w{at}"
            dtype = str(values.dtype)
            kept = None if at in self.computed else values
            tensors.append(scaled(names[at], values.shape, dtype, self.scales[at], content=kept))
        if self.real:
            tensors[1] = Stored("y", tensors[1].shape, "float32")
        between = [f"inner {at}" for at in range(5)]
        for name, scale in zip(between, (*self.inner, self.of_output), strict=True):
            zero = zeros[1] if name == between[-1] else 0
            if name != between[-1] and not layer.normed:
                tensors.append(Stored(name, (0,), "int16"))
                continue
            tensors.append(scaled(name, (0,), "int8" if zero else "int16", scale, zero))
        operands = tuple(names.get(at, "") for at in range(24))
        fields: dict[str, object] = {"FusedActivationFunction": layer.act, "CellClip": layer.clip}
        if layer.kind != "LSTM":
            fields["TimeMajor"] = layer.time_major
        options = OPTIONS[layer.kind]
        step = Step(
            layer.kind,
            operands,
            "y",
            options,
            fields,
            between=() if layer.silent else tuple(between),
        )
        return flatbuffer(tensors, [step], "x", "y")

    def run(self, given: np.ndarray) -> list[np.ndarray]:
        """Outputs of calls one after the other: `given` [calls, *input]."""
        layer = self.layer
        h = np.full((layer.rows, layer.hidden), layer.zeros[1], np.int64)
        c = np.zeros_like(h)
        found = []
        for x in given.astype(np.int64):
            if layer.kind == "LSTM":
                h, c = self._step(x, h, c)
                found.append(h.astype(np.int8))
                continue
            rows = x if layer.time_major else x.transpose(1, 0, 2)
            made = []
            for row in rows:
                h, c = self._step(row, h, c)
                made.append(h)
            y = np.array(made, np.int8)
            found.append(y if layer.time_major else y.transpose(1, 0, 2))
        return found

    def _sum(self, gate: int, x: np.ndarray, h: np.ndarray) -> np.ndarray:
        """A gate's sum, with 12 bits behind the point."""
        layer, total = self.layer, np.int64(0)
        for first, values, zero, of in (
            (1, x, layer.zeros[0], self.of_input),
            (5, h, layer.zeros[1], self.of_output),
        ):
            products = (values - zero) @ self.content[first + gate].astype(np.int64).T
            if first == 1 and not layer.normed:
                products = products + self.content[12 + gate]
            scale = self.scales[first + gate] * of / self.inner[gate]
            total = np.clip(total + scaled_by(products, scale), -32768, 32767)
        if not layer.normed:
            return np.asarray(total)
        weight, bias = self.content[20 + gate].astype(np.int64), self.content[12 + gate]
        scale = self.scales[20 + gate]
        return np.array([normalised(row, weight, bias, scale) for row in np.asarray(total)])

    def _step(self, x: np.ndarray, h: np.ndarray, c: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        layer = self.layer
        forget = _logistic(self._sum(1, x, h))
        fresh = _tanh(self._sum(2, x, h), 3)
        enter = 32767 - forget if layer.coupled else _logistic(self._sum(0, x, h))
        leave = _logistic(self._sum(3, x, h))
        kept = divided(forget * c, 15)
        c = np.clip(kept + divided(enter * fresh, 30 + int(layer.cell)), -32768, 32767)
        if layer.clip:
            most = int(min(layer.clip / float(2.0**layer.cell), 32767))
            c = np.clip(c, -most, most)
        squashed = _tanh(c, 15 + int(layer.cell))
        scale = np.float32(2.0**-15) / self.of_output * np.float32(2.0**-15)
        out = scaled_by(leave * squashed, scale) + layer.zeros[1]
        return np.clip(out, -128, 127), c


def _logistic(sums: np.ndarray) -> np.ndarray:
    return logistic_table().astype(np.int64)[sums + 32768]


def _tanh(sums: np.ndarray, before: int) -> np.ndarray:
    return hyperbolic_table(before).astype(np.int64)[sums + 32768]


def scaled_by(x: np.ndarray, scale: np.float32, more: int = 0) -> np.ndarray:
    """x times `scale` times two to `more`, rounded twice."""
    whole, exponent = multiplier(float(scale))
    return multiplied(x, whole, exponent + more)


def multiplied(x: np.ndarray, whole: int, exponent: int) -> np.ndarray:
    """x times a multiplier of 31 bits times two to `exponent`, rounded twice."""
    return divided(doubled_high(x << max(exponent, 0), whole, 32), max(-exponent, 0))


def normalised(row: np.ndarray, weight: np.ndarray, bias: np.ndarray, scale) -> np.ndarray:
    """A row of sums less their mean, over their deviation, times `weight` and more by `bias`."""
    count = len(row)
    total = int(row.sum())
    mean = abs(total) * 1024 // count * (1 if total > 0 else -1)
    spread = int(np.sum(row * row)) * ((1 << 20) // count) - mean * mean
    variance = int(abs(spread) >> 20) * (1 if spread >= 0 else -1)
    if variance < 1:
        variance = max(1, int(10000 * float(np.float32(scale))))
    rescaled = multiplied(1024 * row - mean, *inverse_root(variance))
    value = rescaled * weight + bias
    value = np.where(value > 0, value + 512, value - 512)
    value = np.sign(value) * (np.abs(value) >> 10)
    return np.clip(scaled_by(value, np.float32(scale), 12), -32768, 32767)


def inverse_root(value: int) -> tuple[int, int]:
    """1 / sqrt(value) as a multiplier of 31 bits and an exponent of two."""
    if value <= 1:
        return (1 << 31) - 1, 0
    shift = 11
    while value >= 1 << 29:
        value, shift = value // 4, shift + 1
    pairs = (32 - value.bit_length() - 1) // 2 - 1
    shift, value = shift - pairs, value << (2 * pairs)
    given = np.int64(value >> 1)
    half = divided(given, 1)
    x = np.int64(1 << 28)
    for _ in range(5):
        square = doubled_high(x, x, 32)
        cube = np.clip(doubled_high(square, x, 32) << 6, -(1 << 31), (1 << 31) - 1)
        new = doubled_high(x, (1 << 28) + (1 << 27), 32) - doubled_high(half, cube, 32)
        x = np.clip(new << 3, -(1 << 31), (1 << 31) - 1)
    root = int(doubled_high(x, 1518500250, 32))
    if shift < 0:
        return root << -shift, 0
    return root, -shift


#: Those that LiteRT was given.
LAYERS = {
    "plain": Layer(),
    "rows, steps first": Layer(rows=3, time_major=True, zeros=(127, -128)),
    "coupled gates, clipped cells": Layer(coupled=True, clip=0.4, cell=-12),
    "large sums": Layer(wide=6.0, inputs=17, hidden=33, cell=-9),
    "small cells": Layer(cell=-15, steps=1),
    "normed": Layer(normed=True, rows=2, hidden=13),
    "normed, coupled gates": Layer(normed=True, coupled=True, inputs=31, hidden=64),
    "one unit": Layer(inputs=1, hidden=1),
    "a cell alone": Layer("LSTM", rows=2),
    "a cell alone, normed": Layer("LSTM", normed=True, inputs=40, wide=8.0),
}


def built(layer: Layer, seed: int = 0) -> Built:
    """`layer` with random weights."""
    rng, made = np.random.default_rng(seed), Built(layer)
    inner = [np.float32(scale) for scale in (0.003, 0.004, 0.002, 0.005)]
    if layer.normed:
        made.inner = tuple(inner)
    for gate in layer.gates:
        for first, width, of in ((1, layer.inputs, 3.8), (5, layer.hidden, 1.0)):
            values = rng.integers(-127, 128, (layer.hidden, width)).astype(np.int8)
            made.content[first + gate] = values
            usual = layer.wide * 2.5 * width**-0.5 / of / 127
            made.scales[first + gate] = np.float32(usual * (1 + 0.1 * gate))
        if layer.normed:
            values = rng.integers(5000, 32767, layer.hidden).astype(np.int16)
            made.content[20 + gate] = values
            made.scales[20 + gate] = np.float32(1.5 / 32767 * (1 + 0.2 * gate))
            of_bias = made.scales[20 + gate] / np.float32(1024)
        else:
            of_bias = made.scales[1 + gate] * made.of_input
        wanted = rng.standard_normal(layer.hidden) * (0.2 if layer.normed else 0.5)
        made.content[12 + gate] = np.rint(wanted / float(of_bias)).astype(np.int32)
        made.scales[12 + gate] = np.float32(of_bias)
    return made
