"""The innermost tier: placing the tiles of all groups there at once, best lower bounds first."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from match_aie.hardware import Array
from match_aie.mapping.pool import EPSILON, Placement, Pool, Score

if TYPE_CHECKING:
    from match_aie.mapping.exact import Exact

_INF = float("inf")

#: From compute cycles, transfers and exposed ones by tier, and energy, to a score.
Rule = Callable[[Array, Sequence[Array], Sequence[Array], Array], Score]


@dataclass(frozen=True)
class Kernels:
    """The best kernel tile inside every node, among those of limited needs.

    Attributes:
        own: cycles of all calls with each node itself as the kernel's tile; infinite for those
            of other needs.
        cycles: of all calls, for each node the least over kernel tiles inside it.
        energy: upper bound of the picojoules of all calls; charged. Where layers are priced as
            wholes it is 0, and the next two are used.
        spent: picojoules of all calls with each node itself as the kernel's tile.
        least: of all calls, for each node the least over kernel tiles inside it.
        best: that kernel tile.
        partial: whether some of these kernels leave partial sums behind.
        reserved: bytes in every memory of the innermost tier.
    """

    own: Array
    cycles: Array
    energy: float
    spent: Array
    least: Array
    best: Array
    partial: bool
    reserved: Array


@dataclass(frozen=True)
class Outer:
    """What has been decided in tiers further out.

    Attributes:
        nodes: (tier, group) and its node.
        moves: cycles by tier, outermost last, of the tiers decided.
        exposed: likewise.
        energy: of their transfers, picojoules.
        wide: whether the next tier inward may hand out partial sums.
    """

    nodes: tuple[tuple[tuple[int, int], int], ...] = ()
    moves: tuple[float, ...] = ()
    exposed: tuple[float, ...] = ()
    energy: float = 0.0
    wide: bool = False

    def parent(self, tier: int, group: int) -> int | None:
        """The node that encloses the tile of a group in `tier`, of the tiers decided."""
        above = [(t, node) for (t, g), node in self.nodes if g == group and t > tier]
        return min(above)[1] if above else None


class Inner:
    """Placing the innermost tier's groups, one class of kernels, the rest decided.

    Attributes:
        groups: indices of the groups that have tiles in this tier.
        free: bytes for tiles in every memory.
        sums: by group, transfers for every node, as `Moves.stacked`.
        bytes: by group, [memories, nodes].
        ok: by group, nodes that nest in what is decided and fit by themselves.
    """

    def __init__(
        self, exact: Exact, outer: Outer, kernels: Kernels, relaxed: Rule | None = None
    ) -> None:
        """Look up what each group may do; `relaxed` scores lower bounds instead of the truth."""
        self._exact = exact
        self._outer = outer
        self._kernels = kernels
        legs = exact.tiers[0] if exact.tiers else {}
        self.groups = list(legs)
        self.free = (exact.capacity[0] - kernels.reserved) if exact.tiers else np.zeros(0)
        moves = [
            leg.least if relaxed else leg.moves(outer.parent(0, at)) for at, leg in legs.items()
        ]
        self.bytes = [exact.footprints[0, at, kernels.partial] for at in self.groups]
        self.ok = [
            exact.allowed(0, at, outer) & np.all(need <= self.free[:, None], axis=0)
            for at, need in zip(self.groups, self.bytes, strict=True)
        ]
        self._fixed = exact.fixed[0].stacked(1)[:, 0]
        self.sums = [each.stacked(exact.problem.space.count) for each in moves]
        self._scorer = relaxed or exact.scorer
        self._whole = None if relaxed else exact.problem.prices

    @property
    def possible(self) -> bool:
        """Whether every group has some node that fits by itself."""
        return all(ok.any() for ok in self.ok) and bool(np.all(self.free >= 0))

    def score(self, compute: Array, sums: Array, spent: Array | float = 0.0) -> Score:
        """Score of this tier's groups, with all that has been decided added.

        Args:
            compute: cycles of all calls.
            sums: of the groups, as `Moves.stacked`, [4, ...].
            spent: picojoules of all calls beside those that the class of kernels is charged.
        """
        outer, fixed = self._outer, self._fixed
        cycles, exposed, energy, held = (a + b for a, b in zip(sums, fixed, strict=True))
        moves = [cycles, *(np.asarray(m) for m in outer.moves)]
        edges = [exposed, *(np.asarray(e) for e in outer.exposed)]
        total = energy + outer.energy + self._kernels.energy + spent
        return self._scorer(compute + held, moves, edges, total)

    def solve(self, pool: Pool) -> None:
        """Row by row: the group whose tile is innermost, and its node; best bounds first."""
        upward = [self._least_above(at) for at in range(len(self.groups))]
        for score, row in self._rows(upward):
            if not pool.promising(*score):
                if score[0] > pool.limit[0] * (1 + 1e-9):
                    break
                continue
            pool.visited += 1
            self._row(*row, upward, pool)

    def _least_above(self, at: int) -> Array:
        """For every node, the least that a group costs in a node that encloses it, [4, nodes]."""
        within = self._exact.below & self.ok[at][None, :]
        return np.stack([np.where(within, part, _INF).min(axis=1) for part in self.sums[at]])

    def _rows(self, upward: Sequence[Array]) -> list[tuple[tuple[float, float], tuple[int, int]]]:
        """Lower bounds of all (group, node) pairs, sorted."""
        found = []
        for first in range(len(self.groups)):
            others = [upward[at] for at in range(len(self.groups)) if at != first]
            ok = self.ok[first] & np.isfinite(self._kernels.cycles)
            for sums in others:
                ok = ok & np.isfinite(sums[0])
            nodes = np.nonzero(ok)[0]
            total = sum((sums[:, nodes] for sums in others), self.sums[first][:, nodes])
            kernels = self._kernels
            bound = self.score(kernels.cycles[nodes], total, kernels.least[nodes])
            value = np.broadcast_to(bound.value, nodes.shape).tolist()
            tie = np.broadcast_to(bound.tie, nodes.shape).tolist()
            rows = zip(value, tie, nodes.tolist(), strict=True)
            found += [((v, t), (first, n)) for v, t, n in rows]
        return sorted(found)

    def _row(self, first: int, node: int, upward: Sequence[Array], pool: Pool) -> None:
        """Everything with the innermost tile at `node`, held by group `first`."""
        part = _Part(self.sums[first][:, node], self.bytes[first][:, node], ((first, node),))
        rest = [at for at in range(len(self.groups)) if at != first]
        above = self._exact.below[node]
        choices = {at: np.nonzero(self.ok[at] & above)[0] for at in rest}
        least = {at: upward[at][:, node] for at in rest}
        self._place(part, choices, least, node, pool)

    def _place(
        self,
        part: _Part,
        choices: dict[int, Array],
        least: dict[int, Array],
        node: int,
        pool: Pool,
    ) -> None:
        """Place the groups that are left, whose candidates are `choices`."""
        choices = {at: self._worth(at, part, choices, least, node, pool) for at in choices}
        if any(not len(nodes) for nodes in choices.values()):
            return
        if len(choices) <= 2:
            self._finish(part, choices, node, pool)
            return
        at, nodes = next(iter(choices.items()))
        for chosen in nodes:
            line = self._exact.comparable[chosen]
            rest = {a: ns[line[ns]] for a, ns in choices.items() if a != at}
            more = part.plus(at, int(chosen), self.sums[at], self.bytes[at])
            self._place(more, rest, {a: least[a] for a in rest}, node, pool)

    def _worth(
        self,
        at: int,
        part: _Part,
        choices: dict[int, Array],
        least: dict[int, Array],
        node: int,
        pool: Pool,
    ) -> Array:
        """Of the candidates of a group, those that fit and whose bound is not too bad."""
        nodes = choices[at]
        fits = np.all(self.bytes[at][:, nodes] + part.nbytes[:, None] <= self.free[:, None], axis=0)
        nodes = nodes[fits]
        decided = sum((least[a] for a in choices if a != at), part.sums)
        sums, kernels = self.sums[at][:, nodes] + decided[:, None], self._kernels
        bound = self.score(kernels.cycles[node], sums, kernels.least[node])
        limit = pool.limit[0]
        value = np.broadcast_to(bound.value, nodes.shape)
        return np.asarray(nodes[value <= limit * (1 + 1e-9)]) if np.isfinite(limit) else nodes

    def _finish(self, part: _Part, choices: dict[int, Array], node: int, pool: Pool) -> None:
        """Evaluate the last (at most two) groups all at once."""
        shape = tuple(len(nodes) for nodes in choices.values())
        ones = (1,) * len(shape)
        sums = np.broadcast_to(part.sums.reshape(-1, *ones), (len(part.sums), *shape))
        nbytes = part.nbytes.reshape(len(self.free), *ones)
        for axis, (at, nodes) in enumerate(choices.items()):
            view = tuple(-1 if a == axis else 1 for a in range(len(shape)))
            sums = sums + self.sums[at][:, nodes].reshape(len(sums), *view)
            nbytes = nbytes + self.bytes[at][:, nodes].reshape(len(self.free), *view)
        ok = np.all(nbytes <= self.free.reshape(-1, *ones), axis=0)
        if len(shape) == 2:
            a, b = choices.values()
            ok = ok & self._exact.comparable[np.ix_(a, b)]
        if not np.any(ok):
            return
        score = self.score(self._kernels.cycles[node], sums, self._kernels.least[node])
        if self._whole is None:
            self._offer_best(part, choices, node, score, ok, pool)
        else:
            self._offer_exact(part, choices, node, score, sums, ok, pool)

    def _offer_best(
        self,
        part: _Part,
        choices: dict[int, Array],
        node: int,
        score: Score,
        ok: Array,
        pool: Pool,
    ) -> None:
        value = np.where(ok, score.value, _INF)
        least = float(value.min())
        tied = np.where(value <= least * (1 + 1e-12), score.tie, _INF)
        where = _position(int(np.argmin(tied)), ok.shape)
        kernel = int(self._kernels.best[node])
        placement = Placement(kernel, self._placed(part, choices, where))
        pool.offer(least, float(tied[where]), placement)

    def _placed(
        self, part: _Part, choices: dict[int, Array], where: Sequence[int]
    ) -> tuple[tuple[tuple[int, int], int], ...]:
        """The nodes of all groups, of which `choices` have those at `where`."""
        chosen = list(part.chosen)
        for at, nodes, index in zip(choices, choices.values(), where, strict=True):
            chosen.append((at, int(nodes[index])))
        placed = tuple(((0, self.groups[at]), n) for at, n in sorted(chosen))
        return self._outer.nodes + placed

    # ---------------------------------------------------------------- layers priced as wholes

    def _offer_exact(
        self,
        part: _Part,
        choices: dict[int, Array],
        node: int,
        score: Score,
        sums: Array,
        ok: Array,
        pool: Pool,
    ) -> None:
        """Price everything whose bound is below what is kept, best bounds first."""
        value = np.where(ok, np.broadcast_to(score.value, ok.shape), _INF).ravel()
        sums = sums.reshape(len(sums), -1)
        near = np.flatnonzero(value <= pool.limit[0] * (1 + EPSILON))
        for flat in near[np.argsort(value[near], kind="stable")]:
            if value[flat] > pool.limit[0] * (1 + EPSILON):
                return
            if pool.promising(float(value[flat]), float(sums[0, flat])):
                placed = self._placed(part, choices, _position(int(flat), ok.shape))
                self._offer_kernels(placed, node, sums[:, flat], pool)

    def _offer_kernels(
        self,
        placed: tuple[tuple[tuple[int, int], int], ...],
        node: int,
        sums: Array,
        pool: Pool,
    ) -> None:
        """Price a placement with every kernel tile inside `node` that may be among the best."""
        inside = self._exact.below[:, node] & np.isfinite(self._kernels.own)
        kernels = np.flatnonzero(inside)
        spent = self._kernels.spent[kernels]
        bound = self.score(self._kernels.own[kernels], sums[:, None], spent)
        value = np.broadcast_to(bound.value, kernels.shape)
        tie = float(sums[0])
        for at in np.argsort(value, kind="stable"):
            if not pool.promising(float(value[at]), tie):
                return
            placement = Placement(int(kernels[at]), placed)
            energy = np.asarray(sums[2] + self._fixed[2] + spent[at])
            pool.offer(self._exact.whole(placement, energy), tie, placement)


@dataclass(frozen=True)
class _Part:
    """Groups placed so far: their sums as `Moves.stacked`, their bytes, and (group, node)."""

    sums: Array
    nbytes: Array
    chosen: tuple[tuple[int, int], ...]

    def plus(self, at: int, node: int, sums: Array, nbytes: Array) -> _Part:
        return _Part(
            self.sums + sums[:, node], self.nbytes + nbytes[:, node], (*self.chosen, (at, node))
        )


def _position(flat: int, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Where an element of a flattened array is."""
    return tuple(int(at) for at in np.unravel_index(flat, shape))
