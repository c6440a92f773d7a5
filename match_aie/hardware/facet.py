"""The door to what only some chips have: members in groups, which a class inherits in addition."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeVar

from match_aie.errors import TargetError

Facet = TypeVar("Facet")


def facet(thing: object, kind: type[Facet]) -> Facet:
    """`thing` as `kind` where its class inherits it; else what `kind` says by default.

    Args:
        thing: a module or a target.
        kind: a class of members that all have defaults, such as `Tiled`.
    """
    return thing if isinstance(thing, kind) else kind()


def members(kind: type) -> tuple[str, ...]:
    """Public names that a class declares itself, in their order."""
    declared = dict.fromkeys((*vars(kind), *vars(kind).get("__annotations__", {})))
    return tuple(name for name in declared if not name.startswith("_"))


def refuse_strangers(cls: type, kinds: Sequence[type]) -> None:
    """Refuse a class that declares a member of a facet which it does not inherit.

    Nobody would look for it there.

    Raises:
        TargetError: with the facet's name.
    """
    for name, kind in _missing(cls, kinds):
        declared = hasattr(cls, name)
        if declared or any(name in vars(c).get("__annotations__", {}) for c in cls.__mro__):
            raise _stranger(cls, name, kind)


def refuse_stranger(cls: type, name: str, kinds: Sequence[type]) -> None:
    """The same of an attribute that is being set."""
    for member, kind in _missing(cls, kinds):
        if member == name:
            raise _stranger(cls, name, kind)


def _missing(cls: type, kinds: Sequence[type]) -> Iterator[tuple[str, type]]:
    for kind in kinds:
        if not issubclass(cls, kind):
            yield from ((name, kind) for name in members(kind))


def _stranger(cls: type, name: str, kind: type) -> TargetError:
    bases = ", ".join(base.__name__ for base in (*cls.__bases__, kind))
    return TargetError(
        f"{cls.__name__} has {name}, which is a member of {kind.__name__}, and does not inherit it",
        hint=f"class {cls.__name__}({bases}), with {kind.__name__} from match_aie.hardware",
    )
