"""Layers whose scales are hidden, so that those which differ in nothing else are searched once.

What a tensor's integers mean changes no mapping and no cost. Nobody has to promise so: whoever
asks for a hidden scale meets `ScaleRead`, and the search is made again with the layer as it is.
"""

from __future__ import annotations

from dataclasses import fields, replace
from typing import NoReturn

from match_aie.errors import TargetError
from match_aie.workload import Operand, Workload


class ScaleRead(TargetError):
    """A module, or its cost model, asked for a scale that was hidden from it."""


def _refuse(operand: object) -> NoReturn:
    raise ScaleRead("a search asked for a tensor's scale")


class HiddenOperand(Operand):
    """An operand without its scale. Equal to others whose scales are hidden too."""

    scale = property(_refuse)

    def bare(self) -> Operand:
        """The same for a description: as if it were not quantised."""
        return Operand(**vars(self))

    def __eq__(self, other: object) -> bool:
        """By all that is not hidden."""
        return isinstance(other, HiddenOperand) and vars(self) == vars(other)

    def __hash__(self) -> int:
        """The same."""
        return hash(tuple(vars(self).values()))


def hidden(workload: Workload) -> Workload:
    """`workload` with the scales of all its operands hidden."""
    return replace(workload, operands=tuple(map(_hidden, workload.operands)))


def unscaled(workload: Workload) -> Workload:
    """`workload` as if nothing in it were quantised."""
    return bare(hidden(workload))


def bare(workload: Workload) -> Workload:
    """`workload` without the scales that are hidden, for a description."""
    shown = (o.bare() if isinstance(o, HiddenOperand) else o for o in workload.operands)
    return replace(workload, operands=tuple(shown))


def _hidden(operand: Operand) -> HiddenOperand:
    made = object.__new__(HiddenOperand)
    names = (field.name for field in fields(Operand) if field.name != "scale")
    vars(made).update({name: getattr(operand, name) for name in names})
    return made
