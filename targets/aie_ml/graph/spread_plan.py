"""How a dense layer runs on many columns, fed by many streams at once.

They are those of programmable logic; a pipeline's first and last stage may take DMA channels to the
chip's memory in their place.

Weights stay in the tiles, rows go by in passes: a call of every chain in each. A plan is its nest:
`nest` is the `Mapping` that is searched, kept and printed, and `of_nest` reads the plan from it
without another search.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from math import ceil
from typing import Literal

from match_aie.cost_models.aie_timed import interval_cycles, timed_cycles
from match_aie.errors import Infeasible, TargetError
from match_aie.hardware import Loop, Mapping
from match_aie.targets.aie_ml.array.assumed import Assumed
from match_aie.targets.aie_ml.array.kernel_choice import with_kernel
from match_aie.targets.aie_ml.array.layer import ArrayMapping, DenseLayer
from match_aie.targets.aie_ml.array.local import plan_local
from match_aie.targets.aie_ml.array.price import price
from match_aie.targets.aie_ml.array.search import SLOWER, VARIANTS, Given, search
from match_aie.targets.aie_ml.devices import Device
from match_aie.targets.aie_ml.graph.carrying import carrying
from match_aie.targets.aie_ml.graph.dense_nest import OVER, called, over, turn
from match_aie.targets.aie_ml.graph.layer import Arrays, LayerPlan, by_width, zeros_of
from match_aie.targets.aie_ml.graph.memory_ways import through_memory
from match_aie.targets.aie_ml.graph.pass_work import pass_work, spared_start
from match_aie.targets.aie_ml.graph.plan import LayerGraph, MemoryKind
from match_aie.targets.aie_ml.graph.proof import cannot_lie
from match_aie.targets.aie_ml.graph.region import chains_high, links_down
from match_aie.targets.aie_ml.graph.stack_cycles import stack_cycles
from match_aie.targets.aie_ml.graph.timed import Timed
from match_aie.targets.aie_ml.graph.timed_plan import TimedPlan
from match_aie.targets.aie_ml.graph.timed_splits import REQUEST_CYCLES
from match_aie.targets.aie_ml.known import device as known
from match_aie.targets.aie_ml.schedule.kernel import ELEMENT_BYTES
from match_aie.workload import Workload

#: What a plan is chosen for: cycles of a single run, or between the ends of runs that follow each
#: other.
Aim = Literal["latency", "throughput"]

#: What the ways of such a plan are: streams of programmable logic, or DMA channels of interface
#: tiles to the chip's memory.
WayKind = Literal["plio", "gmio"]

#: Splits over tiles of which plans are made, and plans that are laid out until one can be.
SPLITS = 4
LAID_OUT = 6

#: Times the cycles of the best plan, up to which plans are looked at whose kernels go on from pass
#: to pass: that spares a few percent.
NEAR = 1.1

#: Pieces into which the rows of the largest call are cut, and fills of a pass, that are tried.
PIECES = (1, 2, 3, 4, 8, 16)
FILLS = (1, 2, 4)


@dataclass(frozen=True)
class SpreadPlan(TimedPlan):
    """A nest on many columns, with its modelled cycles.

    Attributes:
        timed: sizes of everything.
        cycles: of a single run.
        interval: between the ends of runs that follow each other.
        through: what its ways are.
    """

    interval: float
    through: WayKind = "plio"

    def aimed(self, aim: Aim) -> float:
        """What counts."""
        return self.cycles if aim == "latency" else self.interval

    @property
    def columns(self) -> int:
        """Of the array that it takes, all copies."""
        return self.timed.copies * self.timed.device.columns

    @property
    def memory(self) -> MemoryKind:
        """Programmable logic, or the chip's."""
        return "ddr" if self.through == "gmio" else self.timed.memory

    @property
    def ways(self) -> tuple[int, int]:
        """Streams into the array, and back."""
        if self.through == "gmio":
            alike = {(at, parts) for _, at, parts in self.timed.x_ways}
            return len(alike), len(self.timed.results)
        return self.timed.ways

    @property
    def moved(self) -> tuple[int, int]:
        """Bytes of a run that come in, and that go out, each once."""
        m, t = self.timed.mapping, self.timed
        sizes = ELEMENT_BYTES[m.layer.a], ELEMENT_BYTES[m.layer.out]
        alike = {(at, parts): t.x_rows(parts) for _, at, parts in t.x_ways}
        x = sum(alike.values()) * t.passes * t.x_width
        y = sum(t.y_rows(p.rows) * len(p.columns) for p in t.results) * t.passes * m.call_columns
        return x * sizes[0], y * sizes[1]

    @property
    def nest(self) -> Mapping:
        """Copies, chains, tiles of a chain and lanes; then loops over time, outermost first.

        These are passes, blocks of accumulators along rows and columns, steps of the reduction, and
        a block. A loop's step counts what all tiles cover. Where the chip's memory feeds the plan,
        the loop over its runs is outermost.
        """
        m, t = self.timed.mapping, self.timed
        copies = (Loop("B", t.copies),) if t.copies > 1 else ()
        runs = (Loop("B", 1, t.rows),) if self.through == "gmio" else ()
        passes = Loop("B", t.passes, m.row_parts * m.call_rows)
        return Mapping((*copies, *over(m)), (*runs, passes, *turn(m)))

    def graph(self, name: str, workload: Workload, constants: Arrays) -> LayerGraph:
        """The graph, called `name`, with the numbers of `constants`."""
        made = super().graph(name, workload, constants)
        return through_memory(made) if self.through == "gmio" else made


