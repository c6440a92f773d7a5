"""Channels of constants whose scale is 0: quantisers write them for channels without weights."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from tvm import relax

from match_aie import tvm_api
from match_aie.frontend.model import Model
from match_aie.frontend.rebuild import Emitter, Expr, rebuild


def revive_dead_channels(model: Model) -> Model:
    """The same model, in which no dequantised constant has a scale of 0.

    `(w - z) * 0` is `(z - z) * s`, so such channels get their zero point as values and the
    smallest positive scale of the tensor (1 where there is none). A bias's scales are input scale
    times weight scales, and keep their order, so a bias stays one of its layer.
    """
    functions = model.module.functions.values()
    if not any(
        _is_dead(value)
        for function in functions
        if isinstance(function, relax.Function) and hasattr(function.body, "blocks")
        for _, value in tvm_api.bindings(function)
    ):
        return model
    module, labels = rebuild(model.module, model.labels, _revived)
    return replace(model, module=module, labels=labels)


def _is_dead(value: Any) -> bool:
    if tvm_api.operator_name(value) != "dequantize":
        return False
    if not all(tvm_api.is_constant(arg) for arg in value.args[:3]):
        return False
    return bool((tvm_api.constant_value(value.args[1]) == 0).any())


def _revived(_emitter: Emitter, _var: Any, value: Expr) -> Expr:
    if not _is_dead(value):
        return value
    data, scale, zero = (tvm_api.constant_value(arg) for arg in value.args[:3])
    axis = int(value.attrs.axis) % data.ndim if data.ndim else 0

    def along(values: np.ndarray) -> np.ndarray:
        """Values per channel against the data's axes."""
        if values.size == 1:
            return values.reshape(())
        return values.reshape([-1 if axis == at else 1 for at in range(data.ndim)])

    data = np.where(along(scale) == 0, along(zero).astype(data.dtype), data)
    positive = scale[scale > 0]
    scale = np.where(scale == 0, positive.min() if positive.size else 1, scale).astype(scale.dtype)
    return relax.op.dequantize(
        relax.const(data, data.dtype.name),
        relax.const(scale, scale.dtype.name),
        value.args[2],
        axis=int(value.attrs.axis),
        out_dtype=str(value.attrs.out_dtype),
    )
