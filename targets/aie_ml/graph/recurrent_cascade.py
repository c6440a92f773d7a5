"""A GRU or LSTM with its matrices' columns along a cascade of tiles, one above the other.

The last tile, which is the lowest, sends every step's state out, and to all tiles that multiply it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from match_aie.cost_models.aie_image import BandCost, BandWork, band_cost
from match_aie.errors import Infeasible
from match_aie.targets.aie_ml.array.assumed import Assumed
from match_aie.targets.aie_ml.array.recurrent import met_cycles
from match_aie.targets.aie_ml.devices import Device
from match_aie.targets.aie_ml.graph.assembly import Assembly, Request
from match_aie.targets.aie_ml.graph.layer import Arrays
from match_aie.targets.aie_ml.graph.plan import GraphKernel, LayerGraph, Part
from match_aie.targets.aie_ml.graph.timed_splits import REQUEST_CYCLES
from match_aie.targets.aie_ml.kernels.block import Access
from match_aie.targets.aie_ml.kernels.recurrent import GROUP, TILE_K
from match_aie.targets.aie_ml.kernels.recurrent_cascade import AnyCascade, cascade_values, chain
from match_aie.targets.aie_ml.schedule.recurrent import GroupSchedule
from match_aie.targets.aie_ml.schedule.recurrent_cascade import cascade_schedules
from match_aie.workload import Workload


def tile_kernel(call: AnyCascade) -> GraphKernel:
    """A kernel of the function, without its numbers."""
    inputs = (call.in_size,) if call.in_size else ()
    out, sent = call.out_size or None, call.sent_size or None
    return GraphKernel(call, (0, 0), inputs, out, 1, walks=True, sent=sent)


def cascade_graph(
    call: AnyCascade, name: str, workload: Workload, constants: Arrays, device: Device
) -> LayerGraph | Infeasible:
    """Tiles from north to south, between two buffers in memory tiles, or what lacks.

    Args:
        call: the function of the last tile.
        name: of the graph.
        workload: the layer.
        constants: its weights, and its bias.
        device: the array.
    """
    tiles, steps = chain(call, call.tiles), call.steps
    rows = call.passes * GROUP
    assembly = Assembly(name, device, 1)
    octets, groups = (0, TILE_K, call.x_octets), (1, GROUP, call.passes)
    loops = tuple(loop for loop in (octets, groups) if loop[2] > 1)
    x, y = (call.x_width, rows), (call.y_width, steps)
    read = Access(x, (TILE_K, GROUP), (0, 0), loops)
    write = Access(y, (call.y_width, 1), (0, 0), ((1, 1, steps),) if steps > 1 else ())
    requests = (
        Request("x", call.x_type, x, (Access(x, x, (0, 0)),), (read,)),
        Request("y", "bfloat16", y, (write,), (Access(y, y, (0, 0)),)),
    )
    placed = assembly.place(len(tiles), 1, requests, down=1)
    if isinstance(placed, Infeasible):
        return placed
    before, after = placed.buffers
    known = {each: constants[each].astype(np.float32) for each in ("weight", "recurrent", "bias")}
    last = len(tiles) - 1
    for at, each in enumerate(tiles):
        place = placed.column, placed.row + last - at
        values = tuple(cascade_values(each, known, workload.inputs[0]).items())
        assembly.kernels.append(replace(tile_kernel(each), place=place, values=values))
    way_in = Part("x", (steps, 1, call.inputs), 0, rows, 1, call.x_width)
    way_out = Part("y", (steps, 1, call.hidden), 0, steps, 1, call.y_width)
    assembly.connect(("in", assembly.outside(way_in, call.x_type), 0), ("shared", before, 0))
    assembly.connect(("shared", before, 0), ("buffer", 0, 0))
    for at in range(last):
        assembly.connect(("cascade", at, 0), ("cascade", at + 1, 0))
    assembly.connect(("buffer", last, 0), ("shared", after, 0))
    for at in range(1, last):
        assembly.connect(("buffer", last, 1 if call.sent_size else 0), ("buffer", at, 0))
    assembly.connect(("shared", after, 0), ("out", assembly.outside(way_out, "bfloat16"), 0))
    kind = call.spec.cell.partition("_")[0].upper()
    return assembly.graph(f"{kind} of {call.hidden} units, {steps} steps along {len(tiles)} tiles")


def passing_cycles(steps: Sequence[GroupSchedule], transfer: int) -> float:
    """From when tiles with a state have it until the last one has the next.

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
    return late + steps[-1].body


def cascade_cost(call: AnyCascade, device: Device, assumed: Assumed = Assumed()) -> BandCost:
    """Modelled cost of one run: steps one after the other, each through the tiles with a state."""
    arch, tiles = device.architecture, chain(call, call.tiles)
    pieces = [cascade_schedules(each, arch) for each in tiles]
    inputs = pieces[0]["inputs"].body
    steps = [piece["step"] for piece in pieces[1:]]
    rate = arch.core.dma.bytes_per_cycle
    hops = arch.hop_cycles * len(tiles)
    state = call.h_bytes * call.y_width / rate
    back = assumed.descriptor + hops + state + assumed.acquire + assumed.release
    passing = passing_cycles(steps, assumed.cascade) + met_cycles(call, device)
    return band_cost(
        BandWork(
            bands=call.steps,
            body=max(passing + (back if len(steps) > 1 else 0.0), inputs / GROUP),
            around=assumed.acquire + assumed.release + device.call_cycles,
            start=assumed.start + assumed.start_port,
            input_bytes=call.x_bytes * call.x_width,
            output_bytes=call.out_bytes,
            entering=call.x_bytes * call.passes * GROUP * call.x_width,
            leaving=2 * call.steps * call.y_width,
            handed=0,
            skew=inputs,
            rate=rate,
            way_rate=arch.shim_dma.bytes_per_cycle,
            descriptor=assumed.descriptor,
            hops=hops + arch.hop_cycles * device.mem_rows,
            request=REQUEST_CYCLES,
        )
    )
