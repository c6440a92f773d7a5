"""Layers whose rows are computed by themselves: what each kind refuses, its function, its rows."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from match_aie.errors import TargetError
from match_aie.targets.aie_ml.graph.layers import DTYPES
from match_aie.targets.aie_ml.graph.rows import RowLayer
from match_aie.targets.aie_ml.kernels.arithmetic import add_kernel, multiplied_kernel
from match_aie.targets.aie_ml.kernels.bands import AddCall
from match_aie.targets.aie_ml.kernels.lookup import TableCall, TableSpec, duplicated, table_values
from match_aie.targets.aie_ml.kernels.multiplied import MultipliedCall
from match_aie.targets.aie_ml.kernels.norm import NormCall, NormSpec
from match_aie.targets.aie_ml.kernels.softmax import SoftmaxCall, SoftmaxNumbers, SoftmaxSpec
from match_aie.targets.aie_ml.kernels.turned import TurnedCall, TurnedSpec
from match_aie.workload import NormNumbers, Workload

Arrays = Mapping[str, np.ndarray]


def _header(name: str) -> str:
    return f"{name}_kernels.h"


def refuses_sum(workload: Workload) -> str | None:
    """Why the array has no kernel for a sum; None where it has one."""
    if len(workload.inputs) != 2:
        return "one of its operands is constant; sums take two activations"
    x, x1 = workload.inputs
    if (x.dtype, x.shape) != (x1.dtype, x1.shape) or x.shape != workload.output.shape:
        return f"it adds {x.dtype}{x.shape} and {x1.dtype}{x1.shape}; sums take equal operands"
    for dtype in (x.dtype, workload.output.dtype):
        if dtype not in DTYPES:
            return f"it adds into {dtype}; sums read and store {', '.join(DTYPES)}"
    return None


def sum_layer(workload: Workload, constants: Arrays, name: str) -> RowLayer:
    """The sum of a workload in fixed point.

    Raises:
        TargetError: it is not in the fixed point of its kernel.
    """
    call = AddCall(f"{name}_add", _header(name), *add_kernel(workload, constants))
    return RowLayer(name, call, workload.output.size)


def refuses_multiplied(workload: Workload) -> str | None:
    """Why the array has no kernel for a product of elements; None where it has one."""
    if len(workload.inputs) != 2:
        return "one of its operands is constant; products of elements take two activations"
    x, x1 = workload.inputs
    if (x.dtype, x.shape) != (x1.dtype, x1.shape) or x.shape != workload.output.shape:
        return f"it multiplies {x.dtype}{x.shape} by {x1.dtype}{x1.shape}, which are not alike"
    if {x.dtype, workload.output.dtype} - {"int8", "uint8"}:
        return f"it multiplies {x.dtype} into {workload.output.dtype}; kernels take 8 bits"
    return None


def multiplied_layer(workload: Workload, constants: Arrays, name: str) -> RowLayer:
    """The product of elements of a workload in fixed point.

    Raises:
        TargetError: it is not in the fixed point of its kernel.
    """
    numbers = multiplied_kernel(workload, constants)
    call = MultipliedCall(f"{name}_multiplied", _header(name), *numbers)
    return RowLayer(name, call, workload.output.size)


def refuses_bytes(workload: Workload) -> str | None:
    """Why the array has no kernel for a table or a softmax; None where it has one."""
    x, y = workload.operand("x").dtype, workload.output.dtype
    return None if {x, y} <= {"int8", "uint8"} else f"a {workload.kind} of {x} into {y}"


def table_layer(workload: Workload, constants: Arrays, name: str) -> RowLayer:
    """A table with its entries."""
    spec = TableSpec(workload.operand("x").dtype, workload.output.dtype)
    call = TableCall(f"{name}_table", _header(name), spec, 1)
    return RowLayer(name, call, workload.output.size, table_values(constants["table"]))


def softmax_layer(workload: Workload, constants: Arrays, name: str) -> RowLayer:
    """A softmax of a workload in fixed point, rows filled up with what is never the largest."""
    x, tail = workload.operand("x"), workload.tail
    if tail is None or tail.shift is None:
        raise TargetError(f"layer {name}: a softmax that is not in fixed point")
    spec = SoftmaxSpec(x.dtype, workload.output.dtype)
    numbers = SoftmaxNumbers(int(constants["multiplier"][0]), tail)
    call = SoftmaxCall(f"{name}_softmax", _header(name), spec, 1, workload.sizes["K"], numbers)
    both = duplicated(constants["table"])
    return RowLayer(
        name,
        call,
        workload.output.size,
        (("w", both), ("cd", both)),
        call.columns if call.columns < call.width else 0,
        int(np.iinfo(x.dtype).min),
        "B",
    )


def norm_layer(workload: Workload, constants: Arrays, name: str) -> RowLayer:
    """A norm of a workload in fixed point, rows and their numbers filled up with 0."""
    x, tail, columns = workload.operand("x"), workload.tail, workload.sizes["K"]
    if tail is None or tail.shift is None:
        raise TargetError(f"layer {name}: a {workload.kind} that is not in fixed point")
    spec = NormSpec(x.dtype, workload.output.dtype, workload.kind == "rms_norm")
    numbers = NormNumbers.of(workload)
    call = NormCall(f"{name}_norm", _header(name), spec, 1, columns, numbers, tail)
    more = (0, call.width - columns)
    values = (
        ("multiplier", np.pad(constants["multiplier"].astype(np.int16), more)),
        ("bias", np.pad(constants["offset"], more)),
    )
    elements = workload.output.size
    return RowLayer(name, call, elements, values, columns if more[1] else 0, dim="B")


def refuses_turned(workload: Workload) -> str | None:
    """Why the array does not move axes so; None where two change places, of 8-bit elements."""
    x, order = workload.operand("x"), [axis.terms[0][0] for axis in workload.operand("x").axes]
    dims = [dim for dim, _ in workload.dims]
    if x.dtype not in ("int8", "uint8"):
        return f"it moves {x.dtype}; transposes are of 8 bits"
    long = [at for at, size in enumerate(x.shape) if size > 1]
    turned = [dims.index(order[at]) for at in long]
    if len(long) != 2 or turned[0] < turned[1]:
        return "more than two of its axes change places, or none"
    return None


def turned_layer(workload: Workload, constants: Arrays, name: str) -> RowLayer:
    """A transpose of a matrix."""
    del constants
    call = TurnedCall(f"{name}_turned", _header(name), TurnedSpec(workload.output.dtype), 1)
    return RowLayer(name, call, workload.output.size)
