"""The door between the compiler and what a target's author wrote.

Whatever leaves a method of a target that is no error of ours becomes a `TargetError` which names
the class and the method, so that nobody takes a mistake in a target for a defect of the compiler.
"""

from __future__ import annotations

import functools
import inspect
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from match_aie.errors import MatchError, TargetError, shorten
from match_aie.hardware.cost import CostModel, TileCostModel
from match_aie.hardware.sequence import SequenceCostModel
from match_aie.hardware.simulated import NetworkSimulator

#: Set on functions that are guarded.
MARK = "__match_aie_guarded__"

#: Methods of what a target's methods give: its cost models and its simulator.
GIVEN: Mapping[str, tuple[type, ...]] = MappingProxyType(
    {"cost_model": (CostModel, SequenceCostModel, TileCostModel), "simulator": (NetworkSimulator,)}
)


def guard_methods(cls: type, *bases: type) -> None:
    """Guard the public methods of `bases` that the class `cls` defines itself."""
    for name in {name for base in bases for name, v in vars(base).items() if inspect.isfunction(v)}:
        if name.startswith("_"):
            continue
        method = vars(cls).get(name)
        abstract = getattr(method, "__isabstractmethod__", False)
        if inspect.isfunction(method) and not abstract and not hasattr(method, MARK):
            setattr(cls, name, _guarded(method, name))


def _guarded(method: Callable[..., Any], name: str) -> Callable[..., Any]:
    """`method`, from which only our own errors leave."""

    @functools.wraps(method)
    def call(self: object, *arguments: object, **options: object) -> object:
        try:
            result = method(self, *arguments, **options)
            if inspect.isgenerator(result):  # its body runs here, not at the reader's
                result = tuple(result)
        except MatchError:
            raise
        except Exception as error:
            raise _failed(self, name, error) from error
        if name in GIVEN:
            for given in type(result).__mro__:
                if given is not object and not getattr(given, "_is_protocol", False):
                    guard_methods(given, *GIVEN[name])
        return result

    setattr(call, MARK, True)
    return call


def _failed(who: object, method: str, error: Exception) -> TargetError:
    """What the author should read."""
    kind = type(who)
    frames = traceback.extract_tb(error.__traceback__)
    place = f"{Path(frames[-1].filename).name}, line {frames[-1].lineno}"
    named = getattr(who, "name", "")
    return TargetError(
        f"{kind.__name__}.{method}() failed: {type(error).__name__}: {shorten(str(error), 200)} "
        f"({place})",
        where=f"{named or kind.__name__}, of {kind.__module__}",
        hint="this is the target's code; `match-aie check-target` tries all of it",
    )
