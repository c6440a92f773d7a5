"""How a dense layer whose operands go by runs on a few columns: the best of its mappings.

For layers whose weights, or whose rows, fit no tiles: weights come from the chip's memory in every
pass over the rows, the reduction is walked in turns, rows come in passes (`timed.Timed`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from functools import lru_cache
from math import ceil, inf

from match_aie.cost_models.aie_array import ArrayCost
from match_aie.cost_models.aie_timed import timed_cycles
from match_aie.errors import Infeasible, TargetError
from match_aie.hardware import Mapping
from match_aie.targets.aie_ml.array.assumed import Assumed
from match_aie.targets.aie_ml.array.layer import ArrayMapping, DenseLayer, Order
from match_aie.targets.aie_ml.array.price import Priced, price
from match_aie.targets.aie_ml.array.search import SLOWER, Given, search
from match_aie.targets.aie_ml.array.shapes import Shape, native_tilings, smallest
from match_aie.targets.aie_ml.devices import Device
from match_aie.targets.aie_ml.graph.constants import Numbers
from match_aie.targets.aie_ml.graph.dense_nest import mapping_of, nest_of, parts_of
from match_aie.targets.aie_ml.graph.layer import Arrays, zeros_of
from match_aie.targets.aie_ml.graph.pass_work import memory_work
from match_aie.targets.aie_ml.graph.passes_plan import PassesPlan
from match_aie.targets.aie_ml.graph.plan import LayerGraph
from match_aie.targets.aie_ml.graph.proof import cannot_be_written, cannot_lie
from match_aie.targets.aie_ml.graph.timed import Timed
from match_aie.targets.aie_ml.graph.timed_graph import TimedGraph
from match_aie.targets.aie_ml.graph.timed_splits import (
    columns_for,
    feeds_of,
    finer_passes,
    least_of_passes,
    least_of_run,
    least_of_weights,
    may_fit,
    may_stay,
    memory_rate,
    splits_of,
    spreads,
)
from match_aie.targets.aie_ml.known import device as known
from match_aie.workload import Workload

#: Splits over tiles that are looked at closely, and mappings of each.
CANDIDATES = 10
KEPT = 2

#: A plan this near the least cycles of any other split is good enough.
NEAR = 0.97

#: Numbers of passes that are looked at where weights stay in the tiles, from the fewest that fit:
#: each twice the one before. Weights that are streamed come again in every pass.
PASSES = 4


@dataclass(frozen=True)
class TimedPlan(PassesPlan):
    """A mapping in passes, and its modelled cycles.

    Attributes:
        cycles: of one run, modelled.
    """

    cycles: float

    @property
    def traffic(self) -> tuple[int, int]:
        """Bytes from the chip's memory and to it in a run, and the least: weights in every pass."""
        timed = self.timed
        loads = sum(timed.x_loads) + sum(timed.w_loads) + sum(timed.y_loads)
        return timed.passes * loads, timed.least_bytes(timed.passes)

    @property
    def nest(self) -> Mapping:
        """See `dense_nest`."""
        return nest_of(self.timed.mapping, self.timed.passes)

    def graph(self, name: str, workload: Workload, constants: Arrays) -> LayerGraph:
        """The graph, called `name`, with the numbers of `constants`."""
        numbers = Numbers(self.timed, workload, constants)
        return TimedGraph(name, self.timed, numbers).graph


@lru_cache(maxsize=1024)
def timed_of_nest(layer: DenseLayer, name: str, nest: Mapping) -> TimedPlan:
    """The plan that a nest says.

    Raises:
        TargetError: it says none.
    """
    row_parts, column_parts, length = parts_of(nest)
    device = columns_for(name, row_parts * column_parts, length)
    mapping = mapping_of(replace(layer, rows=nest.temporal[0].step), device, nest)
    priced = None if mapping is None else price(mapping, device, Assumed())
    if not isinstance(priced, Priced):
        raise TargetError(f"{nest} does not fit {name}: {priced or 'no kernel'}")
    plan = _plan(priced, device, layer.rows, feeds_of(device, layer))
    if not plan.timed.fits or plan.nest != nest:
        raise TargetError(f"{nest} is no nest of a dense layer on {name}")
    return plan


