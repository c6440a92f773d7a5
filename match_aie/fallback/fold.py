"""Evaluates operators on constants with numpy, where numpy's result is exact by definition.

Only operators whose result does not depend on a mathematical library are here (moving, casting,
and the correctly rounded arithmetic of IEEE 754), so folding never changes a bit of a result.
TVM's own constant folder would compile every operator with LLVM, half a second for a small net.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from tvm import relax

from match_aie import tvm_api
from match_aie.fallback.scalars import integer_range

#: Folding may not grow a network: results beyond this many elements stay run-time work, unless
#: the operands hold as many.
LARGEST_GROWTH = 4096

#: Products of matrices that are multiplied at most (about a second): a table of relative positions
#: by a layer's weights has some hundred million.
MOST_PRODUCTS = 1 << 28

Array = np.ndarray


def fold(call: Any) -> Any | None:
    """A constant equal to `call` (normalised, so that it has a type), or None."""
    rule = _RULES.get(tvm_api.operator_name(call))
    if rule is None or not isinstance(call.ty, relax.TensorType):
        return None
    arrays = _operands(call)
    if arrays is None or any(str(a.dtype) not in _DTYPES for a in arrays):
        return None
    shape, dtype = tvm_api.shape_of(call), tvm_api.dtype_of(call)
    if int(np.prod(shape)) > max(LARGEST_GROWTH, sum(a.size for a in arrays)):
        return None
    with np.errstate(all="ignore"):
        value = rule(call, arrays)
    if value is None or value.shape != shape or str(value.dtype) != dtype:
        return None
    return relax.const(np.ascontiguousarray(value).reshape(shape), dtype)


_DTYPES = frozenset(
    "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64".split()
)


def _operands(call: Any) -> list[Array] | None:
    """Values of all tensor operands, those inside tuples too; None if one is not constant."""
    arrays = []
    for arg in call.args:
        fields = list(arg.fields) if isinstance(arg, relax.Tuple) else [arg]
        for part in fields:
            if tvm_api.is_constant(part):
                arrays.append(tvm_api.constant_value(part))
            elif isinstance(part.ty, relax.TensorType | relax.TupleType):
                return None
    return arrays


def cast(value: Array, dtype: str) -> Array:
    """`value` as `dtype`; float to integer saturates and NaN becomes the smallest value."""
    if not (value.dtype.kind == "f" and np.dtype(dtype).kind in "iu"):
        return value.astype(dtype)
    low, high = integer_range(dtype)
    whole = np.trunc(value.astype(np.float64))
    result = np.where(whole >= float(high), 0.0, np.where(whole > low, whole, 0.0)).astype(dtype)
    result[whole >= float(high)] = high
    result[~(whole > low)] = low
    return result


def _reshape(call: Any, arrays: Sequence[Array]) -> Array:
    return arrays[0].reshape(tvm_api.shape_of(call))


def _permute(call: Any, arrays: Sequence[Array]) -> Array:
    axes = call.attrs.axes
    return np.transpose(arrays[0], None if axes is None else [int(axis) for axis in axes])


def _broadcast(call: Any, arrays: Sequence[Array]) -> Array:
    return np.broadcast_to(arrays[0], tvm_api.shape_of(call))


def _astype(call: Any, arrays: Sequence[Array]) -> Array:
    return cast(arrays[0], tvm_api.dtype_of(call))


def _along(value: Array, data: Array, axis: int) -> Array:
    """A scale or zero point shaped so that it broadcasts along `axis` of `data`."""
    if value.size == 1:
        return value.reshape(())
    shape = [1] * data.ndim
    shape[axis] = value.size
    return value.reshape(shape)


def _dequantize(call: Any, arrays: Sequence[Array]) -> Array | None:
    data, scale, zero = arrays
    if tvm_api.dtype_of(call) != "float32" or data.dtype.kind not in "iu" or data.itemsize > 4:
        return None
    axis = int(call.attrs.axis)
    whole = data.astype(np.int32) - _along(zero, data, axis).astype(np.int32)
    return np.asarray(whole.astype(np.float32) * _along(scale, data, axis).astype(np.float32))


def _quantize(call: Any, arrays: Sequence[Array]) -> Array | None:
    data, scale, zero = arrays
    dtype = tvm_api.dtype_of(call)
    if data.dtype != np.float32 or np.dtype(dtype).kind not in "iu" or np.dtype(dtype).itemsize > 2:
        return None
    axis = int(call.attrs.axis)
    steps = np.rint(data / _along(scale, data, axis).astype(np.float32))
    return cast(np.asarray(steps + _along(zero, data, axis).astype(np.float32)), dtype)


def _binary(function: Callable[[Array, Array], Array]) -> _Rule:
    def rule(_call: Any, arrays: Sequence[Array]) -> Array:
        return np.asarray(function(arrays[0], arrays[1]))

    return rule


def _divide(_call: Any, arrays: Sequence[Array]) -> Array | None:
    return None if arrays[0].dtype.kind != "f" else np.asarray(np.divide(arrays[0], arrays[1]))


def _matmul(_call: Any, arrays: Sequence[Array]) -> Array | None:
    """Summed in float64 in the order of the reduction, the same on every machine."""
    a, b = arrays
    if a.dtype != np.float32 or b.dtype != np.float32 or min(a.ndim, b.ndim) < 2:
        return None
    total = np.zeros((*np.broadcast_shapes(a.shape[:-2], b.shape[:-2]), a.shape[-2], b.shape[-1]))
    if total.size * a.shape[-1] > MOST_PRODUCTS:
        return None
    left, right = a.astype(np.float64), b.astype(np.float64)
    for step in range(a.shape[-1]):
        total += left[..., :, step, None] * right[..., step, None, :]
    return total.astype(np.float32)


def _concat(call: Any, arrays: Sequence[Array]) -> Array:
    axis = call.attrs.axis
    return np.concatenate(arrays, axis=None if axis is None else int(axis))


def _take(call: Any, arrays: Sequence[Array]) -> Array | None:
    data, indices = arrays
    axis = None if call.attrs.axis is None else int(call.attrs.axis)
    size = data.size if axis is None else data.shape[axis]
    if indices.size and not (-size <= int(indices.min()) and int(indices.max()) < size):
        return None
    return np.asarray(np.take(data, indices, axis=axis))


def _where(_call: Any, arrays: Sequence[Array]) -> Array:
    return np.asarray(np.where(*arrays))


def _filled(value: float) -> _Rule:
    def rule(call: Any, _arrays: Sequence[Array]) -> Array:
        return np.full(tvm_api.shape_of(call), value, tvm_api.dtype_of(call))

    return rule


_Rule = Callable[[Any, Sequence[Array]], Array | None]

_RULES: dict[str, _Rule] = {
    **dict.fromkeys(("reshape", "expand_dims", "squeeze", "flatten"), _reshape),
    "permute_dims": _permute,
    "broadcast_to": _broadcast,
    "astype": _astype,
    "dequantize": _dequantize,
    "quantize": _quantize,
    "add": _binary(np.add),
    "subtract": _binary(np.subtract),
    "multiply": _binary(np.multiply),
    "divide": _divide,
    "matmul": _matmul,
    "equal": _binary(np.equal),
    "less": _binary(np.less),
    "greater": _binary(np.greater),
    "concat": _concat,
    "take": _take,
    "where": _where,
    "zeros": _filled(0),
    "ones": _filled(1),
}
