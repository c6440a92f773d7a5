"""A network on the array and the processor beside it: layer after layer, in simulated time.

A layer on the array takes the processor's copies into the array's buffers, its call, the run of the
layer's program from memory to memory, and the copies back. So do layers in a row whose results stay
on the array, all of them together; each takes from when its inputs are there until its result is.
What runs on the processor is not simulated: its modelled cycles are taken as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from match_aie.errors import Infeasible, InfeasibleError
from match_aie.hardware import SimulatedStep, StepResult
from match_aie.simulation import Event, Simulation, Timeline
from match_aie.targets.aie_ml.array.assumed import Assumed
from match_aie.targets.aie_ml.array.check import check
from match_aie.targets.aie_ml.array.layout import lay_out
from match_aie.targets.aie_ml.array.program import ArrayProgram
from match_aie.targets.aie_ml.devices import Device
from match_aie.targets.aie_ml.graph.plan import LayerGraph
from match_aie.targets.aie_ml.kernels.spec import BYTES
from match_aie.targets.aie_ml.simulate.outside import Beyond
from match_aie.targets.aie_ml.simulate.run import LayerRun, run_layer
from match_aie.targets.aie_ml.simulate.stretch import Stretch

#: What of a network's steps runs on the array; the processor runs the others.
Stretches = Callable[[Sequence[SimulatedStep]], Sequence[Stretch]]


@dataclass(frozen=True)
class LayerTiles:
    """The tiles of one layer.

    Attributes:
        name: the step's label and the columns.
        cores: at work.
        busy: cycles of the reference clock in which their kernels run, all together.
    """

    name: str
    cores: int
    busy: float


@dataclass(frozen=True)
class ArrayRun(Simulation):
    """A simulated inference; cycles are those of the processor's clock.

    Attributes:
        groups: tiles by layer.
    """

    groups: tuple[LayerTiles, ...]

    def utilisation(self) -> dict[str, float]:
        """Share of all cycles in which processor and array work, and each layer's tiles do."""
        units = {event.resource for event in self.timeline.events if event.category == "unit"}
        shares = {n: s for n, s in self.timeline.utilisation().items() if n in units}
        whole = self.cycles or 1.0
        return {**shares, **{g.name: g.busy / g.cores / whole for g in self.groups}}


@dataclass
class _Clock:
    """Time goes on, and events are kept."""

    record: bool
    now: float = 0.0
    events: list[Event] = field(default_factory=list)

    def take(self, cycles: float, resource: str, name: str) -> None:
        """Let a unit work."""
        begin, self.now = self.now, self.now + cycles
        self.events.append(Event(resource, name, begin, self.now, "unit"))

    def show(self, timeline: Timeline, begin: float, scale: float) -> None:
        """What the parts of the array did from `begin` on."""
        self.events += (
            Event(e.resource, e.name, begin + scale * e.start, begin + scale * e.end, e.category)
            for e in timeline.events
        )


