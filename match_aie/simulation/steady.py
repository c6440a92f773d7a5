"""Steady state: long runs are cheap once what happens repeats."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Steady:
    """A repeating pattern of completions.

    Attributes:
        first: index of the first completion of the pattern.
        period: completions after which the pattern repeats.
        cycles: that one period takes.
    """

    first: int
    period: int
    cycles: float

    @property
    def interval(self) -> float:
        """Mean cycles between successive completions."""
        return self.cycles / self.period


def find_steady(
    times: Sequence[float], *, repeats: int = 3, longest: int = 64, least: int = 0
) -> Steady | None:
    """The shortest pattern that the last completions repeat exactly, or None.

    Args:
        times: when the completions happened, ascending.
        repeats: how often the pattern must have been seen.
        longest: period, in completions, that is looked for.
        least: completions that the repetitions must span: more than one burst of them.
    """
    gaps = [b - a for a, b in itertools.pairwise(times)]
    for period in range(1, min(longest, len(gaps) // repeats) + 1):
        span = period * max(repeats, -(-least // period))
        if span > len(gaps):
            continue
        tail = gaps[len(gaps) - span :]
        if all(gap == tail[at % period] for at, gap in enumerate(tail)):
            return Steady(len(times) - 1 - span, period, sum(tail[:period]))
    return None


def extrapolate(times: Sequence[float], steady: Steady, count: int) -> float:
    """When completion number `count` (the first is 1) happens, if the pattern goes on."""
    if count <= len(times):
        return times[count - 1]
    periods, rest = divmod(count - 1 - steady.first, steady.period)
    return times[steady.first + rest] + periods * steady.cycles
