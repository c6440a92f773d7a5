"""A GRU or LSTM over tiles that multiply, and programmable logic that has gates and state."""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil

from match_aie.cost_models.aie_image import BandCost
from match_aie.errors import Infeasible
from match_aie.targets.aie_ml.array.assumed import Assumed, LogicTimes
from match_aie.targets.aie_ml.array.logic import slower, word_cycles
from match_aie.targets.aie_ml.devices import Device
from match_aie.targets.aie_ml.graph.assembly import Request
from match_aie.targets.aie_ml.graph.layer import Arrays
from match_aie.targets.aie_ml.graph.plan import LayerGraph
from match_aie.targets.aie_ml.graph.recurrent_joined import (
    handed_out,
    joined_calls,
    shape_of,
    stepwise_cost,
    tiles_of,
    tiles_with_results,
)
from match_aie.targets.aie_ml.kernels.block import Access
from match_aie.targets.aie_ml.kernels.recurrent import GROUP, LANES, RecurrentCall
from match_aie.targets.aie_ml.kernels.recurrent_hybrid import (
    AnyHybrid,
    hybrid_call,
    logic_call,
)
from match_aie.targets.aie_ml.kernels.recurrent_int8 import WIDE, IntegerCall
from match_aie.targets.aie_ml.kernels.recurrent_joined import JoinedCall, JoinedIntegerCall
from match_aie.targets.aie_ml.kernels.recurrent_quarters import spec_for
from match_aie.workload import Workload


def hybrid_calls(call: RecurrentCall) -> Iterator[AnyHybrid]:
    """The functions of tiles that have the units of `call`, one tile first."""
    integers = isinstance(call, IntegerCall)
    kind, lanes = (JoinedIntegerCall, WIDE) if integers else (JoinedCall, LANES)
    units = lanes * ceil(call.hidden / lanes)
    spec = call.spec if integers else spec_for(call.spec.cell, units)
    names = call.symbol, call.header, spec, call.steps, call.inputs
    yield hybrid_call(kind(*names, units, GROUP, units))
    yield from (hybrid_call(each) for each in joined_calls(call))


def hybrid_graph(
    call: AnyHybrid, name: str, workload: Workload, constants: Arrays, device: Device
) -> LayerGraph | Infeasible:
    """Tiles above each other, their inputs and results in memory tiles, or what lacks.

    Args:
        call: the function of the tiles.
        name: of the graph.
        workload: the layer.
        constants: its weights, and its bias.
        device: the array.
    """
    if device.pl_clock_mhz is None or not device.plio_in:
        levers = ("another way to spread the layer",)
        return Infeasible("streams of programmable logic", tiles_of(call), 0, "streams", levers)
    whole = (call.whole,)
    all_of_it = Access(whole, whole, (0,))
    result = Request("y", "bfloat16", whole, (all_of_it,), (all_of_it,))
    laid = tiles_with_results(call, name, workload, constants, device, result=result, stores=False)
    if isinstance(laid, Infeasible):
        return laid
    (assembly, after), logic = laid, logic_call(call)
    for tile in range(tiles_of(call)):
        assembly.connect(("buffer", tile, 0), ("logic", 0, tile))
        assembly.connect(("logic", 0, 0), ("buffer", tile, 1))
    assembly.connect(("logic", 0, len(logic.back) - 1), ("shared", after, 0))
    out, how = ("shared", after, 0), ", gates in logic"
    return handed_out(call, workload, assembly, out, how, logic)


def hybrid_cost(
    call: AnyHybrid,
    device: Device,
    assumed: Assumed = Assumed(),
    times: LogicTimes = LogicTimes(),
) -> BandCost:
    """Modelled cost of one run: steps one after the other, each over to logic and back.

    Nothing hides the products of the first group's inputs; others are computed as states come.

    Args:
        call: the function of the tiles.
        device: the array.
        assumed: times of the array that no document states.
        times: of logic.
    """
    arch, logic = device.architecture, logic_call(call)
    wide, high = shape_of(call)
    hops = arch.hop_cycles * (device.mem_rows + high + 1)
    words = (logic.words + logic.back[0]) * word_cycles(device)
    clocks = (2 * times.crossing + times.step(logic)) * slower(device)
    away = 2 * (assumed.descriptor + hops) + arch.hop_cycles * (wide - 1) + words + clocks
    return stepwise_cost(call, device, assumed, away, hops)
