"""What can be said against a target before anything is compiled."""

from __future__ import annotations

import json
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

from match_aie.codegen.manifest import plain
from match_aie.errors import MatchError, shorten
from match_aie.hardware import ExecModule, MatchTarget, target_names
from match_aie.testing.names import memory_problems, pattern_problems, target_problems

T = TypeVar("T")


def said(error: Exception) -> str:
    """What an error says, in a sentence; of an unexpected one also where it was raised."""
    if isinstance(error, MatchError):
        where = f" ({error.where})" if error.where else ""
        hint = f"; try: {error.hint}" if error.hint else ""
        return f"{error.what}{where}{hint}"
    frames = traceback.extract_tb(error.__traceback__)
    place = f"{Path(frames[-1].filename).name}, line {frames[-1].lineno}" if frames else ""
    return f"{type(error).__name__}: {shorten(str(error), 200)} ({place})"


def problems(target: MatchTarget) -> list[str]:
    """Everything that is wrong with what `target` declares, a sentence each."""
    found = [] if target.name else ["the target has no name"]
    modules, error = _asked(lambda: list(target.modules()))
    if modules is None:
        return [*found, f"modules() fails: {error}"]
    if not modules:
        found.append("modules() gives none: everything would run on the core")
    twice = [name for name, times in Counter(m.name for m in modules).items() if times > 1]
    found += [f"two modules are called {name!r}" for name in twice]
    for module in modules:
        found += [f"module {module.name!r} {sentence}" for sentence in _module(module)]
    found += target_problems(target, modules)
    return found + list(_remade(target))


def _module(module: ExecModule) -> Iterator[str]:
    if not module.name:
        yield "has no name"
    if not module.memories:
        yield "has no memories: at least the one that holds the tensors is needed"
    patterns, error = _asked(lambda: list(module.patterns()))
    if patterns is None:
        yield f"fails to give its patterns: {error}"
        return
    if not patterns:
        yield "has no patterns, so that it never runs anything"
    yield from memory_problems(module)
    for pattern in patterns:
        for sentence in pattern_problems(pattern):
            yield f"has a pattern {pattern.name!r} that cannot work: {sentence}"
    names = Counter(pattern.name for pattern in patterns)
    yield from (f"has two patterns {name!r}" for name, times in names.items() if times > 1)


def _remade(target: MatchTarget) -> Iterator[str]:
    """`simulate DIR` makes the target again from what the project says of it."""
    options, error = _asked(lambda: json.dumps(plain(target.options())))
    if options is None:
        yield f"options() is not plain data: {error}"
        return
    again, error = _asked(lambda: type(target)(**dict(target.options())))
    if again is None:
        yield f"options() does not give what the constructor takes: {error}"
        return
    for one, other in zip(target.modules(), again.modules(), strict=False):
        if (one.name, one.memories) != (other.name, other.memories):
            yield f"options() makes another target: module {one.name!r} has other memories"
    if dict(again.options()) != dict(target.options()):
        yield "options() makes a target with other options"


def _asked(question: Callable[[], T]) -> tuple[T | None, str]:
    """An answer of the target's own code, or what it raised."""
    try:
        return question(), ""
    except Exception as error:  # noqa: BLE001  a target is code: anything may leave it
        return None, said(error)


def remarks(target: MatchTarget) -> list[str]:
    """What a user of the target may miss."""
    if target.name.casefold() in (name.casefold() for name in target_names()):
        return []
    return [
        f"no installed package registers {target.name!r}: `match-aie compile -t` does not find it "
        "(entry-point group match_aie.targets)"
    ]
