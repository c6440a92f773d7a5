"""The units of a chip with scratchpads, and the controller's walk over a layer's tiles.

The same order of things as `ma_run_tiles` (ma_tiles.h), and of two layers side by side as
`ma_lane_next` (ma_beside.h). What a transfer or a kernel takes is the chip's `ScratchpadTiming`.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from match_aie.hardware import Energy, Region, SimulatedStep, Visit
from match_aie.simulation.commands import Acquire, Delay, Release, Resource, Task, Wait
from match_aie.simulation.engine import Simulator
from match_aie.simulation.scratchpad_timing import (
    CodeTiming,
    KernelTime,
    ScratchpadTiming,
    SharedTiming,
    slower,
)
from match_aie.simulation.timeline import Event

Steps = Generator[Any, Any, Any]

#: Cycles of a kernel after which it is looked again whether another unit works.
CHUNK = 500.0


@dataclass
class Pending:
    """A kernel call that was started: its jobs' end, and the output tile it completes."""

    done: list[Task] = field(default_factory=list)
    output: Region | None = None
    copy: int = 0


class Chip:
    """The units, and what the controller does with them."""

    def __init__(
        self,
        simulator: Simulator,
        timing: ScratchpadTiming,
        energy: Energy | None,
        before: Sequence[str] = (),
    ) -> None:
        """Nothing is under way; modules of layers that ran `before` have their code in caches."""
        self._simulator = simulator
        self._timing = timing
        self._energy = energy
        self.picojoules = 0.0
        self._dma = Resource("DMA", timing.dma_channels)
        self._backing = Resource("backing memory")
        self._units: dict[str, Resource] = {}
        self._slots: dict[str, Resource] = {}
        self._running: dict[str, SimulatedStep] = {}
        self._offloaded = False
        self._entered = list(before)
        self.early: list[list[Task]] = []

    def step(self, step: SimulatedStep, after: Sequence[SimulatedStep]) -> Steps:
        """One step by itself; `after` is the next one, or the next two, side by side."""
        if step.tiles is None or step.workload is None:
            self._offloaded = False
            yield self.busy(step.cycles, "control core", step.label, "modelled")
            return
        if not self._offloaded or step.fetched:
            yield self.busy(self._timing.offload, "control core", step.label, "offload")
        self._offloaded = True
        layer = Layer(self, step, after)
        yield from layer.run()

    def entering(self, module: str, *, beside: bool = False) -> float:
        """Cycles that the controller waits for the code of a layer that it enters now.

        One that runs `beside` another finds no cache as a layer of its own module left it.
        """
        timing, before = self._timing, (*self._entered, *[""] * beside)
        self._entered.append(module)
        return timing.entering(module, before) if isinstance(timing, CodeTiming) else 0.0

    def busy(self, cycles: float, who: str, name: str, category: str) -> Delay:
        """A core works: the control core, or the controller.

        Args:
            cycles: how long.
            who: the row of the trace.
            name: of what it does.
            category: of the trace.
        """
        if self._energy is not None:
            self.picojoules += cycles * self._energy.core.value
        return Delay(cycles, who, name, category)

    def fetch(self, step: SimulatedStep) -> Generator[Any, Any, Task]:
        """Start to fetch a step's constants; the value is the task that ends with it."""
        time = self._timing.fetch(step.fetched)
        yield self.busy(time.program, "control core", f"fetch {step.label}", "dma setup")
        if self._energy is not None:
            self.picojoules += step.fetched * self._energy.fetched.value
        return self._simulator.spawn(f"fetch {step.label}", self._fetching(step, time.engine))

    def _fetching(self, step: SimulatedStep, cycles: float) -> Steps:
        yield Acquire(self._backing)
        yield Delay(cycles, "backing memory", f"fetch {step.label}", "dma")
        yield Release(self._backing)

    def transfer(self, region: Region, *, store: bool) -> Generator[Any, Any, Task]:
        """Start a transfer; the value is the task that ends with it."""
        time = self._timing.transfer(region, store=store)
        name = f"{'store' if store else 'load'} {region.operand.name}"
        yield self.busy(time.program, "controller", f"program {name}", "dma setup")
        if self._energy is not None:
            self.picojoules += region.nbytes * self._energy.byte.value
        return self._simulator.spawn(name, self._moving(name, time.engine))

    def load_ahead(self, regions: Sequence[Region]) -> Generator[Any, Any, list[Task]]:
        """Start to load what a layer needs before it begins; the value is the tasks."""
        tasks = []
        for region in regions:
            task = yield from self.transfer(region, store=False)
            tasks.append(task)
        return tasks

    def _moving(self, name: str, cycles: float) -> Steps:
        yield Acquire(self._dma)
        yield Delay(cycles, "DMA", name, "dma")
        yield Release(self._dma)

    def start(
        self, step: SimulatedStep, label: str, time: KernelTime, arriving: Steps
    ) -> Generator[Any, Any, list[Task]]:
        """Set a kernel's jobs up; the value is the tasks that end with the last of them.

        The first job is programmed before its operands have arrived.

        Args:
            step: of the network.
            label: of the trace.
            time: of the kernel.
            arriving: what waits for the operands.
        """
        unit = self._units.setdefault(time.unit, Resource(time.unit))
        if self._energy is not None:
            run = sum(jobs.run * jobs.count for jobs in time.jobs)
            self.picojoules += run * self._energy.units[step.module].value
        if not time.queue:
            for jobs in time.jobs:
                yield self.busy(jobs.program * jobs.count, "controller", f"start {label}", "setup")
                yield Delay(jobs.run * jobs.count, time.unit, label, "kernel")
            return []
        slots = self._slots.setdefault(time.unit, Resource(f"{time.unit} slots", time.queue))
        last: list[Task] = []
        for jobs in time.jobs:
            for _ in range(jobs.count):
                yield Acquire(slots, 1, "controller")
                yield self.busy(jobs.program, "controller", f"program {label}", "setup")
                yield from arriving
                working = self._working(unit, slots, step, jobs.run)
                last = [self._simulator.spawn(label, working)]
        return last

    def _working(
        self, unit: Resource, slots: Resource, step: SimulatedStep, cycles: float
    ) -> Steps:
        yield Acquire(unit)
        self._running[unit.name] = step
        label = step.label or step.module
        while cycles > 0:
            part = min(cycles, CHUNK) if isinstance(self._timing, SharedTiming) else cycles
            others = [other for other in self._running.values() if other is not step]
            yield Delay(part * slower(self._timing, step, others), unit.name, label, "kernel")
            cycles -= part
        del self._running[unit.name]
        yield Release(unit)
        yield Release(slots)

    @property
    def timing(self) -> ScratchpadTiming:
        """What things take."""
        return self._timing

    def happened(self, what: str, label: str) -> None:
        """Note what happened to one of two layers side by side."""
        now = self._simulator.now
        self._simulator.record(Event("controller", f"{what} {label}", now, now, "beside"))

    def offload(self, label: str) -> Generator[Any, Any, None]:
        """Hand over to the controller, where it does not have the network already."""
        if not self._offloaded:
            yield self.busy(self._timing.offload, "control core", label, "offload")
        self._offloaded = True

    @property
    def now(self) -> float:
        """The cycle."""
        return self._simulator.now


