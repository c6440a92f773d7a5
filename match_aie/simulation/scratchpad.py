"""A network on a chip with scratchpads: control core, controller, DMA, worker cores, accelerators.

Executes the tile programs that the emitted code walks, in the order of `ma_run_tiles`
(ma_tiles.h): the next tile is loaded and the last one stored while a kernel works. What a
transfer or a kernel takes is the chip's `ScratchpadTiming`; nothing here is a number of a chip.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from typing import Any

from match_aie.hardware import (
    Energy,
    Region,
    SimulatedStep,
    StepResult,
    TileProgram,
    Visit,
)
from match_aie.simulation.commands import Acquire, Delay, Release, Resource, Task, Wait
from match_aie.simulation.engine import Simulator
from match_aie.simulation.scratchpad_timing import (
    Jobs,
    KernelTime,
    ScratchpadTiming,
    TransferTime,
)
from match_aie.simulation.timeline import Timeline
from match_aie.workload import Workload

Steps = Generator[Any, Any, Any]


@dataclass(frozen=True)
class Simulation:
    """A simulated run of a network.

    Attributes:
        steps: in execution order.
        timeline: who was busy when.
        frequency_hz: of the clock that cycles count.
    """

    steps: tuple[StepResult, ...]
    timeline: Timeline
    frequency_hz: float

    @property
    def cycles(self) -> float:
        """Of the whole run."""
        return self.timeline.cycles

    @property
    def microseconds(self) -> float:
        """Of the whole run."""
        return self.cycles / self.frequency_hz * 1e6

    def utilisation(self) -> dict[str, float]:
        """Share of all cycles in which each unit worked, 0 to 1."""
        return self.timeline.utilisation()

    def trace_json(self) -> str:
        """The timeline in the Chrome trace format, which Perfetto opens."""
        return self.timeline.to_trace_json(self.frequency_hz)


class ScratchpadSimulator:
    """Simulates networks on one chip.

    Args:
        timing: what things take there.
        energy: the same in picojoules; None where that is not known.
    """

    def __init__(self, timing: ScratchpadTiming, energy: Energy | None = None) -> None:
        """Only keeps what it is given."""
        self._timing = timing
        self._energy = energy

    def run(self, steps: Sequence[SimulatedStep], *, record: bool = True) -> Simulation:
        """Simulate one inference, from the first step to the end of the last.

        Args:
            steps: the network's calls, in execution order.
            record: whether the timeline keeps events.
        """
        simulator = Simulator(record=record)
        results: list[StepResult] = []
        chip = _Chip(simulator, self._timing, self._energy)

        def control() -> Steps:
            fetches: dict[int, Task] = {}
            for index, step in enumerate(steps):
                begin, chip.picojoules = simulator.now, 0.0
                for ahead in (index, index + 1)[bool(index) :]:
                    if ahead < len(steps) and steps[ahead].fetched:
                        fetches[ahead] = yield from chip.fetch(steps[ahead])
                if index in fetches:
                    yield Wait(fetches.pop(index), "control core")
                yield from chip.step(step, steps[index + 1] if index + 1 < len(steps) else None)
                taken = simulator.now - begin
                results.append(
                    StepResult(
                        step.label,
                        step.module,
                        begin,
                        taken,
                        step.predicted,
                        step.tiles is not None,
                        chip.picojoules if self._energy is not None else None,
                    )
                )

        simulator.spawn("control core", control())
        timeline = simulator.run()
        return Simulation(tuple(results), timeline, self._timing.frequency_hz)

    def layer(self, module: str, workload: Workload, tiles: TileProgram) -> float:
        """Cycles of one layer alone, as the controller runs it."""
        step = SimulatedStep("", module, workload, tiles, 0.0, 0.0)
        return self.run([step], record=False).cycles


@dataclass
class _Pending:
    """A kernel call that was started: its jobs' end, and the output tile it completes."""

    done: list[Task] = field(default_factory=list)
    output: Region | None = None
    copy: int = 0


class _Chip:
    """The units, and what the controller does with them."""

    def __init__(
        self, simulator: Simulator, timing: ScratchpadTiming, energy: Energy | None
    ) -> None:
        self._simulator = simulator
        self._timing = timing
        self._energy = energy
        self.picojoules = 0.0
        self._dma = Resource("DMA", timing.dma_channels)
        self._backing = Resource("backing memory")
        self._units: dict[str, Resource] = {}
        self._slots: dict[str, Resource] = {}
        self._offloaded = False
        self.early: list[Task] = []

    def step(self, step: SimulatedStep, after: SimulatedStep | None) -> Steps:
        if step.tiles is None or step.workload is None:
            self._offloaded = False
            yield self.busy(step.cycles, "control core", step.label, "modelled")
            return
        if not self._offloaded or step.fetched:
            yield self.busy(self._timing.offload, "control core", step.label, "offload")
        self._offloaded = True
        ahead = after.tiles.ahead if after is not None and after.tiles is not None else ()
        layer = _Layer(self, step, ahead)
        yield from layer.run()

    def busy(self, cycles: float, who: str, name: str, category: str) -> Delay:
        """A core works: the control core, or the controller."""
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
                working = self._working(unit, slots, label, jobs.run)
                last = [self._simulator.spawn(label, working)]
        return last

    def _working(self, unit: Resource, slots: Resource, label: str, cycles: float) -> Steps:
        yield Acquire(unit)
        yield Delay(cycles, unit.name, label, "kernel")
        yield Release(unit)
        yield Release(slots)

    @property
    def timing(self) -> ScratchpadTiming:
        return self._timing


class _Layer:
    """One layer on the controller: the same order of things as `ma_run_tiles`."""

    def __init__(self, chip: _Chip, step: SimulatedStep, ahead: tuple[Region, ...]) -> None:
        assert step.tiles is not None
        assert step.workload is not None
        self._chip = chip
        self._label = step.label or step.module
        self._step = step
        self._workload = step.workload
        self._tiles = step.tiles
        self._visits = tuple(step.tiles.visits())
        self._ahead = ahead
        self._early, chip.early = chip.early, []
        self._loading: dict[str, Task] = {}
        self._storing: list[Task | None] = [None, None]
        self._copy = 1
        self._pending: _Pending | None = None

    def run(self) -> Steps:
        enter, walk = self._chip.timing.walk(self._tiles)
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
        time = self._chip.timing.kernel(self._step.module, self._workload, visit)
        blocking = not time.queue
        arriving = self._take(visit)
        if blocking:
            yield from arriving
            yield from self._fetch(ahead)
            yield from self._fetch_early()
        done = yield from self._chip.start(self._step, self._label, time, arriving)
        yield from self._settle()
        output = visit.output if visit.stores else None
        self._pending = _Pending(done, output, self._copy)
        if blocking:
            yield from self._settle()
        else:
            yield from self._fetch(ahead)
            yield from self._fetch_early()

    def _fetch_early(self) -> Steps:
        """Start to load what the next layer needs, once."""
        ahead, self._ahead = self._ahead, ()
        if ahead:
            self._chip.early = yield from self._chip.load_ahead(ahead)

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


__all__ = [
    "Jobs",
    "KernelTime",
    "ScratchpadSimulator",
    "ScratchpadTiming",
    "Simulation",
    "TransferTime",
]