class ArrayNetworkSimulator:
    """Simulates networks on a device with an array.

    Args:
        device: the array.
        frequency_hz: of the processor's clock.
        stretches: how a network's layers run on the array.
        assumed: times of the array that no document states.
        beyond: times outside it, likewise.
    """

    def __init__(
        self,
        device: Device,
        frequency_hz: float,
        stretches: Stretches,
        assumed: Assumed | None = None,
        beyond: Beyond | None = None,
    ) -> None:
        """Only keeps what it is given."""
        self._device = device
        self._frequency = frequency_hz
        self._stretches = stretches
        self._assumed = assumed or Assumed()
        self._beyond = beyond or Beyond()

    def run(self, steps: Sequence[SimulatedStep], *, record: bool = True) -> ArrayRun:
        """Simulate one inference.

        Args:
            steps: the network's calls, in execution order; layers on the array lie side by side
                in this order.
            record: whether the timeline keeps what each tile and channel did.

        Raises:
            InfeasibleError: a layer's graph does not fit the array.
            InternalError: its program breaks a rule of the array.
        """
        clock = _Clock(record)
        results: dict[int, StepResult] = {}
        groups: list[LayerTiles] = []
        first = {stretch.parts[0].step: stretch for stretch in self._stretches(steps)}
        runs: dict[int, LayerRun] = {}
        for index, step in enumerate(steps):
            if index in first:
                graph, column = first[index].graph, first[index].column
                if id(graph) not in runs:  # several layers may run as one graph
                    runs[id(graph)] = self.layer(graph, column, trace=record)
                run = runs[id(graph)]
                groups.append(self._stretch(clock, steps, first[index], run, results))
            elif index not in results:
                results[index] = StepResult(
                    step.label, step.module, clock.now, step.cycles, step.predicted, False
                )
                clock.take(step.cycles, "processor", step.label)
        timeline = Timeline(tuple(clock.events), clock.now)
        ordered = tuple(results[index] for index in range(len(steps)))
        return ArrayRun(ordered, timeline, self._frequency, tuple(groups))

    def program(self, graph: LayerGraph, column: int = 0) -> ArrayProgram:
        """A layer's program, proven against all rules.

        Raises:
            InfeasibleError: it does not fit the array.
            InternalError: it breaks a rule.
        """
        program = lay_out(graph, self._device, column)
        if isinstance(program, Infeasible):
            raise InfeasibleError(program, where=graph.name)
        check(program, self._device)
        return program

    def layer(self, graph: LayerGraph, column: int = 0, *, trace: bool = False) -> LayerRun:
        """One run of a layer, from the chip's memory back to it."""
        return run_layer(
            self.program(graph, column),
            self._device,
            assumed=self._assumed,
            beyond=self._beyond,
            trace=trace,
        )

    def _stretch(
        self,
        clock: _Clock,
        steps: Sequence[SimulatedStep],
        stretch: Stretch,
        run: LayerRun,
        results: dict[int, StepResult],
    ) -> LayerTiles:
        """A stretch that ran so; its layers' results go to `results`.

        Args:
            clock: goes on.
            steps: the network's calls.
            stretch: several layers, or one.
            run: of its program.
            results: of calls, by their numbers.
        """
        graph, column = stretch.graph, stretch.column
        scale = self._frequency / (self._device.clock_ghz * 1e9)
        names = [steps[part.step].label for part in stretch.parts]
        label = names[0] if len(names) == 1 else f"{names[0]} to {names[-1]}"
        into = sum(o.elements * BYTES[o.dtype] for o in graph.inputs if o.values is None)
        back = sum(o.elements * BYTES[o.dtype] for o in graph.outputs)
        if graph.memory == "plio":  # programmable logic moves the data
            into = back = 0
        updating = stretch.updated / self._beyond.updated_per_ns
        around = (self._beyond.call_ns + updating) * 1e-9 * self._frequency
        begin = clock.now
        if stretch.configures:
            configuring = self._beyond.configuring_ns * 1e-9 * self._frequency
            clock.take(configuring, "processor", f"configures the array for {label}")
        clock.take(around + self._copied(into), "processor", f"to {label}")
        started = clock.now
        if run.timeline is not None:
            clock.show(run.timeline, started, scale)
        clock.take(run.cycles * scale, "array", label)
        clock.take(self._copied(back), "processor", f"from {label}")
        for part in stretch.parts:
            step = steps[part.step]
            ready = [started + run.written[name] * scale for name in part.reads]
            start = max(ready, default=begin)
            stays = [started + run.written[name] * scale for name in part.writes]
            end = max(stays, default=clock.now)
            results[part.step] = StepResult(
                step.label, step.module, start, end - start, step.predicted, True
            )
        name = f"columns {column}-{column + graph.columns - 1}: {label}"
        return LayerTiles(name, len(run.busy), sum(run.busy.values()) * scale)

    def _copied(self, size: int) -> float:
        """Cycles in which the processor copies so many bytes."""
        return size / self._beyond.copied_per_ns * 1e-9 * self._frequency
