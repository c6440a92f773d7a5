"""A GRU or LSTM over several tiles whose units all of them get as packets of one stream."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import ceil

import numpy as np

from match_aie.cost_models.aie_image import BandCost, BandWork, band_cost
from match_aie.errors import Infeasible
from match_aie.targets.aie_ml.array.assumed import Assumed
from match_aie.targets.aie_ml.array.recurrent import met_cycles, readers_of
from match_aie.targets.aie_ml.array.works import works
from match_aie.targets.aie_ml.devices import Device
from match_aie.targets.aie_ml.graph.assembly import Assembly, Request
from match_aie.targets.aie_ml.graph.layer import Arrays
from match_aie.targets.aie_ml.graph.plan import LayerGraph, Part
from match_aie.targets.aie_ml.graph.recurrent_joined import (
    columns_of_tiles,
    joined_calls,
    kernel_of,
    parts_of,
    shape_of,
)
from match_aie.targets.aie_ml.kernels.block import Access
from match_aie.targets.aie_ml.kernels.recurrent import GROUP, TILE_K, RecurrentCall
from match_aie.targets.aie_ml.kernels.recurrent_joined import JoinedCall, joined_values
from match_aie.targets.aie_ml.kernels.recurrent_packets import PacketCall, packet_call
from match_aie.workload import Workload


def packet_calls(call: RecurrentCall) -> Iterator[PacketCall]:
    """The functions of three tiles or more that have the units of `call`; two need no packets."""
    for joined in joined_calls(call):
        if isinstance(joined, JoinedCall) and joined.whole > 2 * joined.hidden:
            yield packet_call(joined)


def packet_graph(
    call: PacketCall, name: str, workload: Workload, constants: Arrays, device: Device
) -> LayerGraph | Infeasible:
    """Tiles between two buffers in memory tiles, or what lacks.

    Args:
        call: the function of the tiles.
        name: of the graph.
        workload: the layer.
        constants: its weights, and its bias.
        device: the array.
    """
    steps, hidden, rows = call.steps, workload.sizes["K"], call.passes * GROUP
    (wide, high), x = shape_of(call), (call.x_width, rows)
    assembly = Assembly(name, device, wide)
    octets, groups = (0, TILE_K, call.x_octets), (1, GROUP, call.passes)
    loops = tuple(loop for loop in (octets, groups) if loop[2] > 1)
    read, whole = Access(x, (TILE_K, GROUP), (0, 0), loops), (call.whole,)
    requests = (
        Request("x", call.x_type, x, (Access(x, x, (0, 0)),), (read,)),
        *parts_of(call),
        Request("y", call.out_type, whole, _stored(call), (Access(whole, whole, (0,)),)),
    )
    placed = assembly.place(high, wide, requests, down=call.tiles)
    if isinstance(placed, Infeasible):
        return placed
    before, *parts, after = placed.buffers
    for column, each in enumerate((after, *parts)):
        known_as = replace(assembly.shared[each], fills=steps, column=placed.column + column)
        assembly.shared[each] = known_as
    known = {each: constants[each].astype(np.float32) for each in ("weight", "recurrent", "bias")}
    way_in = Part("x", (steps, 1, call.inputs), 0, rows, 1, call.x_width)
    way_out = Part("y", (steps, 1, hidden), 0, steps, 1, call.whole)
    assembly.connect(("in", assembly.outside(way_in, call.x_type), 0), ("shared", before, 0))
    for tile in range(call.tiles):
        values = joined_values(call, tile, known, workload.inputs[0])
        column, row = divmod(tile, high)
        place = placed.column + column, placed.row + row
        kernel = replace(kernel_of(call), place=place, values=tuple(values.items()))
        assembly.kernels.append(kernel)
        assembly.connect(("shared", before, 0), ("buffer", tile, 0))
        assembly.connect(("buffer", tile, 0), ("shared", (after, *parts)[column], row))
    for at, part in enumerate(parts):
        assembly.connect(("shared", part, 0), ("shared", after, high + at))
    for sink in range(call.tiles):
        for source in range(call.tiles):
            assembly.connect(("buffer", source, 0), ("packets", sink, 0))
    assembly.connect(("shared", after, 0), ("out", assembly.outside(way_out, "bfloat16"), 0))
    kind = call.spec.cell.partition("_")[0].upper()
    return assembly.graph(f"{kind} of {hidden} units, {steps} steps on {call.tiles} tiles, packets")


def _stored(call: PacketCall) -> tuple[Access, ...]:
    """How tiles of the first column, and other columns, fill the buffer of a step's results."""
    first, *others = columns_of_tiles(call)
    sizes = [call.hidden] * first + [many * call.hidden for many in others]
    begins = [sum(sizes[:at]) for at in range(len(sizes))]
    return tuple(
        Access((call.whole,), (size,), (begin,)) for size, begin in zip(sizes, begins, strict=True)
    )


def packet_cost(call: PacketCall, device: Device, assumed: Assumed = Assumed()) -> BandCost:
    """Modelled cost of one run: steps one after the other, a state's packets between them.

    A core reads packets itself, so that inputs' products only hide the way to the first of them,
    and those of the first group nothing. It has a lock for each reader of its units.
    """
    arch = device.architecture
    done = works(kernel_of(call), arch)
    inputs, step = (
        done[0].schedule.body,
        max(one.schedule.body for one in done if "out" in one.gives),
    )
    wide, high = shape_of(call)
    hops = arch.hop_cycles * (high + wide)
    rate = arch.core.dma.bytes_per_cycle
    packets = call.tiles * (1 + ceil(call.out_bytes / rate))
    begin = assumed.descriptor + hops
    met, locks = met_cycles(call, device), assumed.acquire + assumed.release
    shown = max(0.0, inputs + met + locks - begin) * (call.passes - 1) / call.steps
    return band_cost(
        BandWork(
            bands=call.steps,
            body=step + met + begin + packets + shown,
            around=readers_of(call) * locks,
            start=assumed.start + 2 * assumed.start_port,
            input_bytes=call.x_bytes * call.x_width,
            output_bytes=2 * call.whole,
            entering=call.x_bytes * call.passes * GROUP * call.x_width,
            leaving=2 * call.steps * call.whole,
            handed=0,
            skew=inputs + met + locks + call.x_bytes * (GROUP - 1) * call.x_width / rate,
            rate=rate,
            descriptor=assumed.descriptor,
            hops=arch.hop_cycles * (device.mem_rows + high),
            early=2 * (call.steps - 1) * call.whole,
        )
    )
