"""What a simulation leaves behind: who was busy with what, and when."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple


class Event(NamedTuple):
    """One thing that one resource did; times in cycles of the simulation's reference clock.

    Attributes:
        resource: who was busy, such as "cluster" or "tile 3,4".
        name: with what, such as a layer's or a transfer's name.
        start: first cycle.
        end: first cycle after it.
        category: what kind of work, such as "kernel", "dma" or "stall".
    """

    resource: str
    name: str
    start: float
    end: float
    category: str = ""


@dataclass(frozen=True)
class Timeline:
    """Everything recorded of a run.

    Attributes:
        events: in the order in which they ended.
        cycles: when the last process ended.
    """

    events: tuple[Event, ...]
    cycles: float

    def resources(self) -> tuple[str, ...]:
        """Names of all resources that did something, in the order of their first start."""
        first: dict[str, float] = {}
        for event in self.events:
            first[event.resource] = min(event.start, first.get(event.resource, event.start))
        return tuple(sorted(first, key=lambda name: (first[name], name)))

    def busy(self, *, without: Sequence[str] = ("stall",)) -> dict[str, float]:
        """Cycles in which each resource did something; overlapping events count once.

        Args:
            without: categories that do not count as work.
        """
        spans: dict[str, list[tuple[float, float]]] = {name: [] for name in self.resources()}
        for event in self.events:
            if event.category not in without:
                spans[event.resource].append((event.start, event.end))
        return {name: _covered(each) for name, each in spans.items()}

    def utilisation(self, *, without: Sequence[str] = ("stall",)) -> dict[str, float]:
        """Share of all cycles in which each resource did something, 0 to 1."""
        if not self.cycles:
            return dict.fromkeys(self.resources(), 0.0)
        return {name: much / self.cycles for name, much in self.busy(without=without).items()}

    def to_trace_json(self, frequency_hz: float) -> str:
        """The timeline in the Chrome trace format, which Perfetto and chrome://tracing open.

        The format is that of "Trace Event Format" (Google, 2016): complete events ("X") with
        times in microseconds, a thread a resource.
        """
        if not frequency_hz > 0:
            raise ValueError(f"a clock has a positive frequency, not {frequency_hz}")
        scale = 1e6 / frequency_hz
        threads = {name: at for at, name in enumerate(self.resources(), start=1)}
        rows: list[dict[str, object]] = [
            {"ph": "M", "name": "thread_name", "pid": 1, "tid": at, "args": {"name": name}}
            for name, at in threads.items()
        ]
        rows += [
            {
                "ph": "X",
                "name": event.name,
                "cat": event.category or "work",
                "pid": 1,
                "tid": threads[event.resource],
                "ts": event.start * scale,
                "dur": (event.end - event.start) * scale,
                "args": {"start_cycle": event.start, "cycles": event.end - event.start},
            }
            for event in self.events
        ]
        return json.dumps({"displayTimeUnit": "ns", "traceEvents": rows})


def _covered(spans: list[tuple[float, float]]) -> float:
    """Length of the union of `spans`."""
    total, reached = 0.0, float("-inf")
    for start, end in sorted(spans):
        if end > reached:
            total += end - max(start, reached)
            reached = end
    return total
