"""A chip: its execution modules, and how its emitted projects are built."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

from match_aie.hardware.module import ExecModule


@dataclass(frozen=True)
class BuildProfile:
    """How a C compiler is called for this target's emitted sources.

    Attributes:
        flags: beside the ones that correctness needs, which the toolchain always adds.
        alignment: of the arena, of every buffer in it, and of every constant, in bytes.
    """

    flags: tuple[str, ...] = ("-O3",)
    alignment: int = 64


class MatchTarget(ABC):
    """A heterogeneous chip; what no module claims becomes C for its core through the fallback."""

    name: str = ""

    @abstractmethod
    def modules(self) -> Sequence[ExecModule]:
        """Execution modules; ties between them go to the first."""

    def build_profile(self) -> BuildProfile:
        """Compiler flags and alignment; -O3 and 64 bytes by default."""
        return BuildProfile()

    def description(self) -> str:
        """One line for `match-aie targets`: the class's first docstring line by default."""
        return (type(self).__doc__ or self.name).strip().splitlines()[0]
