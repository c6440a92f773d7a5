"""Concatenations whose operands lie one after the other in the result.

Such an operand may be made where it belongs. Whether it is, the memory plan says
(`match_aie.lowering.joining`); until then every operand is copied into its part of the result.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from math import prod
from typing import Any

from tvm import relax

from match_aie import tvm_api
from match_aie.hardware.core import interleaved

#: Callee of a concatenation that is not lowered to a function; layers are called otherwise.
JOIN = "ma_join"


@dataclass
class Joins:
    """The concatenations of a network, as the fallback meets them.

    Attributes:
        inputs: variables of the network's inputs.
        allowed: whether operands may be made in their places at all.
        copied: why functions copy the others: variable name -> a sentence.
    """

    inputs: Collection[Any]
    allowed: bool = True
    copied: dict[str, str] = field(default_factory=dict)
    _placed: set[Any] = field(default_factory=set)

    def join(self, call: Any, viewed: Mapping[Any, Any]) -> Any | str:
        """A call of `JOIN` equal to the concatenation `call`, or why a function has to copy it.

        It pays where more is made in place than is still copied.

        Args:
            call: with all its operands variables or constants.
            viewed: reshaped variable -> what it is a view of.
        """
        if not self.allowed:
            return "where operands begin depends on a run's sizes"
        operands = list(call.args[0].fields) if isinstance(call.args[0], relax.Tuple) else []
        shapes = [tvm_api.shape_of(operand) for operand in operands]
        if not operands or not all(prod(shape) for shape in shapes):
            return "an operand has no elements"
        reason = interleaved(shapes, int(call.attrs.axis or 0) % max(1, len(shapes[0])))
        if reason is not None:
            return reason
        made = {
            viewed.get(operand, operand): prod(shape)
            for operand, shape in zip(operands, shapes, strict=True)
            if isinstance(operand, relax.Var)
        }
        made = {root: size for root, size in made.items() if self._free(root)}
        if 2 * sum(made.values()) < prod(tvm_api.shape_of(call)):
            return "most of it is inputs, constants, or tensors that lie elsewhere"
        self._placed |= set(made)
        return relax.call_dps_packed(JOIN, relax.Tuple(operands), out_ty=call.ty)

    def _free(self, root: Any) -> bool:
        return root not in self.inputs and root not in self._placed
