"""What a GRU or LSTM in float32 with its matrices' columns along a cascade costs.

The chain lies in a row. Its last tile has the state, which goes by streams to the others that
multiply it, step after step, and out of the array a group of steps at a time.
"""

from __future__ import annotations

from match_aie.cost_models.aie_image import BandCost, BandWork, band_cost
from match_aie.targets.aie_ml.array.assumed import Assumed
from match_aie.targets.aie_ml.array.recurrent_single import FLOAT, single_met_cycles
from match_aie.targets.aie_ml.devices import Device
from match_aie.targets.aie_ml.graph.recurrent_cascade import passing_cycles
from match_aie.targets.aie_ml.kernels.recurrent_single_cascade import LinkCall, chain_of
from match_aie.targets.aie_ml.schedule.recurrent_single import single_schedules

#: Tiles of a chain at most.
LONGEST = 20


def link_cost(call: LinkCall, device: Device, assumed: Assumed = Assumed()) -> BandCost:
    """Modelled cost of one run: steps one after the other, each through the tiles with a state."""
    arch, tiles = device.architecture, chain_of(call)
    pieces = [single_schedules(each, arch)["link"] for each in tiles]
    seen, states = pieces[: call.inputs_of], pieces[call.inputs_of :]
    rate, locks = arch.core.dma.bytes_per_cycle, assumed.acquire + assumed.release
    hops = arch.hop_cycles * len(tiles)
    state = FLOAT * call.units / rate
    back = assumed.descriptor + hops + state + locks if len(states) > 1 else 0.0
    passing = passing_cycles(states, assumed.cascade) + single_met_cycles(call, device)
    slowest = max(piece.body for piece in seen)
    first = sum(piece.writes[0] + assumed.cascade for piece in seen)  # until a word is there
    rows = call.group
    return band_cost(
        BandWork(
            bands=call.steps,
            body=max(passing + back + locks / call.group, slowest),
            around=locks if call.sent_size else 0,
            start=assumed.start + 2 * assumed.start_port,
            input_bytes=0,
            output_bytes=FLOAT * call.units,
            entering=FLOAT * rows * call.x_width,
            leaving=FLOAT * rows * call.units,
            handed=0,
            skew=first,
            rate=rate,
            way_rate=arch.shim_dma.bytes_per_cycle,
            descriptor=assumed.descriptor,
            hops=hops,
            early=FLOAT * (rows * call.passes - rows) * call.units,
        )
    )
