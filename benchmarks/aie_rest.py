"""Where the peak of the array goes that a pipeline does not reach, in percent of that peak."""

from __future__ import annotations

from collections.abc import Sequence

from rows import figure

from match_aie.targets.aie_ml.devices import Device
from match_aie.targets.aie_ml.graph.bounds import bounds
from match_aie.targets.aie_ml.graph.spread_plan import SpreadPlan

#: (metric, what it is), in the order in which they add up to 100.
PARTS = (
    ("share_products_percent", "the network's own products"),
    ("share_padding_percent", "products of what parts are filled up with"),
    ("share_kernels_percent", "kernels beside products: their start, locks, epilogues; modelled"),
    ("share_waiting_percent", "tiles that wait for the slowest stage, or for streams"),
    ("share_unused_percent", "tiles without a part of a layer"),
)


def products(plan: SpreadPlan, array: Device) -> float:
    """Cycles of a run in which a tile of `plan` only multiplies, what it is filled up with too."""
    timed = plan.timed
    mapping = timed.mapping
    rate = array.architecture.core.macs_of(mapping.layer.a, mapping.layer.w) or 1
    return timed.passes * mapping.call_rows * mapping.part_reduction * mapping.call_columns / rate


def rest_rows(
    case: str, plans: Sequence[SpreadPlan], array: Device, interval: float, macs: int
) -> list[dict[str, object]]:
    """A row per part of the array's cycles in a run; they add up to 100 %.

    Args:
        case: the network's name.
        plans: of its layers, all of one type of operands.
        array: that they run on.
        interval: simulated cycles of a run that others follow.
        macs: multiply-accumulates of a run, no padding.
    """
    first = plans[0].timed.mapping.layer
    rate = array.architecture.core.macs_of(first.a, first.w) or 1
    tiles = [plan.timed.tiles for plan in plans]
    multiply = sum(n * products(plan, array) for n, plan in zip(tiles, plans, strict=True))
    computing = sum(
        # The model may say a little more than the simulator, whose pace is what is shared out.
        n * min(dict(bounds(plan, array.name))["compute"], interval)
        for n, plan in zip(tiles, plans, strict=True)
    )
    used, whole = sum(tiles) * interval, array.core_tiles * interval
    shares = (macs / rate, multiply - macs / rate, computing - multiply, used - computing)
    cycles = (*shares, whole - used)
    return [
        figure(case, metric, 100 * much / whole, "%", "modelled", what)
        for (metric, what), much in zip(PARTS, cycles, strict=True)
    ]
