"""Evaluates operators on constants with numpy, where numpy's result is exact by definition.

Weights reach quantised layers through casts, transposes and differences; patterns want to see
plain constants there.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np
from tvm import relax

from match_aie import tvm_api

#: A result of more elements than this, and more than its operands, stays run-time work.
LARGEST_GROWTH = 4096

Array = np.ndarray


def fold(call: Any) -> Array | None:
    """The value of `call` (normalised), or None."""
    rule = _RULES.get(tvm_api.operator_name(call))
    if rule is None or not isinstance(call.ty, relax.TensorType):
        return None
    arrays = [tvm_api.constant_value(a) for a in call.args if tvm_api.is_constant(a)]
    tensors = [a for a in call.args if isinstance(a.ty, relax.TensorType)]
    if not arrays or len(arrays) != len(tensors):
        return None
    shape, dtype = tvm_api.shape_of(call), tvm_api.dtype_of(call)
    if prod(shape) > max(LARGEST_GROWTH, sum(a.size for a in arrays)):
        return None
    with np.errstate(all="ignore"):
        value = np.asarray(rule(call, arrays, shape, dtype))
    same = value.shape == shape and str(value.dtype) == dtype
    return np.ascontiguousarray(value).reshape(shape) if same else None


Rule = Callable[[Any, list[Array], tuple[int, ...], str], Array]


def _view(_: Any, arrays: list[Array], shape: tuple[int, ...], __: str) -> Array:
    return arrays[0].reshape(shape)


def _permute(call: Any, arrays: list[Array], _: tuple[int, ...], __: str) -> Array:
    axes = call.attrs.axes
    return np.transpose(arrays[0], None if axes is None else [int(a) for a in axes])


def _cast(_: Any, arrays: list[Array], __: tuple[int, ...], dtype: str) -> Array:
    if arrays[0].dtype.kind == "f" and dtype[0] in "iu" and not np.isfinite(arrays[0]).all():
        return arrays[0]  # undefined: left to run time, by a dtype that does not fit
    return arrays[0].astype(dtype)


def _binary(function: Callable[[Array, Array], Array]) -> Rule:
    return lambda _, arrays, __, ___: function(arrays[0], arrays[1])


_RULES: dict[str, Rule] = {
    **dict.fromkeys(("reshape", "squeeze", "expand_dims", "flatten"), _view),
    "permute_dims": _permute,
    "astype": _cast,
    "add": _binary(np.add),
    "subtract": _binary(np.subtract),
    "multiply": _binary(np.multiply),
    "maximum": _binary(np.maximum),
    "minimum": _binary(np.minimum),
    "negative": lambda _, arrays, __, ___: np.negative(arrays[0]),
    "broadcast_to": lambda _, arrays, shape, __: np.broadcast_to(arrays[0], shape),
}
