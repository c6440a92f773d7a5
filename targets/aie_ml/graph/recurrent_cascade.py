"""A GRU or LSTM with its matrices' columns along a cascade of tiles, one above the other.

The last tile, which is the lowest, sends every step's state out, and to all tiles that multiply it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from match_aie.cost_models.aie_image import BandCost, band_cost
from match_aie.errors import Infeasible
from match_aie.targets.aie_ml.array.assumed import Assumed
from match_aie.targets.aie_ml.array.recurrent import met_cycles
from match_aie.targets.aie_ml.devices import Device
from match_aie.targets.aie_ml.graph.plan import LayerGraph
from match_aie.targets.aie_ml.graph.recurrent_spread import Spread, by_steps, run_work
from match_aie.targets.aie_ml.kernels.recurrent import GROUP
from match_aie.targets.aie_ml.kernels.recurrent_cascade import AnyCascade, chain
from match_aie.targets.aie_ml.schedule.recurrent import GroupSchedule
from match_aie.targets.aie_ml.schedule.recurrent_cascade import cascade_schedules


def cascade_graph(call: AnyCascade, spread: Spread) -> LayerGraph | Infeasible:
    """Tiles from north to south, between two buffers in memory tiles, or what lacks."""
    tiles = chain(call, call.tiles)
    last = len(tiles) - 1
    lacks = spread.place(call, (len(tiles), 1), (by_steps(call.y_width, 1, call.steps),), 1)
    if lacks is not None:
        return lacks
    for at, each in enumerate(tiles):
        spread.add(each, (0, last - at))
    spread.enter(0)
    for at in range(last):
        spread.connect(("cascade", at, 0), ("cascade", at + 1, 0))
    spread.connect(("buffer", last, 0), ("shared", spread.results[0], 0))
    for at in range(1, last):
        spread.connect(("buffer", last, 1 if call.sent_size else 0), ("buffer", at, 0))
    return spread.leave(call.steps, f" along {len(tiles)} tiles")


def passing_cycles(steps: Sequence[GroupSchedule], transfer: int) -> float:
    """From when tiles with a state have it until the last one has the next; see `waited`."""
    return waited(steps, transfer) + steps[-1].body


def waited(steps: Sequence[GroupSchedule], transfer: int) -> float:
    """Cycles that the last tile stands still in a step, all of them begun together.

    A tile goes on as words come: it stands still where one is not there yet, and all its later
    words are later by as much. Room for words between tiles is not looked at.

    Args:
        steps: of these tiles, in the order of the chain; what comes from before them is there.
        transfer: cycles from a word's write until it may be read.
    """
    there, late = [0.0] * len(steps[0].reads), 0.0
    for step in steps:
        late, sent = 0.0, []
        moments = [(cycle, 0) for cycle in step.reads] + [(cycle, 1) for cycle in step.writes]
        came = iter(there)
        for cycle, written in sorted(moments):
            if written:
                sent.append(late + cycle + transfer)
            else:
                late = max(late, next(came) - cycle)
        there = sent
    return late


def cascade_cost(call: AnyCascade, device: Device, assumed: Assumed = Assumed()) -> BandCost:
    """Modelled cost of one run: steps one after the other, each through the tiles with a state."""
    arch, tiles = device.architecture, chain(call, call.tiles)
    pieces = [cascade_schedules(each, arch) for each in tiles]
    inputs = pieces[0]["inputs"].body
    steps = [piece["step"] for piece in pieces[1:]]
    work = run_work(call, device, assumed, 1)
    hops = arch.hop_cycles * len(tiles)
    state = call.h_bytes * call.y_width / work.rate
    back = assumed.descriptor + hops + state + assumed.acquire + assumed.release
    passing = passing_cycles(steps, assumed.cascade) + met_cycles(call, device)
    return band_cost(
        replace(
            work,
            body=max(passing + (back if len(steps) > 1 else 0.0), inputs / GROUP),
            around=assumed.acquire + assumed.release + device.call_cycles,
            output_bytes=call.out_bytes,
            skew=inputs,
        )
    )
