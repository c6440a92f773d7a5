"""Layers in a module's own arithmetic, beside what they stand for."""

from __future__ import annotations

from dataclasses import dataclass

from match_aie.errors import TargetError
from match_aie.hardware.facet import facet
from match_aie.hardware.module import ExecModule
from match_aie.hardware.module_facets import Constants, OwnArithmetic
from match_aie.workload import Converted, Operand, Workload


@dataclass(frozen=True, eq=False)
class Original:
    """A layer in the model's arithmetic, which a module computes in its own.

    Attributes:
        workload: what the model means.
        constants: by operand name.
        error_lsb: proven bound of the module's difference from it, see `Converted`.
    """

    workload: Workload
    constants: Constants
    error_lsb: float | None


def convert(
    module: ExecModule, workload: Workload, constants: Constants, *, nearest: bool = False
) -> Converted | str:
    """What `module` makes of a layer, or why it refuses.

    Args:
        module: the execution module.
        workload: in the model's arithmetic.
        constants: by operand name.
        nearest: take the nearest layer where the module refuses this one, and has one.

    Raises:
        TargetError: the conversion does not stand for the layer, or its constants do not fit.
    """
    own, how = facet(module, OwnArithmetic), "convert"
    answer = own.convert(workload, constants)
    if isinstance(answer, str) and nearest and comes_near(module):
        how, refusal = "nearest", answer
        answer = own.nearest(workload, constants)
        answer = f"{refusal}; {answer}" if isinstance(answer, str) else answer
    if isinstance(answer, str):
        return answer
    wrong = _wrong(workload, answer)
    if wrong:
        raise TargetError(
            f"module {module.name} converts a {workload.kind} wrongly: {wrong}",
            hint=f"mend its method `{how}`",
        )
    return answer


def comes_near(module: ExecModule) -> bool:
    """Whether `module` has nearest layers for those that it cannot compute."""
    return type(facet(module, OwnArithmetic)).nearest is not OwnArithmetic.nearest


def computes_model(module: ExecModule, original: Original | None) -> bool:
    """Whether `module` computes a layer as the model does, bit for bit.

    A module of its own arithmetic that converts nothing says of every layer that it does not.

    Args:
        module: the execution module.
        original: what it converted, None where it computes the layer as it was.
    """
    if original is not None:
        return original.error_lsb == 0
    own = facet(module, OwnArithmetic)
    return own.arithmetic == "model" or type(own).convert is not OwnArithmetic.convert


def _wrong(workload: Workload, answer: Converted) -> str:
    """What a conversion changed that it may not, or an empty string."""
    if answer.error_lsb is not None and not answer.error_lsb >= 0:
        return f"an error of {answer.error_lsb} LSB"
    before = (*workload.inputs, workload.output)
    after = (*answer.workload.inputs, answer.workload.output)
    if [_form(o) for o in before] != [_form(o) for o in after]:
        return "its inputs and output are not the layer's"
    for operand in answer.workload.constants:
        value = answer.constants.get(operand.name)
        if value is None or (value.shape, value.dtype.name) != (operand.shape, operand.dtype):
            return f"constant {operand.name} is not {operand.dtype}{list(operand.shape)}"
    return ""


def _form(operand: Operand) -> tuple[str, str, tuple[int, ...]]:
    return operand.name, operand.dtype, operand.shape
