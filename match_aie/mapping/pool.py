"""What a search is after, and the best it has found so far."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from match_aie.hardware import Array, Objective, TileCostModel

#: Two scores closer than this, relatively, are the same: sums in another order differ by less.
EPSILON = 1e-10


@dataclass(frozen=True)
class Score:
    """Values of candidates, better when smaller.

    Attributes:
        value: cycles, picojoules, or their product, as the objective says.
        tie: cycles of all transfers, which decide between equal values.
    """

    value: Array
    tie: Array


@dataclass(frozen=True)
class Scorer:
    """Turns cycles and energy into the objective.

    Attributes:
        model: that combines compute and transfers.
        objective: what to minimise.
    """

    model: TileCostModel
    objective: Objective = "latency"

    def __call__(
        self, compute: Array, moves: Sequence[Array], exposed: Sequence[Array], energy: Array
    ) -> Score:
        """Scores, of the shape that the arguments broadcast to."""
        tie: Array = np.zeros(1)
        for move in moves:
            tie = tie + move
        if self.objective == "energy":
            return Score(energy + 0 * tie, tie)
        cycles = self.model.combine(compute, moves, exposed)
        return Score(cycles * energy if self.objective == "edp" else cycles, tie)

    def whole(self, cycles: float, energy: float) -> float:
        """The objective of a layer of so many cycles and picojoules."""
        if self.objective == "energy":
            return energy
        return cycles * energy if self.objective == "edp" else cycles


@dataclass(frozen=True)
class Placement:
    """A point of the space: which tile the kernel works on, and which lies in which memory.

    Attributes:
        kernel: node of the kernel's tile.
        nodes: (tier, index of the group) and the node of its tile there.
    """

    kernel: int
    nodes: tuple[tuple[tuple[int, int], int], ...]


@dataclass
class Pool:
    """The best placements, at most one for every kernel tile.

    Attributes:
        keep: how many to keep.
        found: by kernel tile: value, tie, placement.
        tolerance: candidates that are better by less than this, relatively, are not looked for.
        skipped: the least lower bound of anything left out because of the tolerance.
        visited: rows of candidates that were evaluated; for statistics.
        narrow: whether only the best is looked for; the others are what is met on the way.
    """

    keep: int = 1
    tolerance: float = 0.0
    found: dict[int, tuple[float, float, Placement]] = field(default_factory=dict)
    skipped: float = float("inf")
    visited: int = 0
    narrow: bool = False

    @property
    def limit(self) -> tuple[float, float]:
        """Value and tie that a candidate must beat."""
        keep = 1 if self.narrow else self.keep
        if len(self.found) < keep:
            return float("inf"), float("inf")
        value, tie, _ = sorted(self.found.values(), key=lambda f: f[:2])[keep - 1]
        return value, tie

    def improves(self, value: float) -> bool:
        """Whether something of at least this value could be better than what is kept."""
        limit = self.limit[0]
        if not value < limit * (1 - EPSILON):
            return False
        if value > limit * (1 - self.tolerance):
            self.skipped = min(self.skipped, value)
            return False
        return True

    def promising(self, value: float, tie: float) -> bool:
        """Whether something of at least this score could still be kept."""
        limit, least = self.limit
        if not np.isfinite(value) or value > limit * (1 + EPSILON):
            return False
        if value >= limit * (1 - EPSILON):
            return tie < least * (1 - EPSILON)
        if value > limit * (1 - self.tolerance):
            self.skipped = min(self.skipped, value)
            return False
        return True

    def offer(self, value: float, tie: float, placement: Placement) -> None:
        """Keep a placement if it is among the best, and better than its kernel tile's last one."""
        known = self.found.get(placement.kernel)
        if known is not None and not _better((value, tie), known[:2]):
            return
        self.found[placement.kernel] = (value, tie, placement)
        if len(self.found) > self.keep:
            worst = max(self.found, key=lambda kernel: self.found[kernel][:2])
            del self.found[worst]

    def ranked(self) -> list[tuple[float, float, Placement]]:
        """Best first."""
        return sorted(self.found.values(), key=lambda f: (f[0], f[1], f[2].kernel))

    @property
    def bound(self) -> float:
        """Nothing in the space is better than this."""
        best = min((f[0] for f in self.found.values()), default=float("inf"))
        return min(best, self.skipped)


def _better(new: tuple[float, float], old: tuple[float, float]) -> bool:
    if new[0] < old[0] * (1 - EPSILON):
        return True
    return new[0] <= old[0] * (1 + EPSILON) and new[1] < old[1] * (1 - EPSILON)
