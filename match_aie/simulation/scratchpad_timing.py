"""What things take on a chip with scratchpads, as `ScratchpadSimulator` asks for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from typing import Protocol, runtime_checkable

from match_aie.errors import TargetError
from match_aie.hardware import Region, SimulatedStep, TileProgram, Visit
from match_aie.workload import Workload


@dataclass(frozen=True)
class Jobs:
    """`count` equal jobs that a unit does, one after the other.

    Attributes:
        program: cycles in which the controller sets one up.
        run: cycles in which the unit works on it.
        count: how many.
    """

    program: float
    run: float
    count: int = 1

    def __post_init__(self) -> None:
        """Refuse cycles that are none: of a target's timing.

        Raises:
            TargetError: some are not finite, or below 0.
        """
        _held("Jobs", program=self.program, run=self.run, count=self.count)


@dataclass(frozen=True)
class KernelTime:
    """One call of a kernel.

    Attributes:
        unit: who works.
        jobs: in order.
        queue: jobs that the unit holds, the running one included; 0 where the controller itself
            waits for the end.
    """

    unit: str
    jobs: tuple[Jobs, ...]
    queue: int = 0


@dataclass(frozen=True)
class TransferTime:
    """One transfer: cycles of the controller to start it, cycles of the engine to do it."""

    program: float
    engine: float

    def __post_init__(self) -> None:
        """Refuse cycles that are none: of a target's timing.

        Raises:
            TargetError: some are not finite, or below 0.
        """
        _held("TransferTime", program=self.program, engine=self.engine)


def _held(kind: str, **numbers: float) -> None:
    for name, number in numbers.items():
        if not 0 <= number < inf:
            raise TargetError(
                f"a {kind} has {name}={number}; it must be a finite number, not below 0",
                hint="the target's timing gives it (`kernel`, `transfer` or `fetch`)",
            )


class ScratchpadTiming(Protocol):
    """What things take on a chip, in cycles of its reference clock.

    Attributes:
        frequency_hz: of that clock.
        offload: the control core starts the controller on layers in a row, and is told of their
            end.
        wait: the controller's work of a wait that is over at once.
        dma_channels: transfers that move at the same time.
    """

    @property
    def frequency_hz(self) -> float: ...  # noqa: D102
    @property
    def offload(self) -> float: ...  # noqa: D102
    @property
    def wait(self) -> float: ...  # noqa: D102
    @property
    def dma_channels(self) -> int: ...  # noqa: D102

    def walk(self, tiles: TileProgram) -> tuple[float, float]:
        """The controller's own work: before a layer's first transfer, and around each call."""

    def kernel(self, module: str, workload: Workload, visit: Visit) -> KernelTime:
        """What a call of the kernel takes."""

    def transfer(self, region: Region, *, store: bool) -> TransferTime:
        """What moving a tile takes."""

    def fetch(self, nbytes: int) -> TransferTime:
        """What fetching constants from the backing memory takes; `program` is the core's."""


@runtime_checkable
class SharedTiming(ScratchpadTiming, Protocol):
    """The same of a chip whose units may work at the same time, on a layer each."""

    def lane(self, module: str, workload: Workload, tiles: TileProgram) -> tuple[float, float]:
        """`walk` of a layer that runs beside another one."""

    def kernel_beside(self, module: str, workload: Workload, visit: Visit) -> KernelTime:
        """`kernel` of a layer that runs beside another one."""

    def slowed(self, module: str, workload: Workload, other: Workload) -> float:
        """Cycles that a cycle of a kernel takes more while another unit works; 0 for none.

        Args:
            module: that runs the layer.
            workload: the layer.
            other: the layer that the other unit works on.
        """


def slower(timing: ScratchpadTiming, step: SimulatedStep, others: Sequence[SimulatedStep]) -> float:
    """Cycles that a cycle of a step's kernel takes while other units work on the `others`."""
    cycles = 1.0
    for other in others:
        if isinstance(timing, SharedTiming) and step.workload and other.workload:
            cycles += timing.slowed(step.module, step.workload, other.workload)
    return cycles


@runtime_checkable
class CodeTiming(ScratchpadTiming, Protocol):
    """The same of a chip whose controller fetches its code through caches."""

    def entering(self, module: str, before: Sequence[str]) -> float:
        """Cycles that a layer waits for code that no cache holds when it is entered.

        Args:
            module: that runs it.
            before: modules of all layers that ran before it, in order.
        """

    def first_call(self, module: str, workload: Workload) -> float:
        """More that a layer's first kernel call takes, for code that its unit has not seen."""
