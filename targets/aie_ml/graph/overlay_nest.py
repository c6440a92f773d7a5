"""A dense layer by an overlay as loops, and what it costs.

In front of the split over tiles (`dense_nest.over`) stand the ways that bring weights of a column
of tiles. In time, outermost first: runs of the columns, passes over the rows, calls along the
columns and the rows, pieces of a call's turns whose weights a memory tile takes at once, then what
every dense nest ends in.
"""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

from match_aie.cost_models.aie_timed import PassWork, timed_cycles
from match_aie.errors import Infeasible, TargetError
from match_aie.hardware import Loop, Mapping
from match_aie.targets.aie_ml.array.assumed import Assumed
from match_aie.targets.aie_ml.array.price import price
from match_aie.targets.aie_ml.graph.dense_nest import CALL, OVER, over, turn
from match_aie.targets.aie_ml.graph.timed_splits import REQUEST_CYCLES, memory_rate
from match_aie.targets.aie_ml.known import device as known

if TYPE_CHECKING:
    from match_aie.targets.aie_ml.graph.overlay import Overlaid

#: Dimensions of the loops over runs, passes, calls along columns and rows, and pieces of turns.
WALK = "KBKBC"


def nest_of(timed: Overlaid) -> Mapping:
    """All of how a layer runs by an overlay."""
    m, deep = timed.mapping, timed.mapping.cas_length * timed.mapping.call_reduction
    return Mapping(
        (Loop("K", timed.feeds), *over(m)),
        (
            Loop("K", timed.runs, m.layer.columns),
            Loop("B", timed.row_passes, m.layer.rows),
            Loop("K", m.column_steps, m.column_parts * m.call_columns),
            Loop("B", m.row_steps, m.row_parts * m.call_rows),
            Loop("C", m.reduction_steps // timed.held_turns, timed.held_turns * deep),
            Loop("C", timed.held_turns, deep),
            *turn(m),
        ),
    )


def is_overlay_nest(nest: Mapping) -> bool:
    """Whether it has the loops of `nest_of`."""
    space, time = ("".join(loop.dim for loop in each) for each in (nest.spatial, nest.temporal))
    return space[1:] in OVER and space[:1] == "K" and time == WALK + CALL


def overlaid_cycles(timed: Overlaid) -> float:
    """Of a run of a layer by an overlay, modelled; infinite where tiles lack something for it."""
    m = timed.mapping
    try:
        priced = price(m, timed.device, Assumed())
    except TargetError:  # no kernel
        return inf
    if isinstance(priced, Infeasible):
        return inf
    cost, high = priced.cost, m.row_steps
    work = PassWork(
        passes=timed.passes,
        inside=cost.inside,
        through=cost.latency - cost.interval,
        inputs=timed.x_loads,
        double=True,
        weights=timed.w_loads,
        first_weights=max(timed.w_bytes(at, piece) for _, at, piece in timed.w_ways),
        outputs=timed.y_loads,
        last_output=max(timed.y_loads) // (m.column_steps * high),
        way_rate=timed.device.architecture.shim_dma.bytes_per_cycle,
        memory_rate=memory_rate(timed.device),
        duplex=known(timed.device.name).dram_duplex,
        asking=REQUEST_CYCLES * high * max(timed.w_fills(piece) for *_, piece in timed.w_ways),
    )
    return timed_cycles(work)
