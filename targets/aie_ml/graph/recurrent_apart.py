"""A GRU or LSTM on one tile, or on two: one multiplies inputs ahead, above it one walks the steps.

Weights and state stay in the tile, whose function is started once for a run and walks groups of
steps.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from match_aie.cost_models.aie_image import BandCost, band_cost
from match_aie.errors import Infeasible
from match_aie.targets.aie_ml.array.assumed import Assumed
from match_aie.targets.aie_ml.array.recurrent import met_cycles
from match_aie.targets.aie_ml.array.works import works
from match_aie.targets.aie_ml.devices import Device
from match_aie.targets.aie_ml.graph.plan import LayerGraph
from match_aie.targets.aie_ml.graph.recurrent_spread import (
    Spread,
    by_steps,
    functions_of,
    has_room,
    kernel_of,
    lengths,
    run_work,
)
from match_aie.targets.aie_ml.kernels.recurrent import RecurrentCall
from match_aie.targets.aie_ml.kernels.recurrent_apart import StatesCall, states_call


def apart_calls(call: RecurrentCall, device: Device) -> Iterator[StatesCall]:
    """The functions that walk the steps of `call`, with calls of different lengths, longest first.

    None where a tile has no room.
    """
    found = (states_call(replace(call, group=group)) for group in lengths(call.steps))
    return (states for states in found if has_room(states, device))


def straight_graph(call: RecurrentCall, spread: Spread) -> LayerGraph | Infeasible:
    """Tiles above each other, between two buffers in memory tiles, or what lacks."""
    tiles = functions_of(call)
    results = by_steps(call.y_width, call.group, call.passes)
    lacks = spread.place(call, (len(tiles), 1), (results,))
    if lacks is not None:
        return lacks
    for row, each in enumerate(tiles):
        spread.add(each, (0, row))
    spread.enter(0)
    last = len(tiles) - 1
    for row in range(last):
        spread.connect(("buffer", row, 0), ("buffer", row + 1, 0))
    spread.connect(("buffer", last, 0), ("shared", spread.results[0], 0))
    how = ", inputs apart from states" if last else " on one tile"
    return spread.leave(call.group * call.passes, how)


def straight_cost(call: RecurrentCall, device: Device, assumed: Assumed = Assumed()) -> BandCost:
    """Modelled cost of one run: groups one after the other, each tile one ahead of the next."""
    arch, work = device.architecture, run_work(call, device, assumed, 2)
    bodies = [one.schedule.body for one in works(kernel_of(call), arch)]
    locks = 2 * (assumed.acquire + assumed.release)
    inputs: float = 0
    skew: float = 0
    for ahead in functions_of(call)[:-1]:
        inputs = works(kernel_of(ahead), arch)[0].schedule.body
        skew = inputs + locks + assumed.descriptor + ahead.in_bytes / work.rate
    return band_cost(
        replace(
            work,
            bands=call.passes,
            body=max(sum(bodies) / len(bodies) + met_cycles(call, device), inputs),
            around=locks + device.call_cycles,
            input_bytes=call.in_bytes,
            output_bytes=call.out_bytes,
            leaving=2 * call.group * call.passes * call.whole,
            skew=skew,
        )
    )