class Layer:
    """One layer on the controller: the same order of things as `ma_run_tiles`."""

    def __init__(self, chip: Chip, step: SimulatedStep, after: Sequence[SimulatedStep]) -> None:
        """Takes up what the layer before has begun to load; it loads for those `after` it."""
        assert step.tiles is not None
        assert step.workload is not None
        self._chip = chip
        self._label = step.label or step.module
        self._step = step
        self._workload = step.workload
        self._tiles = step.tiles
        self._visits = tuple(step.tiles.visits())
        self._ahead = tuple(next_.tiles.ahead for next_ in after if next_.tiles is not None)
        self._early = chip.early.pop(0) if chip.early else []
        self._loading: dict[str, Task] = {}
        self._storing: list[Task | None] = [None, None]
        self._copy = 1
        self._pending: Pending | None = None
        self._new = True

    def run(self) -> Steps:
        """From entering it to the end of its last store."""
        enter, walk = self._chip.timing.walk(self._tiles)
        enter += self._chip.entering(self._step.module)
        yield self._chip.busy(enter, "controller", self._label, "layer")
        yield from self._fetch(self._visits[0].loads)
        if not self._early:
            # The layer before did not run: it would have loaded them.
            self._early = yield from self._chip.load_ahead(self._tiles.ahead)
        for index, visit in enumerate(self._visits):
            last = index + 1 == len(self._visits)
            after = () if last else self._visits[index + 1].loads
            ahead = tuple(r for r in after if r.operand.copies == 2)
            late = tuple(r for r in after if r.operand.copies == 1)
            yield self._chip.busy(walk, "controller", self._label, "walk")
            if visit.opens:
                yield from self._open_output(visit)
            yield from self._work(visit, ahead)
            if late:
                yield from self._settle()
                yield from self._fetch(late)
        yield from self._settle()
        for task in self._storing:
            yield from self._wait(task)

    def _work(self, visit: Visit, ahead: tuple[Region, ...]) -> Steps:
        """Start the kernel; load ahead before it where it blocks, after the one before else."""
        time = self._called(self._chip.timing.kernel(self._step.module, self._workload, visit))
        blocking = not time.queue
        arriving = self._take(visit)
        if blocking:
            yield from arriving
            yield from self._fetch(ahead)
            yield from self._fetch_early()
        done = yield from self._chip.start(self._step, self._label, time, arriving)
        yield from self._settle()
        output = visit.output if visit.stores else None
        self._pending = Pending(done, output, self._copy)
        if blocking:
            yield from self._settle()
        else:
            yield from self._fetch(ahead)
            yield from self._fetch_early()

    def _called(self, time: KernelTime) -> KernelTime:
        """A call's time; the first one of the layer waits for code."""
        timing, first, self._new = self._chip.timing, self._new, False
        if not first or not isinstance(timing, CodeTiming):
            return time
        more = timing.first_call(self._step.module, self._workload)
        jobs = tuple(replace(job, run=job.run + more) for job in time.jobs[:1])
        return replace(time, jobs=jobs + time.jobs[1:])

    def _fetch_early(self) -> Steps:
        """Start to load what the next layer needs, or the next two, once."""
        ahead, self._ahead = self._ahead, ()
        for regions in ahead:
            tasks = yield from self._chip.load_ahead(regions)
            self._chip.early.append(tasks)

    def _fetch(self, regions: tuple[Region, ...]) -> Steps:
        for region in regions:
            if region.nbytes:
                task = yield from self._chip.transfer(region, store=False)
                self._loading[region.operand.name] = task

    def _take(self, visit: Visit) -> Steps:
        early, self._early = self._early, []
        for task in early:
            yield from self._wait(task)
        for region in visit.loads:
            yield from self._wait(self._loading.pop(region.operand.name, None))

    def _open_output(self, visit: Visit) -> Steps:
        copies = visit.output.operand.copies
        if copies == 1:
            yield from self._settle()
        self._copy = 1 - self._copy if copies == 2 else 0
        yield from self._wait(self._storing[self._copy])
        self._storing[self._copy] = None

    def _settle(self) -> Steps:
        pending, self._pending = self._pending, None
        if pending is None:
            return
        for task in pending.done:
            yield from self._wait(task)
        if pending.output is not None:
            task = yield from self._chip.transfer(pending.output, store=True)
            self._storing[pending.copy] = task

    def _wait(self, task: Task | None) -> Steps:
        if task is None:
            return
        yield self._chip.busy(self._chip.timing.wait, "controller", "wait", "wait")
        yield Wait(task, "controller")
