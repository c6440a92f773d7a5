"""Which tiles each stage of a pipeline gets, so that the slowest is as fast as can be.

The splits of a layer over chains, tiles of a chain and parts of the rows are its candidates, each a
rectangle of columns; of a layer of rows, parts of the rows and of a row (`row_stage`). Chosen is
one for each stage: all columns together are those of the array, neighbours fit each other
(`pipeline.gates`), and the largest number of cycles is the least. Bounds that no kernel beats stand
for cycles until a candidate is chosen; then its kernels are scheduled, and what is best is asked
again, until all that is chosen is priced. So no other choice among the candidates has a faster
slowest stage.

A pipeline may have copies beside it, each with its share of the rows, of the columns and of the
ways: where streams between stages or out of the array bound a single one, several have more.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from math import inf

from match_aie.errors import Infeasible
from match_aie.targets.aie_ml.array.kernel_choice import with_kernel
from match_aie.targets.aie_ml.array.layer import DenseLayer
from match_aie.targets.aie_ml.array.search import VARIANTS
from match_aie.targets.aie_ml.graph.attention_group import Attended, Entry, grids, parts_of
from match_aie.targets.aie_ml.graph.join import Link
from match_aie.targets.aie_ml.graph.pipeline_candidates import Candidate
from match_aie.targets.aie_ml.graph.pipeline_links import apart, read_again, refuses_whole
from match_aie.targets.aie_ml.graph.pipeline_offers import Keeps, offered_entries
from match_aie.targets.aie_ml.graph.pipeline_rows import (
    Grid,
    Offer,
    RowCandidate,
    Rows,
    meet,
)
from match_aie.targets.aie_ml.graph.pipeline_ways import FirstStages, Opened, Ways
from match_aie.targets.aie_ml.graph.row_stage import RowStage, RowStagePlan
from match_aie.targets.aie_ml.graph.spread_plan import (
    SpreadPlan,
    WayKind,
    narrow,
    plan_of_pass,
)
from match_aie.targets.aie_ml.graph.timed import Timed
from match_aie.targets.aie_ml.known import device as known
from match_aie.targets.aie_ml.schedule.kernel import ELEMENT_BYTES
from match_aie.workload import Workload

#: Choices that are laid out until one can be; of pipelines with attention, whose streams are many.
LAID_OUT, AT_ONCE = 8, 2

#: Then choices whose slowest stage takes so much longer, each time, until one can be laid out.
SLOWER, STEP = 12, 1.125

#: Ways to each candidate that are kept, those of fewest columns, where later stages read others.
KEPT = 8

#: Pipelines side by side that are tried.
COPIES = (1, 2, 3, 4)

#: A plan of a stage.
StagePlan = SpreadPlan | RowStagePlan


def pipeline_plans(
    stages: Sequence[tuple[DenseLayer | Rows, Workload]],
    name: str,
    columns: int,
    most: int,
    keeps: Sequence[Keeps] = (),
    through: WayKind = "plio",
    least: float = 0.0,
    copies: Sequence[int] = (1,),
) -> tuple[StagePlan, ...] | Infeasible:
    """A plan of every stage, all of them side by side on at most `columns` columns.

    Where there is none, weights of dense layers may leave a tile a single bank for all else.

    Args:
        stages: each reads what the one before it writes, but for those that feed attention.
        name: of the device.
        columns: that there are.
        most: that a stage may take.
        keeps: of each stage, which candidates may be taken; all where empty.
        through: what the ways in and out of the pipeline are.
        least: cycles of a run below which a stage gains nothing.
        copies: numbers of pipelines side by side that are tried.

    Raises:
        TargetError: element types without a product there, or facts that are not known.
    """
    again, most = read_again(stages), min(columns, most)
    refused: Infeasible | None = None
    for near in (False, True):
        offers = [
            (offered_entries(stages, name, most // many, keeps, many, near=near), many)
            for many in copies
        ]
        rivals = [
            _Choice(offered, name, columns // many, least, many, again)
            for offered, many in offers
            if offered is not None
        ]
        found = _laid_out(stages, name, rivals, through)
        if isinstance(found, tuple):
            return found
        refused = refused or found
    levers = ("fewer layers on the array", "weights of fewer bits")
    return refused or Infeasible(
        "columns of stages side by side", columns + 1, columns, "columns", levers
    )


def _laid_out(
    stages: Sequence[tuple[DenseLayer | Rows, Workload]],
    name: str,
    rivals: Sequence[_Choice],
    through: WayKind,
) -> tuple[StagePlan, ...] | Infeasible | None:
    """The fastest plans that can be laid out; why the last ones cannot, None where there are none.

    Args:
        stages: each reads what the one before it writes, but for those that feed attention.
        name: of the device.
        rivals: numbers of pipelines side by side.
        through: what the ways in and out of the pipeline are.
    """
    refused: Infeasible | None = None
    fast = AT_ONCE if any(isinstance(layer, Attended) for layer, _ in stages) else LAID_OUT
    for tried in range(fast + SLOWER):
        plans, choice = None, rivals[0]
        for rival in rivals:
            faster = rival.best(inf if plans is None else max(plan.interval for plan in plans))
            plans, choice = (plans, choice) if faster is None else (faster, rival)
        if plans is None:
            break
        plans = tuple(
            replace(plan, through=through) if isinstance(plan, SpreadPlan) else plan
            for plan in plans
        )
        seam, refused = apart(stages, [stage_of(plan) for plan in plans])
        refused = refused or refuses_whole(stages, plans, known(name))
        if refused is None:
            return plans
        choice.refuse(seam)
        if tried + 1 >= fast:
            # Streams are too many: stages that need not keep up take fewer tiles.
            choice.slow_down(max(plan.interval for plan in plans))
    return refused


def stage_of(plan: StagePlan) -> Timed | RowStage:
    """Sizes of a plan."""
    return plan.timed if isinstance(plan, SpreadPlan) else plan.stage


class _Choice:
    """Candidates of all stages, and what is known of their cycles.

    Args:
        offered: candidates of each stage.
        name: of the device.
        columns: that there are.
        least: cycles below which a stage gains nothing.
        copies: of the plans.
        again: which entries a later one reads that is not the next: writer, reader, and copies.
    """

    def __init__(
        self,
        offered: Sequence[Sequence[Entry]],
        name: str,
        columns: int,
        least: float = 0.0,
        copies: int = 1,
        again: Sequence[tuple[int, int, int]] = (),
    ) -> None:
        """Nothing is priced."""
        self._least, self._copies = least, copies
        self._offered, self._name, self._columns = offered, name, columns
        device, ports = known(name), known(name).architecture.switch_ports
        self._down = ports[("core_tile", "master", "S")]
        mem = device.architecture.mem
        self._held = 0 if mem is None else mem.bytes
        #: Links between two columns.
        self._across = ports[("core_tile", "master", "E")] * device.core_rows
        self._plans: dict[Offer, StagePlan | None] = {}
        self._apart: set[tuple[int, int]] = set()
        self._dead: set[int] = set()
        self._floor = 0.0
        self._grids: dict[int, tuple[Grid, Grid]] = {}
        self._known: dict[tuple[int, int], bool] = {}
        self._again, self._far = again, dict[tuple[int, int, int], bool]()
        self._numbers, self._equal = dict[int, int](), dict[Grid, int]()

    def best(self, below: float = inf) -> tuple[StagePlan, ...] | None:
        """Plans whose slowest is the fastest, on the fewest columns.

        None where nothing fits, or nothing takes fewer cycles than `below`.
        """
        while True:
            found = self._fastest()
            if found is None or max(map(self._cycles, found)) >= below:
                return None
            parts = [part for candidate in found for part in parts_of(candidate)]
            for candidate in parts:
                if candidate not in self._plans:
                    self._plans[candidate] = self._priced(candidate)
                    break
            else:
                plans = [self._plans[candidate] for candidate in parts]
                self._last = found
                return tuple(plan for plan in plans if plan is not None)

    def _priced(self, candidate: Offer) -> StagePlan | None:
        """With the kernel that is fastest; None where none fits."""
        if isinstance(candidate, RowCandidate):
            return RowStagePlan(candidate.stage)
        device = narrow(self._name, candidate.mapping)
        made = with_kernel(candidate.mapping, device, VARIANTS)
        plan = None if made is None else plan_of_pass(made, candidate.rows, self._name)
        return plan and replace(plan, timed=replace(plan.timed, copies=self._copies))

    def refuse(self, seam: Link | None = None) -> None:
        """The last answer could not be laid out: neighbours part, or stages of a group.

        Args:
            seam: what does not fit; neighbours with the most streams where it is not known.
        """
        pairs = list(pairwise(self._last))
        of = [entry for entry in self._last for _ in parts_of(entry)]
        ends = None if seam is None else (of[seam.writer], of[seam.reader])
        if ends is None and pairs:
            ends = max(pairs, key=lambda pair: pair[0].streams[0] + pair[1].streams[1])
        if ends is None or ends[0] is ends[1]:
            self._dead.add(id(self._last[0] if ends is None else ends[0]))
        else:
            self._apart.add((id(ends[0]), id(ends[1])))

    def slow_down(self, slowest: float) -> None:
        """Stages gain nothing where they are faster than somewhat more than so many cycles."""
        self._least = max(self._least, slowest) * STEP

    def _cycles(self, entry: Entry) -> float:
        if id(entry) in self._dead:
            return inf
        return max(self._cycles_of(part) for part in parts_of(entry))

    def _cycles_of(self, candidate: Offer) -> float:
        if candidate not in self._plans:
            return max(candidate.bound, self._least)
        plan = self._plans[candidate]
        return inf if plan is None else max(plan.interval, self._least)

    def _fastest(self) -> tuple[Entry, ...] | None:
        """The choice whose largest cycles, as far as they are known, are the least."""
        values = sorted({self._cycles(one) for stage in self._offered for one in stage} - {inf})
        # Nothing gets faster by what is priced or refused: the last answer is where to look first.
        low, high, step = bisect_left(values, self._floor), len(values), 1
        at = low
        best: tuple[Entry, ...] | None = None
        while low < high:
            found = self._within(values[at])
            if found is None:
                low = at + 1
            else:
                best, high, self._floor = found, at, values[at]
            step *= 2
            at = min(low + step, high - 1) if best is None else (low + high) // 2
        return best

    def _within(self, most: float) -> tuple[Entry, ...] | None:
        """The choice of fewest columns whose stages take at most so many cycles."""
        ways = [FirstStages(0, None, None)]
        for number, stage in enumerate(self._offered):
            reached = []
            # Neighbours compute as many rows; later readers need what is open.
            alike: dict[tuple[int, Opened], Ways] = {}
            for at, way in enumerate(ways):
                grid = None if way.last is None else self._grid(way.last)[0]
                able = alike.setdefault((grid.padded if grid else 0, way.opened), {})
                able.setdefault(self._number(grid) if grid else 0, []).append((at, way))
            for candidate in stage:
                if self._cycles(candidate) > most:
                    continue
                rows = self._grid(candidate)[1].padded if number else 0
                mine: list[FirstStages] = []
                for (padded, opened), able in alike.items():
                    if padded != rows or not self._closes(opened, number, candidate):
                        continue
                    before = self._before(able, candidate)
                    if before is not None:
                        taken = before.columns + candidate.columns
                        after = self._opened(opened, number, candidate)
                        mine.append(FirstStages(taken, candidate, before, after))
                reached += sorted(mine, key=lambda way: way.columns)[:KEPT]
            ways = sorted(reached, key=lambda way: way.columns)
        if not ways or ways[0].columns > self._columns:
            return None
        return ways[0].chosen

    def _opened(self, opened: Opened, number: int, entry: Entry) -> Opened:
        """What later entries read that are not the next one, and who reads it in how many copies.

        Args:
            opened: before entry `number`.
            number: of it.
            entry: that is chosen there.
        """
        kept = tuple(each for each in opened if each[0] != number)
        mine = [(reader, held) for writer, reader, held in self._again if writer == number]
        grid = self._number(self._grid(entry)[0])
        return (*kept, *((reader, held, grid) for reader, held in mine))

    def _closes(self, opened: Opened, number: int, entry: Entry) -> bool:
        """Whether an entry can read what earlier ones than the one before it stored."""
        for reader, held, grid in opened:
            if reader == number:
                own = self._grid(entry)[1]
                key = held, grid, self._number(own)
                if key not in self._far:
                    room = 2 * self._held // held
                    before = next(each for each, at in self._equal.items() if at == -1 - grid)
                    self._far[key] = meet(before, own, self._down, room)
                if not self._far[key]:
                    return False
        return True

    def _before(self, able: Ways, after: Entry) -> FirstStages | None:
        """The first of the ways that an entry may go on."""
        found: tuple[int, FirstStages] | None = None
        for ways in able.values():
            for at, way in ways:
                if found is not None and at > found[0]:
                    break
                if way.last is not None and not self._known_to_meet(way.last, after):
                    break
                if self._fits(way.last, after):
                    found = at, way
                    break
        return None if found is None else found[1]

    def _fits(self, before: Entry | None, after: Entry) -> bool:
        """Whether neighbours that meet have streams between columns, and nobody refused them."""
        if before is None:
            return True
        few = min(before.streams[0], after.streams[1]) <= self._across
        return few and (id(before), id(after)) not in self._apart

    def _known_to_meet(self, before: Entry, after: Entry) -> bool:
        """Whether memory tiles take what lies between two: the same of all that store alike."""
        key = self._number(self._grid(before)[0]), self._number(self._grid(after)[1])
        if key not in self._known:
            self._known[key] = self._meet(before, after)
        return self._known[key]

    def _number(self, grid: Grid) -> int:
        """The same of equal grids; less than that of any object."""
        number = self._numbers.get(id(grid))
        if number is None:
            number = -1 - self._equal.setdefault(grid, len(self._equal))
            self._numbers[id(grid)] = number
        return number

    def _grid(self, entry: Entry) -> tuple[Grid, Grid]:
        """What a candidate stores, and what it reads."""
        if id(entry) not in self._grids:
            self._grids[id(entry)] = grids(entry)
        return self._grids[id(entry)]

    def _meet(self, before: Entry, after: Entry) -> bool:
        """Whether each column of tiles has its part of the reduction in one memory tile."""
        if not isinstance(before, Candidate) or not isinstance(after, Candidate):
            return meet(self._grid(before)[0], self._grid(after)[1], self._down, self._held)
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
