"""Slices that are blocks of what they are of, as rows of an image are, and that layers read.

Such a slice need not be copied: layers may read it where it lies. Whether they do, the memory plan
says (`match_aie.lowering.slicing`); until then every slice is copied.
"""

from __future__ import annotations

from math import prod
from typing import Any

from tvm import relax

from match_aie import tvm_api
from match_aie.hardware.core import is_block
from match_aie.hardware.passes import SLICED
from match_aie.hardware.written import STORED

#: Begin of the callee of a slice that is not lowered to a function; its first element follows, and
#: the one behind its last.
SLICE = "ma_slice_"


def slices(main: Any) -> frozenset[Any]:
    """Variables of slices of integers that lie in one block, and that layers alone read."""
    others = set(_variables(main.body.body))
    for _, value in tvm_api.bindings(main):
        if tvm_api.operator_name(value) != "call_dps_packed":
            others.update(_variables(value))
    return frozenset(
        var
        for var, value in tvm_api.bindings(main)
        if tvm_api.operator_name(value) == SLICED and var not in others and _is_block(var, value)
    )


def _variables(value: Any) -> list[Any]:
    parts = getattr(value, "args", None) or getattr(value, "fields", None) or ()
    if isinstance(value, relax.TupleGetItem):
        parts = (value.tuple_value,)
    own = [value] if isinstance(value, relax.Var) else []
    return own + [var for part in parts for var in _variables(part)]


def _is_block(var: Any, call: Any) -> bool:
    if len(call.args) != 4 or not isinstance(call.args[0], relax.Var):
        return False
    whole, part = tvm_api.shape_of(call.args[0]), tvm_api.shape_of(var)
    stored = tvm_api.dtype_of(var) in STORED and prod(part) > 0
    return stored and is_block(whole, part) and _first(call) >= 0


def _first(call: Any) -> int:
    """The first element of a block; negative where it is counted from the end."""
    whole = tvm_api.shape_of(call.args[0])
    axes, begin = ([int(part) for part in call.args[at].fields] for at in (1, 2))
    return sum(first * prod(whole[axis + 1 :]) for axis, first in zip(axes, begin, strict=True))


def slice_of(call: Any) -> Any:
    """What stands for a slice that is such a block."""
    first = _first(call)
    callee = f"{SLICE}{first}_{first + prod(tvm_api.shape_of(call))}"
    return relax.call_dps_packed(callee, relax.Tuple([call.args[0]]), out_ty=call.ty)


def is_slice(callee: str) -> bool:
    """Whether a callee is what `slice_of` made."""
    return callee.startswith(SLICE)


def slice_begin(callee: str) -> int:
    """The first element of the block that such a callee stands for."""
    return int(callee.removeprefix(SLICE).partition("_")[0])
