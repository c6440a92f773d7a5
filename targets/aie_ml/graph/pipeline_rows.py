"""Layers of rows as candidates for stages of a pipeline, and what fits between them and others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import ceil

from match_aie.errors import Infeasible, TargetError
from match_aie.hardware import Mapping
from match_aie.targets.aie_ml.array.layer import DenseLayer
from match_aie.targets.aie_ml.array.shapes import native_tilings
from match_aie.targets.aie_ml.graph.attention_stage import AttentionStage, attention_stages
from match_aie.targets.aie_ml.graph.pipeline_candidates import Candidate, heights
from match_aie.targets.aie_ml.graph.row_stage import (
    RowStage,
    RowStagePlan,
    row_stage_of,
    row_stages,
)
from match_aie.targets.aie_ml.graph.turned_stage import TurnedStage, turned_stages
from match_aie.targets.aie_ml.kernels.spec import BYTES
from match_aie.targets.aie_ml.kernels.turned import SIDE
from match_aie.targets.aie_ml.known import device as known
from match_aie.workload import Workload, heads_joined


@dataclass(frozen=True)
class Rows:
    """A layer of rows that is a stage.

    Attributes:
        wide: elements of a row.
        operand: what the stage before gives.
        again: others that earlier stages give: number of the stage, and which. All else comes from
            outside.
    """

    wide: int
    operand: str
    again: tuple[tuple[int, str], ...] = ()


@dataclass(frozen=True, eq=False)
class RowCandidate:
    """A layer of rows on so many columns; its cycles need no search."""

    stage: RowStage

    @property
    def columns(self) -> int:
        """That it takes."""
        return self.stage.columns

    @property
    def bound(self) -> float:
        """Cycles of a run."""
        return self.stage.cycles

    @cached_property
    def streams(self) -> tuple[int, int]:
        """Into memory tiles, and from these."""
        return self.stage.tiles, self.stage.tiles


#: A candidate of any stage.
Offer = Candidate | RowCandidate


@lru_cache(maxsize=64)
def row_candidates(
    workload: Workload, name: str, wide: int, beside: DenseLayer, most: int
) -> tuple[RowCandidate, ...]:
    """Ways to run a layer of rows beside dense layers, the fewest columns first.

    Args:
        workload: in the fixed point of its kernel.
        name: of the device.
        wide: elements of a row.
        beside: a dense layer of the same pipeline, which computes whole tiles of rows.
        most: columns that it may take.
    """
    high = native_tilings(beside, known(name))[0].m
    most = min(most, known(name).columns // 2)

    def filled(rows: int) -> tuple[int, ...]:
        return tuple(each * high for each in heights(ceil(rows / high)))

    rows = filled(workload.output.size // wide)
    found: Sequence[RowStage]
    if workload.kind == "permute":
        found = turned_stages(workload, name, rows, filled(wide), most)
    elif heads_joined(workload):
        found = attention_stages(workload, name, rows, most)
    else:
        found = row_stages(workload, name, wide, rows, most)
    made = (RowCandidate(stage) for stage in found)
    return tuple(sorted(made, key=lambda one: (one.columns, one.bound)))


def stage_plan_of(workload: Workload, name: str, nest: Mapping) -> RowStagePlan:
    """The plan that a nest says.

    Raises:
        TargetError: it says none.
    """
    of = TurnedStage if workload.kind == "permute" else AttentionStage
    if workload.kind != "permute" and not heads_joined(workload):
        return row_stage_of(workload, name, nest)
    (rows, columns, _), (passes, high, wide) = (
        tuple(loop.size for loop in loops) for loops in (nest.spatial, nest.temporal)
    )
    stage = of(workload, name, rows, columns, high, wide, passes)
    if stage.refuses() is not None:
        raise TargetError(f"{nest} is no stage of a layer of {workload.kind} on {name}")
    return RowStagePlan(stage)


def stage_plans(workload: Workload, name: str, most: int) -> Sequence[RowStagePlan] | Infeasible:
    """Plans of a transpose or of attention alone on up to `most` columns, the best of each."""
    rows, wide = (size for size in workload.operand("x").shape if size > 1)
    padded = [ceil(each / SIDE) * SIDE for each in (rows, wide)]
    stages: Sequence[RowStage]
    if workload.kind == "permute":
        stages = turned_stages(workload, name, (padded[0],), (padded[1],), most)
    else:
        spread = attention_stages(workload, name, (padded[0],), most)
        stages = [each for each in spread if each.alone]
    if not stages:
        levers = ("more columns for a layer (columns_per_layer)",)
        return Infeasible("tiles for parts of a matrix", 1, 0, "tiles", levers)
    best: dict[int, RowStage] = {}
    for stage in sorted(stages, key=lambda one: -one.cycles):
        best[stage.columns] = stage
    return [RowStagePlan(best[at]) for at in sorted(best)]


@dataclass(frozen=True)
class Grid:
    """Parts of a matrix, one behind the other: those of the rows in every pass, and of a row.

    Attributes:
        parts: of the rows of a pass.
        high: rows of a part and pass.
        passes: of a run.
        wide: elements of a row in a part.
        end: elements of a row.
        dtype: of them.
    """

    parts: int
    high: int
    passes: int
    wide: int
    end: int
    dtype: str

    @property
    def padded(self) -> int:
        """Rows of a run."""
        return self.parts * self.high * self.passes

    def across(self, other: Grid) -> tuple[int, int]:
        """Of these parts as many as one of the other grid meets at most: of the rows, of a row."""
        wide = max(
            (min(first + other.wide, self.end) - 1) // self.wide - first // self.wide + 1
            for first in range(0, self.end, other.wide)
        )
        if self.parts * self.high != other.parts * other.high:
            return self.parts, wide
        begins = range(0, other.parts * other.high, other.high)
        high = ((at + other.high - 1) // self.high - at // self.high + 1 for at in begins)
        return max(high), wide


def stored(candidate: Offer) -> Grid:
    """What a candidate's kernels store."""
    if isinstance(candidate, RowCandidate):
        s = candidate.stage
        if isinstance(s, TurnedStage):
            return Grid(s.column_parts, s.part_columns, 1, s.part_rows, s.rows, s.types[1])
        return Grid(s.row_parts, s.call_rows, s.passes, s.part_columns, s.wide, s.types[1])
    m = candidate.mapping
    end = m.layer.columns
    return Grid(m.row_parts, m.call_rows, candidate.passes, m.call_columns, end, m.layer.out)


def taken(candidate: Offer) -> Grid:
    """What a candidate's kernels read."""
    if isinstance(candidate, RowCandidate):
        s = candidate.stage
        rows = (s.part_rows, 1) if isinstance(s, TurnedStage) else (s.call_rows, s.passes)
        return Grid(s.row_parts, *rows, s.part_columns, s.wide, s.types[0])
    m = candidate.mapping
    end = m.layer.reduction
    return Grid(m.row_parts, m.call_rows, candidate.passes, m.part_reduction, end, m.layer.a)


def meet(before: Grid, after: Grid, streams: int, room: int) -> bool:
    """Whether a memory tile takes what a reader needs.

    Args:
        before: what is stored.
        after: what is read.
        streams: that a memory tile takes from cores.
        room: its bytes.
    """
    if (before.padded, before.end) != (after.padded, after.end):
        return False
    high, wide = before.across(after)
    period = before.parts * before.high
    held = min(period, high * before.high) + period * (before.passes - 1)
    size = 2 * wide * before.wide * held * BYTES[before.dtype]
    return high * wide <= streams and size <= room
