"""A chip: its execution modules, and how its emitted projects are built."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from match_aie.errors import Infeasible, TargetError
from match_aie.hardware.core import CoreCost, Operation
from match_aie.hardware.cost import Cost
from match_aie.hardware.energy import Energy
from match_aie.hardware.guard import guard_methods
from match_aie.hardware.mapping import Mapping as LoopMapping
from match_aie.hardware.module import ExecModule
from match_aie.hardware.move import Move
from match_aie.hardware.passes import Pass
from match_aie.hardware.runtime import Runtime
from match_aie.hardware.simulated import NetworkSimulator
from match_aie.hardware.unit import ChosenLayer, HandedOver, Seat, Unit


@dataclass(frozen=True)
class BuildProfile:
    """How a C compiler is called for this target's emitted sources.

    Attributes:
        flags: beside the ones that correctness needs, which the toolchain always adds.
        alignment: of the arena, of every buffer in it, and of every constant, in bytes.
        compilers: commands to try, in this order, where the flags are none of the default
            compiler's: cross compilers.
        cxx_flags: for C++ sources in the place of `flags`.
        within: of tensors that lie in another one, as operands of a concatenation do, in bytes; as
            `alignment` where None. 1 where all code takes tensors wherever their elements may lie.
    """

    flags: tuple[str, ...] = ("-O3",)
    alignment: int = 64
    compilers: tuple[str, ...] = ()
    cxx_flags: tuple[str, ...] = ("-O2",)
    within: int | None = None

    @property
    def inner_alignment(self) -> int:
        """Of tensors that lie in another one, in bytes."""
        return self.alignment if self.within is None else self.within


@dataclass(frozen=True)
class Storage:
    """Where activations and constants of a whole network lie.

    Attributes:
        memory: its name, for reports.
        bytes: for inputs, outputs, activations and constants together; None for no limit.
        backing: memory from which constants are fetched that do not fit; None where there is none.
            Emitted code then calls `ma_backing_open`, `ma_backing_load` and `ma_backing_wait` of
            ma_platform.h.
    """

    memory: str = "arena"
    bytes: int | None = None
    backing: str | None = None


class MatchTarget(ABC):
    """A heterogeneous chip; what no module claims becomes C for its core through the fallback.

    `frequency` is the reference clock in Hz, in whose cycles selection adds up costs of modules,
    of the core and of moves. Only its ratio to a module's own frequency matters, so it may stay
    None where no module states one.
    """

    name: str = ""
    frequency: float | None = None
    #: Cycles of operators that no module runs.
    core: CoreCost = CoreCost()
    #: Cycles of the reference clock to hand over between two units: one starts the other, waits,
    #: and is told. An assumption; what a chip really takes belongs in its target.
    synchronisation: float = 100.0
    #: Inner memory that layers on the controller find as the layer before left it, so that what one
    #: writes may stay there for the next ones; empty where nothing may stay.
    shared_memory: str = ""
    #: Bytes of the inner memory, beside what tiles may take, for lists of tiles, which the
    #: controller reads while it walks. 0 where lists lie with the constants.
    list_bytes: int = 0
    #: What things take in picojoules; None where nothing is known of it.
    energy: Energy | None = None
    #: "unsigned": int8 tensors inside the network become uint8, exactly, before modules see it.
    activations: Literal["as_is", "unsigned"] = "as_is"
    #: What is done to a network before patterns are matched, in order, such as `pad_channels(16)`.
    passes: Sequence[Pass] = ()

    def __init_subclass__(cls, **kwargs: object) -> None:
        """Name the class where its methods fail."""
        super().__init_subclass__(**kwargs)
        guard_methods(cls, MatchTarget)

    @abstractmethod
    def modules(self) -> Sequence[ExecModule]:
        """Execution modules; ties between them go to the first."""

    def build_profile(self) -> BuildProfile:
        """Compiler flags and alignment; -O3 and 64 bytes by default."""
        return BuildProfile()

    def storage(self) -> Storage:
        """What holds the network's tensors; unlimited by default."""
        return Storage()

    def runtime(self) -> Runtime:
        """C that every emitted project carries and calls; none by default."""
        return Runtime()

    def capacities(self) -> Mapping[str, int]:
        """What the network's layers share, by name (`ExecModule.demands`); nothing by default.

        Selection keeps the sum of the chosen layers' demands within it.
        """
        return {}

    def spared(self) -> frozenset[str]:
        """Capacities that layers need less of once they hand their results over; none by default.

        Selection first leaves them out. Where `companions` then lacks something, it decides again
        with all of them.
        """
        return frozenset()

    def together(self, layers: Sequence[Seat]) -> Mapping[int, tuple[LoopMapping, Cost]]:
        """Other mappings for selected layers that run at the same time; none by default.

        Selection prices each layer alone and adds up. Where layers work side by side, such as the
        stages of a pipeline, the slowest sets the pace: the target divides what they share anew.

        Args:
            layers: all that were selected, each behind those whose results it reads.

        Returns:
            By number of the layer, how it runs then, and its share of what all of them take. They
            keep to the target's capacities together with the layers that stay as they are.
        """
        del layers
        return {}

    def handed_over(self, layers: Sequence[ChosenLayer]) -> Mapping[str, HandedOver]:
        """Layers whose results or inputs the target keeps in its modules, by symbol.

        Args:
            layers: of all modules, in execution order.
        """
        del layers
        return {}

    def companions(
        self, network: str, layers: Sequence[ChosenLayer]
    ) -> Sequence[Unit] | Infeasible:
        """Sources that the chosen layers need beside the network's C; none by default.

        Here a target places layers that share something of the chip.

        Args:
            network: C identifier of the network, the prefix of all symbols.
            layers: of all modules, in execution order.

        Returns:
            The sources, or what the chip lacks for these layers together.
        """
        del network, layers
        return ()

    def simulator(self) -> NetworkSimulator | None:
        """Runs a compiled network in simulated cycles; None where the chip has no simulator."""
        return None

    def options(self) -> Mapping[str, object]:
        """Constructor arguments that make an equal target, plain data; none by default."""
        return {}

    def built_for(self) -> str:
        """Which processor the emitted code needs, for reports; empty where any will do."""
        return ""

    def fallback_cost(self, operation: Operation) -> float:
        """Cycles of the reference clock that the core takes for `operation`; `core`'s count."""
        return self.core.cycles(operation)

    def move_cost(self, move: Move) -> float:
        """Cycles of the reference clock to hand a tensor from one module to another.

        0 within one unit; else `synchronisation`, and the tensor's bytes at the lower of the two
        outermost memories' bandwidths where these memories have different names. What it takes to
        change the order of elements (`ExecModule.layouts`) is not among it.
        """
        if move.stays:
            return 0.0
        transfers = (
            self.reference_cycles(module, move.nbytes / module.memories[-1].bytes_per_cycle)
            for module in move.ways
        )
        return self.synchronisation + max(transfers, default=0.0)

    def reference_cycles(self, module: ExecModule, cycles: float) -> float:
        """`cycles` of a module's clock in cycles of the reference clock.

        Raises:
            TargetError: the module states a frequency and the target does not.
        """
        if module.frequency is None:
            return cycles
        if self.frequency is None:
            raise TargetError(
                f"module {module.name} of target {self.name} runs at {module.frequency:g} Hz, and "
                "the target states no frequency to compare with",
                hint="give the target a frequency, that of its core",
            )
        return cycles * self.frequency / module.frequency

    def description(self) -> str:
        """One line for `match-aie targets`: the class's first docstring line by default."""
        return (type(self).__doc__ or self.name).strip().splitlines()[0]
