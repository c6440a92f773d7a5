"""Parameters of which the default tests take some, and the slow ones the others."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pytest


def thinned(cases: Iterable[Any], every: int, first: int = 0, *, mark: str = "slow") -> list[Any]:
    """`cases` for `pytest.mark.parametrize`; all but each `every`th from `first` on are slow.

    Of a product of two lists `every` has no factor in common with the second one's length: else
    some of its values would never be tried by default (see `turns`).

    Args:
        cases: a value, or a tuple of values, of each test; no `pytest.param`.
        every: 1 leaves all of them in the default tests.
        first: index of the first that stays.
        mark: of the others; "long" where all are slow.
    """
    marks = getattr(pytest.mark, mark)
    return [
        case
        if at % every == first % every
        else pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=marks)
        for at, case in enumerate(cases)
    ]


def turns(outer: Iterable[Any], inner: Sequence[Any]) -> list[Any]:
    """All pairs; of each outer value the default tests take one inner value, by turns."""
    return [
        (one, other)
        if number == at % len(inner)
        else pytest.param(one, other, marks=pytest.mark.slow)
        for at, one in enumerate(outer)
        for number, other in enumerate(inner)
    ]
