"""What a pass over the rows asks of the array and its ways, for `cost_models.aie_timed`."""

from __future__ import annotations

from match_aie.cost_models.aie_timed import PassWork
from match_aie.targets.aie_ml.array.assumed import Assumed
from match_aie.targets.aie_ml.array.price import external_rates
from match_aie.targets.aie_ml.graph.timed import Timed


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
