"""A discrete-event engine: processes are generators, time is a heap.

Deterministic: what happens in one cycle happens in the order in which it was asked for, and
waiting is first come, first served. It knows nothing of chips and prices nothing.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable
from typing import Any

from match_aie.errors import MatchError
from match_aie.simulation.commands import (
    Acquire,
    Channel,
    Command,
    Delay,
    Fire,
    Get,
    Process,
    Put,
    Release,
    Resource,
    Signal,
    Task,
    Wait,
)
from match_aie.simulation.timeline import Event, Timeline


class DeadlockError(MatchError):
    """Nothing can happen any more, and processes still wait."""

    exit_code = 4


class Simulator:
    """Runs processes against shared resources.

    >>> sim = Simulator()
    >>> port = Resource("port")
    >>> def user(name):
    ...     yield Acquire(port)
    ...     yield Delay(10, "port", name)
    ...     yield Release(port)
    >>> for name in ("a", "b"):
    ...     _ = sim.spawn(name, user(name))
    >>> sim.run().cycles
    20

    Args:
        record: whether events are kept; without them long runs take no memory.
    """

    def __init__(self, *, record: bool = True) -> None:
        """At cycle 0, with nothing to do."""
        self.now: float = 0
        self.commands = 0
        self._record = record
        self._stopped = False
        self._events: list[Event] = []
        self._ready: deque[tuple[Task, Any]] = deque()
        self._later: list[tuple[float, int, Task]] = []
        self._order = 0
        self._tasks: dict[int, Task] = {}
        self._handlers: dict[type, Callable[[Task, Any], bool]] = {
            Delay: self._delay,
            Acquire: self._acquire,
            Release: self._release,
            Put: self._put,
            Get: self._get,
            Wait: self._wait,
            Fire: self._fire,
        }
        self._result: Any = None

    def spawn(self, name: str, process: Process, *, daemon: bool = False) -> Task:
        """Start `process` in the present cycle.

        Args:
            name: as deadlock reports show it.
            process: a generator that yields commands.
            daemon: whether it may still wait when everything else has ended.
        """
        task = Task(name, process, daemon)
        self._tasks[id(task)] = task
        self._ready.append((task, None))
        return task

    def record(self, event: Event) -> None:
        """Add an event that is no `Delay`."""
        if self._record:
            self._events.append(event)

    def stop(self) -> None:
        """End the run as it is; who still waits is left waiting."""
        self._stopped = True

    def run(self, until: float | None = None) -> Timeline:
        """Run until nothing is left to do, `stop` is called, or the clock would pass `until`.

        Raises:
            DeadlockError: processes that are no daemons wait for what never comes.
        """
        ready, later = self._ready, self._later
        while (ready or later) and not self._stopped:
            if not ready:
                if until is not None and later[0][0] > until:
                    self.now = until
                    return Timeline(tuple(self._events), until)
                self.now, _, task = heapq.heappop(later)
                ready.append((task, None))
            task, value = ready.popleft()
            self._advance(task, value)
        if not self._stopped:
            self._complain()
        return Timeline(tuple(self._events), self.now)

    def _advance(self, task: Task, value: object) -> None:
        """Run `task` until it has to wait."""
        send, handlers = task.process.send, self._handlers
        try:
            while True:
                command: Command = send(value)
                self.commands += 1
                if not handlers[type(command)](task, command):
                    return
                value, self._result = self._result, None
        except StopIteration as end:
            del self._tasks[id(task)]
            self._happen(task.ended, end.value)

    def _delay(self, task: Task, command: Delay) -> bool:
        cycles = command.cycles
        if cycles < 0:
            raise ValueError(f"{task.name}: a delay of {cycles} cycles")
        if self._record and command.resource:
            self._events.append(
                Event(command.resource, command.name, self.now, self.now + cycles, command.category)
            )
        if not cycles:
            return True
        self._order += 1
        heapq.heappush(self._later, (self.now + cycles, self._order, task))
        return False

    def _acquire(self, task: Task, command: Acquire) -> bool:
        resource, amount = command.resource, command.amount
        if resource.available >= amount and not resource.waiting:
            resource.available -= amount
            return True
        if amount > resource.capacity:
            raise ValueError(f"{task.name}: {amount} of {resource.capacity} {resource.name!r}")
        resource.waiting.append((task, amount))
        return self._block(task, resource.name, command.stalled)

    def _release(self, task: Task, command: Release) -> bool:
        resource = command.resource
        resource.available += command.amount
        if resource.available > resource.capacity:
            raise ValueError(f"{task.name}: {resource.name!r} released above its capacity")
        while resource.waiting and resource.available >= resource.waiting[0][1]:
            waiter, amount = resource.waiting.popleft()
            resource.available -= amount
            self._wake(waiter, None)
        return True

    def _put(self, task: Task, command: Put) -> bool:
        channel = command.channel
        if channel.getters:
            self._wake(channel.getters.popleft(), command.item)
            return True
        if channel.capacity is None or len(channel.items) < channel.capacity:
            channel.items.append(command.item)
            return True
        channel.putters.append((task, command.item))
        return self._block(task, channel.name, command.stalled)

    def _get(self, task: Task, command: Get) -> bool:
        channel = command.channel
        if not channel.items:
            channel.getters.append(task)
            return self._block(task, channel.name, command.stalled)
        self._result = channel.items.popleft()
        if channel.putters:
            putter, item = channel.putters.popleft()
            channel.items.append(item)
            self._wake(putter, None)
        return True

    def _wait(self, task: Task, command: Wait) -> bool:
        target = command.target
        signal = target.ended if isinstance(target, Task) else target
        if signal.done:
            self._result = signal.value
            return True
        signal.waiting.append(task)
        return self._block(task, signal.name, command.stalled)

    def _fire(self, task: Task, command: Fire) -> bool:
        if command.signal.done:
            raise ValueError(f"{task.name}: {command.signal.name!r} happened twice")
        self._happen(command.signal, command.value)
        return True

    def _happen(self, signal: Signal, value: object) -> None:
        signal.done, signal.value = True, value
        for waiter in signal.waiting:
            self._wake(waiter, value)
        signal.waiting.clear()

    def _block(self, task: Task, name: str, stalled: str) -> bool:
        task.waits_for, task.stalled, task.since = name, stalled, self.now
        return False

    def _wake(self, task: Task, value: object) -> None:
        if self._record and task.stalled and self.now > task.since:
            self._events.append(Event(task.stalled, task.waits_for, task.since, self.now, "stall"))
        task.waits_for = ""
        self._ready.append((task, value))

    def _complain(self) -> None:
        """Refuse to end while somebody waits."""
        stuck = [task for task in self._tasks.values() if not task.daemon]
        if stuck:
            shown = [f"{task.name} waits for {task.waits_for}" for task in stuck[:8]]
            raise DeadlockError(
                f"deadlock at cycle {self.now}: {'; '.join(shown)}"
                + (f"; and {len(stuck) - len(shown)} more" if len(stuck) > len(shown) else ""),
                hint="look for a cycle of buffers that are too small, or a lock never released",
            )


__all__ = ["Channel", "DeadlockError", "Resource", "Signal", "Simulator"]
