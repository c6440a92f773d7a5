"""Graph rules of the fallback: operators that move no data, shapes, and decompositions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod
from typing import Any

import numpy as np
from tvm import relax, tirx

from match_aie import tvm_api
from match_aie.fallback.refusal import Refusal


def static_shape(ty: Any) -> tuple[int, ...] | None:
    """Dimensions of a tensor type, or None where one is unknown (or it is no tensor)."""
    if not isinstance(ty, relax.TensorType) or not isinstance(ty.shape, relax.ShapeExpr):
        return None
    sizes = list(ty.shape.values)
    if not all(isinstance(size, tirx.IntImm) for size in sizes):
        return None
    return tuple(int(size) for size in sizes)


def rewrite(call: Any) -> Any | None:
    """A simpler expression equal to `call`, or None. `call` is normalised, so it has a type.

    What is returned may nest calls, and is to be normalised and rewritten again.
    """
    name = tvm_api.operator_name(call)
    rule = _RULES.get(name)
    simpler = None if rule is None else rule(call)
    if simpler is None and name in _LONG_SUMS:
        return _in_single_precision(call)
    return simpler


#: Operators that add up many products; in float16 they are computed in float32.
_LONG_SUMS = frozenset(
    "sum mean variance std prod matmul einsum cumsum nn.log_softmax nn.layer_norm "
    "nn.group_norm nn.instance_norm nn.attention nn.attention_bias nn.avg_pool1d nn.avg_pool2d "
    "nn.avg_pool3d nn.adaptive_avg_pool1d nn.adaptive_avg_pool2d nn.adaptive_avg_pool3d nn.conv1d "
    "nn.conv2d nn.conv3d nn.conv1d_transpose nn.conv2d_transpose nn.conv3d_transpose".split()
)


def _in_single_precision(call: Any) -> Any | None:
    """The float16 operator computed in float32 and rounded once, as ONNX Runtime does."""
    if not isinstance(call.ty, relax.TensorType) or tvm_api.dtype_of(call) != "float16":
        return None
    if getattr(call.attrs, "out_dtype", None) not in (None, ""):
        return None
    args = [_widened(arg) for arg in call.args]
    wide = tvm_api.CallNode(call.op, args, call.attrs, call.ty_args)
    return relax.op.astype(wide, "float16")


def _widened(arg: Any) -> Any:
    if isinstance(arg, relax.Tuple):
        return relax.Tuple([_widened(part) for part in arg.fields])
    half = isinstance(arg.ty, relax.TensorType) and tvm_api.dtype_of(arg) == "float16"
    return relax.op.astype(arg, "float32") if half else arg


def _view(call: Any) -> Any | None:
    """Operators that keep the elements in order become a reshape, or nothing at all."""
    shape = static_shape(call.ty)
    if shape is None:
        return None
    if shape == static_shape(call.args[0].ty):
        return call.args[0]
    if tvm_api.operator_name(call) == "reshape":
        return None
    return relax.op.reshape(call.args[0], shape)


def _permute(call: Any) -> Any | None:
    """A permutation that only moves axes of one element is a view."""
    shape = static_shape(call.args[0].ty)
    if shape is None:
        return None
    axes = call.attrs.axes
    order = list(range(len(shape)))[::-1] if axes is None else [int(a) % len(shape) for a in axes]
    moving = [axis for axis in order if shape[axis] != 1]
    return _view(call) if moving == sorted(moving) else None


def _same_shape(call: Any) -> Any | None:
    shape = static_shape(call.ty)
    same = shape is not None and shape == static_shape(call.args[0].ty)
    return call.args[0] if same else None


def _same_type(call: Any) -> Any | None:
    same = tvm_api.dtype_of(call) == tvm_api.dtype_of(call.args[0])
    return call.args[0] if same else None


def _shape_of(call: Any) -> Any | None:
    shape = static_shape(call.args[0].ty)
    return None if shape is None else relax.ShapeExpr(shape)


def _shape_to_tensor(call: Any) -> Any | None:
    shape = call.args[0]
    if not isinstance(shape, relax.ShapeExpr):
        return None
    return relax.const(np.array([int(size) for size in shape.values], np.int64), "int64")


def _tensor_to_shape(call: Any) -> Any | None:
    if not tvm_api.is_constant(call.args[0]):
        return None
    return relax.ShapeExpr([int(size) for size in tvm_api.constant_value(call.args[0])])


def _size(call: Any) -> Any | None:
    shape = static_shape(call.args[0].ty)
    return None if shape is None else relax.const(np.array(prod(shape), np.int64), "int64")


def _dropout(call: Any) -> Any:
    """At inference, the input and a mask of ones."""
    data = call.args[0]
    return relax.Tuple([data, relax.op.ones(static_shape(data.ty), tvm_api.dtype_of(data))])


def _rms_norm(call: Any) -> Any:
    """X / sqrt(mean(x * x) + epsilon) * weight (TVM's own lowering takes one axis only)."""
    data, weight = call.args
    axes = [int(axis) for axis in call.attrs.axes]
    mean = relax.op.mean(relax.op.multiply(data, data), axes, keepdims=True)
    epsilon = relax.const(float(call.attrs.epsilon), tvm_api.dtype_of(data))
    return relax.op.multiply(
        relax.op.multiply(data, relax.op.rsqrt(relax.op.add(mean, epsilon))), weight
    )


def _layer_norm(call: Any) -> Any | None:
    """In float64 step by step (TVM's own lowering takes float32 and float16)."""
    data, gamma, beta = call.args
    if tvm_api.dtype_of(data) != "float64":
        return None
    axes = [int(axis) for axis in call.attrs.axes]
    centred = relax.op.subtract(data, relax.op.mean(data, axes, keepdims=True))
    variance = relax.op.mean(relax.op.multiply(centred, centred), axes, keepdims=True)
    epsilon = relax.const(float(call.attrs.epsilon), "float64")
    result = relax.op.divide(centred, relax.op.sqrt(relax.op.add(variance, epsilon)))
    result = relax.op.multiply(result, gamma) if bool(call.attrs.scale) else result
    return relax.op.add(result, beta) if bool(call.attrs.center) else result


def _batch_norm(call: Any) -> Any | None:
    """With constant statistics: one multiplication and one addition, factors in float64."""
    if bool(call.attrs.training):
        raise Refusal("it is in training mode")
    if not all(tvm_api.is_constant(arg) for arg in call.args[1:]):
        return None
    data = call.args[0]
    dtype = tvm_api.dtype_of(data)
    gamma, beta, mean, variance = (
        tvm_api.constant_value(arg).astype(np.float64) for arg in call.args[1:]
    )
    scale = (gamma if bool(call.attrs.scale) else 1.0) / np.sqrt(variance + call.attrs.epsilon)
    shift = (beta if bool(call.attrs.center) else 0.0) - mean * scale
    shape = [1] * len(data.ty.shape)
    shape[int(call.attrs.axis)] = -1
    factors = [relax.const(f.reshape(shape).astype(dtype)) for f in (scale, shift)]
    scaled = relax.op.add(relax.op.multiply(data, factors[0]), factors[1])
    return relax.Tuple([scaled, call.args[3], call.args[4]])


def channel_first(call: Any) -> Any | None:
    """A channel-last transposed convolution between transposes: TVM lowers no other."""
    attrs = call.attrs
    if attrs.data_layout != "NHWC":
        return None
    result = relax.op.nn.conv2d_transpose(
        relax.op.permute_dims(call.args[0], [0, 3, 1, 2]),
        call.args[1],
        strides=list(attrs.strides),
        padding=list(attrs.padding),
        output_padding=list(attrs.output_padding),
        dilation=list(attrs.dilation),
        groups=int(attrs.groups),
        out_dtype=attrs.out_dtype,
    )
    return relax.op.permute_dims(result, [0, 2, 3, 1])


#: Accumulating in these types loses the result: what to accumulate in instead.
_WIDER_SUM = {"int8": "int32", "int16": "int32", "uint8": "int32", "uint16": "int32"}
#: The same for means; TVM divides by an int64 count.
_WIDER_MEAN = dict.fromkeys((*_WIDER_SUM, "int32", "uint32"), "int64")


def _half_softmax(call: Any) -> Any | None:
    """In float16 step by step, each rounded: ONNX defines Softmax by these operators."""
    data = call.args[0]
    if tvm_api.dtype_of(data) != "float16":
        return None
    axis = [int(call.attrs.axis)]
    powers = relax.op.exp(relax.op.subtract(data, relax.op.max(data, axis, keepdims=True)))
    return relax.op.divide(powers, relax.op.sum(powers, axis, keepdims=True))


def _widen_bool(call: Any) -> Any | None:
    """The largest of truth values, as bytes (TVM knows no smallest truth value)."""
    if tvm_api.dtype_of(call.args[0]) != "bool":
        return None
    return relax.op.astype(_with_operand(call, relax.op.astype(call.args[0], "uint8")), "bool")


def _with_operand(call: Any, operand: Any) -> Any:
    return tvm_api.CallNode(call.op, [operand, *call.args[1:]], call.attrs, call.ty_args)


def _widen(wider: Mapping[str, str]) -> Callable[[Any], Any | None]:
    """Reduce integers in a wider type (TVM accumulates in the type of the operand)."""

    def rule(call: Any) -> Any | None:
        narrow = tvm_api.dtype_of(call.args[0])
        if narrow not in wider:
            return None
        wide = _with_operand(call, relax.op.astype(call.args[0], wider[narrow]))
        return relax.op.astype(wide, tvm_api.dtype_of(call))

    return rule


_RULES: dict[str, Callable[[Any], Any | None]] = {
    **dict.fromkeys(("reshape", "expand_dims", "squeeze", "flatten", "nn.batch_flatten"), _view),
    "permute_dims": _permute,
    "broadcast_to": _same_shape,
    "astype": _same_type,
    "shape_of": _shape_of,
    "shape_to_tensor": _shape_to_tensor,
    "tensor_to_shape": _tensor_to_shape,
    "size": _size,
    "nn.dropout": _dropout,
    "nn.conv2d_transpose": channel_first,
    "nn.rms_norm": _rms_norm,
    "nn.layer_norm": _layer_norm,
    "nn.softmax": _half_softmax,
    "nn.batch_norm": _batch_norm,
    **dict.fromkeys(("max", "min"), _widen_bool),
    **dict.fromkeys(("sum", "prod"), _widen(_WIDER_SUM)),
    **dict.fromkeys(("mean", "variance"), _widen(_WIDER_MEAN)),
    **dict.fromkeys((f"nn.avg_pool{n}d" for n in (1, 2, 3)), _widen(_WIDER_MEAN)),
}
