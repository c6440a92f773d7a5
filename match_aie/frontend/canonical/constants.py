"""Constants: evaluated where possible, quantisation parameters in one form.

Afterwards every constant quantisation parameter is a float32 scalar or vector with a scalar or
vector zero point, `axis` is meaningful only beside a vector, and no reshape or transpose stands
between a constant, its `dequantize`, and the operator that uses it.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
from tvm import relax

from match_aie import tvm_api
from match_aie.frontend.rebuild import Emitter, Expr

#: Operators that only move or relabel elements, and take them from their first argument.
MOVEMENT = frozenset({"reshape", "permute_dims", "squeeze", "expand_dims", "flatten"})

#: Constants are joined up to this many elements: repeated in a chain, they would double each time.
LARGEST_JOINED = 2**24


def constant(value: np.ndarray) -> Expr:
    """A constant node holding `value`, contiguous."""
    # Without its type written down, TVM narrows a 64-bit number of rank 0.
    return relax.const(np.ascontiguousarray(value).reshape(value.shape), str(value.dtype))


def number_of(value: Expr) -> float | None:
    """The value of a constant of one element."""
    if not tvm_api.is_constant(value):
        return None
    array = tvm_api.constant_value(value)
    return float(array.reshape(-1)[0]) if array.size == 1 else None


def has_constant_parameters(call: Any) -> bool:
    """Whether scale and zero point of a quantize or dequantize call are known here."""
    return all(tvm_api.is_constant(arg) for arg in call.args[1:3])


def per_tensor(call: Any) -> bool:
    """Whether a quantize or dequantize has one constant scale and zero point for the tensor."""
    return has_constant_parameters(call) and all(
        tvm_api.constant_value(arg).size == 1 for arg in call.args[1:3]
    )


def quantize_array(
    value: np.ndarray, scale: np.ndarray, zero: np.ndarray, axis: int, dtype: str
) -> np.ndarray:
    """QuantizeLinear as ONNX defines it: saturate(round_half_even(x / scale) + zero_point).

    Args:
        value: real numbers, of any shape.
        scale: one, or one for each element of `axis`.
        zero: points, as many.
        axis: of `value` along which they lie.
        dtype: of the result, an integer type.
    """
    info = np.iinfo(dtype)
    real = value.astype(np.float32) / _along(scale.astype(np.float32), value.ndim, axis)
    shifted = np.rint(real).astype(np.float64) + _along(zero.astype(np.float64), value.ndim, axis)
    return np.clip(shifted, info.min, info.max).astype(dtype)


def _along(vector: np.ndarray, rank: int, axis: int) -> np.ndarray:
    if vector.size == 1:
        return vector.reshape(())
    return vector.reshape([-1 if i == axis % rank else 1 for i in range(rank)])


def moved_axis(
    operator: str, call: Any, old: tuple[int, ...], new: tuple[int, ...], axis: int
) -> int | None:
    """Where tensor axis `axis` ends up after a movement operator; None if it is torn apart.

    Args:
        operator: its name.
        call: of it.
        old: shape before.
        new: shape behind.
        axis: of `old`.
    """
    if operator == "permute_dims":
        axes = permutation(call, len(old))
        return axes.index(axis)
    for index, size in enumerate(new):
        if size == old[axis] and prod(new[:index]) == prod(old[:axis]):
            return index
    return None


def permutation(call: Any, rank: int) -> list[int]:
    """The axes of a `permute_dims` call; reversed order where none are given."""
    axes = call.attrs.axes
    return [int(a) % rank for a in axes] if axes is not None else list(range(rank))[::-1]


def move(operator: str, call: Any, value: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """`value` after the movement operator `call`, whose result has `shape`.

    Args:
        operator: its name.
        call: of it.
        value: what is moved.
        shape: of the result.
    """
    if operator == "permute_dims":
        return np.transpose(value, permutation(call, value.ndim))
    return value.reshape(shape)


def fold_constants(emitter: Emitter, var: Any, value: Expr) -> Expr:
    """The visit function of this pass."""
    operator = tvm_api.operator_name(value)
    if operator in MOVEMENT:
        return _fold_movement(emitter, operator, value, tvm_api.shape_of(var))
    if operator in ("quantize", "dequantize"):
        return _canonical_parameters(operator, value)
    if operator == "nn.prelu":
        return _leaky(value)
    return _fold_concat(value, tvm_api.shape_of(var)) if operator == "concat" else value


def _leaky(call: Any) -> Expr:
    """A PReLU of one slope for all channels, as a leaky ReLU: layers and tables know that one."""
    if not tvm_api.is_constant(call.args[1]):
        return call
    slopes = np.unique(tvm_api.constant_value(call.args[1]))
    return relax.op.nn.leakyrelu(call.args[0], float(slopes[0])) if slopes.size == 1 else call


def _fold_concat(call: Any, shape: tuple[int, ...]) -> Expr:
    """A concatenation of constants as one, so that a weight in parts is a weight."""
    parts = getattr(call.args[0], "fields", [])
    if not parts or not all(tvm_api.is_constant(part) for part in parts):
        return call
    if prod(shape) > LARGEST_JOINED or call.attrs.axis is None:
        return call
    values = [tvm_api.constant_value(part) for part in parts]
    return constant(np.concatenate(values, int(call.attrs.axis)))


def _fold_movement(emitter: Emitter, operator: str, call: Any, shape: tuple[int, ...]) -> Expr:
    source = call.args[0]
    if tvm_api.is_constant(source):
        return constant(move(operator, call, tvm_api.constant_value(source), shape))
    inner = emitter.definition(source)
    if tvm_api.operator_name(inner) != "dequantize" or not tvm_api.is_constant(inner.args[0]):
        return call
    if not has_constant_parameters(inner):
        return call
    data = tvm_api.constant_value(inner.args[0])
    axis = 0
    if tvm_api.constant_value(inner.args[1]).size > 1:
        found = moved_axis(operator, call, data.shape, shape, int(inner.attrs.axis) % data.ndim)
        if found is None:
            return call
        axis = found
    moved = constant(move(operator, call, data, shape))
    return relax.op.dequantize(
        moved, inner.args[1], inner.args[2], axis=axis, out_dtype=tvm_api.dtype_of(inner)
    )


def _canonical_parameters(operator: str, call: Any) -> Expr:
    data, scale_node, zero_node = call.args
    if not has_constant_parameters(call):
        return call
    scale, zero = tvm_api.constant_value(scale_node), tvm_api.constant_value(zero_node)
    if scale.size == 1:
        scale = scale.reshape(())
    if zero.size == 1 or (zero == zero.flat[0]).all():
        zero = zero.reshape(-1)[:1].reshape(())
    rank = len(tvm_api.shape_of(data))
    axis = int(call.attrs.axis) % rank if rank and (scale.size > 1 or zero.size > 1) else 0
    dtype = str(call.attrs.out_dtype)
    if operator == "quantize" and tvm_api.is_constant(data) and dtype in ("int8", "uint8", "int32"):
        return constant(quantize_array(tvm_api.constant_value(data), scale, zero, axis, dtype))
    function = relax.op.quantize if operator == "quantize" else relax.op.dequantize
    return function(data, constant(scale), constant(zero), axis=axis, out_dtype=dtype)
