"""Which tiles each stage of a pipeline gets, so that the slowest is as fast as can be.

The splits of a layer over chains, tiles of a chain and parts of the rows are its candidates, each a
rectangle of columns. Chosen is one for each stage: all columns together are those of the array,
neighbours fit each other (`pipeline.gates`), and the largest number of cycles is the least. Bounds
that no kernel beats stand for cycles until a candidate is chosen; then its kernels are scheduled,
and what is best is asked again, until all that is chosen is priced. So no other choice among the
candidates has a faster slowest stage.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise
from math import ceil, inf

import numpy as np

from match_aie.errors import Infeasible
from match_aie.targets.aie_ml.array.assumed import Assumed
from match_aie.targets.aie_ml.array.floor import Floor
from match_aie.targets.aie_ml.array.kernel_choice import with_kernel
from match_aie.targets.aie_ml.array.layer import ArrayMapping, DenseLayer
from match_aie.targets.aie_ml.array.local import demand, logical_banks
from match_aie.targets.aie_ml.array.search import VARIANTS
from match_aie.targets.aie_ml.array.shapes import counts, native_tilings
from match_aie.targets.aie_ml.devices import Device, Tiling
from match_aie.targets.aie_ml.graph.join import Member
from match_aie.targets.aie_ml.graph.pipeline import gates, join_stages
from match_aie.targets.aie_ml.graph.proof import cannot_lie
from match_aie.targets.aie_ml.graph.spread_plan import (
    SpreadPlan,
    WayKind,
    narrow,
    plan_of_pass,
)
from match_aie.targets.aie_ml.known import device as known
from match_aie.targets.aie_ml.schedule.kernel import ELEMENT_BYTES
from match_aie.workload import Workload

#: Candidates of a width that are kept, those with the least bounds.
OF_A_WIDTH = 6

#: Choices that are laid out until one can be.
LAID_OUT = 8

#: Orders of the streams that are tried of a choice: another choice is sooner laid out.
ORDERS = 6

#: Rows of a run are filled up to whole numbers of so many `mmul` tiles, where that adds no more
#: than the share of them: more calls divide them evenly.
ROUND = (1, 2, 4, 8, 16)
FILLED = 1 / 8


@dataclass(frozen=True)
class Candidate:
    """A stage on so many columns; equal ones of different stages are priced once.

    Attributes:
        mapping: of the rows of a pass, its kernel still open.
        rows: of a run.
        columns: that it takes.
        bound: cycles of a run that no kernel of it beats.
        streams: from chains into memory tiles, and from these to columns of tiles.
    """

    mapping: ArrayMapping
    rows: int
    columns: int
    bound: float
    streams: tuple[int, int]

    @property
    def passes(self) -> int:
        """Calls of a tile in a run."""
        return ceil(self.rows / self.mapping.layer.rows)


#: Whether a candidate may be taken.
Keeps = Callable[[Candidate], bool]


def pipeline_plans(
    stages: Sequence[tuple[DenseLayer, Workload]],
    name: str,
    columns: int,
    most: int,
    keeps: Sequence[Keeps] = (),
    through: WayKind = "plio",
    least: float = 0.0,
) -> tuple[SpreadPlan, ...] | Infeasible:
    """A plan of every stage, all of them side by side on at most `columns` columns.

    Args:
        stages: each reads what the one before it writes.
        name: of the device.
        columns: that there are.
        most: that a stage may take.
        keeps: of each stage, which candidates may be taken; all where empty.
        through: what the ways in and out of the pipeline are.
        least: cycles of a run below which a stage gains nothing.

    Raises:
        TargetError: element types without a product there, or facts that are not known.
    """
    offered = [candidates(layer, name, min(most, columns)) for layer, _ in stages]
    if keeps:
        pairs = zip(offered, keeps, strict=True)
        offered = [tuple(one for one in each if keep(one)) for each, keep in pairs]
    choice = _Choice(offered, name, columns, least)
    refused: Infeasible | None = None
    for _ in range(LAID_OUT):
        plans = choice.best()
        if plans is None:
            break
        plans = tuple(replace(plan, through=through) for plan in plans)
        seam = next((at for at in range(1, len(plans)) if _apart(*plans[at - 1 : at + 1])), None)
        if seam is not None:
            refused = _apart(*plans[seam - 1 : seam + 1])
        else:
            refused = _cannot_lie(stages, plans, known(name))
        if refused is None:
            return plans
        choice.refuse(seam)
    levers = ("fewer layers on the array", "weights of fewer bits")
    return refused or Infeasible(
        "columns of stages side by side", columns + 1, columns, "columns", levers
    )


def _apart(before: SpreadPlan, after: SpreadPlan) -> Infeasible | None:
    """Why two neighbours have no buffers between them."""
    found = gates(before.timed, after.timed)
    return found if isinstance(found, Infeasible) else None


def _cannot_lie(
    stages: Sequence[tuple[DenseLayer, Workload]], plans: Sequence[SpreadPlan], device: Device
) -> Infeasible | None:
    """Why a choice cannot be laid out."""
    members = []
    for at, ((_, workload), plan) in enumerate(zip(stages, plans, strict=True)):
        zeros = {o.name: np.zeros(o.shape, o.dtype) for o in workload.constants}
        graph = plan.graph(f"stage{at}", workload, zeros)
        members.append(Member(graph, (workload.inputs[0].name,), plan.timed))
    return cannot_lie(join_stages("stages", members, device).graph, device, orders=ORDERS)


@lru_cache(maxsize=256)
def candidates(layer: DenseLayer, name: str, most: int) -> tuple[Candidate, ...]:
    """Ways to run a layer as a stage on up to `most` columns, those of least bounds of each width.

    Raises:
        TargetError: element types without a product there, or facts that are not known.
    """
    device = known(name)
    tiling = native_tilings(layer, device)[0]
    widths: dict[tuple[int, int], list[Candidate]] = {}
    deep, wide = ceil(layer.reduction / tiling.k), ceil(layer.columns / tiling.n)
    for length in counts(deep, most):
        chains = most // length * device.core_rows
        for parts in counts(wide, chains):
            for high in _heights(ceil(layer.rows / tiling.m)):
                able = min(chains // parts, ceil(layer.rows / tiling.m))
                for rows in (n for n in _divisors(high) if n <= able):
                    split = length, parts, rows
                    for made in _of_split(layer, tiling, split, high, name, most):
                        widths.setdefault((made.columns, high), []).append(made)
    found: list[Candidate] = []
    for _, each in sorted(widths.items()):
        each.sort(key=lambda one: (one.bound, one.mapping.tiles, one.streams))
        found += each[:OF_A_WIDTH]
    return tuple(found)


def _heights(tiles: int) -> list[int]:
    """Numbers of `mmul` tiles of rows in a run, those that are filled up included."""
    filled = {ceil(tiles / step) * step for step in ROUND}
    return sorted(high for high in filled if high - tiles <= FILLED * tiles)


def _divisors(number: int) -> list[int]:
    return [part for part in range(1, number + 1) if number % part == 0]


def _of_split(
    layer: DenseLayer,
    tiling: Tiling,
    split: tuple[int, int, int],
    tiles: int,
    name: str,
    most: int,
) -> list[Candidate]:
    """Candidates of parts of the reduction, the columns and the rows.

    Calls are of the most rows that fit a tile, with and without banks that the DMA shares.

    Args:
        layer: what runs.
        tiling: of its products.
        split: the parts.
        tiles: of rows in a run, what is filled up included.
        name: of the device.
        most: columns that it may take.
    """
    device = known(name)
    length, parts, rows = split
    base = ArrayMapping(
        replace(layer, rows=min(layer.rows, tiling.m * rows)),
        tiling,
        (1, 1),
        VARIANTS[0],
        length,
        parts,
        rows,
        tiling.m,
        ceil(ceil(layer.columns / tiling.n) / parts) * tiling.n,
    )
    region = narrow(name, base)
    if region.columns > most:
        return []
    crossing = base.chains, Floor(base, region).copies[0]
    one, (banks, size) = demand(base, device), logical_banks(device)
    share, whole = tiles // rows, ceil(layer.rows / tiling.m) // rows
    heights = [n for n in _divisors(share) if n <= whole]
    fitting = [(n, plan) for n in heights if (plan := one.plan(banks, size, n))]
    largest = {
        max((n for n, _ in fitting), default=0),
        max((n for n, plan in fitting if not plan.shared), default=0),
    }
    core = device.architecture.core
    rate = core.macs_of(layer.a, layer.w) or 1
    found = []
    for tall in sorted(largest - {0}):
        high = tall * tiling.m
        part = replace(layer, rows=min(layer.rows, high * rows))
        mapping = replace(base, layer=part, call_rows=high)
        calls = share // tall
        products = high * mapping.part_reduction * mapping.call_columns / rate
        streams = max(mapping.input_bytes, mapping.output_bytes) / core.dma.bytes_per_cycle
        cycles = calls * max(products + Assumed().acquire, streams)
        found.append(Candidate(mapping, layer.rows, region.columns, cycles, crossing))
    return found


class _Choice:
    """Candidates of all stages, and what is known of their cycles.

    Args:
        offered: candidates of each stage.
        name: of the device.
        columns: that there are.
        least: cycles below which a stage gains nothing.
    """

    def __init__(
        self,
        offered: Sequence[Sequence[Candidate]],
        name: str,
        columns: int,
        least: float = 0.0,
    ) -> None:
        """Nothing is priced."""
        self._least = least
        self._offered, self._name, self._columns = offered, name, columns
        device, ports = known(name), known(name).architecture.switch_ports
        self._down = ports[("core_tile", "master", "S")]
        mem = device.architecture.mem
        self._held = 0 if mem is None else mem.bytes
        #: Links between two columns.
        self._across = ports[("core_tile", "master", "E")] * device.core_rows
        self._plans: dict[Candidate, SpreadPlan | None] = {}
        self._apart: set[tuple[Candidate, Candidate]] = set()
        self._known: dict[tuple[int, int], bool] = {}

    def best(self) -> tuple[SpreadPlan, ...] | None:
        """Plans whose slowest is the fastest, on the fewest columns; None where nothing fits."""
        while True:
            found = self._fastest()
            if found is None:
                return None
            for candidate in found:
                if candidate not in self._plans:
                    self._plans[candidate] = self._priced(candidate)
                    break
            else:
                plans = [self._plans[candidate] for candidate in found]
                self._last = found
                return tuple(plan for plan in plans if plan is not None)

    def _priced(self, candidate: Candidate) -> SpreadPlan | None:
        """With the kernel that is fastest; None where none fits."""
        device = narrow(self._name, candidate.mapping)
        made = with_kernel(candidate.mapping, device, VARIANTS)
        return None if made is None else plan_of_pass(made, candidate.rows, self._name)

    def refuse(self, seam: int | None = None) -> None:
        """The last answer could not be laid out: neighbours part.

        Args:
            seam: number of the later one; those with the most streams where it is not known.
        """
        pairs = list(pairwise(self._last))
        by_streams = max(pairs, key=lambda pair: pair[0].streams[0] + pair[1].streams[1])
        self._apart.add(by_streams if seam is None else pairs[seam - 1])

    def _cycles(self, candidate: Candidate) -> float:
        if candidate not in self._plans:
            return max(candidate.bound, self._least)
        plan = self._plans[candidate]
        return inf if plan is None else max(plan.interval, self._least)

    def _fastest(self) -> tuple[Candidate, ...] | None:
        """The choice whose largest cycles, as far as they are known, are the least."""
        values = sorted({self._cycles(one) for stage in self._offered for one in stage} - {inf})
        low, high = 0, len(values)
        best: tuple[Candidate, ...] | None = None
        while low < high:
            middle = (low + high) // 2
            found = self._within(values[middle])
            if found is None:
                low = middle + 1
            else:
                best, high = found, middle
        return best

    def _within(self, most: float) -> tuple[Candidate, ...] | None:
        """The choice of fewest columns whose stages take at most so many cycles."""
        ways: list[_Way] = [_Way(0, None, None)]
        for stage in self._offered:
            reached = []
            for candidate in stage:
                if self._cycles(candidate) > most:
                    continue
                before = next((way for way in ways if self._fits(way.last, candidate)), None)
                if before is not None:
                    reached.append(_Way(before.columns + candidate.columns, candidate, before))
            ways = sorted(reached, key=lambda way: way.columns)
        if not ways or ways[0].columns > self._columns:
            return None
        return ways[0].chosen

    def _fits(self, before: Candidate | None, after: Candidate) -> bool:
        """Whether neighbours fit each other, and nobody refused them."""
        if before is None:
            return True
        key = id(before), id(after)
        if key not in self._known:
            self._known[key] = self._meet(before, after)
        return self._known[key] and (before, after) not in self._apart

    def _meet(self, before: Candidate, after: Candidate) -> bool:
        """Whether each column of tiles has its part of the reduction in one memory tile."""
        if min(before.streams[0], after.streams[1]) > self._across:
            return False
        a, b = before.mapping, after.mapping
        if a.row_parts * a.call_rows * before.passes != b.row_parts * b.call_rows * after.passes:
            return False
        alike = (a.row_parts, a.call_rows) == (b.row_parts, b.call_rows)
        rows = 1 if alike else a.row_parts
        wide, deep, end = a.call_columns, b.part_reduction, a.layer.columns
        chains = max(
            (min(first + deep, end) - 1) // wide - first // wide + 1
            for first in range(0, end, deep)
        )
        # A part's rows of all passes lie in the buffer with those of the other parts between them.
        held = a.call_rows * (a.row_parts * (before.passes - 1) + (1 if alike else a.row_parts))
        size = 2 * chains * wide * held * ELEMENT_BYTES[a.layer.out]
        return chains * rows <= self._down and size <= self._held


@dataclass(frozen=True)
class _Way:
    """The fewest columns of some first stages, the last of which is `last`."""

    columns: int
    last: Candidate | None
    before: _Way | None

    @property
    def chosen(self) -> tuple[Candidate, ...]:
        """All of them."""
        if self.last is None or self.before is None:
            return ()
        return (*self.before.chosen, self.last)
