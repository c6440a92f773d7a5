"""Engines `loma` and `zigzag`: loop orders from ZigZag's LomaEngine.

`loma` cuts every operand of every order where our own cost is least; `zigzag` takes ZigZag's cuts
(fewest bits moved) and only prices them. Both leave loops that the kernel owns out of the orders,
except that stock ZigZag does not know about kernels and permutes those too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from math import prod

import numpy as np

from match_aie.hardware import Array, Priced, facet
from match_aie.mapping import zigzag_adapter
from match_aie.mapping.exact import Exact
from match_aie.mapping.inner import Inner, Kernels, Outer
from match_aie.mapping.layout import dims_of
from match_aie.mapping.options import SearchOptions
from match_aie.mapping.pool import EPSILON, Placement, Pool
from match_aie.mapping.space import Space, clipped

_INF = float("inf")

#: Orders that are cut at a time.
BATCH = 256

#: Orders of a batch from which the best placement is offered to the pool.
_OFFERED = 8


def run(exact: Exact, options: SearchOptions) -> Pool:
    """The placements that LOMA finds; those of engine `exact` where it finds none.

    Engine `exact` gives the bound at which the search stops early, and so does no harm where
    LOMA's restricted orders hold nothing that fits. Where layers are priced as wholes its answer
    stands: to cut orders by lower bounds would only find the same mapping later.
    """
    pool = Pool(keep=options.runners_up + 1)
    if options.engine == "zigzag":
        _stock(exact, options, pool)
        return pool
    if exact.problem.prices is not None:
        pool.narrow = True
        exact.solve(pool)
        return pool
    bound = Pool()
    exact.solve(bound)
    if not bound.found:
        return pool
    if len(exact.tiers) == 1:
        slack = max(EPSILON, facet(exact.problem.module, Priced).precision)
        _cut_orders(exact, options, pool, bound.bound * (1 + slack))
    else:
        _cut_lattice(exact, options, pool)
    return pool if pool.found else bound


# ---------------------------------------------------------------- orders, and their nodes


#: Elements of the smallest tile, and how many of them cover the layer, by dimension.
Base = tuple[dict[str, int], dict[str, int]]


def bases(space: Space, options: SearchOptions) -> Iterator[Base]:
    """What LOMA factors, one after the other.

    First the largest divisors that the hardware can unroll. For ragged tiles then the unrolling
    itself, which overlaps the end, and dimensions rounded up to numbers with more factors. Each
    also with larger smallest tiles: where there are more prime factors than LOMA may permute it
    merges some, and tiles between those are lost.
    """
    seen: list[Base] = []
    for start in _starts(space, options.tiles == "ragged"):
        for base in (start, *_coarser(start, options.lpf_limit)):
            if base not in seen:
                seen.append(base)
                yield base


def _starts(space: Space, ragged: bool) -> Iterator[Base]:
    sizes = {g.dim: g.size for g in space.grids}
    steps = {g.dim: clipped(min(g.unroll, g.size), g.size) for g in space.grids}
    yield steps, {dim: sizes[dim] // step for dim, step in steps.items()}
    if not ragged:
        return
    steps = {g.dim: min(g.unroll, g.size) for g in space.grids}
    loops = {dim: -(-sizes[dim] // step) for dim, step in steps.items()}
    yield steps, loops
    for multiple in (2, 4, 3):
        rounded = {d: -(-n // multiple) * multiple if n > multiple else n for d, n in loops.items()}
        yield steps, rounded


def _coarser(start: Base, lpf_limit: int | None) -> Iterator[Base]:
    """Smallest tiles that leave `lpf_limit` factors, grown along one dimension first."""
    steps, loops = start
    factors = {dim: _primes(size) for dim, size in loops.items()}
    excess = sum(map(len, factors.values())) - (lpf_limit or 1 << 30)
    if excess <= 0:
        return
    for first in factors:
        left = {dim: list(primes) for dim, primes in factors.items()}
        grown = dict(steps)
        for _ in range(excess):
            dim = first if left[first] else max(left, key=lambda d: len(left[d]))
            grown[dim] *= left[dim].pop(0)
        yield grown, {dim: prod(primes) for dim, primes in left.items()}


def _primes(number: int) -> list[int]:
    """Prime factors, ascending.

    >>> _primes(12)
    [2, 2, 3]
    """
    found, divisor = [], 2
    while number > 1:
        while number % divisor == 0:
            found.append(divisor)
            number //= divisor
        divisor += 1
    return found


def nodes_of(space: Space, order: zigzag_adapter.Order, steps: Mapping[str, int]) -> list[int]:
    """The node inside which the first n loops of an order run, for every n; -1 if there is none."""
    extents = {grid.dim: steps[grid.dim] for grid in space.grids}
    found = [_node(space, extents)]
    for dim, size in order:
        extents[dim] *= size
        found.append(_node(space, extents))
    return found


def _node(space: Space, extents: Mapping[str, int]) -> int:
    node = space.node({g.dim: min(g.size, extents[g.dim]) for g in space.grids})
    return -1 if node is None else node


# ---------------------------------------------------------------- one tier: cuts by our cost


def _cut_orders(exact: Exact, options: SearchOptions, pool: Pool, limit: float) -> None:
    """Cut batches of orders, until one is within `limit`."""
    left = options.max_orderings
    for steps, loops in bases(exact.problem.space, options):
        orders = zigzag_adapter.orders(loops, options.lpf_limit)
        orders = islice(orders, left)
        while batch := list(islice(orders, BATCH)):
            left = None if left is None else left - len(batch)
            _cut_batch(exact, _indices(exact.problem.space, batch, steps), pool)
            if pool.found and pool.ranked()[0][0] <= limit:
                return


def _indices(space: Space, batch: list[zigzag_adapter.Order], steps: Mapping[str, int]) -> Array:
    """`nodes_of` for orders of one length, int[orders, loops + 1]."""
    dims = [grid.dim for grid in space.grids]
    shape = (len(batch), len(batch[0]) + 1)
    index, inside = np.zeros(shape, int), np.ones(shape, bool)
    which = np.array([[dims.index(d) for d, _ in order] for order in batch], int)
    sizes = np.array([[size for _, size in order] for order in batch], int)
    for at, grid in enumerate(space.grids):
        factors = np.where(which == at, sizes, 1).reshape(shape[0], shape[1] - 1)
        ones = np.ones((shape[0], 1), int)
        extents = np.cumprod(np.concatenate([ones, factors], axis=1), axis=1) * steps[grid.dim]
        extents = np.minimum(extents, grid.size)
        place = np.searchsorted(grid.extents, extents)
        inside &= grid.extents[place] == extents
        index = index * len(grid.extents) + place
    return np.where(inside, index, -1)


def _cut_batch(exact: Exact, nodes: Array, pool: Pool) -> None:
    """The best cuts of every order of a batch; `nodes` is int[orders, positions]."""
    for kernels in exact.kernels:
        inner = Inner(exact, Outer(wide=exact.spills), kernels)
        if inner.possible:
            _cut_class(inner, kernels, nodes, pool)


def _cut_class(inner: Inner, kernels: Kernels, nodes: Array, pool: Pool) -> None:
    length = nodes.shape[1]
    count = len(inner.groups)
    safe = np.maximum(nodes, 0)
    own = np.where(nodes < 0, _INF, kernels.own[safe])
    least = np.minimum.accumulate(own, axis=1)
    positions = np.indices((length,) * count).reshape(count, -1)
    compute = least[:, positions.min(axis=0)]
    ok = np.isfinite(compute)
    sums = np.zeros((4, *compute.shape))
    nbytes = np.zeros((len(inner.free), *compute.shape))
    for at in range(count):
        allowed = (nodes >= 0) & inner.ok[at][safe]
        ok &= allowed[:, positions[at]]
        sums += inner.sums[at][:, safe][:, :, positions[at]]
        nbytes += inner.bytes[at][:, safe][:, :, positions[at]]
    ok &= np.all(nbytes <= inner.free[:, None, None], axis=0)
    if not ok.any():
        return
    compute = np.where(ok, compute, 0.0)
    score = inner.score(compute, sums)
    value = np.where(ok, score.value, _INF)
    best = value.min(axis=1)
    for order in np.argsort(best, kind="stable")[:_OFFERED]:
        if not np.isfinite(best[order]):
            return
        tied = np.where(value[order] <= best[order] * (1 + 1e-12), score.tie[order], _INF)
        cuts = positions[:, int(np.argmin(tied))]
        kernel = nodes[order, int(own[order, : cuts.min() + 1].argmin())]
        placed = [(g, int(nodes[order, cut])) for g, cut in zip(inner.groups, cuts, strict=True)]
        found = tuple(((0, group), node) for group, node in sorted(placed))
        pool.offer(float(best[order]), float(tied.min()), Placement(int(kernel), found))


# ---------------------------------------------------------------- more tiers


def _cut_lattice(exact: Exact, options: SearchOptions, pool: Pool) -> None:
    """With several tiers: the best chain of tiles that LOMA's orders pass through.

    Any way inward through these tiles by loop prime factors is an order, so the chains stand for
    the orders, of which there are too many to cut one by one in several memories.
    """
    space = exact.problem.space
    mask = np.zeros(space.count, bool)
    for steps, loops in bases(space, options):
        extents = {grid.dim: {steps[grid.dim]} for grid in space.grids}
        for dim, size in zigzag_adapter.factors(loops, options.lpf_limit):
            extents[dim] |= {e * size for e in extents[dim]}
        inside = np.ones(space.count, bool)
        for grid, at in zip(space.grids, space.coordinates, strict=True):
            clip = [min(e, grid.size) for e in extents[grid.dim]]
            inside &= np.isin(grid.extents, clip)[at]
        mask |= inside
    Exact(exact.problem, exact.scorer, mask).solve(pool)


# ---------------------------------------------------------------- stock ZigZag


def _stock(exact: Exact, options: SearchOptions, pool: Pool) -> None:
    """Price every allocation of stock LOMA; those that our footprint refuses are left out."""
    problem, space = exact.problem, exact.problem.space
    whole = dict(problem.workload.dims)
    unroll = {dim: 1 for dim in whole}
    for loop in problem.module.spatial(problem.workload):
        unroll[loop.dim] *= loop.size
    unroll = {d: clipped(min(n, whole[d]), whole[d]) for d, n in unroll.items()}
    lanes = {dim: n for dim, n in unroll.items() if n > 1}
    found = zigzag_adapter.allocations(problem.workload, problem.layout, lanes, options.lpf_limit)
    kernels = {id(k): k for k in exact.kernels}
    for allocation in islice(found, options.max_orderings):
        chain = _chain(space, allocation.order, unroll, whole)
        placed = _placed(exact, allocation, chain)
        if placed is None:
            continue
        for kernel in kernels.values():
            _offer(exact, kernel, *placed, pool)


def _chain(
    space: Space, order: zigzag_adapter.Order, unroll: dict[str, int], whole: dict[str, int]
) -> list[int]:
    """Like `nodes_of`, for orders that hold the kernel's loops too: -1 until those are inside."""
    extents = dict(unroll)
    grids = {grid.dim for grid in space.grids}
    found = []
    for dim, size in (("", 1), *order):
        if dim:
            extents[dim] *= size
        owned = all(extents[d] >= n for d, n in whole.items() if d not in grids)
        found.append(_node(space, extents) if owned else -1)
    return found


