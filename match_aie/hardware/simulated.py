"""What a chip's simulator is given and gives back, whatever the chip."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from match_aie.hardware.mapping import Mapping
from match_aie.hardware.tiles import TileProgram
from match_aie.hardware.unit import Flow
from match_aie.workload import Workload


@dataclass(frozen=True)
class SimulatedStep:
    """What the simulator needs of one call in the network's list.

    Attributes:
        label: what users know it by.
        module: the execution module, or "core" for the fallback.
        workload: what it computes; None for the fallback.
        tiles: how its tiles move; None for what runs on the control core.
        cycles: of what runs on the control core: modelled, the simulator takes them as they are.
        predicted: what the cost model says of the layer.
        fetched: bytes of constants that it needs from the backing memory, fetched while the step
            before it runs.
        late: whether these are fetched after that step instead.
        mapping: how a layer runs; None for the fallback.
        flow: where it stands among the network's calls.
        order: whom the controller turns to, time after time, of this step (0) and the next ones
            (1 and so on), which run at the same time; empty for a step by itself.
    """

    label: str
    module: str
    workload: Workload | None
    tiles: TileProgram | None
    cycles: float
    predicted: float
    fetched: int = 0
    mapping: Mapping | None = None
    flow: Flow = Flow()
    order: tuple[int, ...] = ()
    late: bool = False


@dataclass(frozen=True)
class StepResult:
    """What one step took: cycles simulated, or taken from a model where `simulated` is False.

    Attributes:
        label: what users know it by.
        module: who ran it.
        start: cycle in which it began.
        cycles: that it took; of steps at the same time, but for the first one, those by which it
            outlasted the ones before. So the cycles of all steps add up.
        predicted: what the cost model says.
        simulated: whether the cycles are the simulator's own.
        picojoules: of all that was busy for it, or for the next step's early loads; None where the
            chip's energy is not known.
    """

    label: str
    module: str
    start: float
    cycles: float
    predicted: float
    simulated: bool
    picojoules: float | None = None


class SimulatedRun(Protocol):
    """One simulated inference."""

    @property
    def steps(self) -> tuple[StepResult, ...]:
        """In execution order."""

    @property
    def cycles(self) -> float:
        """Of the whole run, of the clock `frequency_hz`."""

    @property
    def microseconds(self) -> float:
        """Of the whole run."""

    @property
    def frequency_hz(self) -> float:
        """Of the clock that cycles count."""

    def utilisation(self) -> dict[str, float]:
        """Share of all cycles in which each unit worked, 0 to 1."""

    def trace_json(self) -> str:
        """Who was busy when, in the Chrome trace format."""


class NetworkSimulator(Protocol):
    """Runs a network's program in simulated time; knows nothing of cost models."""

    def run(self, steps: Sequence[SimulatedStep], *, record: bool = True) -> SimulatedRun:
        """Simulate one inference; `record` keeps what a trace needs."""
