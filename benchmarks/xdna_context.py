"""What starts when: tasks of two groups of an array's columns and of a processor.

Either the groups are partitions with a context each, or one configuration in one context. In a
context dispatches run one after the other, and each ends when all that is in it has ended. A
dispatch of one context may run both groups, or one of them while the other waits for its inputs.
With `longest`, a dispatch has as many tasks of a program in each group as make both busy for most
of its time; or, with `looks`, each dispatch is the one of so many with which all would end first if
the others followed that rule (a rollout, or pilot method). What was found is an order, which can be
timed with other times (`Plan.again`): shorter ones never make it end later.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from math import inf

#: Who does a task: either group of columns, or the processor.
DENSE, ATTENTION, PROCESSOR = range(3)
GROUPS = DENSE, ATTENTION

#: Tasks of a group in a dispatch, at most, unless told otherwise.
MOST = 8


@dataclass(frozen=True)
class Takes:
    """Milliseconds of a task.

    Attributes:
        alone: in a dispatch of its own, which is in them.
        beside: where the other group has a task in it, too.
        behind: likewise, behind another task of the same program in that dispatch.
        program: whose tasks may follow each other in a dispatch; empty where none may.
        name: for people.
    """

    alone: float
    beside: float
    behind: float = inf
    program: str = ""
    name: str = ""


@dataclass(frozen=True)
class Task:
    """Something to be done.

    Attributes:
        who: does it.
        takes: how long, its dispatch included.
        after: numbers of what must have ended.
        rank: of tasks that can start at once the one of the lowest is preferred, then the first.
    """

    who: int
    takes: Takes
    after: frozenset[int]
    rank: float = 0.0


@dataclass(frozen=True)
class Done:
    """A schedule.

    Attributes:
        ends: when each task has ended.
        dispatches: how many there were.
        both: how many of them ran both groups.
        taken: names of the tasks of each.
        order: numbers of tasks as they were begun, those of a dispatch together.
    """

    ends: tuple[float, ...]
    dispatches: int
    both: int
    taken: tuple[tuple[str, ...], ...] = ()
    order: tuple[tuple[int, ...], ...] = ()


@dataclass
class Plan:
    """Tasks with what they wait for, in the order in which they are preferred."""

    tasks: list[Task] = field(default_factory=list)

    def add(self, who: int, takes: float | Takes, *after: int) -> int:
        """Another task; its number."""
        both = takes if isinstance(takes, Takes) else Takes(takes, takes)
        self.tasks.append(Task(who, both, frozenset(after)))
        return len(self.tasks) - 1

    def ranked(self, first: int, number: int, abreast: float) -> None:
        """Rank all tasks from `first` on, which are those of a window.

        Args:
            first: number of its first task.
            number: of the window.
            abreast: how much earlier, in windows, its first task is preferred than its last one: 0
                for window by window; with many, windows go side by side.
        """
        many = len(self.tasks) - first
        for at in range(first, len(self.tasks)):
            rank = number + abreast * (at - first) / many
            self.tasks[at] = replace(self.tasks[at], rank=rank)

    def run(
        self,
        *,
        apart: bool = False,
        patience: float = 0.0,
        longest: float = 0.0,
        looks: int = 1,
        most: int = MOST,
    ) -> Done:
        """A list schedule: the earliest possible task first, of these the one that is preferred.

        Args:
            apart: whether groups have contexts of their own, and each task a dispatch.
            patience: milliseconds that a dispatch waits for the other group's next task, where it
                is known by then when that can start.
            longest: milliseconds of a dispatch of several tasks of a group, at most; 0 where there
                are none. Then a dispatch has those tasks that keep both groups busy for the largest
                share of its time, and waits for nothing.
            looks: dispatches of those that keep both groups busiest of which each is tried, with
                `longest`.
            most: tasks of a group in a dispatch, with `longest`.
        """
        return _Run(self.tasks, patience, longest, apart=apart, most=most).done(looks)

    def again(self, order: Sequence[tuple[int, ...]]) -> Done:
        """What was begun in this order, each as soon as it can be: no later where times are less.

        Args:
            order: of `Done`, of a plan whose tasks wait for the same ones.
        """
        return _Run(self.tasks, 0.0, 0.0, apart=False).again(order)


@dataclass(frozen=True)
class _Row:
    """Tasks of a program in a dispatch.

    Attributes:
        tasks: of a group, one behind the other.
        alone: milliseconds, where the other group has none.
        beside: likewise where it has some.
        busy: of it.
        rank: of the first task.
    """

    tasks: list[int]
    alone: float
    beside: float
    busy: float
    rank: float


class _Run:
    """One schedule in the making."""

    def __init__(
        self,
        tasks: list[Task],
        patience: float,
        longest: float,
        *,
        apart: bool,
        most: int = MOST,
    ) -> None:
        self._tasks, self._patience, self._apart = tasks, patience, apart
        self._longest, self._most = longest, most
        self._taken: list[tuple[str, ...]] = []
        self._order: list[tuple[int, ...]] = []
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

    def done(self, looks: int = 1) -> Done:
        """What starts first is decided first: all that it depends on is known by then."""
        while (begin := self._next()) < inf:
            west, east = (self._first(who) for who in (DENSE, ATTENTION))
            if self._apart:
                one = min(west, east)[1]
                self._dispatch(begin, [one], self._tasks[one].takes.beside)
            elif self._longest:
                self._dispatch(begin, self._followed(begin, looks))
            else:
                if max(west[0], east[0]) <= begin + self._patience:
                    begin = max(west[0], east[0])
                self._dispatch(begin, [one for at, one in (west, east) if at <= begin])
        return self._found()

    def again(self, order: Sequence[tuple[int, ...]]) -> Done:
        """What was begun in this order."""
        for each in order:
            who = {self._tasks[one].who for one in each}
            ready = [self._able[self._tasks[one].who][one] for one in each]
            begin = max(*ready, *(self._free[one] for one in who))
            if who == {PROCESSOR}:
                self._end(each, begin + self._tasks[each[0]].takes.alone)
            else:
                self._dispatch(begin, each)
        return self._found()

    def _found(self) -> Done:
        taken, order = tuple(self._taken), tuple(self._order)
        return Done(tuple(self._ends), self._dispatches, self._both, taken, order)

    def _next(self) -> float:
        """When the next dispatch may begin, with what the processor begins before; never: inf."""
        while any(self._able):
            mine, west, east = (self._first(who) for who in (PROCESSOR, DENSE, ATTENTION))
            begin = min(west[0], east[0])
            if mine[0] > begin:
                return begin
            self._end([mine[1]], mine[0] + self._tasks[mine[1]].takes.alone)
        return inf

    def _followed(self, begin: float, looks: int) -> list[int]:
        """Of so many dispatches the one with which all ends first, others being the fullest."""
        every = self._fullest(begin)[:looks]
        if len(every) == 1:
            return every[0]
        ends = []
        for number, chosen in enumerate(every):
            other = self._copied()
            other._dispatch(begin, chosen)
            ends.append((max(other.done().ends), number))
        return every[min(ends)[1]]

    def _copied(self) -> _Run:
        """Another one that is as far."""
        other = copy(self)
        other._able = tuple(able.copy() for able in self._able)
        for name in ("_ends", "_lacks", "_free", "_taken", "_order"):
            setattr(other, name, getattr(self, name).copy())
        return other

    def _first(self, who: int) -> tuple[float, int]:
        """When the next task of somebody starts, and which."""
        each = (
            (max(at, self._free[who]), self._tasks[one].rank, one)
            for one, at in self._able[who].items()
        )
        begin, _, one = min(each, default=(inf, 0.0, -1))
        return begin, one

    def _fullest(self, begin: float) -> list[list[int]]:
        """What dispatches may have, those first that keep both groups busiest.

        What a task takes behind another one of its program counts as busy.
        """
        found: list[tuple[float, float, list[int]]] = []
        easts = list(self._rows(ATTENTION, begin))
        for west in self._rows(DENSE, begin):
            for east in easts:
                # More of one group alone would leave the other one waiting for longer.
                many = len(west.tasks) + len(east.tasks)
                alone = not (west.tasks and east.tasks)
                if not many or (alone and many > 1):
                    continue
                took = west.alone + east.alone if alone else max(west.beside, east.beside)
                if took <= self._longest or len(west.tasks) <= 1 >= len(east.tasks):
                    rank = west.rank if west.tasks else east.rank
                    busy = (west.busy + east.busy) / took
                    found.append((busy, -rank, [*west.tasks, *east.tasks]))
        found.sort(key=lambda each: each[:2], reverse=True)
        return [every for *_, every in found]

    def _rows(self, who: int, begin: float) -> Iterator[_Row]:
        """Tasks of a program of which none, one, two and so on may be in a dispatch."""
        able = [one for one, at in self._able[who].items() if max(at, self._free[who]) <= begin]
        able.sort(key=lambda one: (self._tasks[one].rank, one))
        programs: dict[str | int, list[int]] = {}
        for one in able:
            programs.setdefault(self._tasks[one].takes.program or one, []).append(one)
        yield _Row([], 0.0, 0.0, 0.0, 0.0)
        for tasks in programs.values():
            first, takes = self._tasks[tasks[0]], self._tasks[tasks[0]].takes
            alone, beside, busy = takes.alone, takes.beside, self._busy(tasks[0])
            yield _Row(tasks[:1], alone, beside, busy, first.rank)
            for many, one in enumerate(tasks[1 : self._most], 2):
                behind = self._tasks[one].takes.behind
                alone, beside, busy = alone + behind, beside + behind, busy + self._busy(one)
                yield _Row(tasks[:many], alone, beside, busy, first.rank)

    def _busy(self, one: int) -> float:
        takes = self._tasks[one].takes
        return takes.alone if takes.behind == inf else takes.behind

    def _row(self, tasks: list[int]) -> float:
        """How long a group has these tasks of a program, the other one some of its own."""
        first, *others = tasks
        return self._tasks[first].takes.beside + self._behind_first(others)

    def _took(self, chosen: Sequence[int]) -> float:
        """How long a dispatch takes that has these tasks."""
        rows = [[one for one in chosen if self._tasks[one].who == who] for who in GROUPS]
        if all(rows):
            return max(map(self._row, rows))
        first, *others = chosen
        return self._tasks[first].takes.alone + self._behind_first(others)

    def _behind_first(self, others: Sequence[int]) -> float:
        return sum(self._tasks[one].takes.behind for one in others)

    def _dispatch(self, begin: float, chosen: Sequence[int], took: float | None = None) -> None:
        took = self._took(chosen) if took is None else took
        self._dispatches += 1
        self._taken.append(tuple(self._tasks[one].takes.name for one in chosen))
        self._both += len({self._tasks[one].who for one in chosen}) > 1
        self._end(chosen, begin + took)
        if not self._apart:
            self._free[DENSE] = self._free[ATTENTION] = begin + took

    def _end(self, tasks: Sequence[int], now: float) -> None:
        """Tasks that have ended, and what waited for them."""
        self._order.append(tuple(tasks))
        for task in tasks:
            who = self._tasks[task].who
            del self._able[who][task]
            self._ends[task] = self._free[who] = now
            for one in self._behind[task]:
                self._lacks[one] -= 1
                if not self._lacks[one]:
                    when = max(self._ends[each] for each in self._tasks[one].after)
                    self._able[self._tasks[one].who][one] = when
