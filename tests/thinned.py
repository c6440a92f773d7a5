"""Parameters of which the default tests take some, and the slow ones the others."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def thinned(cases: Iterable[Any], every: int, first: int = 0) -> list[Any]:
    """`cases` for `pytest.mark.parametrize`; all but each `every`th from `first` on are slow.

    Args:
        cases: a value, or a tuple of values, of each test.
        every: 1 leaves all of them in the default tests.
        first: index of the first that stays.
    """
    return [
        case
        if at % every == first % every
        else pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=pytest.mark.slow)
        for at, case in enumerate(cases)
    ]
