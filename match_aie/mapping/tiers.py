"""Tiers between the innermost and the home memory: all ways to place tiles, best bound first."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from itertools import pairwise

import numpy as np

from match_aie.hardware import Array
from match_aie.mapping.exact import Exact
from match_aie.mapping.inner import Outer
from match_aie.mapping.pool import Pool, Score
from match_aie.mapping.tables import Moves

_INF = float("inf")

#: Assignments bounded at a time; keeps the arrays in the cache.
_CHUNK = 1 << 20

#: Assignments from which on bounds are sharpened, and slices that these are put into.
_MANY, _SLICES = 24, 12


class OuterTier:
    """The assignments of nodes to the groups of one tier, the tiers further out decided."""

    def __init__(self, exact: Exact, tier: int, outer: Outer, wide: bool) -> None:
        """Look up costs here, and the least costs of all tiers inside.

        Args:
            exact: the search.
            tier: which.
            outer: what has been decided.
            wide: whether output tiles here are kept as partial sums, so that inner tiers may
                hand out incomplete ones.
        """
        self._exact = exact
        self._tier = tier
        self._outer = outer
        self._wide = wide
        self.groups = list(exact.tiers[tier])
        free = exact.capacity[tier] - exact.outer_reserved[tier]
        self._free = free
        self._bytes = {at: exact.footprints[tier, at, wide] for at in self.groups}
        self._ok = {
            at: np.nonzero(
                exact.allowed(tier, at, outer) & np.all(self._bytes[at] <= free[:, None], axis=0)
            )[0]
            for at in self.groups
        }
        self._moves = {
            at: exact.tiers[tier][at].moves(outer.parent(tier, at)) for at in self.groups
        }
        self._inside = [self._least_inside(t) for t in range(tier)]
        for inside in self._inside:
            for at in set(inside) & set(self.groups):
                nodes = self._ok[at]
                self._ok[at] = nodes[np.isfinite(inside[at].cycles[nodes])]

    @property
    def possible(self) -> bool:
        """Whether every group has a node here with some node inside it."""
        inside = [np.isfinite(m.cycles).any() for t in self._inside for m in t.values()]
        return all(inside) and all(len(nodes) for nodes in self._ok.values())

    def _least_inside(self, tier: int) -> dict[int, Moves]:
        """By group, the least transfers into an inner tier, for every node of the group here."""
        exact = self._exact
        inner = Outer(wide=self._wide)
        found = {}
        for at, legs in exact.tiers[tier].items():
            fits = np.all(
                exact.footprints[tier, at, False] <= exact.capacity[tier][:, None], axis=0
            )
            fits &= exact.allowed(tier, at, inner)
            within = exact.below & fits[:, None]
            parts = (legs.least.cycles, legs.least.exposed, legs.least.energy)
            least = [np.where(within, q[:, None], _INF).min(axis=0) for q in parts]
            if at not in self.groups:
                least = [np.full_like(q, q.min()) for q in least]
            found[at] = Moves(*least)
        return found

    def ordered(self, pool: Pool) -> Iterator[Outer]:
        """Assignments, best lower bound first; those that cannot be better are left out.

        Equal values are not pursued for the sake of the tie: there are too many.
        """
        if not self.possible:
            return
        for source in (self._even(), None):
            rows = self._grown(pool) if source is None else source
            if not len(rows):
                continue
            score = self._bound(rows)
            if source is None:
                score = self._sharpened(rows, score, pool)
            order = np.lexsort((score.tie, score.value))
            if source is not None:
                order = order[:2]
            for at in order:
                if not pool.improves(float(score.value[at])):
                    break
                yield self._step(rows[at])

    def _even(self) -> Array:
        """Assignments of one node to all groups: a first answer that makes bounds useful."""
        common = np.ones(self._exact.problem.space.count, bool)
        total = np.zeros_like(next(iter(self._bytes.values()))) if self.groups else np.zeros((0, 1))
        for at in self.groups:
            here = np.zeros_like(common)
            here[self._ok[at]] = True
            common &= here
            total = total + self._bytes[at]
        if self.groups:
            common &= np.all(total <= self._free[:, None], axis=0)
        nodes = np.nonzero(common)[0]
        return np.repeat(nodes[:, None], len(self.groups), axis=1)

    def _grown(self, pool: Pool) -> Array:
        """All assignments that fit and nest, group by group, int[assignments, groups]."""
        rows = np.zeros((1, 0), int)
        for depth, at in enumerate(self.groups):
            nodes = self._ok[at]
            step = max(1, _CHUNK // max(1, len(nodes)))
            parts = [
                self._extended(rows[start : start + step], depth, nodes, pool)
                for start in range(0, len(rows), step)
            ]
            rows = np.concatenate(parts) if parts else np.zeros((0, depth + 1), int)
        return rows

    def _extended(self, rows: Array, depth: int, nodes: Array, pool: Pool) -> Array:
        fits = np.ones((len(rows), len(nodes)), bool)
        used = np.zeros((len(self._free), len(rows)))
        for before in range(depth):
            fits &= self._exact.comparable[rows[:, before]][:, nodes]
            used += self._bytes[self.groups[before]][:, rows[:, before]]
        need = self._bytes[self.groups[depth]][:, nodes]
        fits &= np.all(used[:, :, None] + need[:, None, :] <= self._free[:, None, None], axis=0)
        a, b = np.nonzero(fits)
        found = np.concatenate([rows[a], nodes[b][:, None]], axis=1)
        limit = pool.limit[0]
        if np.isfinite(limit):
            found = found[self._bound(found).value <= limit]
        return found

    def _bound(self, rows: Array) -> Score:
        """Lower bounds of assignments; groups without a node yet count with their least."""
        exact, count = self._exact, len(rows)
        moves, edges = [], []
        energy = np.full(count, self._outer.energy + min(k.energy for k in exact.kernels))
        for tier in range(self._tier + 1):
            legs = self._moves if tier == self._tier else self._inside[tier]
            fixed = exact.fixed[tier]
            cycles, exposed = np.full(count, fixed.cycles[0]), np.full(count, fixed.exposed[0])
            energy = energy + fixed.energy[0]
            for at, leg in legs.items():
                parts = self._chosen(at, rows, leg)
                cycles, exposed, energy = cycles + parts[0], exposed + parts[1], energy + parts[2]
            moves.append(cycles)
            edges.append(exposed)
        moves += [np.asarray(m) for m in self._outer.moves]
        edges += [np.asarray(e) for e in self._outer.exposed]
        compute = np.full(count, exact.least_compute)
        for depth in range(rows.shape[1]):
            compute = np.maximum(compute, exact.compute_inside[rows[:, depth]])
        score = exact.scorer(compute, moves, edges, energy)
        value = np.maximum(np.broadcast_to(score.value, count), self._floor)
        return Score(value, np.broadcast_to(score.tie, count))

    @cached_property
    def _least(self) -> tuple[float, float]:
        """Cycles of this tier's transfers, and of the exposed ones, at least."""
        fixed = self._exact.fixed[self._tier]
        cycles, exposed = float(fixed.cycles[0]), float(fixed.exposed[0])
        for at in self.groups:
            cycles += float(self._moves[at].cycles[self._ok[at]].min())
            exposed += float(self._moves[at].exposed[self._ok[at]].min())
        return cycles, exposed

    @cached_property
    def _floor(self) -> float:
        """A score that no assignment beats: the innermost tier's best, the rest at its least."""
        return self._floor_at(*self._least)

    def _floor_at(self, cycles: float, exposed: float) -> float:
        """A score that no assignment of at least these cycles and exposed cycles beats."""
        between = (0.0,) * (self._tier - 1)
        moves = (*between, cycles, *self._outer.moves)
        edges = (*between, exposed, *self._outer.exposed)
        return self._exact.floor(self._exact.scorer, moves, edges)

    def _sharpened(self, rows: Array, score: Score, pool: Pool) -> Score:
        """Better bounds where many assignments are left: solve the innermost tier for slices.

        Assignments are sliced by their cycles, and by their exposed cycles; the floor at the
        lower end of a slice bounds all of it. Floors grow, so the rest needs no solving once one
        is beyond what is kept.
        """
        if len(rows) < _MANY:
            return score
        value = score.value.copy()
        chosen = [(self._moves[at], rows[:, depth]) for depth, at in enumerate(self.groups)]
        cycles, exposed = self._least
        sums = (
            sum(m.cycles[nodes] for m, nodes in chosen),
            sum(m.exposed[nodes] for m, nodes in chosen),
        )
        for which, total in enumerate(sums):
            floor = 0.0
            edges = np.unique(np.quantile(total, np.linspace(0, 1, _SLICES), method="lower"))
            for low, high in pairwise((*edges, _INF)):
                if pool.improves(max(floor, self._floor)):
                    floor = self._floor_at(
                        *((max(cycles, low), exposed) if which == 0 else (cycles, low))
                    )
                inside = (total >= low) & (total < high)
                value[inside] = np.maximum(value[inside], floor)
        return Score(value, score.tie)

    def _chosen(self, at: int, rows: Array, moves: Moves) -> tuple[Array, Array, Array]:
        parts = (moves.cycles, moves.exposed, moves.energy)
        depth = self.groups.index(at) if at in self.groups else rows.shape[1]
        if depth < rows.shape[1]:
            a, b, c = (part[rows[:, depth]] for part in parts)
        else:
            nodes = self._ok.get(at, slice(None))
            a, b, c = (np.asarray(part[nodes].min()) for part in parts)
        return a, b, c

    def _step(self, row: Array) -> Outer:
        """The tier decided as `row` says."""
        fixed, outer = self._exact.fixed[self._tier], self._outer
        chosen = [(at, int(node)) for at, node in zip(self.groups, row, strict=True)]
        cycles = sum(float(self._moves[at].cycles[n]) for at, n in chosen)
        exposed = sum(float(self._moves[at].exposed[n]) for at, n in chosen)
        energy = sum(float(self._moves[at].energy[n]) for at, n in chosen)
        return Outer(
            (*(((self._tier, at), n) for at, n in chosen), *outer.nodes),
            (cycles + float(fixed.cycles[0]), *outer.moves),
            (exposed + float(fixed.exposed[0]), *outer.exposed),
            outer.energy + energy + float(fixed.energy[0]),
            self._wide,
        )
