"""Configurations of the array that serve several dense layers: which of them, by which overlay."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from match_aie.errors import Infeasible, InfeasibleError, TargetError
from match_aie.hardware import Bid, Configuration, CoreCost
from match_aie.targets.aie_ml.array.layout import lay_out
from match_aie.targets.aie_ml.graph.dense_plan import dense_layer
from match_aie.targets.aie_ml.graph.layer import crossing, zeros_of
from match_aie.targets.aie_ml.graph.overlay import OverlayPlan
from match_aie.targets.aie_ml.graph.overlay_plan import Found, best_overlay
from match_aie.targets.aie_ml.known import device
from match_aie.targets.versal.module import (
    COPIED_PER_NS,
    EVERY,
    SHARED,
    WHOLE,
    AieArray,
    around_ns,
    layer_cost,
)
from match_aie.targets.xdna.direct import direct
from match_aie.targets.xdna.mlir.dialect import Dialect
from match_aie.targets.xdna.mlir.overlay import overlay
from match_aie.workload import Workload, rounds_sums

#: Layers that an overlay is for: a single one has faster plans of its own.
FEWEST = 2


@dataclass(frozen=True)
class Prices:
    """What a layer costs elsewhere.

    Attributes:
        hertz: of the target's reference clock.
        core: what the core takes for operators.
    """

    hertz: float
    core: CoreCost


def configurations(
    bids: Sequence[Bid], array: AieArray, prices: Prices, dialect: Dialect, asked: Collection[str]
) -> Iterator[Configuration]:
    """For kernels that dense layers have in common the best overlay, on all columns and on half.

    Args:
        bids: everything that could run.
        array: the module.
        prices: of the rest.
        dialect: version of the text.
        asked: labels of layers of which users ask something.
    """
    elsewhere = _elsewhere(bids, array.name, prices.core)
    able: dict[object, list[int]] = {}
    for number, bid in enumerate(bids):
        key = _kernel(bid.workload) if bid.module == array.name else None
        if key is None or bid.label in asked:
            continue
        if _least(bid.workload, array, prices.hertz) < elsewhere[number]:
            able.setdefault(key, []).append(number)
    whole = device(array.device)
    most = min(array.columns, whole.columns)
    half = min(most, max(1, whole.columns // 2))
    for numbers in (each for each in able.values() if len(each) >= FEWEST):
        workloads, left = [bids[n].workload for n in numbers], [elsewhere[n] for n in numbers]
        for columns in sorted({most, half}):
            found = _best(workloads, left, (array, columns, dialect), prices.hertz)
            if found is not None and len(found.plans) >= FEWEST:
                yield _configuration(found, numbers, bids, array)


def _elsewhere(bids: Sequence[Bid], name: str, core: CoreCost) -> list[float]:
    """Cycles of the reference clock that each layer takes on the processor.

    Args:
        bids: everything that could run.
        name: of the array's module.
        core: prices of what no module of the processor runs.
    """
    known: dict[tuple[int, int], float] = {}
    for bid in bids:
        # Options that end alike may hold the product before the end, or the end alone.
        key = bid.root, bid.workload.macs
        if bid.module != name and bid.cycles is not None:
            known[key] = min(bid.cycles, known.get(key, bid.cycles))
    alone = [core.per_mac * bid.workload.macs for bid in bids]
    keys = [(bid.root, bid.workload.macs) for bid in bids]
    return [known.get(key, most) for key, most in zip(keys, alone, strict=True)]


def _kernel(workload: Workload) -> object:
    """What layers have in common whose kernels are the same; None of one that has no overlay."""
    if workload.kind != "dense" or workload.added or rounds_sums(workload):
        return None
    layer, tail = dense_layer(workload), workload.tail
    if layer.requantise == "multiplier":  # one number for all columns is in the kernel's text
        return None
    ends = None if tail is None else (tail.lo, tail.hi, tail.rounding, tail.bits)
    return layer.a, layer.w, layer.out, layer.requantise, layer.relu, ends


def _least(workload: Workload, array: AieArray, hertz: float) -> float:
    """Cycles of the reference clock that a layer takes at least: a dispatch, and its products."""
    whole, layer = device(array.device), dense_layer(workload)
    macs = (whole.architecture.core.macs_of(layer.a, layer.w) or 1) * whole.core_tiles
    return (around_ns(whole) + workload.macs / macs / whole.clock_ghz) * 1e-9 * hertz


def _best(
    workloads: Sequence[Workload],
    left: Sequence[float],
    room: tuple[AieArray, int, Dialect],
    hertz: float,
) -> Found | None:
    """The overlay with which layers save most.

    Args:
        workloads: of one kernel.
        left: cycles of the reference clock that each takes elsewhere.
        room: the module, columns, and the version of the text that programs must have.
        hertz: of the reference clock.
    """
    array, columns, dialect = room
    whole = device(array.device)

    def able(workload: Workload, plan: OverlayPlan) -> bool:
        graph = plan.graph("layer", workload, zeros_of(workload))
        program = lay_out(direct(graph, None, whole), whole)
        try:
            return not isinstance(program, Infeasible) and bool(
                overlay({"layer": program}, whole, dialect)
            )
        except (InfeasibleError, TargetError):
            return False

    def worth(number: int, cycles: float) -> float:
        one = workloads[number]
        moved = sum(crossing(one, operand) for operand in (*one.inputs, one.output))
        around = around_ns(whole) + moved / COPIED_PER_NS
        return left[number] - (around + cycles / whole.clock_ghz) * 1e-9 * hertz

    return best_overlay(workloads, array.device, columns, worth, able)


def _configuration(
    found: Found, numbers: Sequence[int], bids: Sequence[Bid], array: AieArray
) -> Configuration:
    """As selection takes it.

    Args:
        found: the overlay.
        numbers: of the bids that were asked of it.
        bids: all.
        array: the module.
    """
    whole = device(array.device)
    plan: OverlayPlan = next(iter(found.plans.values()))
    tiles = plan.columns * whole.core_rows
    taken = dict(zip(SHARED, (tiles, *plan.ways), strict=True))
    ways = {
        numbers[at]: (one.nest, layer_cost(one, bids[numbers[at]].workload, whole, aim=array.aim))
        for at, one in found.plans.items()
    }
    return Configuration(ways, {**taken, WHOLE: plan.columns, EVERY: tiles})
