"""A GRU or LSTM whose gates are spread over chains of tiles, one above the other.

Each chain has sixteen units. Its southern tile has their state, and sends it as a packet of a
stream that goes to all tiles of all chains; its northern one multiplies the inputs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import ceil

from match_aie.cost_models.aie_image import BandCost, band_cost
from match_aie.errors import Infeasible
from match_aie.targets.aie_ml.array.assumed import Assumed
from match_aie.targets.aie_ml.array.merging import turnaround
from match_aie.targets.aie_ml.array.recurrent import met_cycles
from match_aie.targets.aie_ml.devices import Device
from match_aie.targets.aie_ml.graph.assembly import Request
from match_aie.targets.aie_ml.graph.plan import LayerGraph
from match_aie.targets.aie_ml.graph.recurrent_cascade import waited
from match_aie.targets.aie_ml.graph.recurrent_joined import HIGH, joined_calls
from match_aie.targets.aie_ml.graph.recurrent_spread import Spread, gathered, run_work
from match_aie.targets.aie_ml.kernels.block import Access
from match_aie.targets.aie_ml.kernels.recurrent import GROUP, RecurrentCall
from match_aie.targets.aie_ml.kernels.recurrent_gates import GatesCall, chain_of, gates_calls
from match_aie.targets.aie_ml.kernels.recurrent_joined import JoinedCall
from match_aie.targets.aie_ml.schedule.recurrent_gates import gates_schedules

#: Chains at least: two tiles with the state reach each other's memory, which is faster.
LEAST = 3


def gates_cuts(call: RecurrentCall) -> Iterator[GatesCall]:
    """The functions of tiles with the state, by every split of the gates."""
    for joined in joined_calls(call):
        if isinstance(joined, JoinedCall) and joined.whole >= LEAST * joined.hidden:
            yield from gates_calls(joined)


def gates_shape(call: GatesCall, device: Device) -> tuple[int, int]:
    """Columns that results go down, and chains of each but for the last one.

    No more than these have streams down from a column.
    """
    most = HIGH if _across(call, device) else min(HIGH, device.core_rows // call.depth)
    wide = ceil(call.chains / most)
    return wide, ceil(call.chains / wide)


def _across(call: GatesCall, device: Device) -> bool:
    """Whether chains lie along rows, where these are enough: packets have shorter ways then."""
    return call.chains <= device.core_rows


def gates_columns(call: GatesCall, device: Device) -> int:
    """Columns of all tiles."""
    return call.depth if _across(call, device) else gates_shape(call, device)[0]


def _places(call: GatesCall, device: Device) -> list[tuple[int, int]]:
    """Column and row of each tile, chain after chain, from that with the state on."""
    _, high = gates_shape(call, device)
    pairs = ((chain, at) for chain in range(call.chains) for at in range(call.depth))
    if _across(call, device):
        return [(call.depth - 1 - at, chain) for chain, at in pairs]
    return [(chain // high, call.depth * (chain % high) + at) for chain, at in pairs]


def gates_graph(call: GatesCall, spread: Spread) -> LayerGraph | Infeasible:
    """Chains between two buffers in memory tiles, or what lacks."""
    tiles, device = chain_of(call), spread.device
    places = _places(call, device)
    whole = call.whole, tiles[0].group
    parts, stored = gathered(tiles[0].out_type, (call.y_width, whole[1]), _columns(call, device))
    result = Request("y", tiles[0].out_type, whole, stored, (Access(whole, whole, (0, 0)),))
    lacks = spread.place(
        tiles[-1],
        (1 + max(row for _, row in places), gates_columns(call, device)),
        (*parts, result),
        call.chains,
        tiles[0].passes,
        mirrored=_across(call, device),
    )
    if lacks is not None:
        return lacks
    depth, chains = call.depth, call.chains
    for number, place in enumerate(places):
        chain, at = divmod(number, depth)
        spread.add(tiles[at], place, chain)
    for number in range(depth * chains):
        if number % depth:
            spread.connect(("cascade", number, 0), ("cascade", number - 1, 0))
    for sink in range(depth * chains):
        for source in range(chains):
            spread.connect(("buffer", depth * source, 1), ("packets", sink, 0))
    spread.enter()
    firsts = range(0, depth * chains, depth)
    spread.gather(((first + depth - 1, first) for first in firsts), _columns(call, device))
    how = f" on {call.tiles} tiles, gates apart, packets"
    return spread.leave(tiles[0].group * tiles[0].passes, how)


def _columns(call: GatesCall, device: Device) -> tuple[int, ...]:
    """Chains whose results each of the columns puts together."""
    wide, high = gates_shape(call, device)
    return tuple(min(high, call.chains - high * column) for column in range(wide))


def gates_cost(call: GatesCall, device: Device, assumed: Assumed = Assumed()) -> BandCost:
    """Modelled cost of one run: steps one after the other, a state's packets between them.

    Inputs' products hide as long as the tile that has them is ready for packets when these come.
    """
    arch, tiles = device.architecture, chain_of(call)
    first, last = tiles[0], tiles[-1]
    own, *_, inputs = made = [gates_schedules(each, arch) for each in tiles]
    work, locks = run_work(last, device, assumed, 2), assumed.acquire + assumed.release
    places, words = _places(call, device), 1 + ceil(first.sent_bytes / work.rate)
    ready = assumed.descriptor + arch.hop_cycles
    away = assumed.descriptor
    away += turnaround(places[:: call.depth], places, words, arch.hop_cycles)
    # Words that came ahead of the step are there.
    step = replace(own["step"], reads=own["step"].reads[len(first.kept) :])
    late = waited([*(each["step"] for each in made[:0:-1]), step], assumed.cascade)
    later = own["later"].body + met_cycles(first, device) + late
    group = 2 * locks * first.passes / call.steps
    met = met_cycles(last, device)
    busy = inputs["later"].body + inputs["send"].body + inputs["ahead"].body + 3 * met + locks
    shown = max(0.0, busy - later - locks - ready)
    seen = inputs["inputs"].body + met + locks
    rows, columns = first.group * first.passes, _columns(call, device)
    begin = seen + inputs["send"].body + first.out_bytes / work.rate  # the last group together
    if len(columns) > 1:  # results go from memory tile to memory tile
        begin += assumed.descriptor + columns[0] * first.out_bytes / work.rate
    return band_cost(
        replace(
            work,
            body=later + away + shown + group,
            around=locks + device.call_cycles,
            leaving=2 * rows * call.whole,
            skew=begin + call.x_bytes * (GROUP - 1) * call.x_width / work.rate,
            hops=arch.hop_cycles * (device.mem_rows + 1 + max(row for _, row in places)),
            early=2 * (first.passes - 1) * first.group * call.whole,
        )
    )
