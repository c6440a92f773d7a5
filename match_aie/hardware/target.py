"""A chip: its execution modules, and how its emitted projects are built."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from match_aie.hardware.facet import refuse_stranger, refuse_strangers
from match_aie.hardware.guard import guard_methods
from match_aie.hardware.module import ExecModule
from match_aie.hardware.runtime import Runtime
from match_aie.hardware.simulated import NetworkSimulator
from match_aie.hardware.target_facets import TARGET_FACETS


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
        option: of the target, which sets `bytes`, for errors; empty where there is none.
        most: bytes that `option` may give.
    """

    memory: str = "arena"
    bytes: int | None = None
    backing: str | None = None
    option: str = ""
    most: int = 0


class MatchTarget(ABC):
    """A heterogeneous chip; what no module claims becomes C for its core through the fallback.

    What only some chips have, they inherit in addition (`target_facets`).
    """

    name: str = ""

    def __init_subclass__(cls, **kwargs: object) -> None:
        """Name the class where its methods fail."""
        super().__init_subclass__(**kwargs)
        refuse_strangers(cls, TARGET_FACETS)
        guard_methods(cls, MatchTarget, *TARGET_FACETS)

    def __setattr__(self, name: str, value: object) -> None:
        """Refuse what no facet of the class has."""
        refuse_stranger(type(self), name, TARGET_FACETS)
        super().__setattr__(name, value)

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

    def simulator(self) -> NetworkSimulator | None:
        """Runs a compiled network in simulated cycles; None where the chip has no simulator."""
        return None

    def options(self) -> Mapping[str, object]:
        """Constructor arguments that make an equal target, plain data; none by default."""
        return {}

    def description(self) -> str:
        """One line for `match-aie targets`: the class's first docstring line by default."""
        return (type(self).__doc__ or self.name).strip().splitlines()[0]
