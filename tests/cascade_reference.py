"""Cores with cascades between them, stepped cycle by cycle: the simulator must say the same."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property


@dataclass(frozen=True)
class Call:
    """A call of a kernel.

    Attributes:
        gap: cycles between the call before and this one.
        reads: cycles of its body at which words are read.
        writes: at which they are written.
        body: its cycles, where it never waits.
    """

    gap: int
    reads: tuple[int, ...]
    writes: tuple[int, ...]
    body: int


@dataclass
class _Core:
    calls: list[Call]
    number: int = 0
    #: Cycle of the present call, counted from its gap's beginning; it stands still where it waits.
    at: int = 0
    moved: int = 0
    ends: list[int] = field(default_factory=list)

    @cached_property
    def listed(self) -> list[list[tuple[int, bool]]]:
        """(cycle, whether a word is read) of each call, in order."""
        return [
            sorted(
                [(c, True) for c in call.reads] + [(c, False) for c in call.writes],
                key=lambda word: (word[0], not word[1]),
            )
            for call in self.calls
        ]

    @property
    def words(self) -> list[tuple[int, bool]]:
        """Of the present call."""
        return self.listed[self.number]

    @property
    def due(self) -> bool | None:
        """Whether a word is to be read (or written) in this cycle; None where none is."""
        if self.number == len(self.calls):
            return None
        words, call = self.words, self.calls[self.number]
        if self.moved < len(words) and words[self.moved][0] + call.gap == self.at:
            return words[self.moved][1]
        return None


def ends(chain: list[list[Call]], room: int, transfer: int) -> list[list[int]]:
    """Cycle at which each call of each core ends.

    Args:
        chain: calls of each core, from the first core to the last.
        room: words between two cores at most.
        transfer: cycles from a word's write until it may be read.
    """
    cores = [_Core(list(calls)) for calls in chain]
    links: list[list[int]] = [[] for _ in cores]
    now = 0
    while any(core.number < len(core.calls) for core in cores):
        while any([_move(cores, links, at, now, room, transfer) for at in range(len(cores))]):
            pass
        for core in cores:
            core.at += core.due is None
        now += 1
        assert now < 100_000
    return [core.ends for core in cores]


def _move(
    cores: list[_Core], links: list[list[int]], at: int, now: int, room: int, transfer: int
) -> bool:
    """Whether core `at` did something in this cycle: moved a word that is due, or ended a call."""
    core = cores[at]
    reads = core.due
    if reads is None:
        if core.number == len(core.calls):
            return False
        call = core.calls[core.number]
        if core.at < call.gap + call.body:
            return False
        core.ends.append(now)
        core.number, core.at, core.moved = core.number + 1, 0, 0
        return True
    if reads:
        west = links[at - 1]
        if not west or west[0] + transfer > now:
            return False
        west.pop(0)
    else:
        if len(links[at]) >= room:
            return False
        links[at].append(now)
    core.moved += 1
    return True
