"""Layers of rows in bfloat16: the function of each kind, its numbers, what a row is."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from match_aie.errors import TargetError
from match_aie.targets.aie_ml.graph.rows import RowLayer
from match_aie.targets.aie_ml.kernels.floats import (
    FloatFunctionCall,
    FloatFunctionSpec,
    FloatNormCall,
    FloatNormSpec,
    FloatPairCall,
    FloatPairSpec,
    FloatSoftmaxCall,
    FloatSoftmaxSpec,
)
from match_aie.targets.aie_ml.kernels.lookup import duplicated
from match_aie.targets.aie_ml.kernels.numeric import carried_as
from match_aie.workload import Kind, Workload

Arrays = Mapping[str, np.ndarray]

#: The pattern of minus infinity.
LEAST = 0xFF80


def float_layer(workload: Workload, constants: Arrays, name: str) -> RowLayer:
    """A layer of rows that `in_fewer_bits` gave.

    Raises:
        TargetError: there is no kernel for its kind.
    """
    if workload.kind not in _LAYERS:
        raise TargetError(f"layer {name}: no kernel for a {workload.kind} of bfloat16")
    return _LAYERS[workload.kind](workload, constants, name)


def _header(name: str) -> str:
    return f"{name}_kernels.h"


def _softmax(workload: Workload, constants: Arrays, name: str) -> RowLayer:
    """Rows filled up with what is never the largest."""
    columns, both = workload.sizes["K"], duplicated(constants["table"])
    call = FloatSoftmaxCall(f"{name}_softmax", _header(name), FloatSoftmaxSpec(), 1, columns)
    real = columns if columns < call.width else 0
    values = ("w", both), ("cd", both)
    return RowLayer(name, call, workload.output.size, values, real, LEAST, "B")


def _norm(workload: Workload, constants: Arrays, name: str) -> RowLayer:
    """Rows and their numbers filled up with 0."""
    spec, columns = FloatNormSpec(workload.kind == "rms_norm"), workload.sizes["K"]
    epsilon = workload.parameter("epsilon")
    call = FloatNormCall(f"{name}_norm", _header(name), spec, 1, columns, epsilon)
    more = (0, call.width - columns)
    weight = carried_as(constants["weight"], "bfloat16")
    values = [("weight", np.pad(weight, more))]
    if not spec.rms:
        bias = constants["bias"].astype(np.float32) + np.float32(0)
        values.append(("bias", np.pad(bias, more)))
    real = columns if more[1] else 0
    return RowLayer(name, call, workload.output.size, tuple(values), real, dim="B")


def _function(workload: Workload, constants: Arrays, name: str) -> RowLayer:
    """A function of elements and its table."""
    assert workload.real is not None
    activation, entries = workload.real.activation, constants["table"]
    spec = FloatFunctionSpec.of(activation)
    call = FloatFunctionCall(f"{name}_{activation}", _header(name), spec, 1, activation)
    both = duplicated(np.pad(entries, (0, -len(entries) % 8)))
    return RowLayer(name, call, workload.output.size, (("w", both), ("cd", both)))


def _pair(workload: Workload, constants: Arrays, name: str) -> RowLayer:
    """A sum or product of two tensors."""
    del constants
    spec = FloatPairSpec("add" if workload.kind == "add" else "mul")
    call = FloatPairCall(f"{name}_{workload.kind}", _header(name), spec, None, 1)
    return RowLayer(name, call, workload.output.size)


_LAYERS: Mapping[Kind, Callable[[Workload, Arrays, str], RowLayer]] = {
    "softmax": _softmax,
    "layer_norm": _norm,
    "rms_norm": _norm,
    "function": _function,
    "add": _pair,
    "mul": _pair,
}