def spread_plans(
    layer: DenseLayer, workload: Workload, name: str, most: int, aim: Aim
) -> tuple[LayerPlan, ...] | Infeasible:
    """Plans of a dense layer on up to `most` columns of device `name`, the best of every width.

    Raises:
        TargetError: element types without a product there, or facts that are not known.
    """
    return by_width(
        most,
        lambda width, least: _best(layer, workload, name, width, aim, least),
        lambda plan: plan.aimed(aim),
    )


def is_nest(mapping: Mapping) -> bool:
    """Whether it has the loops of `SpreadPlan.nest`."""
    over, time = (
        "".join(loop.dim for loop in each) for each in (mapping.spatial, mapping.temporal)
    )
    return over[-len("BKCBKC") :] in OVER and time in ("BBKCBK", "BBBKCBK")


def of_nest(layer: DenseLayer, name: str, nest: Mapping) -> SpreadPlan:
    """The plan that a nest says.

    Raises:
        TargetError: it says none.
    """
    if not is_nest(nest):
        raise TargetError(f"{nest} is no nest of a dense layer on {name}")
    copies = nest.spatial[0].size if len(nest.spatial) > len("BKCBKC") else 1
    through: WayKind = "gmio" if len(nest.temporal) > len("BBKCBK") else "plio"
    passes = nest.temporal[-len("BBKCBK")]
    layer = replace(layer, rows=layer.rows // copies)
    mapping = called(replace(layer, rows=min(layer.rows, passes.step)), known(name), nest)
    plan = plan_of_pass(mapping, layer.rows, name, alone=through == "plio")
    if plan is None or plan.timed.passes != passes.size:
        raise TargetError(f"{nest} does not fit {name}")
    return fed_by(replace(plan, timed=replace(plan.timed, copies=copies)), name, through)


@lru_cache(maxsize=1024)
def _best(
    layer: DenseLayer, workload: Workload, name: str, columns: int, aim: Aim, most: float
) -> SpreadPlan | Infeasible:
    """The plan of least cycles on at most `columns` columns whose graph can be laid out.

    Args:
        layer: what runs.
        workload: the same.
        name: of the device.
        columns: at most.
        aim: what counts.
        most: cycles, as `aim` counts them, from which on the caller has no use for a plan.
    """
    whole = known(name)
    found: list[SpreadPlan] = []
    refused: Infeasible | None = None
    # Results of single tiles go down in their own column, which has fewer links than rows.
    for rows, given in (
        (min(links_down(whole), whole.core_rows), Given(1)),
        (whole.core_rows, None),
    ):
        answer = search(
            layer,
            _region(name, columns, rows),
            objective="interval",
            keep=SPLITS,
            given=given,
            resident=True,
            express=lambda mapping: _expressed(mapping, name),
        )
        if isinstance(answer, Infeasible):
            refused = answer
            continue
        for priced in answer:
            plans = _plans(priced.mapping, layer, name)
            found += [plan for plan in plans if plan.columns <= columns]
    zeros = zeros_of(workload)
    near = NEAR * min((plan.aimed(aim) for plan in found), default=0.0)
    for at, plan in enumerate(found):
        if plan.aimed(aim) <= near:
            found[at] = plan_of_pass(plan.timed.mapping, layer.rows, name, alone=True) or plan
    found.sort(key=lambda plan: (plan.aimed(aim), plan.timed.mapping.tiles))
    for plan in found[:LAID_OUT]:
        if plan.aimed(aim) >= most:
            return SLOWER
        reason = cannot_lie(plan.graph("layer", workload, zeros), whole)
        if reason is None:
            return plan
        refused = reason
    levers = ("more columns for a layer (columns_per_layer)", 'memory="ddr"')
    return refused or Infeasible("columns with streams", columns + 1, columns, "columns", levers)


def _plans(mapping: ArrayMapping, layer: DenseLayer, name: str) -> Iterator[SpreadPlan]:
    """Plans of a split, by the rows of a call."""
    tiles = ceil(mapping.part_rows / mapping.tiling.m)
    most = mapping.call_rows // mapping.tiling.m
    sizes = {ceil(most / pieces) for pieces in PIECES}
    sizes |= {size + 1 for size in sizes if size % 2}
    for size in sorted(min(size, tiles) for size in sizes if size <= most):
        rows = size * mapping.tiling.m
        part = replace(layer, rows=min(layer.rows, rows * mapping.row_parts))
        try:
            sized = replace(mapping, layer=part, call_rows=rows, block=(1, 1))
            sized = replace(sized, order="m") if sized.tiles == 1 else sized
        except TargetError:
            continue  # a part of the rows without any
        made = with_kernel(sized, narrow(name, sized), VARIANTS)
        plan = plan_of_pass(made, layer.rows, name) if made is not None else None
        if plan is not None:
            yield plan


def _expressed(mapping: ArrayMapping, name: str) -> ArrayMapping | None:
    """The mapping; None where a pass of it does not fit."""
    try:
        rows = min(mapping.layer.rows, mapping.call_rows * mapping.row_parts)
        one = replace(mapping, layer=replace(mapping.layer, rows=rows))
    except TargetError:
        return None
    return mapping if _timed(one, mapping.layer.rows, name, 1) is not None else None


def _timed(mapping: ArrayMapping, rows: int, name: str, fills: int) -> Timed | None:
    """The nest's sizes, where it fits the array and its ways."""
    device = narrow(name, mapping)
    timed = Timed(mapping, device, rows, 1, "plio", fills)
    into, out = (
        device.need(device.plio_in, "streams from programmable logic"),
        device.need(device.plio_out, "streams to programmable logic"),
    )
    fits = (
        mapping.row_steps == 1
        and device.columns <= known(name).columns
        # What needs little to be told comes first: each column's parts of the rows have a stream.
        and timed.floor.copies[0] <= into
        and timed.fits
        and all(ways <= most for ways, most in zip(timed.ways, (into, out), strict=True))
    )
    return timed if fits else None


@lru_cache(maxsize=4096)
def plan_of_pass(
    mapping: ArrayMapping, rows: int, name: str, *, alone: bool = False
) -> SpreadPlan | None:
    """The plan of passes like `mapping` over so many rows, in the fills that are fastest.

    None where none fits.

    Args:
        mapping: of a pass.
        rows: of the layer.
        name: of the device.
        alone: whether no other layer shares its graph: kernels may then go on from pass to pass,
            where that is faster for a single run, and not slower for others.
    """
    timed = _timed(mapping, rows, name, 1)
    if timed is None:
        return None
    kernel = with_kernel(mapping, timed.device, VARIANTS, (mapping.block,))
    if kernel is None:
        return None
    timed = replace(timed, mapping=kernel)
    if not timed.device.mem_rows:
        return _on_tile(timed, name)
    try:
        priced = price(kernel, timed.device, Assumed(), near=True)
    except TargetError:
        return None
    if isinstance(priced, Infeasible):
        return None
    parts, through = dict(priced.cost.parts), priced.cost.latency - priced.cost.interval
    best = _in_fills(timed, parts, through)
    on = carrying(timed) if alone else None
    if on is None:
        return best
    parts["compute"] = on.compute + spared_start(timed)
    other = _in_fills(replace(timed, carries=True), parts, through + on.behind)
    return other if other.cycles < best.cycles and other.interval <= best.interval else best


def _in_fills(timed: Timed, parts: dict[str, float], through: float) -> SpreadPlan:
    """The plan in the fills that are fastest."""
    found = []
    for fills in FILLS:
        cut = replace(timed, fills=fills)
        if cut.divides:
            work = pass_work(cut, parts, through)
            found.append(SpreadPlan(cut, timed_cycles(work), interval_cycles(work)))
    return min(found, key=lambda plan: plan.cycles)


def _on_tile(timed: Timed, name: str) -> SpreadPlan | None:
    """The plan of a layer on a tile that streams feed and empty; None where it does not fit."""
    if isinstance(plan_local(timed.mapping, timed.device), Infeasible):
        return None
    cycles, interval = stack_cycles([timed], [range(1)], name)
    return SpreadPlan(timed, sum(cycles), interval)


def fed_by(plan: SpreadPlan, name: str, through: WayKind) -> SpreadPlan:
    """The same plan with other ways.

    Without memory tiles the chip's memory is asked for the rows of each pass, and to take them.
    """
    if known(name).mem_rows:
        return replace(plan, through=through)
    asked = asks(through)
    cycles, interval = stack_cycles([plan.timed], [range(1)], name, asked)
    return replace(plan, cycles=sum(cycles), interval=interval, through=through)


def asks(through: WayKind) -> float:
    """Cycles from a request until such a way has its first word."""
    return REQUEST_CYCLES if through == "gmio" else 0.0


def _region(name: str, columns: int, rows: int) -> Device:
    """A rectangle of device `name`, with all of its streams."""
    whole = known(name)
    return replace(whole, core_rows=rows, columns=columns, shim_noc_columns=None)


def narrow(name: str, mapping: ArrayMapping) -> Device:
    """The rectangle that a mapping's chains take."""
    rows = chains_high(known(name), mapping.cas_length)
    return _region(name, ceil(mapping.chains / rows) * mapping.cas_length, rows)
