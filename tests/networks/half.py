"""A float32 TensorFlow Lite network whose weights are stored in float16, as its converter does."""

from __future__ import annotations

import numpy as np

from tests.networks.tflite_file import NONE, SAME, Step, Stored, flatbuffer

RELU6 = 3

#: Depthwise-separable blocks of MobileNet: channels, stride.
BLOCKS = (
    *((64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2)),
    *((512, 1),) * 5,
    *((1024, 2), (1024, 1)),
)


class _File:
    def __init__(self) -> None:
        self.tensors: list[Stored] = []
        self.steps: list[Step] = []
        self._rng = np.random.default_rng(51)

    def weight(self, *shape: int, deviation: float) -> str:
        """A constant in float16, and the operator that widens it on every call."""
        name = f"w{len(self.tensors)}"
        content = (self._rng.standard_normal(shape) * deviation).astype(np.float16)
        self.tensors.append(Stored(name, shape, "float16", content=content))
        self.tensors.append(Stored(f"{name}/wide", shape, "float32"))
        self.steps.append(Step("DEQUANTIZE", (name,), f"{name}/wide", "DequantizeOptions"))
        return f"{name}/wide"

    def value(self, *shape: int) -> str:
        name = f"t{len(self.tensors)}"
        self.tensors.append(Stored(name, shape, "float32"))
        return name


def mobilenet(size: int = 128, divisor: int = 2, classes: int = 100) -> bytes:
    """Depthwise-separable convolutions on (1, size, size, 3), an average, a dense layer."""
    file, channels = _File(), 32 // divisor
    file.tensors.append(Stored("x", (1, size, size, 3), "float32"))
    size = -(-size // 2)
    filters = file.weight(channels, 3, 3, 3, deviation=27**-0.5)
    x = _convolution(file, "x", filters, (size, channels, 2))
    for outputs, stride in BLOCKS:
        size = -(-size // stride)
        filters = file.weight(1, 3, 3, channels, deviation=0.3)
        x = _convolution(file, x, filters, (size, channels, stride), depthwise=True)
        inputs, channels = channels, outputs // divisor
        filters = file.weight(channels, 1, 1, inputs, deviation=(2 / inputs) ** 0.5)
        x = _convolution(file, x, filters, (size, channels, 1))
    pooled, axes = file.value(1, channels), "axes"
    file.tensors.append(Stored(axes, (2,), "int32", content=np.array([1, 2], np.int32)))
    fields: dict[str, object] = {"KeepDims": False}
    file.steps.append(Step("MEAN", (x, axes), pooled, "ReducerOptions", fields))
    weight = file.weight(classes, channels, deviation=channels**-0.5)
    bias, y = file.weight(classes, deviation=0.05), file.value(1, classes)
    fields = {"FusedActivationFunction": NONE}
    operands = (pooled, weight, bias)
    file.steps.append(Step("FULLY_CONNECTED", operands, y, "FullyConnectedOptions", fields))
    return flatbuffer(file.tensors, file.steps, "x", y)


def _convolution(
    file: _File, x: str, filters: str, result: tuple[int, int, int], *, depthwise: bool = False
) -> str:
    """A convolution to (side, channels) with a stride, with bias and ReLU6."""
    size, channels, stride = result
    operands = (x, filters, file.weight(channels, deviation=0.05))
    y = file.value(1, size, size, channels)
    fields: dict[str, object] = {"Padding": SAME, "StrideH": stride, "StrideW": stride}
    fields["FusedActivationFunction"] = RELU6
    if depthwise:
        fields["DepthMultiplier"] = 1
    name = "DepthwiseConv2D" if depthwise else "Conv2D"
    code = "DEPTHWISE_CONV_2D" if depthwise else "CONV_2D"
    file.steps.append(Step(code, operands, y, f"{name}Options", fields))
    return y
