"""The names of TVM that change from release to release; the only file to touch on an upgrade.

Written for apache-tvm 0.27. Everything here is plain access, no policy.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from tvm import ir, relax

#: A compile-time tensor in the graph (relax.Constant up to 0.26).
ConstantNode = ir.GenericConst
CallNode = ir.Call


def is_constant(expr: Any) -> bool:
    """Whether `expr` is a compile-time tensor."""
    return isinstance(expr, ConstantNode)


def constant_value(expr: Any) -> np.ndarray:
    """The numpy value of a constant node."""
    return np.asarray(expr.value.numpy())


def operator_name(expr: Any) -> str:
    """Name of the called operator without "relax.", or "" where `expr` calls no operator."""
    if isinstance(expr, CallNode) and isinstance(expr.op, ir.Op):
        return str(expr.op.name).removeprefix("relax.")
    return ""


def dtype_of(expr: Any) -> str:
    """Element type of a tensor expression, as numpy names it."""
    return str(expr.ty.dtype)


def shape_of(expr: Any) -> tuple[int, ...]:
    """Static shape of a tensor expression; TypeError where a dimension is symbolic."""
    return tuple(int(size) for size in expr.ty.shape)


def is_tensor(expr: Any) -> bool:
    """Whether `expr` is a tensor, as opposed to a shape, a tuple or a scalar attribute."""
    return isinstance(expr.ty, relax.TensorType)


def variable_name(var: Any) -> str:
    """The name of a Relax variable."""
    return str(var.name)


def bindings(function: Any) -> Iterator[tuple[Any, Any]]:
    """(variable, value) of every binding of a straight-line Relax function, in order."""
    for block in function.body.blocks:
        for binding in block.bindings:
            yield binding.var, binding.value


def composite_name(module: Any, call: Any) -> str:
    """The `Composite` attribute of the private function that `call` calls, or ""."""
    if not (isinstance(call, CallNode) and isinstance(call.op, ir.GlobalVar)):
        return ""
    attrs = module[call.op].attrs
    return str(attrs["Composite"]) if attrs and "Composite" in attrs else ""


def abandon(builder: Any) -> None:
    """Close the block that a `BlockBuilder` keeps open after an error, of which TVM would warn."""
    builder._end_block()


def attributes(attrs: Any) -> dict[str, Any]:
    """The attributes of a call as plain numbers, strings, None, and tuples of them."""
    if attrs is None:
        return {}
    if isinstance(attrs, ir.DictAttrs):
        return {str(key): plain(value) for key, value in attrs.items()}
    names = set(dir(attrs)) - set(dir(ir.Attrs))
    return {n: plain(getattr(attrs, n)) for n in sorted(names) if not n.startswith("_")}


def plain(value: Any) -> Any:
    """A TVM attribute value as Python data; its text where nothing simpler fits."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if hasattr(value, "value") and isinstance(value.value, (int, float)):
        return value.value
    if isinstance(value, (list, tuple)) or type(value).__name__ == "Array":
        return tuple(plain(item) for item in value)
    return str(value)
