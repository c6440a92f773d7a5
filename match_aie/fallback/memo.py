"""Remembers lowerings: an unrolled network lowers the same operator hundreds of times."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import tvm_ffi
from tvm import relax

from match_aie import tvm_api


@dataclass(frozen=True, eq=False)
class _Lowered:
    """A call of a TIR function: which operands of the operator it passes on."""

    attrs: Any
    call: Any
    positions: tuple[int, ...]


@dataclass
class Memo:
    """Lowerings by operator, attributes, operand types and constant scalars."""

    entries: dict[Any, list[_Lowered]] = field(default_factory=dict)

    def lower(self, call: Any, rule: Callable[[], Any]) -> Any:
        """The lowering of `call`: remembered, or what `rule` gives."""
        operands = _operands(call)
        bucket = self.entries.setdefault(_key(call), [])
        for known in bucket:
            if known.attrs is call.attrs or tvm_ffi.structural_equal(known.attrs, call.attrs):
                args = [operands[position] for position in known.positions]
                old = known.call
                passed = [old.args[0], relax.Tuple(args), *old.args[2:]]
                return tvm_api.CallNode(old.op, passed, old.attrs, old.ty_args)
        result = rule()
        if tvm_api.operator_name(result) == "call_tir":
            positions = [_position(arg, operands) for arg in result.args[1].fields]
            if all(position is not None for position in positions):
                kept = tuple(position for position in positions if position is not None)
                bucket.append(_Lowered(call.attrs, result, kept))
        return result


def _operands(call: Any) -> list[Any]:
    """Tensor operands, those inside tuples too."""
    return [leaf for arg in call.args for leaf in getattr(arg, "fields", [arg])]


def _position(arg: Any, operands: list[Any]) -> int | None:
    """Index of `arg` among `operands`, if it is there exactly once."""
    found = [index for index, operand in enumerate(operands) if operand.same_as(arg)]
    return found[0] if len(found) == 1 else None


def _key(call: Any) -> tuple[str, ...]:
    """Everything but the attributes that a lowering may depend on."""
    parts = [tvm_api.operator_name(call)]
    for arg in call.args:
        if isinstance(arg, relax.Tuple):
            parts.append("(")
        for leaf in getattr(arg, "fields", [arg]):
            parts.append(_describe(leaf))
    return tuple(parts)


def _describe(operand: Any) -> str:
    if isinstance(operand.ty, relax.TensorType):
        text = f"{tvm_api.dtype_of(operand)}{tvm_api.shape_of(operand)}"
        if tvm_api.is_constant(operand):
            value = tvm_api.constant_value(operand)
            text += value.tobytes().hex() if value.size == 1 else "constant"
        return text
    return str(operand)
