"""Transposed convolutions of TFLite files: `TRANSPOSE_CONV`, and MediaPipe's with a bias.

TVM's own leaves out the activation that `TRANSPOSE_CONV` may have, and sizes that its padding does
not give by itself; it does not know MediaPipe's.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import tflite
from tvm import relax

from match_aie import tvm_api
from match_aie.errors import UnsupportedOperatorError
from match_aie.frontend.tflite_fold import table_of
from match_aie.frontend.tflite_recurrent import ACTIVATIONS
from match_aie.frontend.tflite_tensors import Tensors

Expr = Any

#: TensorFlow Lite's `TfLitePadding`, which MediaPipe's options hold.
_SAME, _VALID = 1, 2

NO_ACTIVATION = int(tflite.ActivationFunctionType.NONE)


def transposed(tensors: Tensors, op: Any) -> Expr:
    """`TRANSPOSE_CONV`: x [N, H, W, C], weights [K, FY, FX, C], bias [K] -> the sizes it names.

    Raises:
        UnsupportedOperatorError: the result's sizes are computed, or its activation is not known.
    """
    given = table_of(op, "TransposeConvOptions")
    wanted, weight, data, *bias = tensors.get_input_tensors(op)
    (result,) = tensors.get_output_tensors(op)
    if not tensors.is_known(wanted):
        why = "the sizes of its result must be known at compile time"
        raise UnsupportedOperatorError([(*tensors.describe(op), why)])
    if given.FusedActivationFunction() not in ACTIVATIONS:
        why = f"activation {given.FusedActivationFunction()} is not known"
        raise UnsupportedOperatorError([(*tensors.describe(op), why)])
    if data.qnn_params and given.FusedActivationFunction() == NO_ACTIVATION:
        return tensors.convert_transpose_conv(op)
    y = _product(
        tensors,
        _floats(tensors, data),
        _floats(tensors, weight),
        strides=(given.StrideH(), given.StrideW()),
        sizes=[int(size) for size in tensors.get_tensor_value(wanted)][1:3],
        same=given.Padding() == tflite.Padding.SAME,
    )
    if bias and bias[0].tensor_idx >= 0:
        y = tensors.emit(relax.op.add(y, _bias(tensors, data, weight, bias[0])))
    y = ACTIVATIONS[given.FusedActivationFunction()](y)
    return tensors.quantize(tensors.emit(y), result) if result.qnn_params else y


def transposed_bias(tensors: Tensors, op: Any) -> Expr:
    """MediaPipe's `Convolution2DTransposeBias`: likewise, of floats, x being first.

    Its options are TensorFlow Lite's `TfLiteTransposeConvParams` as it lies in memory: padding,
    stride along columns, stride along rows, int32 each (tensorflow/compiler/mlir/lite/tests/
    mlir2flatbuffer/convolution_2d_transpose_bias.mlir in TensorFlow's repository writes one).

    Raises:
        UnsupportedOperatorError: the options are others.
    """
    content = bytes(op.CustomOptionsAsNumpy()) if op.CustomOptionsLength() else b""
    padding, right, down = struct.unpack("<3i", content[:12]) if len(content) >= 12 else (0, 0, 0)
    if padding not in (_SAME, _VALID) or min(right, down) < 1:
        raise UnsupportedOperatorError([(*tensors.describe(op), "its options are not known")])
    data, weight, bias = tensors.get_input_tensors(op)
    x, w = tensors.value_of(data), tensors.value_of(weight)
    pairs = zip(tvm_api.shape_of(x)[1:3], tvm_api.shape_of(w)[1:3], (down, right), strict=True)
    sizes = [
        stride * size if padding == _SAME else stride * (size - 1) + window
        for size, window, stride in pairs
    ]
    y = _product(tensors, x, w, strides=(down, right), sizes=sizes, same=padding == _SAME)
    return relax.op.add(y, tensors.value_of(bias))


def _product(
    tensors: Tensors,
    x: Expr,
    weight: Expr,
    *,
    strides: tuple[int, int],
    sizes: Sequence[int],
    same: bool,
) -> Expr:
    """Every pixel of x adds its window of the weights to y, of which `sizes` are kept.

    Args:
        tensors: takes the calls.
        x: [N, H, W, C].
        weight: [K, FY, FX, C].
        strides: along rows and columns.
        sizes: rows and columns of the result.
        same: whether the result begins within the first windows, as TensorFlow pads: by half of
            what a convolution of the result with the same window and stride would be padded by.
    """
    before, behind, beyond = [], [], []
    places = zip(
        tvm_api.shape_of(x)[1:3], tvm_api.shape_of(weight)[1:3], strides, sizes, strict=True
    )
    for size, window, stride, wanted in places:
        padded = max((-(-wanted // stride) - 1) * stride + window - wanted, 0) if same else 0
        before.append(padded // 2)
        left_over = stride * (size - 1) + window - before[-1] - wanted
        behind.append(max(left_over, 0))
        beyond.append(max(-left_over, 0))
    images = tensors.emit(relax.op.permute_dims(x, [0, 3, 1, 2]))
    y = relax.op.nn.conv2d_transpose(
        images,
        tensors.emit(relax.op.permute_dims(weight, [3, 0, 1, 2])),
        strides=strides,
        padding=(*before, *behind),
        output_padding=tuple(beyond),
        data_layout="NCHW",
        kernel_layout="IOHW",
    )
    return tensors.emit(relax.op.permute_dims(tensors.emit(y), [0, 2, 3, 1]))


def _floats(tensors: Tensors, tensor: Any) -> Expr:
    """A tensor's value; of stored integers what they mean."""
    value = tensors.value_of(tensor)
    if not tensor.qnn_params:
        return value
    return tensors.emit(tensors.dequantize(value, tensor))


def _bias(tensors: Tensors, data: Any, weight: Any, bias: Any) -> Expr:
    """The bias; integers are steps of the product of the operands' steps."""
    if not data.qnn_params:
        return tensors.value_of(bias)
    if bias.qnn_params:
        return _floats(tensors, bias)
    scale = relax.op.multiply(data.qnn_params["scale"], weight.qnn_params["scale"])
    zero = relax.const(0, "int32")
    return tensors.emit(relax.op.dequantize(tensors.value_of(bias), scale, zero, axis=0))


CONVERTED: Mapping[str, Callable[[Tensors, Any], Expr]] = MappingProxyType(
    {"TRANSPOSE_CONV": transposed, "Convolution2DTransposeBias": transposed_bias}
)
