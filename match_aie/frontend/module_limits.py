"""The limits of a model, checked on what was imported, whatever the format."""

from __future__ import annotations

from math import prod

import numpy as np
from tvm import relax

from match_aie import tvm_api
from match_aie.errors import shorten
from match_aie.frontend.model import Model
from match_aie.limits import Limits


def check_module(model: Model, limits: Limits) -> None:
    """Refuse tensors and constants that are too large, and too many operators.

    Raises:
        LimitError: naming the value.
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
            _check(var.ty, limits, model.labels.get(name, name))
            for part in getattr(value, "args", ()):
                if tvm_api.is_constant(part):
                    stored += (
                        prod(tvm_api.shape_of(part)) * np.dtype(tvm_api.dtype_of(part)).itemsize
                    )
    limits.check("nodes", count, "the model has too many operators")
    limits.check("constant_bytes", stored, "the constants of the model take too much")


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
