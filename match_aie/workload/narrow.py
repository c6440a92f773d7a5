"""Layers of rows whose tensors are stored as bfloat16 and computed in float32.

An element is read as the float32 that it is, and a result rounded once, when it is stored, halves
to even. Constants (a norm's weight and bias) stay float32. A function is a table of what each of
all 65,536 numbers gives, by their bits; it and sums have the bits that `rows_bfloat16` says. So a
processor works on what an array that computes in bfloat16 left in memory, without a float32 copy of
it. Not to be confused with `RealTail.precision` "bfloat16", whose every operation is certain: here
sums along a row are in any order.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from match_aie.workload.functions_bfloat16 import function_table
from match_aie.workload.kinds import NORMS, Kind
from match_aie.workload.running import Near
from match_aie.workload.short_floats import BFLOAT16, FLOAT16
from match_aie.workload.workload import Axis, Operand, Workload

#: Kinds whose tensors may be stored so.
NARROW_KINDS: tuple[Kind, ...] = ("function", "add", "mul", "softmax", *NORMS)


def narrow(workload: Workload) -> Workload:
    """A float32 layer with its tensors in bfloat16.

    Raises:
        ValueError: its kind is none of `NARROW_KINDS`, or it computes in another precision.
    """
    if workload.kind not in NARROW_KINDS or workload.real is None or workload.rounded:
        raise ValueError(f"tensors of a {workload.kind} are not stored as bfloat16")
    operands = [o if o.constant else replace(o, dtype="bfloat16") for o in workload.operands]
    if workload.kind == "function":
        operands.insert(-1, Operand("table", "uint16", (1 << 16,), (Axis(()),), True))
    return replace(workload, operands=tuple(operands))


def narrow_table(workload: Workload) -> np.ndarray:
    """The table of a function that `narrow` gave, by bits, each the nearest bfloat16 number."""
    assert workload.real is not None
    every = np.arange(1 << 16, dtype=np.uint16)
    return function_table(workload.real.activation)(every)


def is_narrow(workload: Workload) -> bool:
    """Whether the tensors of a layer are stored as bfloat16."""
    return workload.output.dtype == "bfloat16"


def stored_narrow(found: Near, dtype: str) -> Near:
    """What float32 results, and how far they may be off, become when stored in 16 bits."""
    of = FLOAT16 if dtype == "float16" else BFLOAT16
    value = np.where(np.abs(found.value) < of.beyond, found.value, np.copysign(np.inf, found.value))
    value = np.where(np.isnan(found.value), found.value, value)
    most = np.abs(found.value) + found.error
    with np.errstate(invalid="ignore"):
        error = found.error + of.unit * most + of.tiny
    return Near(value, np.where(np.isfinite(value), error, 0.0))
