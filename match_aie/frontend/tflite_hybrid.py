"""Layers of a TFLite file whose weights are int8 and whose activations are floats.

LiteRT quantises the activations of such a layer as they come: each row of a dense layer, each image
of a convolution, to int8 from its own least and largest value. What is compiled does the same and
multiplies the integers' values as floats, exact but for the order of sums.

Formulas: XNNPACK, `xnn_f32_qd8_asymmetric_quantization_params` (`quantization.h`) and
`f32-qs8-vcvt`; LiteRT hands these layers to XNNPACK by default. Depthwise ones it computes itself
(`AsymmetricQuantizeFloats`): the same, but that it rounds halves away from zero.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import tflite
from tvm import relax
from tvm.relax.frontend.tflite.tflite_frontend import get_pad_value

from match_aie import tvm_api
from match_aie.frontend.tflite_fold import Array
from match_aie.frontend.tflite_mended import rows_of
from match_aie.frontend.tflite_recurrent import ACTIVATIONS

Expr = Any
Emit = Callable[[Expr], Expr]

#: Operator -> table of its attributes.
OPTIONS = {
    "FULLY_CONNECTED": "FullyConnectedOptions",
    "CONV_2D": "Conv2DOptions",
    "DEPTHWISE_CONV_2D": "DepthwiseConv2DOptions",
}

_LOW, _HIGH = -128.0, 127.0


def problem(given: Any, weight: Any) -> str | None:
    """Why such a layer is refused, None where it is not.

    Args:
        given: its attributes; None where it has none.
        weight: tensor of its weights.
    """
    if given is None or given.FusedActivationFunction() not in ACTIVATIONS:
        return "its activation is not known"
    if isinstance(given, tflite.FullyConnectedOptions) and given.WeightsFormat():
        return "weights in a shuffled order are not compiled"
    if weight.tensor.Type() != tflite.TensorType.INT8:
        return "weights of this type on activations of floats are not compiled"
    zero = tvm_api.constant_value(weight.qnn_params["zero_point"])
    scales = tvm_api.constant_value(weight.qnn_params["scale"]).size
    if isinstance(given, tflite.DepthwiseConv2DOptions):  # LiteRT reads a scale for every channel
        wrong = weight.qnn_params["axis"] != 3 or scales != weight.tensor.Shape(3)
    else:
        wrong = weight.qnn_params["axis"] != 0 and scales > 1
    if np.any(zero) or wrong:
        return "its weights are not quantised by output around 0"
    return None


def dense(emit: Emit, given: Any, x: Expr, weight: Array, bias: Array | None) -> Expr:
    """A dense layer: x [.., K], weights [N, K] -> [.., N], rows in one dimension unless kept.

    Args:
        emit: binds a call to a variable.
        given: its attributes, as the schema has them.
        x: activations.
        weight: widened.
        bias: [N]; None where it has none.
    """
    added = None if bias is None else _const(bias)
    turned = _const(weight.T)
    return rows_of(emit, given, x, turned, added, lambda rows: _quantised(emit, rows, [1]))


def convolution(emit: Emit, given: Any, x: Expr, weight: Array, bias: Array | None) -> Expr:
    """A convolution: x [B, H, W, I], weights [O, R, S, I / groups] -> [B, P, Q, O].

    Args:
        emit: binds a call to a variable.
        given: its attributes, as the schema has them.
        x: activations.
        weight: widened.
        bias: [O]; None where it has none.
    """
    return _slid(emit, given, x, weight.transpose(1, 2, 3, 0), bias)


def depthwise(emit: Emit, given: Any, x: Expr, weight: Array, bias: Array | None) -> Expr:
    """A depthwise convolution: x [B, H, W, I], weights [1, R, S, O] -> [B, P, Q, O].

    Args:
        emit: binds a call to a variable.
        given: its attributes, as the schema has them.
        x: activations.
        weight: widened.
        bias: [O]; None where it has none.
    """
    return _slid(emit, given, x, weight.transpose(1, 2, 0, 3), bias)


def _slid(emit: Emit, given: Any, x: Expr, weight: Array, bias: Array | None) -> Expr:
    """A convolution with weights [R, S, I / groups, O]."""
    _, high, wide, channels = tvm_api.shape_of(x)
    strides = (given.StrideH(), given.StrideW())
    dilation = (given.DilationHFactor(), given.DilationWFactor())
    pads = [(0, 0), (0, 0)]
    if given.Padding() == tflite.Padding.SAME:
        pads = [
            get_pad_value(size, (taps - 1) * apart + 1, stride)
            for size, taps, apart, stride in zip(
                (high, wide), weight.shape[:2], dilation, strides, strict=True
            )
        ]
    y = emit(
        relax.op.nn.conv2d(
            _quantised(emit, x, [1, 2, 3]),
            _const(weight),
            strides=strides,
            padding=(pads[0][0], pads[1][0], pads[0][1], pads[1][1]),
            dilation=dilation,
            groups=channels // weight.shape[2],
            data_layout="NHWC",
            kernel_layout="HWIO",
        )
    )
    if bias is not None:
        y = emit(relax.op.add(y, _const(bias)))
    return ACTIVATIONS[given.FusedActivationFunction()](y)


def _quantised(emit: Emit, x: Expr, axes: Sequence[int]) -> Expr:
    """What `x` is once it was int8 with a scale and a zero point for all elements along `axes`.

    With l, h the least and largest value and 0: s = 255 / (h - l), 1 where both are 0. The zero
    point is from the end that loses less, z = -128 - l s or 127 - h s, rounded within int8.
    """
    low, high, scale = _range(emit, x, axes)
    below = emit(relax.op.multiply(low, scale))
    above = emit(relax.op.multiply(high, scale))
    lost = emit(relax.op.add(_plus(emit, below, _LOW), _plus(emit, above, _HIGH)))
    zero = emit(
        relax.op.where(
            emit(relax.op.greater(lost, _number(0))),
            emit(relax.op.subtract(_number(_LOW), below)),
            emit(relax.op.subtract(_number(_HIGH), above)),
        )
    )
    zero = emit(relax.op.round(emit(relax.op.clip(zero, _LOW, _HIGH))))
    steps = emit(relax.op.round(emit(relax.op.multiply(x, scale))))
    stored = emit(relax.op.clip(emit(relax.op.add(steps, zero)), _LOW, _HIGH))
    step = emit(relax.op.divide(_number(1), scale))
    return emit(relax.op.multiply(emit(relax.op.subtract(stored, zero)), step))


def _range(emit: Emit, x: Expr, axes: Sequence[int]) -> tuple[Expr, Expr, Expr]:
    """(least, largest, steps of a unit) along `axes`, which are kept with a size of 1."""
    least = emit(relax.op.min(x, axis=list(axes), keepdims=True))
    most = emit(relax.op.max(x, axis=list(axes), keepdims=True))
    low = emit(relax.op.minimum(least, _number(0)))
    high = emit(relax.op.maximum(most, _number(0)))
    span = emit(relax.op.subtract(high, low))
    empty = emit(relax.op.equal(span, _number(0)))
    filled = emit(relax.op.where(empty, _number(_HIGH - _LOW), span))
    return low, high, emit(relax.op.divide(_number(_HIGH - _LOW), filled))


def _plus(emit: Emit, value: Expr, number: float) -> Expr:
    return emit(relax.op.add(value, _number(number)))


def _number(value: float) -> Expr:
    return relax.const(value, "float32")


def _const(values: Array) -> Expr:
    return relax.const(np.ascontiguousarray(values, np.float32), "float32")
