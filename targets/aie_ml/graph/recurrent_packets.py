"""A GRU or LSTM over several tiles whose units all of them get as packets of one stream."""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil

from match_aie.cost_models.aie_image import BandCost, BandWork, band_cost
from match_aie.errors import Infeasible
from match_aie.targets.aie_ml.array.assumed import Assumed
from match_aie.targets.aie_ml.array.merging import turnaround
from match_aie.targets.aie_ml.array.recurrent import met_cycles
from match_aie.targets.aie_ml.array.works import works
from match_aie.targets.aie_ml.devices import Device
from match_aie.targets.aie_ml.graph.assembly import Request
from match_aie.targets.aie_ml.graph.layer import Arrays
from match_aie.targets.aie_ml.graph.plan import LayerGraph
from match_aie.targets.aie_ml.graph.recurrent_joined import (
    handed_out,
    joined_calls,
    kernel_of,
    shape_of,
    stored_of,
    tiles_with_results,
)
from match_aie.targets.aie_ml.graph.timed_splits import REQUEST_CYCLES
from match_aie.targets.aie_ml.kernels.block import Access
from match_aie.targets.aie_ml.kernels.recurrent import GROUP, RecurrentCall
from match_aie.targets.aie_ml.kernels.recurrent_packets import AnyPacket, packet_call
from match_aie.workload import Workload


def packet_calls(call: RecurrentCall) -> Iterator[AnyPacket]:
    """The functions of three tiles or more that have the units of `call`; two need no packets."""
    for joined in joined_calls(call):
        if joined.whole > 2 * joined.hidden:
            yield packet_call(joined)


def packet_graph(
    call: AnyPacket, name: str, workload: Workload, constants: Arrays, device: Device
) -> LayerGraph | Infeasible:
    """Tiles between two buffers in memory tiles, or what lacks.

    Args:
        call: the function of the tiles.
        name: of the graph.
        workload: the layer.
        constants: its weights, and its bias.
        device: the array.
    """
    whole = (call.whole,)
    result = Request("y", call.out_type, whole, stored_of(call), (Access(whole, whole, (0,)),))
    laid = tiles_with_results(call, name, workload, constants, device, result=result)
    if isinstance(laid, Infeasible):
        return laid
    assembly, after = laid
    sent = 1 if call.sent_size else 0
    for sink in range(call.tiles):
        for source in range(call.tiles):
            assembly.connect(("buffer", source, sent), ("packets", sink, 0))
    return handed_out(call, workload, assembly, ("shared", after, 0), ", packets")


def packet_cost(call: AnyPacket, device: Device, assumed: Assumed = Assumed()) -> BandCost:
    """Modelled cost of one run: steps one after the other, a state's packets between them.

    A core reads packets itself, so that inputs' products only hide the way to the first of them,
    and those of the first group nothing. It has two locks for its units: for each of their readers,
    or for each form of them.
    """
    arch = device.architecture
    done = works(kernel_of(call), arch)
    inputs, step = (
        done[0].schedule.body,
        max(one.schedule.body for one in done if "out" in one.gives),
    )
    _, high = shape_of(call)
    rate = arch.core.dma.bytes_per_cycle
    places, words = (
        [divmod(at, high) for at in range(call.tiles)],
        1 + ceil(call.packet_bytes / rate),
    )
    away = assumed.descriptor + turnaround(places, places, words, arch.hop_cycles)
    begin = assumed.descriptor + arch.hop_cycles
    met, locks = met_cycles(call, device), assumed.acquire + assumed.release
    shown = max(0.0, inputs + met + locks - begin) * (call.passes - 1) / call.steps
    return band_cost(
        BandWork(
            bands=call.steps,
            body=step + met + away + shown,
            around=2 * locks,
            start=assumed.start + 2 * assumed.start_port,
            input_bytes=call.x_bytes * call.x_width,
            output_bytes=2 * call.whole,
            entering=call.x_bytes * call.passes * GROUP * call.x_width,
            leaving=2 * call.steps * call.whole,
            handed=0,
            skew=inputs + met + locks + call.x_bytes * (GROUP - 1) * call.x_width / rate,
            rate=rate,
            way_rate=arch.shim_dma.bytes_per_cycle,
            descriptor=assumed.descriptor,
            hops=arch.hop_cycles * (device.mem_rows + high),
            request=REQUEST_CYCLES,
            early=2 * (call.steps - 1) * call.whole,
        )
    )
