"""A GRU or LSTM in float32 over tiles that multiply, and logic that has gates and state."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from match_aie.cost_models.aie_image import BandCost, BandWork, band_cost
from match_aie.targets.aie_ml.array.assumed import Assumed, LogicTimes
from match_aie.targets.aie_ml.array.logic import slower, word_cycles
from match_aie.targets.aie_ml.array.recurrent_single import FLOAT, single_met_cycles
from match_aie.targets.aie_ml.devices import Device
from match_aie.targets.aie_ml.graph.plan import Connection, End
from match_aie.targets.aie_ml.graph.recurrent_single_tiles import HIGH, beside, hybrid_tiles
from match_aie.targets.aie_ml.kernels.recurrent_single import TURNS, SingleCall
from match_aie.targets.aie_ml.kernels.recurrent_single_hybrid import (
    SentCall,
    single_logic_call,
)
from match_aie.targets.aie_ml.schedule.recurrent_single import single_schedules


def over_and_back(tiles: Sequence[SingleCall]) -> Iterator[Connection]:
    """Sums of inputs to who reads them, all sums to logic, and states to all tiles."""
    rows = [number for number, tile in enumerate(tiles) if tile.role == "sent"]
    for row in rows:
        yield Connection(End("buffer", beside(row)), End("lent", row))
    for port, row in enumerate(rows):
        yield Connection(End("buffer", row), End("logic", 0, port))
    for row in rows:
        yield Connection(End("logic", 0), End("buffer", row, 1))
    yield Connection(End("logic", 0), End("buffer", len(tiles) - 1))


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
    rate, hops = arch.core.dma.bytes_per_cycle, arch.hop_cycles * (HIGH + 1)
    words = (logic.words + logic.back[0]) * word_cycles(device)
    over = 2 * (assumed.descriptor + hops) + arch.hop_cycles * (wide - 1) + words
    step = locks / call.group
    for doing, clocks in zip(TURNS, times.turns(logic), strict=False):
        away = over + (2 * times.crossing + clocks) * slower(device)
        step += made[doing].body + single_met_cycles(call, device) + 2 * locks + away
    ahead = single_schedules(inputs, arch)["inputs"].body
    ahead += single_met_cycles(inputs, device) + 2 * locks
    return band_cost(
        BandWork(
            bands=call.steps,
            body=max(step, ahead / call.group),
            around=0,
            start=assumed.start + len(call.input_sizes) * assumed.start_port,
            input_bytes=0,
            output_bytes=FLOAT * call.whole,
            entering=FLOAT * call.group * call.x_width,
            leaving=FLOAT * call.group * call.whole,
            handed=0,
            skew=ahead,
            rate=rate,
            way_rate=device.architecture.shim_dma.bytes_per_cycle,
            descriptor=assumed.descriptor,
            hops=hops,
            early=0,
        )
    )
