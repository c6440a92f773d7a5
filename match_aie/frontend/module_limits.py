"""The limits of a model, checked on what was imported, whatever the format."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
from tvm import relax

from match_aie import tvm_api
from match_aie.errors import ModelError, shorten
from match_aie.frontend.model import Model
from match_aie.limits import Limits

WRONG_SCALE = (
    "quantise the model again; a scale is the step between two integers, more than 0, "
    "and calibration data without range or with NaN gives others"
)
INFINITE_SCALE = (
    "quantise the model again: what was calibrated there has infinities or NaN. Where that is an "
    "attention mask of minus infinity, leave in floats what makes the mask (Where), what adds it "
    "(Add) and the Softmax behind it: nodes_to_exclude of onnxruntime's quantize_static"
)


def check_module(model: Model, limits: Limits) -> None:
    """Refuse tensors, constants and operator counts that are too large, and scales that are none.

    Raises:
        LimitError: naming the value.
        ModelError: a scale of a quantize or dequantize is infinite, not a number, zero or negative.
    """
    count, stored = 0, 0
    for function in model.module.functions.values():
        if not isinstance(function, relax.Function) or not hasattr(function.body, "blocks"):
            continue
        for var in function.params:
            _check(var.ty, limits, tvm_api.variable_name(var))
        for var, value in tvm_api.bindings(function):
            count += 1
            name = tvm_api.variable_name(var)
            label = model.labels.get(name, name)
            _check(var.ty, limits, label)
            constants = [p for p in getattr(value, "args", ()) if tvm_api.is_constant(p)]
            stored += sum(map(_nbytes, constants))
            if tvm_api.operator_name(value) in ("quantize", "dequantize"):
                _check_scale(value.args[1], label)
    limits.check("nodes", count, "the model has too many operators")
    limits.check("constant_bytes", stored, "the constants of the model take too much")


def _nbytes(constant: Any) -> int:
    dtype = np.dtype(tvm_api.dtype_of(constant))
    return prod(tvm_api.shape_of(constant)) * dtype.itemsize


def _check_scale(scale: Any, label: str) -> None:
    """Refuse constant scales that are infinite, NaN, zero or negative.

    A scale is the step between two neighbouring integers. ONNX divides by it: with 0 that gives
    infinities and NaN, whose integers are whatever a processor makes of them; a range that a
    negative one would belong to has its ends exchanged. Scales of 0 of constants, which stand for
    channels without weights, have been replaced before.
    """
    if not tvm_api.is_constant(scale):
        return
    values = tvm_api.constant_value(scale).astype(np.float64)
    wrong = ""
    if not np.isfinite(values).all():
        wrong = "infinite or not a number"
    elif not (values > 0).all():
        wrong = "negative" if (values < 0).any() else "zero"
    if wrong:
        hint = INFINITE_SCALE if wrong == "infinite or not a number" else WRONG_SCALE
        raise ModelError(f"a scale is {wrong}", where=shorten(label, 80), hint=hint)


def _check(ty: object, limits: Limits, label: str) -> None:
    """Refuse a type of too many elements; what has no static shape is judged elsewhere."""
    if isinstance(ty, relax.TupleType):
        for part in ty.fields:
            _check(part, limits, label)
    if not isinstance(ty, relax.TensorType) or not isinstance(ty.shape, relax.ShapeExpr):
        return
    try:
        shape = [int(size) for size in ty.shape.values]
    except TypeError:
        return
    where = f"value {shorten(label, 80)}"
    limits.check("rank", len(shape), "a tensor has too many dimensions", where)
    limits.check("tensor_elements", prod(shape), f"a tensor of shape {shape} is too large", where)
