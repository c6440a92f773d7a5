"""Processes that do one item at a time, each with a limit of time and memory.

A worker is forked from a process that has imported everything, so that a new one costs little; one
that crashes, hangs or outgrows its memory is killed with all that it started, and replaced.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import resource
import shutil
import signal
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from typing import Any

#: After so many items a worker is replaced: TVM keeps what it compiled.
ITEMS = 60


@dataclass(frozen=True)
class Limits:
    """What one item may take: seconds of wall-clock time, bytes of the heap."""

    seconds: float = 120.0
    memory: int = 6 << 30


@dataclass(frozen=True)
class Lost:
    """An item without an answer: `hung`, or ended by a signal or a status of its own."""

    hung: bool
    detail: str


class Worker:
    """A forked process, and what it works on."""

    def __init__(self, work: Callable[[Any], Any], limits: Limits) -> None:
        context = multiprocessing.get_context("fork")
        self._pipe, theirs = context.Pipe()
        self.scratch = tempfile.mkdtemp(prefix="fuzz_worker_")
        self.process = context.Process(
            target=serve, args=(theirs, work, limits, self.scratch), daemon=True
        )
        self.process.start()
        theirs.close()
        self.item: Any = None
        self.deadline = float("inf")
        self.done = 0

    @property
    def pipe(self) -> Connection:
        return self._pipe

    def give(self, item: Any, seconds: float) -> None:
        self.item, self.deadline = item, time.monotonic() + seconds
        self._pipe.send(item)

    def answer(self) -> Any:
        """What came back, or `Lost`."""
        self.done += 1
        self.deadline = float("inf")
        try:
            return self._pipe.recv()
        except (EOFError, OSError):
            self.process.join(5)
            code = self.process.exitcode
            how = f"signal {-code}" if code is not None and code < 0 else f"status {code}"
            return Lost(False, f"the process ended with {how}")

    def stop(self) -> None:
        """End it and all that it started."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid or 0, signal.SIGKILL)
        if self.process.is_alive():
            self.process.kill()
        self.process.join()
        self._pipe.close()
        shutil.rmtree(self.scratch, ignore_errors=True)


def serve(pipe: Connection, work: Callable[[Any], Any], limits: Limits, scratch: str) -> None:
    """A worker's own loop: a session of its own, its output nowhere, its heap limited."""
    os.setsid()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)
    os.dup2(quiet, 2)
    tempfile.tempdir = scratch
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_DATA, (limits.memory, limits.memory))
    while True:
        try:
            item = pipe.recv()
        except EOFError:
            return
        pipe.send(work(item))


def each(
    work: Callable[[Any], Any], items: Iterable[Any], jobs: int = 2, limits: Limits = Limits()
) -> Iterator[tuple[Any, Any]]:
    """(item, answer) of every item as they come; an answer may be `Lost`.

    Args:
        work: of one item; what it takes and gives is pickled.
        items: in the order in which they are begun.
        jobs: processes.
        limits: of one item.
    """
    left = iter(items)
    idle: list[Worker] = []
    busy: list[Worker] = []
    try:
        while True:
            while len(busy) < jobs:
                item = next(left, None)
                if item is None:
                    break
                worker = idle.pop() if idle else Worker(work, limits)
                worker.give(item, limits.seconds)
                busy.append(worker)
            if not busy:
                return
            nearest = min(w.deadline for w in busy) - time.monotonic()
            ready = wait([w.pipe for w in busy], timeout=max(0.0, nearest))
            for worker in list(busy):
                if worker.pipe in ready:
                    answer = worker.answer()
                elif time.monotonic() >= worker.deadline:
                    answer = Lost(True, f"no answer after {limits.seconds:g} s")
                else:
                    continue
                busy.remove(worker)
                item = worker.item
                if isinstance(answer, Lost) or worker.done >= ITEMS:
                    worker.stop()
                else:
                    idle.append(worker)
                yield item, answer
    finally:
        for worker in (*idle, *busy):
            worker.stop()
