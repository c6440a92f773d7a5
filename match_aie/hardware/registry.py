"""Targets by name, from the entry-point group `match_aie.targets`, built-in ones too."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from importlib.metadata import EntryPoint, entry_points

from match_aie.errors import TargetError, shorten
from match_aie.hardware.arguments import hold_arguments
from match_aie.hardware.target import MatchTarget

GROUP = "match_aie.targets"


def _entries() -> dict[str, EntryPoint]:
    found: dict[str, EntryPoint] = {}
    for entry in entry_points(group=GROUP):
        other = found.get(entry.name)
        if other is not None and other.value != entry.value:
            raise TargetError(
                f"two installed packages register target {entry.name!r}: "
                f"{other.value} and {entry.value}",
                hint="uninstall one of them",
            )
        found[entry.name] = entry
    return found


def target_names() -> tuple[str, ...]:
    """Names of all installed targets, sorted; imports none of them."""
    return tuple(sorted(_entries()))


def load_target(name: str, options: Mapping[str, object] | None = None) -> MatchTarget:
    """The target called `name` (upper or lower case), built with its defaults.

    Args:
        name: of an installed target.
        options: arguments of its constructor, as `MatchTarget.options` gives them.

    Raises:
        TargetError: no such target (the nearest names are given), or its class cannot be built,
            or an option is of another type than it declares.
    """
    entries = _entries()
    by_folded = {known.casefold(): known for known in entries}
    known = by_folded.get(name.casefold())
    if known is None:
        near = get_close_matches(name.casefold(), by_folded, n=3, cutoff=0.4)
        guess = f"did you mean {', '.join(by_folded[n] for n in near)}? " if near else ""
        raise TargetError(
            f"no target called {shorten(name, 60)!r}",
            hint=f"{guess}installed targets are {', '.join(sorted(entries))}",
        )
    try:
        made = entries[known].load()
        hold_arguments(made, options or {})
        target = made(**(options or {}))
    except (ImportError, AttributeError, TypeError) as error:
        raise TargetError(
            f"target {known!r} ({entries[known].value}) cannot be loaded: {error}",
            hint="give arguments that it takes"
            if options
            else "reinstall the package that registers it",
        ) from error
    if not isinstance(target, MatchTarget):
        raise TargetError(f"target {known!r} is a {type(target).__name__}, not a MatchTarget")
    return target
