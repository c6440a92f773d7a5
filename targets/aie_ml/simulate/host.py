"""A host that keeps the array busy: it sends later runs while earlier ones are on their way.

One call starts the graph for many runs. The host writes each run's inputs into buffers of their own
and hands them to the channels, then takes the result of a run that began some runs before. A
result's channel has one transfer at a time, since the vendor's call waits for all that it has.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from match_aie.errors import Infeasible, InternalError
from match_aie.hardware import SimulatedStep
from match_aie.simulation import Acquire, Command, Delay, Release, Resource, find_steady
from match_aie.targets.aie_ml.array.assumed import Assumed
from match_aie.targets.aie_ml.array.program import ArrayProgram, Route
from match_aie.targets.aie_ml.devices import Device
from match_aie.targets.aie_ml.kernels.spec import BYTES
from match_aie.targets.aie_ml.simulate.array import ArraySimulation
from match_aie.targets.aie_ml.simulate.outside import Beyond
from match_aie.targets.aie_ml.simulate.store import Run
from match_aie.targets.aie_ml.simulate.stretch import Stretch

#: Transfers that a channel to the chip's memory holds.
HELD = 4

#: Runs that are simulated, those included that end when no others begin.
RUNS = 64


@dataclass(frozen=True)
class HostWork:
    """What the host does for each run, in cycles of the array.

    Attributes:
        before: until its inputs are handed to the channels.
        after: once its result is in memory.
        ahead: runs that it begins before it takes the first result.
    """

    before: float
    after: float
    ahead: int

    @property
    def cycles(self) -> float:
        """Of a run."""
        return self.before + self.after


@dataclass(frozen=True)
class Streamed:
    """Runs that follow each other, the host's part included; cycles of the array.

    Attributes:
        interval: between results.
        first: until the first result.
        steady: whether runs repeat a pattern; else the interval is the mean of the later half.
        host: what the host does for a run.
    """

    interval: float
    first: float
    steady: bool
    host: HostWork


def host_work(
    steps: Sequence[SimulatedStep],
    stretches: Sequence[Stretch],
    gigahertz: tuple[float, float],
    ahead: int,
    beyond: Beyond | None = None,
) -> HostWork | Infeasible:
    """What the host does around the array, where that is one graph; why there is no such thing.

    Args:
        steps: the network's calls, in execution order.
        stretches: what of them the array runs.
        gigahertz: of the processor's clock, and of the array's.
        ahead: runs that it begins before it takes the first result.
        beyond: what is assumed of the world outside the array.
    """
    beyond = beyond or Beyond()
    if len(stretches) != 1:
        levers = ("fewer layers on the processor between those on the array",)
        return Infeasible("graphs of a network that streams", len(stretches), 1, "graphs", levers)
    (stretch,) = stretches
    mine = [part.step for part in stretch.parts]
    own, array = gigahertz
    into = sum(o.elements * BYTES[o.dtype] for o in stretch.graph.inputs if o.values is None)
    back = sum(o.elements * BYTES[o.dtype] for o in stretch.graph.outputs)
    before = sum(step.cycles for step in steps[: mine[0]]) / own
    after = sum(step.cycles for step in steps[mine[-1] + 1 :]) / own
    before += beyond.call_ns + into / beyond.copied_per_ns
    return HostWork(before * array, (after + back / beyond.copied_per_ns) * array, ahead)


def simulate_streamed(
    program: ArrayProgram,
    device: Device,
    work: HostWork,
    *,
    assumed: Assumed | None = None,
    beyond: Beyond | None = None,
) -> Streamed:
    """How long runs take that a host begins and ends, one after the other for ever.

    Args:
        program: fed by the chip's memory.
        device: where.
        work: of the host for each run.
        assumed: times of the array that no document states.
        beyond: likewise of what is outside of it.

    Raises:
        InternalError: programmable logic moves the data.
        DeadlockError: the host waits for ever: it is too far ahead.
    """
    run = _Hosted(program, device, work, assumed or Assumed(), beyond)
    run.run()
    # The last runs end while no others begin.
    ends = run.ends[: RUNS - work.ahead]
    steady = find_steady(ends, longest=8)
    half = len(ends) // 2
    mean = (ends[-1] - ends[half]) / (len(ends) - 1 - half)
    return Streamed(steady.interval if steady else mean, ends[0], steady is not None, work)


class _Gate:
    """Between the host and a channel: transfers that were asked for, and those that are done."""

    def __init__(self, name: str) -> None:
        self.room = Resource(f"room in {name}", HELD)
        self.asked = Resource(f"host of {name}", RUNS, 0)
        self.done = Resource(f"transfer of {name}", RUNS, 0)


class _Hosted(ArraySimulation):
    """Runs of a program as a host begins and ends them."""

    def __init__(
        self,
        program: ArrayProgram,
        device: Device,
        work: HostWork,
        assumed: Assumed,
        beyond: Beyond | None,
    ) -> None:
        if program.crossings:
            raise InternalError("programmable logic moves the data of a program, no host")
        self._work = work
        self.ends: list[float] = []
        shim = device.shim_rows
        self._in = {r.name: _Gate(r.name) for r in program.routes if r.source.tile[1] < shim}
        self._out = {
            r.name: _Gate(r.name) for r in program.routes if any(s.tile[1] < shim for s in r.sinks)
        }
        super().__init__(program, device, assumed, RUNS, beyond=beyond)
        self.sim.spawn("host", self._host())

    def _stream(self, number: int, route: Route) -> Callable[[int], Iterator[Command]]:
        """A transfer from or to memory begins when the host has asked for it."""
        transfer = super()._stream(number, route)
        gate = self._in.get(route.name) or self._out.get(route.name)
        if gate is None:
            return transfer

        def gated(at: int) -> Iterator[Command]:
            if at % route.sends == 0:
                yield Acquire(gate.asked)
            yield from transfer(at)
            if (at + 1) % route.sends == 0:
                yield Release(gate.room)
                yield Release(gate.done)

        return gated

    def _host(self) -> Run:
        """Begin a run, then end one that began `ahead` runs before."""
        ahead = self._work.ahead
        for at in range(RUNS + ahead):
            if at < RUNS:
                yield Delay(self._work.before, "host", "before", "unit")
                for gate in self._in.values():
                    yield Acquire(gate.room)
                    yield Release(gate.asked)
            if at == 0:
                yield from self._take()
            if at >= ahead:
                for gate in self._out.values():
                    yield Acquire(gate.done)
                if at + 1 < RUNS + ahead:
                    yield from self._take()
                yield Delay(self._work.after, "host", "after", "unit")
                self.ends.append(self.sim.now)

    def _take(self) -> Run:
        """Ask for the next result."""
        for gate in self._out.values():
            yield Acquire(gate.room)
            yield Release(gate.asked)
