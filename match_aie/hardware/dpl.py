"""Patterns that their authors wrote in TVM's language, `tvm.relax.dpl`, as structures."""

from __future__ import annotations

from collections.abc import Mapping

from match_aie import tvm_api
from match_aie.errors import TargetError
from match_aie.hardware.pattern import Any, Const, Op, Structure

#: Names that tensors and constants get where the author gives none, in the order of their operands.
TENSORS = ("x", "x1", "x2")
CONSTANTS = ("weight", "bias")


def structure_of(name: str, pattern: object, names: Mapping[str, object] | None = None) -> Op:
    """The structure that means what `pattern` does.

    Args:
        name: of the pattern, for errors.
        pattern: a `DFPattern` of calls of operators, wildcards and constants; wildcards may say
            their element type.
        names: what tensors and constants are called, as TVM's annotations; by default tensors are
            x, x1, x2 and constants weight, bias, in the order in which they are written.

    Raises:
        TargetError: it holds what a structure cannot say, such as a choice.
    """
    found = _Reader(name, dict(names or {})).read(pattern)
    if not isinstance(found, Op):
        raise TargetError(f"pattern {name} is no call of an operator")
    return found


class _Reader:
    """Names tensors while it walks a pattern, operands in order."""

    def __init__(self, name: str, names: Mapping[str, object]) -> None:
        self._name = name
        self._given = [(pattern, called) for called, pattern in names.items()]
        self._known: list[tuple[object, str]] = []

    def read(self, pattern: object, dtypes: tuple[str, ...] = ()) -> Structure:
        kind, parts = tvm_api.dpl_parts(pattern)
        if kind == "wildcard":
            return Any(self._called(pattern, TENSORS), dtypes)
        if kind == "constant":
            return Const(self._called(pattern, CONSTANTS))
        if kind == "dtype":
            return self.read(parts[0], (str(parts[1]),))
        if kind == "call":
            operator, operands = str(parts[0]), parts[1]
            # Scales, zero points and bounds are attributes of the canonical form, not tensors.
            leading = operands[: _LEADING.get(operator, len(operands))]
            return Op(operator, *(self.read(operand) for operand in leading), dtypes=dtypes)
        raise TargetError(
            f"pattern {self._name} holds a {parts[0]}, which a structure cannot say",
            hint="write calls of operators, wildcards and constants; for a choice one pattern "
            "each; conditions belong into the check, which sees the workload",
        )

    def _called(self, pattern: object, defaults: tuple[str, ...]) -> str:
        for other, called in (*self._given, *self._known):
            if tvm_api.same(other, pattern):
                return called
        used = {called for _, called in (*self._given, *self._known)}
        free = [word for word in defaults if word not in used]
        if not free:
            raise TargetError(
                f"pattern {self._name} has more than {len(defaults)} unnamed tensors or constants",
                hint="name them: from_dpl(..., names={'x': x, 'weight': w})",
            )
        self._known.append((pattern, free[0]))
        return free[0]


#: How many operands of an operator are tensors of the layer.
_LEADING = {"quantize": 1, "dequantize": 1, "clip": 1, "reshape": 1}