def _placed(
    exact: Exact, allocation: zigzag_adapter.Allocation, chain: list[int]
) -> tuple[int, dict[tuple[int, int], int]] | None:
    """Kernel node, and the node of every group in every tier; None where the kernel is split."""
    cuts = dict(allocation.cuts)
    order = allocation.order
    kernel = chain[min(c[0] for c in cuts.values())]
    if kernel < 0:
        return None
    nodes = {}
    for at, group in enumerate(exact.problem.layout.groups):
        operand = group.routes[0].operand
        tiers = [t for t, legs in enumerate(exact.tiers) if at in legs]
        for tier, cut in zip(tiers, cuts[operand.name], strict=True):
            # Loops that do not index the operand and lie right around its tile move nothing.
            while cut < len(order) and order[cut][0] not in dims_of(operand):
                cut += 1
            nodes[tier, at] = chain[cut]
    return kernel, nodes


def _offer(
    exact: Exact, kernels: Kernels, kernel: int, nodes: dict[tuple[int, int], int], pool: Pool
) -> None:
    """Price one placement and offer it, if it fits."""
    compute = kernels.own[kernel]
    if not np.isfinite(compute) or min(nodes.values()) < 0:
        return
    moves, edges, energy = [], [], np.asarray(kernels.energy + kernels.spent[kernel])
    for tier, legs in enumerate(exact.tiers):
        used = kernels.reserved if tier == 0 else exact.outer_reserved[tier]
        fixed = exact.fixed[tier]
        cycles, exposed, energy = fixed.cycles, fixed.exposed, energy + fixed.energy
        for at, leg in legs.items():
            node = nodes[tier, at]
            outer = Outer(tuple((key, n) for key, n in nodes.items() if key[0] > tier))
            part = leg.moves(outer.parent(tier, at))
            cycles, exposed = cycles + part.cycles[node], exposed + part.exposed[node]
            energy = energy + part.energy[node]
            used = used + exact.footprints[tier, at, False][:, node]
            if leg.group.output and not exact.complete[node]:
                return
        if np.any(used > exact.capacity[tier]):
            return
        moves.append(cycles)
        edges.append(exposed)
    placement = Placement(kernel, tuple(sorted(nodes.items())))
    score = exact.scorer(np.asarray(compute), moves, edges, energy)
    value, tie = float(np.ravel(score.value)[0]), float(np.ravel(score.tie)[0])
    if exact.problem.prices is not None:
        value = exact.whole(placement, np.asarray(energy))
    pool.offer(value, tie, placement)
