"""What starts when: tasks of two groups of an array's columns and of a processor.

Either the groups are partitions with a context each, or one configuration in one context. In a
context dispatches run one after the other, and each ends when all that is in it has ended. A
dispatch of one context may run both groups, or one of them while the other waits for its inputs.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf

#: Who does a task: either group of columns, or the processor.
DENSE, ATTENTION, PROCESSOR = range(3)

#: Milliseconds of a task in a dispatch of its own, and where the other group has one, too.
Takes = tuple[float, float]


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
        both = takes if isinstance(takes, tuple) else (takes, takes)
        self.tasks.append(Task(who, both, frozenset(after)))
        return len(self.tasks) - 1

    def run(self, *, apart: bool = False, patience: float = 0.0) -> Done:
        """A list schedule: the earliest possible task first, of these the one that is preferred.

        Args:
            apart: whether groups have contexts of their own, and each task a dispatch.
            patience: milliseconds that a dispatch waits for the other group's next task, where it
                is known by then when that can start.
        """
        return _Run(self.tasks, patience, apart=apart).done()


class _Run:
    """One schedule in the making."""

    def __init__(self, tasks: list[Task], patience: float, *, apart: bool) -> None:
        self._tasks, self._patience, self._apart = tasks, patience, apart
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
                self._end([mine[1]], mine[0] + self._tasks[mine[1]].takes[0])
            elif self._apart:
                one = min(west, east)[1]
                self._dispatch(begin, [one], self._tasks[one].takes[1])
            else:
                if max(west[0], east[0]) <= begin + self._patience:
                    begin = max(west[0], east[0])
                chosen = [one for at, one in (west, east) if at <= begin]
                took = max(self._tasks[one].takes[len(chosen) - 1] for one in chosen)
                self._dispatch(begin, chosen, took)
        return Done(tuple(self._ends), self._dispatches, self._both)

    def _first(self, who: int) -> tuple[float, int]:
        """When the next task of somebody starts, and which."""
        each = ((max(at, self._free[who]), one) for one, at in self._able[who].items())
        return min(each, default=(inf, -1))

    def _dispatch(self, begin: float, chosen: list[int], took: float) -> None:
        self._dispatches += 1
        self._both += len(chosen) > 1
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
