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
from match_aie.hardware.answers import unlike
from match_aie.hardware.cost import CostModel, TileCostModel
from match_aie.hardware.sequence import SequenceCostModel
from match_aie.hardware.simulated import NetworkSimulator
from match_aie.workload import Workload

#: What to do about an author's mistake that only running his code shows.
HINT = "this is the target's code; `match-aie check-target` tries all of it"

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
        wrong = unlike(name, result)
        if wrong:
            raise TargetError(
                f"{type(self).__name__}.{name}() {wrong}", where=_who(self), hint=HINT
            )
        if name in GIVEN:
            for given in type(result).__mro__:
                if given is not object and not getattr(given, "_is_protocol", False):
                    guard_methods(given, *GIVEN[name])
        return result

    setattr(call, MARK, True)
    return call


def _failed(who: object, method: str, error: Exception) -> TargetError:
    """What the author should read."""
    return TargetError(
        f"{type(who).__name__}.{method}() failed: {_told(error)}", where=_who(who), hint=HINT
    )


def _told(error: Exception) -> str:
    """What an author's code raised, and where."""
    frames = traceback.extract_tb(error.__traceback__)
    place = f"{Path(frames[-1].filename).name}, line {frames[-1].lineno}"
    return f"{type(error).__name__}: {shorten(str(error), 200)} ({place})"


def _who(who: object) -> str:
    kind = type(who)
    return f"{getattr(who, 'name', '') or kind.__name__}, of {kind.__module__}"


def refusal(check: Callable[[Workload], str | None], workload: Workload, who: str) -> str | None:
    """The answer of a pattern's check: a sentence, or None where the module runs the workload.

    Args:
        check: an author's function.
        workload: that the pattern matched.
        who: pattern and module, for the error.

    Raises:
        TargetError: it raises, or answers something else.
    """
    hint = "a check gives None where the module runs the layer, else a sentence why not"
    try:
        answer = check(workload)
    except MatchError:
        raise
    except Exception as error:
        raise TargetError(f"the check of {who} failed: {_told(error)}", hint=hint) from error
    if answer is None or (isinstance(answer, str) and answer):
        return answer
    raise TargetError(f"the check of {who} gives {shorten(repr(answer), 60)}", hint=hint)
