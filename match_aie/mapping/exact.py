"""Engine `exact`: the best placement of all, by branch and bound over chains of tiles.

The order of temporal loops matters only through the tiles at which something is cut, and these
nest: a loop nest with its cuts is a chain of nodes, kernel innermost. So chains are searched, not
permutations; every chain is some nest. Cycles of a group depend on its node alone (and on the
enclosing tile), so lower bounds come from dropping the constraints between groups.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from match_aie.hardware import Array, Tiled, facet
from match_aie.mapping.inner import Inner, Kernels, Outer, Rule
from match_aie.mapping.nest import to_mapping
from match_aie.mapping.pool import Placement, Pool, Score, Scorer
from match_aie.mapping.sequence import sequence_cycles
from match_aie.mapping.tables import (
    Legs,
    Moves,
    Problem,
    fixed_moves,
    kernel_totals,
    legal_kernels,
    reserved,
)

_INF = float("inf")


class Exact:
    """Branch and bound over one problem; tables are made once and serve every call."""

    def __init__(self, problem: Problem, scorer: Scorer, mask: Array | None = None) -> None:
        """Set up the search.

        Args:
            problem: to solve.
            scorer: combines cycles and energy into what is minimised.
            mask: the nodes to use, bool[nodes]; all by default.
        """
        self.mask = np.ones(problem.space.count, bool) if mask is None else mask
        self.problem = problem
        self.scorer = scorer
        self.priced = 0
        self._known: dict[Placement, float] = {}
        self.below = problem.space.below
        self.comparable = self.below | self.below.T
        self.spills = _may_spill(problem)
        visits = problem.space.tiles(
            [g.dim for g in problem.space.grids if not self._reduces(g.dim)]
        )
        self.complete = visits == 1

    def _reduces(self, dim: str) -> bool:
        return dim in self.problem.workload.reductions

    @cached_property
    def tiers(self) -> list[dict[int, Legs]]:
        """By tier, the legs of every group that has tiles there, by index of the group."""
        layout = self.problem.layout
        found: list[dict[int, Legs]] = []
        for tier in range(len(layout.tiers)):
            legs = {at: Legs(self.problem, g, tier) for at, g in enumerate(layout.groups)}
            found.append({at: leg for at, leg in legs.items() if leg.legs})
        return found

    @cached_property
    def capacity(self) -> list[Array]:
        """By tier, bytes of every memory."""
        return [
            np.asarray([_INF if m.bytes is None else m.bytes for m in tier])
            for tier in self.problem.layout.tiers
        ]

    @cached_property
    def fixed(self) -> list[Moves]:
        """By tier, transfers that do not depend on the mapping."""
        return [fixed_moves(self.problem, tier) for tier in range(len(self.tiers))]

    @cached_property
    def footprints(self) -> dict[tuple[int, int, bool], Array]:
        """By tier, group and width: bytes in every memory of the tier, [memories, nodes]."""
        found = {}
        for tier, groups in enumerate(self.tiers):
            for at, legs in groups.items():
                found[tier, at, False] = found[tier, at, True] = legs.footprints(False)
                if legs.group.output and facet(self.problem.module, Tiled).tiled_reductions(
                    self.problem.workload
                ):
                    found[tier, at, True] = legs.footprints(True)
        return found

    @cached_property
    def kernels(self) -> list[Kernels]:
        """Classes of kernel tiles: one for each need of scratch, width and energy that occurs.

        Where layers are priced as wholes every kernel tile is looked at by itself in the end, so
        that energy makes no classes: there would be nearly as many as tiles.
        """
        cycles, energy = kernel_totals(self.problem)
        spent = energy if self.problem.prices is not None else np.zeros_like(energy)
        needs = np.vstack([reserved(self.problem, 0), ~self.complete, energy - spent])
        found, usable = [], self.mask & legal_kernels(self.problem)
        for need in np.unique(needs, axis=1).T:
            eligible = np.all(needs <= need[:, None], axis=0) & usable
            own = np.where(eligible, cycles, _INF)
            inside = np.where(self.below, own[:, None], _INF)
            best = inside.argmin(axis=0)
            least = inside[best, np.arange(len(best))]
            frugal = np.where(self.below & eligible[:, None], spent[:, None], _INF).min(axis=0)
            charged, partial = float(need[-1]), bool(need[-2])
            found.append(Kernels(own, least, charged, spent, frugal, best, partial, need[:-2]))
        return found

    @cached_property
    def outer_reserved(self) -> list[Array]:
        """By tier, bytes of every memory that are no tile's (unused for the innermost)."""
        return [reserved(self.problem, tier)[:, -1] for tier in range(len(self.tiers))]

    def solve(self, pool: Pool) -> None:
        """Offer to `pool` all that may be among the best.

        Where whole layers are priced, which takes its time, first what may be the best.
        """
        if self.problem.prices is not None and not pool.narrow and pool.keep > 1:
            pool.narrow = True
            self.solve(pool)
            pool.narrow = False
        self._descend(len(self.tiers) - 1, Outer(wide=self.spills), pool)

    def _descend(self, tier: int, outer: Outer, pool: Pool) -> None:
        if tier == 0:
            self.solve_inner(outer, pool)
            return
        widths = (False, True) if self.spills else (False,)
        for wide in widths:
            self._outer_tier(tier, outer, wide, pool)

    def allowed(self, tier: int, group: int, outer: Outer) -> Array:
        """Nodes of a group in `tier` that fit into the nest decided so far, bool[nodes]."""
        found = self.mask.copy()
        for (_, other), node in outer.nodes:
            found &= self.below[:, node] if other == group else self.comparable[node]
        if self.tiers[tier][group].group.output and not outer.wide:
            found &= self.complete
        return found

    # ---------------------------------------------------------------- the innermost tier

    def solve_inner(self, outer: Outer, pool: Pool) -> None:
        """All placements of the innermost tier."""
        for kernels in self.kernels:
            inner = Inner(self, outer, kernels)
            if inner.possible:
                inner.solve(pool)

    def floor(self, scorer: Rule, moves: tuple[float, ...], exposed: tuple[float, ...]) -> float:
        """The least score of the innermost tier alone, whatever the others look like.

        Transfers cost their lower bound, nothing has to nest in outer tiles, and the outer tiers'
        transfers take `moves`, of which `exposed` are.
        """
        pool = Pool()
        outer = Outer((), moves, exposed, 0.0, self.spills)
        for kernels in self.kernels:
            inner = Inner(self, outer, kernels, scorer)
            if inner.possible:
                inner.solve(pool)
        return pool.limit[0]

    @cached_property
    def compute_inside(self) -> Array:
        """For every node, cycles of all calls of the best kernel tile inside it."""
        return np.asarray(np.min([kernels.cycles for kernels in self.kernels], axis=0))

    @cached_property
    def least_compute(self) -> float:
        """Cycles of all kernel calls at least, with tiles that fit the innermost tier."""
        none = (0.0,) * (len(self.tiers) - 1)
        return self.floor(_compute_only, none, none)

    def whole(self, placement: Placement, energy: Array) -> float:
        """The score of a placement that is priced as a whole layer."""
        prices = self.problem.prices
        assert prices is not None
        if self.scorer.objective == "energy":
            return float(energy)
        cycles = self._known.get(placement)
        if cycles is None:
            self.priced += 1
            cycles = sequence_cycles(prices, to_mapping(self.problem, placement))
            self._known[placement] = cycles
        return self.scorer.whole(cycles, float(energy))

    # ---------------------------------------------------------------- tiers further out

    def _outer_tier(self, tier: int, outer: Outer, wide: bool, pool: Pool) -> None:
        from match_aie.mapping.tiers import OuterTier

        for step in OuterTier(self, tier, outer, wide).ordered(pool):
            self._descend(tier - 1, step, pool)


def _compute_only(
    compute: Array, moves: Sequence[Array], exposed: Sequence[Array], energy: Array
) -> Score:
    del exposed
    return Score(compute + 0 * moves[0], 0 * moves[0] + 0 * energy)


def _may_spill(problem: Problem) -> bool:
    """Whether partial sums may travel as far as the home memory, where they must fit too."""
    workload, module = problem.workload, problem.module
    tiled = facet(module, Tiled)
    if not tiled.tiled_reductions(workload) or not tiled.stores_partial_sums(workload):
        return False
    bound, y = problem.layout.home.bytes, workload.output
    wide = sum(o.nbytes for o in workload.operands[:-1]) + y.size * workload.partial_itemsize
    return bound is None or wide <= bound
