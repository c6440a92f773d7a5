"""A network on a chip with scratchpads: control core, controller, DMA, worker cores, accelerators.

Executes the tile programs that the emitted code walks, in the order of `ma_run_tiles`
(ma_tiles.h): the next tile is loaded and the last one stored while a kernel works. What a
transfer or a kernel takes is the chip's `ScratchpadTiming`; nothing here is a number of a chip.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from match_aie.hardware import (
    Energy,
    SimulatedStep,
    StepResult,
    TileProgram,
)
from match_aie.simulation.commands import Task, Wait
from match_aie.simulation.engine import Simulator
from match_aie.simulation.scratchpad_lanes import together
from match_aie.simulation.scratchpad_timing import (
    Jobs,
    KernelTime,
    ScratchpadTiming,
    TransferTime,
)
from match_aie.simulation.scratchpad_units import Chip, Steps
from match_aie.simulation.timeline import Timeline
from match_aie.workload import Workload


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

    def run(
        self, steps: Sequence[SimulatedStep], *, record: bool = True, before: Sequence[str] = ()
    ) -> Simulation:
        """Simulate one inference, from the first step to the end of the last.

        Args:
            steps: the network's calls, in execution order.
            record: whether the timeline keeps events.
            before: modules of layers that ran just before, whose code caches hold.
        """
        simulator = Simulator(record=record)
        results: list[StepResult] = []
        chip = Chip(simulator, self._timing, self._energy, before)

        def result(step: SimulatedStep, begin: float, cycles: float, joules: float) -> StepResult:
            energy = joules if self._energy is not None else None
            simulated = step.tiles is not None
            return StepResult(
                step.label, step.module, begin, cycles, step.predicted, simulated, energy
            )

        def control() -> Steps:
            fetches: dict[int, Task] = {}
            done = 0
            for index, step in enumerate(steps):
                if index < done:
                    continue  # it ran beside the one before
                begin, chip.picojoules = simulator.now, 0.0
                if step.fetched and (step.late or not index):
                    fetches[index] = yield from chip.fetch(step)
                if index in fetches:
                    yield Wait(fetches.pop(index), "control core")
                for ahead in steps[index + 1 : index + 2]:
                    if ahead.fetched and not ahead.late:
                        fetches[index + 1] = yield from chip.fetch(ahead)
                if step.order:
                    done = index + max(step.order) + 1
                    some, over = steps[index:done], begin
                    ends = yield from together(chip, some, _at(steps, done))
                    for one, end in zip(some, ends, strict=True):
                        joules = chip.picojoules if one is step else 0.0
                        results.append(result(one, begin, max(0.0, end - over), joules))
                        over = max(over, end)
                    continue
                yield from chip.step(step, _at(steps, index + 1))
                results.append(result(step, begin, simulator.now - begin, chip.picojoules))

        simulator.spawn("control core", control())
        timeline = simulator.run()
        return Simulation(tuple(results), timeline, self._timing.frequency_hz)

    def layer(self, module: str, workload: Workload, tiles: TileProgram) -> float:
        """Cycles of one layer alone, as the controller runs it after one of the same module."""
        step = SimulatedStep("", module, workload, tiles, 0.0, 0.0)
        return self.run([step], record=False, before=(module,)).cycles


def _at(steps: Sequence[SimulatedStep], index: int) -> Sequence[SimulatedStep]:
    """The step there, and the one beside it; none behind the last one."""
    return steps[index : index + 1 + bool(index < len(steps) and steps[index].order)]


__all__ = [
    "Jobs",
    "KernelTime",
    "ScratchpadSimulator",
    "ScratchpadTiming",
    "Simulation",
    "TransferTime",
]
