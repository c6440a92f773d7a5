"""What a GRU or LSTM in float32 costs: on a tile, two or more, along a cascade, with logic.

Tiles of a chain lie in a row. The last one has the state, which goes by streams to the others that
multiply it, step after step, and out of the array a group of steps at a time.
"""

from __future__ import annotations

from dataclasses import replace

from match_aie.cost_models.aie_image import BandCost, BandWork, band_cost
from match_aie.targets.aie_ml.array.assumed import Assumed, LogicTimes
from match_aie.targets.aie_ml.array.logic import slower, word_cycles
from match_aie.targets.aie_ml.array.recurrent_single import (
    FLOAT,
    single_met_cycles,
    single_works,
)
from match_aie.targets.aie_ml.devices import Device
from match_aie.targets.aie_ml.graph.recurrent_cascade import passing_cycles
from match_aie.targets.aie_ml.graph.recurrent_single_tiles import (
    HIGH,
    hybrid_tiles,
    tiles_of,
    wide,
)
from match_aie.targets.aie_ml.graph.recurrent_spread import bands_of
from match_aie.targets.aie_ml.kernels.recurrent_single import TURNS, SingleCall
from match_aie.targets.aie_ml.kernels.recurrent_single_cascade import LinkCall, chain_of
from match_aie.targets.aie_ml.kernels.recurrent_single_hybrid import SentCall, single_logic_call
from match_aie.targets.aie_ml.schedule.recurrent_single import single_schedules
from match_aie.targets.aie_ml.schedule.recurrent_single_code import SingleTimes


def single_work(call: SingleCall, device: Device, assumed: Assumed, ports: int) -> BandWork:
    """What a run costs beside its tiles' work, which is a band for each step.

    Args:
        call: a function of the layer, whose groups of steps come in, and leave.
        device: the array.
        assumed: times of the array that no document states.
        ports: of kernels, that a start waits for.
    """
    return replace(
        bands_of(call.steps, device, assumed, ports),
        output_bytes=FLOAT * call.whole,
        entering=FLOAT * call.group * call.x_width,
        leaving=FLOAT * call.group * call.whole,
        hops=device.architecture.hop_cycles * (HIGH + 1),
    )


def single_cost(call: SingleCall, device: Device, assumed: Assumed = Assumed()) -> BandCost:
    """Modelled cost of one run: steps, or groups of them, one after the other."""
    arch, tiles = device.architecture, tiles_of(call)
    work = single_work(call, device, assumed, len(call.input_sizes))
    met, locks = single_met_cycles(call, device), assumed.acquire + assumed.release
    inputs = 0.0
    if len(tiles) > 1:
        inputs = single_schedules(tiles[0], arch)["inputs"].body
        inputs += single_met_cycles(tiles[0], device) + 2 * locks
    work = replace(work, output_bytes=FLOAT * call.units, skew=inputs)
    if call.role == "alone":
        groups = [one.schedule.body for one in single_works(call, arch)]
        return band_cost(
            replace(
                work,
                bands=call.passes,
                body=max(sum(groups) / len(groups) + met + 2 * locks, inputs),
                output_bytes=call.group * work.output_bytes,
                entering=call.passes * work.entering,
                leaving=call.passes * work.leaving,
                early=(call.passes - 1) * work.leaving,
            )
        )
    # Others come, and leave, meanwhile.
    made = single_schedules(call, arch)
    handed = work.output_bytes / work.rate
    begin = assumed.descriptor + arch.hop_cycles * (HIGH + wide(call))
    lines = made["own"].body + (made["then"].body if call.exchanges > 1 else 0)
    each = SingleTimes().packet + met + locks + begin + call.senders * (1 + handed)
    body = lines + call.exchanges * each + locks / call.group
    body = max(body, FLOAT * max(call.x_width, call.whole) / work.rate)
    return band_cost(replace(work, body=max(body, inputs / call.group)))


def link_cost(call: LinkCall, device: Device, assumed: Assumed = Assumed()) -> BandCost:
    """Modelled cost of one run: steps one after the other, each through the tiles with a state."""
    arch, tiles = device.architecture, chain_of(call)
    pieces = [single_schedules(each, arch)["link"] for each in tiles]
    seen, states = pieces[: call.inputs_of], pieces[call.inputs_of :]
    work, locks = single_work(call, device, assumed, 2), assumed.acquire + assumed.release
    hops = arch.hop_cycles * len(tiles)
    state = FLOAT * call.units / work.rate
    back = assumed.descriptor + hops + state + locks if len(states) > 1 else 0.0
    passing = passing_cycles(states, assumed.cascade) + single_met_cycles(call, device)
    slowest = max(piece.body for piece in seen)
    first = sum(piece.writes[0] + assumed.cascade for piece in seen)  # until a word is there
    return band_cost(
        replace(
            work,
            body=max(passing + back + locks / call.group, slowest),
            around=locks if call.sent_size else 0,
            skew=first,
            hops=hops,
            early=FLOAT * (call.passes - 1) * call.group * call.units,
        )
    )


def sent_cost(
    call: SentCall,
    device: Device,
    assumed: Assumed = Assumed(),
    times: LogicTimes = LogicTimes(),
) -> BandCost:
    """Modelled cost of one run: turns one after the other, each over to logic and back.

    Args:
        call: the function of the tiles with rows.
        device: the array.
        assumed: times of the array that no document states.
        times: of logic.
    """
    arch, logic = device.architecture, single_logic_call(call)
    made, inputs = single_schedules(call, arch), hybrid_tiles(call)[0]
    locks, wide = assumed.acquire + assumed.release, -(-call.senders // 2)
    work = single_work(call, device, assumed, len(call.input_sizes))
    words = (logic.words + logic.back[0]) * word_cycles(device)
    over = 2 * (assumed.descriptor + work.hops) + arch.hop_cycles * (wide - 1) + words
    step = locks / call.group
    for doing, clocks in zip(TURNS, times.turns(logic), strict=False):
        away = over + (2 * times.crossing + clocks) * slower(device)
        step += made[doing].body + single_met_cycles(call, device) + 2 * locks + away
    ahead = single_schedules(inputs, arch)["inputs"].body
    ahead += single_met_cycles(inputs, device) + 2 * locks
    return band_cost(replace(work, body=max(step, ahead / call.group), skew=ahead))
