"""What a caller may choose about a compilation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, get_args

from match_aie.errors import OptionError

if TYPE_CHECKING:  # they load numpy, which importing match_aie does not
    from match_aie.hardware import Objective
    from match_aie.mapping import SearchOptions

Arithmetic = Literal["module", "model", "nearest"]
Selection = Literal["cheapest", "match"]

#: What a network may be compiled for.
OBJECTIVES: tuple[Objective, ...] = ("latency", "energy", "edp")


@dataclass(frozen=True)
class CompileOptions:
    """Options of one compilation.

    Attributes:
        name: of the network; the model's file name by default.
        shapes: input name -> shape, for models whose dimensions are not all fixed.
        arithmetic: "module" lets a module use its own requantise arithmetic (the difference is
            reported); "model" makes a module that cannot reproduce the model's own arithmetic
            decline the layer; "nearest" is "module", and where a module cannot come within its own
            bound either it takes the nearest layer that it has, whose loss may be large and is
            stated for every layer.
        memory_limit: bytes the arena may take; None for no limit.
        integer_io: give inputs and outputs that are float only for a quantize or dequantize at
            the edge of the network their integer type.
        selection: "cheapest" for the cover of the graph with the least modelled cycles (or what
            `objective` says), "match" for MATCH's rule: the longest pattern, then the cheapest
            module.
        search: how mappings are searched; the defaults of `mapping.SearchOptions` where None.
        objective: what mappings, selection and what stays in inner memories are chosen for:
            cycles, picojoules, or their product ("edp").
        states: input name -> name of the output that it is in the next call, beside those that
            the model itself names.
        pins: name of a layer -> name of the module that runs it, or "core".

    Raises:
        OptionError: an unknown arithmetic, selection or objective, a limit that is not positive,
            or a search for something else than the objective.
    """

    name: str | None = None
    shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    arithmetic: Arithmetic = "module"
    memory_limit: int | None = None
    integer_io: bool = False
    selection: Selection = "cheapest"
    search: SearchOptions | None = None
    objective: Objective = "latency"
    states: Mapping[str, str] = field(default_factory=dict)
    pins: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse what has no meaning, before any work is done."""
        if self.arithmetic not in get_args(Arithmetic):
            raise OptionError(
                f"no arithmetic called {self.arithmetic!r}",
                hint="arithmetic='module', 'model' or 'nearest'",
            )
        if self.selection not in ("cheapest", "match"):
            raise OptionError(
                f"no selection called {self.selection!r}", hint="selection='cheapest' or 'match'"
            )
        if self.objective not in OBJECTIVES:
            raise OptionError(
                f"no objective called {self.objective!r}", hint=f"one of {OBJECTIVES}"
            )
        if self.search is not None and self.search.objective not in ("latency", self.objective):
            raise OptionError(
                f"mappings are searched for {self.search.objective!r}, and the network is compiled "
                f"for {self.objective!r}",
                hint=f"compile(..., objective={self.search.objective!r})",
            )
        if self.memory_limit is not None and self.memory_limit < 1:
            raise OptionError(
                f"a memory limit of {self.memory_limit} bytes", hint="give a positive number"
            )
