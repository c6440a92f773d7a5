"""What bounds a layer's plan: cycles of a run in which each of its resources is busy. Modelled."""

from __future__ import annotations

from match_aie.cost_models.aie_timed import PassWork
from match_aie.errors import Infeasible, TargetError
from match_aie.targets.aie_ml.array.assumed import Assumed
from match_aie.targets.aie_ml.array.price import price
from match_aie.targets.aie_ml.graph.carrying import carrying
from match_aie.targets.aie_ml.graph.layer import LayerPlan
from match_aie.targets.aie_ml.graph.pass_work import pass_work, spared_start
from match_aie.targets.aie_ml.graph.spread_plan import SpreadPlan
from match_aie.targets.aie_ml.graph.timed_splits import MEMORY_GBPS
from match_aie.targets.aie_ml.known import device as known


def bounds(plan: LayerPlan, name: str) -> tuple[tuple[str, float], ...]:
    """What is busy and for how many cycles of a run, the longest first.

    Args:
        plan: of a layer.
        name: of the device.
    """
    found = _of_spread(plan, name) if isinstance(plan, SpreadPlan) else _of_legs(plan)
    return tuple(sorted(found.items(), key=lambda pair: -pair[1]))


def _of_legs(plan: LayerPlan) -> dict[str, float]:
    """Of plans that are priced as a way in, the tiles' work, and a way out."""
    enter, leave = plan.legs
    inside = plan.cycles - enter - leave
    found = {"compute and streams": inside, "ways in": enter, "ways out": leave}
    return {what: cycles for what, cycles in found.items() if cycles > 0}


def _of_spread(plan: SpreadPlan, name: str) -> dict[str, float]:
    timed = plan.timed
    if not timed.device.mem_rows:
        return {"compute": plan.interval}
    try:
        priced = price(timed.mapping, timed.device, Assumed())
    except TargetError:
        return {"compute": plan.interval}
    if isinstance(priced, Infeasible):
        return {"compute": plan.interval}
    parts = dict(priced.cost.parts)
    work = pass_work(timed, parts, priced.cost.latency - priced.cost.interval)
    on = carrying(timed) if timed.carries else None
    if on is not None:
        parts["compute"] = on.compute + spared_start(timed)
    whole = known(name)
    found = {
        "compute": work.passes * (parts["compute"] - spared_start(timed)),
        "streams to the tiles": work.passes * parts["activation streams"],
        "streams from the tiles": work.passes * parts["result streams"],
        "memory tiles": work.passes * _through(work),
    }
    if plan.through == "gmio":
        found["the chip's memory"] = whole.memory_cycles(*plan.moved, MEMORY_GBPS)
    else:
        moved = sum(work.inputs) + sum(work.outputs)
        found["ways"] = work.passes * moved / work.memory_rate
    return found


def _through(work: PassWork) -> float:
    """Cycles of a pass in which the busiest channel of a memory tile fills or empties it."""
    return max((*work.inputs, *work.outputs, 0)) / work.way_rate
