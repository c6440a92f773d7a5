"""What reports say of a network's layers on the array: pace, bounds, and what would change them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from match_aie.errors import Infeasible
from match_aie.hardware import ChosenLayer, Stage
from match_aie.targets.aie_ml.array.kernel_choice import with_kernel
from match_aie.targets.aie_ml.array.search import VARIANTS
from match_aie.targets.aie_ml.graph.bounds import bounds
from match_aie.targets.aie_ml.graph.dense_plan import dense_layer
from match_aie.targets.aie_ml.graph.layer import LayerPlan
from match_aie.targets.aie_ml.graph.overlay import OverlayPlan
from match_aie.targets.aie_ml.graph.pipeline_candidates import Candidate, candidates
from match_aie.targets.aie_ml.graph.plan import LayerGraph
from match_aie.targets.aie_ml.graph.row_stage import RowStagePlan
from match_aie.targets.aie_ml.graph.spread_plan import SpreadPlan, narrow, plan_of_pass
from match_aie.targets.aie_ml.graph.stack_plan import stack_of_plans
from match_aie.targets.aie_ml.known import device
from match_aie.targets.versal.chained import Chain
from match_aie.targets.versal.module import AieArray, plans
from match_aie.targets.versal.wishes import Wish
from match_aie.workload import Workload, product_type

#: Splits over one more column that are priced, those of least bounds.
PRICED = 2


@dataclass(frozen=True)
class _Seat:
    """A layer of a chain, by its number there, and the name of their graph."""

    chain: Chain
    number: int
    graph: str


@dataclass(frozen=True, eq=False)
class Stages:
    """What is known of a network's layers on the array.

    Attributes:
        array: the module.
        layers: on it, in execution order.
        graphs: of each.
        wishes: of users, by label.
    """

    array: AieArray
    layers: Sequence[ChosenLayer]
    graphs: Sequence[LayerGraph]
    wishes: Mapping[str, Wish]

    def of(self, chain: Chain, name: str) -> list[Stage]:
        """The stages of a graph.

        Args:
            chain: its layers.
            name: of the graph.
        """
        mine = [self._plan(at) for at in chain.layers]
        if isinstance(mine[0], OverlayPlan):
            name = name.replace("graph", "overlay, sequence")
        shared = len(mine) > 1 and not chain.offsets
        alone = [(plan.cycles, _interval(plan)) for plan in mine]
        spread = [plan for plan in mine if isinstance(plan, SpreadPlan)]
        whole = stack_of_plans(spread, self.array.device) if shared else None
        if whole is not None:
            alone = [(cycles, cycles) for cycles in whole.cycles]
        if self.array.aim == "latency":
            pace = sum(cycles for cycles, _ in alone)  # the processor waits for each run
        else:
            pace = max(each for _, each in alone) if whole is None else whole.interval
        return [
            self._stage(_Seat(chain, number, name), plan, *times, pace)
            for number, (plan, times) in enumerate(zip(mine, alone, strict=True))
        ]

    def _plan(self, at: int) -> LayerPlan:
        return self.array.plan(self.layers[at].workload, self.layers[at].mapping)

    def _stage(
        self, seat: _Seat, plan: LayerPlan, cycles: float, interval: float, pace: float
    ) -> Stage:
        """One of them.

        Args:
            seat: where it stands.
            plan: of it.
            cycles: of a single run.
            interval: between runs that follow each other, of this layer.
            pace: likewise, of its graph.
        """
        at = seat.chain.first + seat.number
        layer, tiles = self.layers[at], len(self.graphs[at].kernels)
        offsets = seat.chain.offsets
        first = seat.chain.column + (offsets[seat.number] if offsets else 0)
        busy, stages = bounds(plan, self.array.device), len(seat.chain.layers)
        return Stage(
            layer.symbol,
            seat.graph,
            (first, first + plan.columns - 1),
            tiles,
            cycles,
            min(interval, pace),
            pace,
            self._busy(layer.workload, tiles) / pace,
            busy[0][0],
            busy,
            self._why(layer, plan, interval >= pace, stages),
            self._more(layer, plan, stages),
        )

    def _busy(self, workload: Workload, tiles: int) -> float:
        """Cycles in which so many tiles would do a layer's products at their peak."""
        core = device(self.array.device).architecture.core
        types = [operand.dtype for operand in (*workload.data, *workload.constants)[:2]]
        types = [product_type(workload)] * len(types) if workload.rounded else types
        rate = core.macs_of(*types) if len(types) == 2 else None
        return workload.macs / (rate * tiles) if rate else 0.0

    def _why(self, layer: ChosenLayer, plan: LayerPlan, slowest: bool, stages: int) -> str:
        wish = self.wishes.get(layer.label)
        if wish is not None and wish.of_plan:
            return f"its user asks for {wish}"
        if isinstance(plan, OverlayPlan):
            return (
                "one configuration serves several layers, each by a sequence of its own: of those "
                "that were looked at, the one with which they take the fewest cycles together"
            )
        if isinstance(plan, SpreadPlan) and plan.timed.tiles == 1 and stages > 1:
            return "its weights leave room in a tile, which layers beside it share or stand next to"
        staged = isinstance(plan, SpreadPlan | RowStagePlan)
        if staged and self.array.aim == "throughput" and stages > 1:
            if slowest:
                return (
                    f"it is the slowest stage: with up to {self.array.columns} columns a layer "
                    "(columns_per_layer), in the array's, no choice of all stages has a faster one"
                )
            return "the fewest columns on which it keeps up with the slowest stage"
        return (
            f"of its plans on up to {self.array.columns} columns (columns_per_layer), the one with "
            "which all layers together take the fewest cycles"
        )

    def _more(self, layer: ChosenLayer, plan: LayerPlan, stages: int) -> str:
        """What one more column would bring."""
        wide = plan.columns
        if isinstance(plan, OverlayPlan):
            return "not asked: all layers of its configuration share these"
        if wide >= device(self.array.device).columns:
            return "the array has no more columns"
        if isinstance(plan, SpreadPlan) and self.array.aim == "throughput" and stages > 1:
            return self._more_of_stage(layer, plan)
        if isinstance(plan, RowStagePlan):
            return "not asked: it is a stage of rows"
        found = plans(
            layer.workload, self.array.device, self.array.columns, self.array.memory, self.array.aim
        )
        able = () if isinstance(found, Infeasible) else found
        # A wider one that keeps its weights may be slower than one whose weights go by.
        wider = [p for p in able if p.columns > wide and p.cycles < plan.cycles]
        if not wider:
            if wide >= self.array.columns:
                return f"not asked: columns_per_layer is {self.array.columns}"
            return f"nothing: no plan on up to {self.array.columns} columns takes fewer cycles"
        one = min(wider, key=lambda each: each.columns)
        return f"the next wider plan, on {one.columns} columns: {_fewer(plan.cycles, one.cycles)}"

    def _more_of_stage(self, layer: ChosenLayer, plan: SpreadPlan) -> str:
        copies, own = plan.timed.copies, dense_layer(layer.workload)
        part = replace(own, rows=own.rows // copies)
        wide = plan.columns // copies + 1
        offered = [c for c in candidates(part, self.array.device, wide) if c.columns == wide]
        offered = sorted(offered, key=lambda one: one.bound)[:PRICED]
        intervals = [self._priced(one) for one in offered if one.bound < plan.interval]
        least = min((each for each in intervals if each is not None), default=plan.interval)
        beside = "; its graph is faster only where all of its slowest stages are"
        each = "a column more" if copies == 1 else f"a column more for each of {copies} copies"
        if least >= plan.interval:
            return f"nothing: no split over {each} takes fewer cycles{beside}"
        return f"{each}: {_fewer(plan.interval, least)}{beside}"

    def _priced(self, candidate: Candidate) -> float | None:
        """Cycles between runs of a split with the kernel that is fastest; None where none fits."""
        name = self.array.device
        made = with_kernel(candidate.mapping, narrow(name, candidate.mapping), VARIANTS)
        plan = None if made is None else plan_of_pass(made, candidate.rows, name)
        return None if plan is None else plan.interval


def _interval(plan: LayerPlan) -> float:
    return plan.interval if isinstance(plan, SpreadPlan | RowStagePlan) else plan.cycles


def _fewer(now: float, then: float) -> str:
    return f"{then:,.0f} cycles for {now:,.0f} ({100 * (1 - then / now):.0f} % fewer)"
