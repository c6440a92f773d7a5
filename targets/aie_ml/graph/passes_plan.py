"""What plans of dense layers in passes over the rows have in common."""

from __future__ import annotations

from dataclasses import dataclass

from match_aie.targets.aie_ml.graph.plan import MemoryKind
from match_aie.targets.aie_ml.graph.timed import Timed


@dataclass(frozen=True)
class PassesPlan:
    """A dense layer whose rows pass the tiles, from the chip's memory and back.

    Attributes:
        timed: sizes of everything.
    """

    timed: Timed

    @property
    def columns(self) -> int:
        """Of the array that it takes."""
        return self.timed.device.columns

    @property
    def memory(self) -> MemoryKind:
        """The chip's."""
        return "ddr"

    @property
    def ways(self) -> tuple[int, int]:
        """Channels from the chip's memory into the array, and back."""
        return self.timed.ways

    @property
    def legs(self) -> tuple[float, float]:
        """None of its own: ways in and out go on beside everything else."""
        return 0.0, 0.0

    #: Likewise.
    requests = 0.0, 0.0

    #: Nothing that another layer would hide: such a layer is a graph of its own.
    starting = 0.0
