"""Arguments of a target's constructor that come out of a file: held to what its author declares."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from numbers import Integral, Real
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from match_aie.errors import TargetError, shorten
from match_aie.hardware.words import meant_words

#: What a type is called in a sentence, and who is one. A bool is an int in Python, and in no file.
_SIMPLE: dict[object, tuple[str, type | tuple[type, ...]]] = {
    bool: ("true or false", bool),
    int: ("a whole number", Integral),
    float: ("a number", Real),
    str: ("a word", str),
    NoneType: ("nothing", NoneType),
}


def hold_arguments(made: Callable[..., object], options: Mapping[str, object]) -> None:
    """See that there are such arguments, and that values of simple types are of those types.

    What is declared otherwise passes.

    Raises:
        TargetError: there is no such argument, a value is of another type, or is a number without
            an end.
    """
    _refuse_unknown(made, options)
    try:
        hints = get_type_hints(made.__init__)
    except (NameError, TypeError, AttributeError):  # names that only a type checker imports
        return
    for name, value in options.items():
        if name in hints and not _fits(value, hints[name]):
            raise TargetError(
                f"{name} is {shorten(repr(value), 40)}",
                hint=f"give {' or '.join(dict.fromkeys(_words(hints[name])))}",
            )


def arguments_of(made: Callable[..., object]) -> dict[str, object]:
    """The arguments of a target's constructor with their defaults; none where nobody says.

    Lists and objects are as a file has them; what a file cannot hold is its text.
    """
    try:
        taken = inspect.signature(made).parameters.values()
    except (TypeError, ValueError):
        return {}
    named = [one for one in taken if one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD)]
    return {one.name: _plain(one.default) for one in named}


def _plain(value: object) -> object:
    if value is inspect.Parameter.empty:
        return None
    if isinstance(value, Mapping):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return value if isinstance(value, bool | int | float | str | None) else str(value)


def _refuse_unknown(made: Callable[..., object], options: Mapping[str, object]) -> None:
    try:
        taken = inspect.signature(made).parameters
    except (TypeError, ValueError):  # nobody says what it takes: calling it will
        return
    if any(one.kind is inspect.Parameter.VAR_KEYWORD for one in taken.values()):
        return
    for name in options:
        if name not in taken:
            there = f"its arguments are {', '.join(taken)}" if taken else "it has none"
            raise TargetError(
                f"{made.__name__} has no argument {shorten(repr(name), 60)}",
                hint=f"{meant_words(str(name), taken)}{there}",
            )


def _fits(value: object, hint: object) -> bool:
    kind = get_origin(hint)
    if kind in (Union, UnionType):
        return any(_fits(value, one) for one in get_args(hint))
    if kind is Sequence:
        each = (*get_args(hint), Any)[0]
        return isinstance(value, list | tuple) and all(_fits(one, each) for one in value)
    if hint not in _SIMPLE:
        return True  # words of its own, say, which its constructor knows
    if isinstance(value, bool) or hint is bool:
        return isinstance(value, bool) and hint is bool
    endless = isinstance(value, float) and not math.isfinite(value)
    return isinstance(value, _SIMPLE[hint][1]) and not endless


def _words(hint: object) -> Sequence[str]:
    kind = get_origin(hint)
    if kind in (Union, UnionType):
        return [word for one in get_args(hint) for word in _words(one)]
    if kind is Sequence:
        return ["a list"]
    if kind is Literal:
        return [repr(word) for word in get_args(hint)]
    return [_SIMPLE[hint][0] if hint in _SIMPLE else "what its constructor takes"]