@lru_cache(maxsize=1024)
def timed_best(
    layer: DenseLayer,
    workload: Workload,
    name: str,
    columns: int,
    most_tiles: int | None = None,
    most: float = inf,
) -> TimedPlan | Infeasible:
    """The plan of least cycles on at most `columns` columns whose graph can be laid out.

    Where a text sets semaphores, of those that have a text, as long as any has. `SLOWER` where it
    is known not to be below `most`.

    Args:
        layer: what runs.
        workload: the same.
        name: of the device.
        columns: at most.
        most_tiles: likewise; None for all.
        most: cycles from which on the caller has no use for a plan.
    """
    zeros = zeros_of(workload)
    ordered = splits_of(layer, name, columns, most_tiles)
    refused: dict[Given, Infeasible] = {}
    unwritten: TimedPlan | None = None
    while (found := _fastest(layer, name, ordered, refused, most)) is not None:
        if isinstance(found, Infeasible):
            return found
        split, plan = found
        graph = plan.graph("layer", workload, zeros)
        reason = cannot_lie(graph, known(name))
        if reason is None:
            reason = cannot_be_written(graph, known(name))
            if reason is None:
                return plan
            unwritten = unwritten or plan
        refused[split] = reason
    if unwritten is not None:
        return unwritten
    if refused:
        return list(refused.values())[-1]
    unfit = (_roughly(layer, name, split)[1] for _, split in ordered)
    none = Infeasible("columns that stream its operands", 1, 0, "columns")
    return next((reason for reason in unfit if isinstance(reason, Infeasible)), none)


def _fastest(
    layer: DenseLayer,
    name: str,
    ordered: list[tuple[float, Given]],
    refused: Collection[Given],
    most: float,
) -> tuple[Given, TimedPlan] | Infeasible | None:
    """The split whose plan has the least cycles, and that plan; None where there is none.

    `SLOWER` where there are some, but none has less than `most`.

    Args:
        layer: what runs.
        name: of the device.
        ordered: bounds and splits.
        refused: those whose plans cannot be laid out. Only what is fastest is: that takes longest.
        most: as of `timed_best`.
    """
    best: tuple[Given, TimedPlan] | None = None
    looked, slower = 0, False
    for bound, split in ordered:
        cycles = most if best is None else best[1].cycles
        if looked == CANDIDATES or bound >= (cycles if best is None else NEAR * cycles):
            slower = True
            break
        if split in refused:
            continue
        plan = timed_of_split(layer, name, split, cycles)
        if isinstance(plan, Infeasible) and (plan is not SLOWER or best is not None):
            continue
        looked += 1
        if isinstance(plan, Infeasible) or plan.cycles >= cycles:
            slower = True
        else:
            best = split, plan
    return best or (SLOWER if slower and most < inf else None)


@lru_cache(maxsize=4096)
def timed_of_split(
    layer: DenseLayer, name: str, split: Given, most: float = inf
) -> TimedPlan | Infeasible:
    """The best plan of a split, on as few columns as hold it.

    Args:
        layer: what runs.
        name: of the device.
        split: over tiles.
        most: cycles of a run from which on the caller has no use for a plan.
    """
    plans = _of_split(layer, name, split, most)
    if isinstance(plans, Infeasible):
        return plans
    return min(plans, key=lambda plan: plan.cycles)


def timed_near(layer: DenseLayer, name: str, split: Given, most: float) -> list[TimedPlan]:
    """Plans of a split that take less than `most` cycles, of every number of passes that is tried.

    Args:
        layer: what runs.
        name: of the device.
        split: over tiles.
        most: cycles of a run.
    """
    plans = _of_split(layer, name, split, most, all_of=True)
    return [] if isinstance(plans, Infeasible) else [plan for plan in plans if plan.cycles < most]


def _of_split(
    layer: DenseLayer, name: str, split: Given, most: float, *, all_of: bool = False
) -> list[TimedPlan] | Infeasible:
    """The best plan of a split among others.

    Args:
        layer: what runs.
        name: of the device.
        split: over tiles.
        most: cycles of a run from which on the caller has no use for a plan.
        all_of: whether plans below `most` count that are slower than others.
    """
    fewest, found = _roughly(layer, name, split, most)
    if isinstance(found, Infeasible) and found is not SLOWER:
        return found
    plans = [found] if isinstance(found, TimedPlan) else []
    if fewest == 1 or any(not plan.timed.mapping.streamed for plan in plans):
        return plans if plans else SLOWER
    device = columns_for(name, split.split.chains, split.split.cas_length)
    for passes in finer_passes(layer, device, split, fewest):
        least = most if all_of else min([most, *(plan.cycles for plan in plans)])
        answer = _search(layer, device, passes, split, least, closely=all_of or bool(plans))
        plans += [] if isinstance(answer, Infeasible) else answer
    return plans or SLOWER


