"""A dense layer by an overlay as loops, and what it costs.

In front of the split over tiles (`dense_nest.over`) stand the ways that bring weights of a column
of tiles. In time, outermost first: runs of the columns, passes over the rows, calls along the
columns and the rows, pieces of a call's turns whose weights a memory tile takes at once, then what
every dense nest ends in.
"""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

from match_aie.cost_models.aie_timed import timed_cycles
from match_aie.errors import Infeasible, TargetError
from match_aie.hardware import Loop, Mapping
from match_aie.targets.aie_ml.array.assumed import Assumed
from match_aie.targets.aie_ml.array.price import price
from match_aie.targets.aie_ml.graph.dense_nest import CALL, OVER, over, turn
from match_aie.targets.aie_ml.graph.pass_work import memory_work

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
    return timed_cycles(memory_work(timed, priced.cost, m.row_steps))
