"""Layers of int8 weights on floats: activations are quantised as they come, as XNNPACK does it."""

from dataclasses import dataclass

import numpy as np
import pytest

import match_aie as match
from match_aie.errors import UnsupportedOperatorError
from match_aie.frontend import load
from tests.networks.tflite_file import RELU, SAME, VALID, Step, Stored, flatbuffer


def quantised(x, axes):
    """What is left of `x` once it was int8, in float32 as XNNPACK computes it."""
    one, low, high = np.float32(1), np.float32(-128), np.float32(127)
    least = np.minimum(x.min(axes, keepdims=True), 0)
    most = np.maximum(x.max(axes, keepdims=True), 0)
    span = most - least
    scale = np.where(span == 0, one, (high - low) / np.where(span == 0, one, span))
    down, up = least * scale, most * scale
    zero = np.where((low + down) + (high + up) > 0, low - down, high - up)
    zero = np.rint(np.clip(zero, low, high))
    stored = np.clip(np.rint(x * scale) + zero, low, high)
    return (stored - zero) * (one / scale)


@dataclass(frozen=True)
class Case:
    """A layer; scales of the weights one for all, or for each output."""

    shape: tuple[int, ...]
    weight: tuple[int, ...]
    apart: bool = True
    biased: bool = True
    kept: bool = False
    padding: int = SAME
    stride: int = 1
    dilation: int = 1
    dtype: str = "int8"
    zero: int = 0
    multiplier: int = 0  # outputs of each channel of a depthwise one; 0 for others

    def __post_init__(self):
        """Numbers."""
        rng = np.random.default_rng(sum(self.shape))
        numbers = rng.integers(-127, 128, self.weight).astype(np.int8)
        count = self.outputs if self.apart else 1
        object.__setattr__(self, "numbers", numbers)
        object.__setattr__(self, "scales", rng.uniform(0.001, 0.02, count).astype(np.float32))
        object.__setattr__(self, "bias", rng.standard_normal(self.outputs).astype(np.float32))

    @property
    def outputs(self):
        """Channels, or columns."""
        return self.weight[-1 if self.multiplier else 0]

    def wide(self):
        """Weights as floats."""
        each = (
            self.scales
            if self.multiplier
            else self.scales.reshape(-1, *[1] * (len(self.weight) - 1))
        )
        return self.numbers.astype(np.float32) * each

    def file(self):
        """The flatbuffer."""
        fields = {"FusedActivationFunction": RELU}
        bias = [Stored("bias", self.bias.shape, "float32", content=self.bias)] * self.biased
        result = (*self.shape[:-1], self.weight[0])
        kind, table = "FULLY_CONNECTED", "FullyConnectedOptions"
        if len(self.weight) == 4:
            kind, table = "CONV_2D", "Conv2DOptions"
            fields |= {"Padding": self.padding, "StrideH": self.stride, "StrideW": self.stride}
            fields |= {"DilationHFactor": self.dilation, "DilationWFactor": self.dilation}
            if self.multiplier:
                kind, table = "DEPTHWISE_CONV_2D", "DepthwiseConv2DOptions"
                fields["DepthMultiplier"] = self.multiplier
            result = self.run(np.zeros(self.shape, np.float32)).shape
        else:
            fields["KeepNumDims"] = self.kept
            if not self.kept:
                result = (int(np.prod(self.shape[:-1])), self.weight[0])
        numbers, axis = self.numbers.astype(self.dtype), 3 if self.multiplier else 0
        tensors = [
            Stored("x", self.shape, "float32"),
            Stored("w", self.weight, self.dtype, self.scales, self.zero, axis, numbers),
            *bias,
            Stored("y", result, "float32"),
        ]
        operands = ("x", "w", "bias" if self.biased else "")
        return flatbuffer(tensors, [Step(kind, operands, "y", table, fields)], "x", "y")

    def run(self, x):
        """What LiteRT makes of `x` (numpy)."""
        bias = self.bias if self.biased else 0
        if len(self.weight) == 2:
            rows = x.reshape(-1, x.shape[-1]).astype(np.float32)
            y = np.maximum(quantised(rows, (1,)).astype(np.float64) @ self.wide().T + bias, 0)
            return y.reshape(*x.shape[:-1], -1) if self.kept else y
        return np.maximum(self._slid(quantised(x, (1, 2, 3)).astype(np.float64)) + bias, 0)

    def _slid(self, x):
        down, right = self.weight[1:3]
        reach = [(taps - 1) * self.dilation + 1 for taps in (down, right)]
        if self.padding == SAME:
            pads = []
            for size, taps in zip(x.shape[1:3], reach, strict=True):
                whole = max((-(-size // self.stride) - 1) * self.stride + taps - size, 0)
                pads.append((whole // 2, whole - whole // 2))
            x = np.pad(x, [(0, 0), *pads, (0, 0)])
        seen = np.lib.stride_tricks.sliding_window_view(x, reach, axis=(1, 2))
        seen = seen[:, :: self.stride, :: self.stride, :, :: self.dilation, :: self.dilation]
        if self.multiplier:
            wide = self.wide()[0].reshape(down, right, -1, self.multiplier)
            return np.einsum("bpqirs,rsim->bpqim", seen, wide).reshape(*seen.shape[:3], -1)
        return np.einsum("bpqirs,orsi->bpqo", seen, self.wide())


CASES = {
    "rows": Case((4, 64), (32, 64), apart=False),
    "a row": Case((1, 17), (5, 17), biased=False),
    "rows kept": Case((2, 3, 40), (8, 40), kept=True),
    "rows joined": Case((2, 3, 40), (8, 40)),
    "image": Case((1, 9, 8, 5), (6, 3, 3, 5)),
    "images, stride 2": Case((3, 9, 8, 4), (6, 3, 2, 4), stride=2, apart=False),
    "depthwise": Case((2, 9, 8, 5), (1, 3, 3, 5), multiplier=1),
    "depthwise, stride 2": Case((1, 9, 8, 4), (1, 3, 2, 4), stride=2, biased=False, multiplier=1),
    "depthwise, two of each": Case((1, 7, 8, 3), (1, 3, 3, 6), padding=VALID, multiplier=2),
    "valid, dilated": Case((1, 9, 9, 4), (6, 3, 3, 4), padding=VALID, dilation=2, biased=False),
}


@pytest.mark.parametrize("name", CASES)
def test_results_equal_numpy(name, tmp_path):
    case = CASES[name]
    project = match.compile(case.file(), cache=False).write(tmp_path / "net")
    rng = np.random.default_rng(3)
    for shift in (-9, 0, 0.7):
        x = (rng.standard_normal(case.shape) * 2 + shift).astype(np.float32)
        wanted = case.run(x)
        given = project.run({"x": x}).outputs["y"]
        assert given.shape == wanted.shape
        np.testing.assert_allclose(given, wanted, rtol=0, atol=2e-6 * abs(wanted).max() + 1e-7)


def test_zeros_are_zeros(tmp_path):
    """A row of one value, 0, has no range."""
    case = CASES["rows"]
    given = match.compile(case.file(), cache=False).write(tmp_path / "net")
    y = given.run({"x": np.zeros(case.shape, np.float32)}).outputs["y"]
    np.testing.assert_array_equal(y, np.maximum(np.broadcast_to(case.bias, y.shape), 0))


@pytest.mark.parametrize(
    ("case", "why"),
    [
        (Case((2, 8), (4, 8), apart=False, zero=3), "by output around 0"),
        (Case((2, 8), (4, 8), dtype="int32"), "of this type"),
        (Case((1, 5, 5, 4), (1, 3, 3, 4), apart=False, multiplier=1), "by output around 0"),
    ],
)
def test_other_weights_are_refused(case, why):
    with pytest.raises(UnsupportedOperatorError, match=why):
        load(case.file())