def _roughly(
    layer: DenseLayer, name: str, split: Given, most: float = inf
) -> tuple[int, TimedPlan | Infeasible]:
    """As `timed_of_split`, with passes whose number is a power of two, and the fewest that fit."""
    device = columns_for(name, split.split.chains, split.split.cas_length)
    reason: Infeasible | None = None
    found: list[TimedPlan] = []
    fewest = looked = 0
    stays = may_stay(smallest(layer, native_tilings(layer, device)[0], split.split), device)
    for passes in (1 << at for at in range(layer.rows.bit_length())):
        least = min([most, *(plan.cycles for plan in found)])
        answer = _search(layer, device, passes, split, least, closely=bool(found))
        if isinstance(answer, Infeasible) and answer is not SLOWER:
            if found:
                break
            reason = reason or answer
            continue
        fewest = fewest or passes
        if isinstance(answer, Infeasible):
            reason, looked = SLOWER, looked + 1
            if looked == PASSES or not stays:  # more passes may be faster where weights stay
                break
            continue
        best = min(answer, key=lambda plan: plan.cycles)
        looked = looked + 1 if found else 1
        found.append(best)
        if looked == PASSES or (best.timed.mapping.streamed and not _more(best, found)):
            break
    if not found:
        assert reason is not None
        return fewest, reason
    return fewest, min(found, key=lambda plan: plan.cycles)


def _more(best: TimedPlan, found: list[TimedPlan]) -> bool:
    """Whether twice the passes may be better, though weights come again in each of them.

    Rows of one pass come while another's are at work: worth it while weights take less than half
    of the memory's time, and while it was so the last time.
    """
    timed = best.timed
    weights = 2 * timed.passes * sum(timed.w_loads) / memory_rate(timed.device)
    return best.cycles <= min(plan.cycles for plan in found) and 2 * weights < best.cycles


def _search(
    layer: DenseLayer,
    device: Device,
    passes: int,
    split: Given,
    most: float,
    *,
    closely: bool = False,
) -> list[TimedPlan] | Infeasible:
    """Plans of the mappings that are best inside the array; `SLOWER` where none is below `most`.

    Args:
        layer: all of its rows.
        device: as many columns as the split needs.
        passes: over the rows.
        split: over tiles.
        most: cycles of a run.
        closely: whether nothing of `most` cycles or more is wanted. Of a split without a plan, one
            that is known to be slower is worth more than none: it says what passes there may be.
    """
    part = replace(layer, rows=ceil(layer.rows / passes))
    feeds, tiling = feeds_of(device, layer), native_tilings(layer, device)[0]
    rows = ceil(part.rows / tiling.m)
    if (split.row_parts or 1) > rows:
        return Infeasible("rows of a pass", split.row_parts or 1, rows, "tiles of rows")
    one = smallest(part, tiling, split.split)
    if not may_fit(one, device, layer.rows, feeds):
        return Infeasible("tiles", 1, 0, "tiles")
    if most < inf and least_of_passes(layer, device, passes, one) >= most:
        return SLOWER
    beside = 0.0
    if closely and most < inf:
        beside, run = least_of_run(layer, device, passes, one)
        if run >= most:
            return SLOWER
    found = search(
        part,
        device,
        objective="inside",
        keep=KEPT,
        given=split,
        express=_expresser(part, split, device.name, layer.rows),
        enough=least_of_weights(layer, device, feeds),
        most=(most - beside) / passes,
    )
    if isinstance(found, Infeasible):
        return found
    return [_plan(priced, device, layer.rows, feeds) for priced in found]


def _expresser(
    part: DenseLayer, split: Given, name: str, rows: int
) -> Callable[[ArrayMapping], ArrayMapping | None]:
    device = columns_for(name, split.split.chains, split.split.cas_length)
    plain = replace(part, relu=True)  # an activation takes no room
    base = smallest(plain, native_tilings(part, device)[0], split.split)

    def express(mapping: ArrayMapping) -> ArrayMapping | None:
        if mapping.layer.shared and mapping.reduction_steps == 1:
            return None  # numbers by column come with the weights of turns
        fits = _fits(base, Shape.made(mapping), mapping.order, name, rows)
        return mapping if fits else None

    return express


@lru_cache(maxsize=65536)
def _fits(base: ArrayMapping, shape: Shape, order: Order, name: str, rows: int) -> bool:
    """Whether such calls of a split, of which `base` has the smallest, fit its columns."""
    device = columns_for(name, base.chains, base.cas_length)
    feeds = feeds_of(device, base.layer)
    return any(timed.fits for timed in spreads(shape.of(base, order), device, rows, feeds))


def _plan(priced: Priced, device: Device, rows: int, feeds: int) -> TimedPlan:
    """The plan of a mapping in the spread of its results that is fastest; the least of equals.

    Where none fits, which the caller asks, as of the least.
    """
    able = list(spreads(priced.mapping, device, rows, feeds))
    cuts = (replace(timed, cut=cut) for timed in able for cut in timed.cuts)
    plans = [_spread(timed, priced.cost) for timed in cuts if timed.fits]
    return min(plans, key=lambda plan: plan.cycles, default=_spread(able[0], priced.cost))


def _spread(timed: Timed, cost: ArrayCost) -> TimedPlan:
    """The plan of a spread, with what the ways to memory add to its mapping's cost."""
    return TimedPlan(timed, timed_cycles(memory_work(timed, cost)))
