"""What a target says of layers that run side by side: tiles, pace, what bounds each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from match_aie.hardware.unit import ChosenLayer


@dataclass(frozen=True)
class Stage:
    """A layer on an array of tiles; cycles are modelled, of its module's clock.

    Attributes:
        symbol: of the layer.
        graph: what it is part of; stages of one graph run at the same time.
        columns: first and last one of the array.
        tiles: that run its kernels.
        cycles: of a single run.
        interval: between the ends of runs that follow each other, of this layer alone.
        pace: likewise, of the graph: its slowest stage's.
        utilisation: share of the pace in which its tiles would be busy at their peak.
        bound: name of the largest of `bounds`.
        bounds: (what, cycles of a run in which that is busy).
        why: it has these tiles.
        more: what one more column would bring.
    """

    symbol: str
    graph: str
    columns: tuple[int, int]
    tiles: int
    cycles: float
    interval: float
    pace: float
    utilisation: float
    bound: str
    bounds: tuple[tuple[str, float], ...]
    why: str
    more: str


@runtime_checkable
class Staged(Protocol):
    """A target whose layers run on tiles side by side."""

    def stages(self, layers: Sequence[ChosenLayer]) -> Sequence[Stage]:
        """Those of a network's layers, in execution order."""
