"""What a pass over the rows asks of the array and its ways, for `cost_models.aie_timed`."""

from __future__ import annotations

from match_aie.cost_models.aie_array import ArrayCost
from match_aie.cost_models.aie_timed import PassWork
from match_aie.targets.aie_ml.array.assumed import Assumed
from match_aie.targets.aie_ml.array.price import external_rates
from match_aie.targets.aie_ml.graph.timed import Timed
from match_aie.targets.aie_ml.graph.timed_splits import REQUEST_CYCLES, memory_rate
from match_aie.targets.aie_ml.known import device as known


def pass_work(timed: Timed, parts: dict[str, float], through: float) -> PassWork:
    """What a pass asks: a kernel is started once for all of them."""
    assumed, arch = Assumed(), timed.device.architecture
    more = assumed.descriptor * (timed.fills - 1)
    inside = max(
        parts["compute"] - spared_start(timed),
        parts["activation streams"] + more,
        parts["result streams"] + more,
    )
    return PassWork(
        passes=timed.passes,
        inside=inside,
        through=through,
        inputs=timed.x_loads,
        double=True,
        weights=(),
        first_weights=0,
        outputs=timed.y_loads,
        last_output=max(timed.y_loads) // timed.fills,
        way_rate=arch.shim_dma.bytes_per_cycle,
        memory_rate=sum(external_rates(timed.device)),
        fills=timed.fills,
    )


def spared_start(timed: Timed) -> float:
    """Of a pass's modelled compute, the share of starts that a kernel of several passes spares.

    Where turns are calls of functions, such a call stands in the place of a start.
    """
    assumed = Assumed()
    start = float(assumed.start + 2 * assumed.start_port - timed.device.call_cycles)
    return start * (timed.passes - 1) / timed.passes


def memory_work(timed: Timed, cost: ArrayCost, calls: int = 1) -> PassWork:
    """What a pass asks whose operands come from the chip's memory, and whose results go there.

    Args:
        timed: how the layer runs.
        cost: of a pass.
        calls: along the rows of a pass, for each of which weights come again.
    """
    device, ways = timed.device, timed.w_ways
    fills = max((timed.w_fills(piece) for *_, piece in ways), default=0)
    return PassWork(
        passes=timed.passes,
        inside=cost.inside,
        through=cost.latency - cost.interval,
        inputs=timed.x_loads,
        double=timed.double,
        weights=timed.w_loads,
        first_weights=max((timed.w_bytes(at, piece) for _, at, piece in ways), default=0),
        outputs=timed.y_loads,
        last_output=max(timed.y_loads) // (timed.mapping.column_steps * calls),
        way_rate=device.architecture.shim_dma.bytes_per_cycle,
        memory_rate=memory_rate(device),
        duplex=known(device.name).dram_duplex,
        asking=REQUEST_CYCLES * calls * fills,
        parts=timed.cut,
        laps=timed.x_repeats,
        request=REQUEST_CYCLES,
        results=timed.mapping.column_steps * calls,
        returning=0.0 if timed.y_copies > 1 else _returning(timed, cost),
    )


def _returning(timed: Timed, cost: ArrayCost) -> float:
    """Cycles of a pass in which results reach a memory tile and leave it, one after the other."""
    way = timed.device.architecture.shim_dma.bytes_per_cycle
    leaving = max(timed.y_loads) / way + REQUEST_CYCLES * timed.mapping.column_steps
    return dict(cost.parts)["result streams"] + leaving
