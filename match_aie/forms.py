"""Forms of a network of which the cheapest is taken: transposed convolutions, or convolutions."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from match_aie.errors import OptionError
from match_aie.options import CompileOptions

if TYPE_CHECKING:
    from match_aie.partition import Assignment
    from match_aie.priced import Decision

#: Whether quantised transposed convolutions become convolutions; or labels of those that do.
Convolved = bool | frozenset[str]

TRANSPOSED = "nn.conv2d_transpose"


def cheapest(decided: Callable[[Convolved], Decision], options: CompileOptions) -> Decision:
    """Who runs what, of the form that costs least.

    A chip's own layer moves no channels, but may not fit, or not beside the others. So three forms
    are priced: none is a convolution, all are, and those are that no module takes as they are.
    Without prices (MATCH's rule) nothing is compared.

    Args:
        decided: who runs what of a form.
        options: of the compilation.
    """
    try:
        first = decided(False)
    except OptionError as refused:  # pinned to a module that takes a convolution alone, perhaps
        try:
            return decided(True)
        except OptionError:
            raise refused from None
    rest, all_of_them = _left(first.assignment)
    if not all_of_them or options.selection != "cheapest":
        return first
    found = [first]
    for form in (frozenset(rest), True) if 0 < len(rest) < len(all_of_them) else (True,):
        try:
            found.append(decided(form))
        except OptionError:  # what is pinned to a module is not what it takes
            continue
    return min(found, key=lambda each: _cost(each.assignment, options))


def _left(assignment: Assignment) -> tuple[set[str], set[str]]:
    """Labels of transposed convolutions that no module runs, and of all."""
    placed, nodes = assignment.placed, assignment.pricing.graph.nodes
    found = [node for node in nodes if node.operator == TRANSPOSED]
    return {n.label for n in found if n.output not in placed}, {n.label for n in found}


def _cost(assignment: Assignment, options: CompileOptions) -> float:
    """What the objective minimises."""
    from match_aie.hardware import Cost, measure

    energy = assignment.energy
    picojoules = None if energy is None else energy.total
    return measure(Cost(assignment.cost.total, picojoules=picojoules), options.objective)
