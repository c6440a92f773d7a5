"""What starts when: tasks of two groups of an array's columns and of a processor.

Either the groups are partitions with a context each, or one configuration in one context. In a
context dispatches run one after the other, and each ends when all that is in it has ended. A
dispatch of one context may run both groups, or one of them while the other waits for its inputs.
Where it runs both, more tasks of the same program may follow in the group that would be done first.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf

#: Who does a task: either group of columns, or the processor.
DENSE, ATTENTION, PROCESSOR = range(3)


@dataclass(frozen=True)
class Takes:
    """Milliseconds of a task.

    Attributes:
        alone: in a dispatch of its own, which is in them.
        beside: where the other group has a task in it, too.
        behind: likewise, behind another task of the same program in that dispatch.
        program: whose tasks may follow each other in a dispatch; empty where none may.
    """

    alone: float
    beside: float
    behind: float = inf
    program: str = ""


@dataclass(frozen=True)
class Task:
    """Something to be done.

    Attributes:
        who: does it.
        takes: how long, its dispatch included.
        after: numbers of what must have ended.
    """

    who: int
    takes: Takes
    after: frozenset[int]


@dataclass(frozen=True)
class Done:
    """A schedule.

    Attributes:
        ends: when each task has ended.
        dispatches: how many there were.
        both: how many of them ran both groups.
    """

    ends: tuple[float, ...]
    dispatches: int
    both: int


@dataclass
class Plan:
    """Tasks with what they wait for, in the order in which they are preferred."""

    tasks: list[Task] = field(default_factory=list)

    def add(self, who: int, takes: float | Takes, *after: int) -> int:
        """Another task; its number."""
        both = takes if isinstance(takes, Takes) else Takes(takes, takes)
        self.tasks.append(Task(who, both, frozenset(after)))
        return len(self.tasks) - 1

    def run(self, *, apart: bool = False, patience: float = 0.0, fill: float = 0.0) -> Done:
        """A list schedule: the earliest possible task first, of these the one that is preferred.

        Args:
            apart: whether groups have contexts of their own, and each task a dispatch.
            patience: milliseconds that a dispatch waits for the other group's next task, where it
                is known by then when that can start.
            fill: how long more tasks make the group that would be done first, by the other one's
                time; 0 for no more tasks.
        """
        return _Run(self.tasks, patience, fill, apart=apart).done()


class _Run:
    """One schedule in the making."""

    def __init__(self, tasks: list[Task], patience: float, fill: float, *, apart: bool) -> None:
        self._tasks, self._patience, self._apart = tasks, patience, apart
        self._fill = fill
        self._ends = [0.0] * len(tasks)
        self._lacks = [len(task.after) for task in tasks]
        self._behind: list[list[int]] = [[] for _ in tasks]
        for at, task in enumerate(tasks):
            for one in task.after:
                self._behind[one].append(at)
        #: When those can start that wait for nothing more, by who does them.
        self._able: tuple[dict[int, float], ...] = ({}, {}, {})
        for at, lacks in enumerate(self._lacks):
            if not lacks:
                self._able[tasks[at].who][at] = 0.0
        self._free = [0.0] * (PROCESSOR + 1)
        self._dispatches = self._both = 0

    def done(self) -> Done:
        """What starts first is decided first: all that it depends on is known by then."""
        while any(self._able):
            mine, west, east = (self._first(who) for who in (PROCESSOR, DENSE, ATTENTION))
            begin = min(west[0], east[0])
            if mine[0] <= begin:
                self._end([mine[1]], mine[0] + self._tasks[mine[1]].takes.alone)
            elif self._apart:
                one = min(west, east)[1]
                self._dispatch(begin, [one], self._tasks[one].takes.beside)
            else:
                if max(west[0], east[0]) <= begin + self._patience:
                    begin = max(west[0], east[0])
                chosen = [one for at, one in (west, east) if at <= begin]
                took = self._tasks[chosen[0]].takes.alone
                if len(chosen) > 1:
                    took, chosen = self._filled(begin, chosen)
                self._dispatch(begin, chosen, took)
        return Done(tuple(self._ends), self._dispatches, self._both)

    def _first(self, who: int) -> tuple[float, int]:
        """When the next task of somebody starts, and which."""
        each = ((max(at, self._free[who]), one) for one, at in self._able[who].items())
        return min(each, default=(inf, -1))

    def _filled(self, begin: float, chosen: list[int]) -> tuple[float, list[int]]:
        """How long a dispatch of both takes, and all that is in it."""
        groups = [[one] for one in chosen]
        times = [self._tasks[one].takes.beside for one in chosen]
        while True:
            at = times.index(min(times))
            first = self._tasks[groups[at][0]]
            more = [
                one
                for one, when in sorted(self._able[first.who].items())
                if when <= begin
                and one not in groups[at]
                and self._tasks[one].takes.program == first.takes.program != ""
                and times[at] + self._tasks[one].takes.behind <= self._fill * max(times)
            ]
            if not more:
                return max(times), [one for group in groups for one in group]
            groups[at].append(more[0])
            times[at] += self._tasks[more[0]].takes.behind

    def _dispatch(self, begin: float, chosen: list[int], took: float) -> None:
        self._dispatches += 1
        self._both += len({self._tasks[one].who for one in chosen}) > 1
        self._end(chosen, begin + took)
        if not self._apart:
            self._free[DENSE] = self._free[ATTENTION] = begin + took

    def _end(self, tasks: list[int], now: float) -> None:
        """Tasks that have ended, and what waited for them."""
        for task in tasks:
            who = self._tasks[task].who
            del self._able[who][task]
            self._ends[task] = self._free[who] = now
            for one in self._behind[task]:
                self._lacks[one] -= 1
                if not self._lacks[one]:
                    when = max(self._ends[each] for each in self._tasks[one].after)
                    self._able[self._tasks[one].who][one] = when
