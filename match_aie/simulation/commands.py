"""What a process may yield, and what it acts on.

Commands are immutable and may be made once and yielded often, which is what makes hot loops fast.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Generator
from typing import Any, NamedTuple

#: A process: yields commands, is sent their results, may return a value.
Process = Generator["Command", Any, Any]


class Resource:
    """`capacity` equal units that processes take and give back, first come first served.

    Any process may give units back, whoever took them: with `available=0` it is a lock of an AI
    Engine tile or a counting semaphore.
    """

    __slots__ = ("available", "capacity", "name", "waiting")

    def __init__(self, name: str, capacity: int = 1, available: int | None = None) -> None:
        """All units are free unless `available` says how many are."""
        self.name = name
        self.capacity = capacity
        self.available = capacity if available is None else available
        self.waiting: deque[tuple[Task, int]] = deque()
        if capacity < 1 or not 0 <= self.available <= capacity:
            raise ValueError(f"resource {name!r}: {self.available} of {capacity} units")


class Channel:
    """A queue of items: `Put` waits while it is full, `Get` while it is empty."""

    __slots__ = ("capacity", "getters", "items", "name", "putters")

    def __init__(self, name: str, capacity: int | None = None) -> None:
        """Holds up to `capacity` items; None where it is not bounded."""
        if capacity is not None and capacity < 1:
            raise ValueError(f"channel {name!r}: a capacity of {capacity} items")
        self.name = name
        self.capacity = capacity
        self.items: deque[Any] = deque()
        self.putters: deque[tuple[Task, Any]] = deque()
        self.getters: deque[Task] = deque()


class Signal:
    """Something that happens once; whoever waits for it goes on, later waiters at once."""

    __slots__ = ("done", "name", "value", "waiting")

    def __init__(self, name: str) -> None:
        """Not yet happened."""
        self.name = name
        self.done = False
        self.value: Any = None
        self.waiting: list[Task] = []


class Task:
    """A running process; waiting for its `ended` signal joins it and gives its return value."""

    __slots__ = ("daemon", "ended", "name", "process", "since", "stalled", "waits_for")

    def __init__(self, name: str, process: Process, daemon: bool) -> None:
        """About to start."""
        self.name = name
        self.process = process
        self.daemon = daemon
        self.ended = Signal(f"end of {name}")
        self.waits_for = ""
        self.stalled = ""
        self.since = 0.0


class Delay(NamedTuple):
    """Let `cycles` pass; recorded as an event of `resource` where one is named."""

    cycles: float
    resource: str = ""
    name: str = ""
    category: str = ""


class Acquire(NamedTuple):
    """Take `amount` units, waiting until they are free; a long wait can be recorded.

    Where `stalled` names a resource, the wait is recorded as its event of category "stall".
    """

    resource: Resource
    amount: int = 1
    stalled: str = ""


class Release(NamedTuple):
    """Give `amount` units back; never waits."""

    resource: Resource
    amount: int = 1


class Put(NamedTuple):
    """Append `item`, waiting while the channel is full."""

    channel: Channel
    item: Any = None
    stalled: str = ""


class Get(NamedTuple):
    """Take the oldest item, waiting while there is none; the command's result is the item."""

    channel: Channel
    stalled: str = ""


class Wait(NamedTuple):
    """Wait for a signal, or for the end of a task; the result is its value."""

    target: Signal | Task
    stalled: str = ""


class Fire(NamedTuple):
    """Let a signal happen; never waits."""

    signal: Signal
    value: Any = None


Command = Delay | Acquire | Release | Put | Get | Wait | Fire
