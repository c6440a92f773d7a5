"""An option that is one of a few words, and what is said where it is none of them."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

from match_aie.errors import TargetError, shorten


def refuse_word(option: str, value: object, known: Iterable[str]) -> None:
    """Refuse a value that is none of the words that an option may be.

    Raises:
        TargetError: it is none; the hint names all, those first that may be meant.
    """
    words = tuple(known)
    if value not in words:
        raise TargetError(
            f"{option} {shorten(repr(value), 60)}",
            hint=f"{meant_words(str(value), words)}one of {', '.join(words)}",
        )


def meant_words(word: str, known: Iterable[str], cutoff: float = 0.5) -> str:
    """A question that names what is near, with a space behind it; empty where nothing is."""
    folded = {one.casefold(): one for one in known}
    near = get_close_matches(word.casefold(), folded, n=3, cutoff=cutoff)
    return f"did you mean {', '.join(folded[one] for one in near)}? " if near else ""
