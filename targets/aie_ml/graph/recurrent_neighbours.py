"""A GRU or LSTM on four tiles above each other: the two in the middle have halves of the units.

They read each other's memory, or the upper one sends its units down along the cascade.
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
from match_aie.targets.aie_ml.graph.assembly import Request
from match_aie.targets.aie_ml.graph.plan import LayerGraph
from match_aie.targets.aie_ml.graph.recurrent_joined import joined_calls
from match_aie.targets.aie_ml.graph.recurrent_spread import (
    Spread,
    has_room,
    kernel_of,
    lengths,
    run_work,
)
from match_aie.targets.aie_ml.kernels.block import Access
from match_aie.targets.aie_ml.kernels.recurrent import RecurrentCall
from match_aie.targets.aie_ml.kernels.recurrent_joined import AnyJoined
from match_aie.targets.aie_ml.kernels.recurrent_neighbours import (
    AnyNeighbour,
    ahead_call,
    neighbour_calls,
)


def neighbouring(call: RecurrentCall, device: Device) -> Iterator[AnyNeighbour]:
    """The functions of the first of two tiles that have the units of `call`, longest groups first.

    None where a tile has no room.
    """
    for joined in joined_calls(call):
        if joined.tiles == 2:
            yield from in_groups(joined, device)


def in_groups(call: AnyJoined, device: Device) -> Iterator[AnyNeighbour]:
    """Likewise, of two tiles that have the units of `call`."""
    found = (neighbour_calls(call, group)[0] for group in lengths(call.steps))
    return (first for first in found if has_room(first, device))


def neighbour_graph(call: AnyNeighbour, spread: Spread) -> LayerGraph | Infeasible:
    """All four between two buffers in memory tiles, or what lacks."""
    units, group = call.y_width, call.group
    whole = 2 * units, group
    stored = tuple(Access(whole, (units, group), (at * units, 0)) for at in range(2))
    results = Request("y", call.out_type, whole, stored, (Access(whole, whole, (0, 0)),))
    lacks = spread.place(call, (4, 1), (results,), 2, call.passes)
    if lacks is not None:
        return lacks
    spread.enter()
    first, second = neighbour_calls(call, group)
    ahead = ahead_call(first)
    for row, (each, share) in enumerate(((ahead, 0), (first, 0), (second, 1), (ahead, 1))):
        spread.add(each, (0, row), share)
    for tile, (inputs, states) in enumerate(((0, 1), (3, 2))):
        spread.feed(inputs)
        spread.connect(("buffer", inputs, 0), ("buffer", states, 0))
        spread.connect(("buffer", states, 0), ("shared", spread.results[0], tile))
        if (first, second)[tile].hands:
            spread.connect(("cascade", states, 1), ("cascade", 3 - states, 0))
        else:
            spread.connect(("buffer", states, 1), ("lent", 3 - states, 1))
    where = "neighbours' memories" if not second.hands else "a neighbour's memory and by cascade"
    return spread.leave(group * call.passes, f", states in {where}")


def neighbour_cost(call: AnyNeighbour, device: Device, assumed: Assumed = Assumed()) -> BandCost:
    """Modelled cost of one run: groups one after the other, tiles for inputs one ahead."""
    arch, passes = device.architecture, call.passes
    work, ahead = run_work(call, device, assumed, 3), ahead_call(call)
    inputs = works(kernel_of(ahead), arch)[0].schedule.body
    both = neighbour_calls(call, call.group)
    step = max(one.schedule.body for each in both for one in works(kernel_of(each), arch))
    ways = 1 if both[1].hands else 2  # for which a step has locks
    locks, steps = assumed.acquire + assumed.release, call.steps / passes  # of a group
    body = steps * (step + met_cycles(call, device) + ways * locks) + 2 * locks
    return band_cost(
        replace(
            work,
            bands=passes,
            body=max(body, inputs + 2 * locks),
            input_bytes=ahead.in_bytes,
            output_bytes=2 * call.out_bytes,
            leaving=2 * passes * call.out_bytes,
            skew=inputs + 2 * locks + assumed.descriptor + call.in_bytes / work.rate,
            early=2 * (passes - 1) * call.out_bytes,
        )
    )
