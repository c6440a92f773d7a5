"""A GRU or LSTM over several tiles of a column: each has some of the units, and all their weights.

A memory tile joins what the tiles store of a step, sends the whole state to all of them, and out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import ceil

import numpy as np

from match_aie.cost_models.aie_image import BandCost, BandWork, band_cost
from match_aie.errors import Infeasible
from match_aie.targets.aie_ml.array.assumed import Assumed
from match_aie.targets.aie_ml.array.works import works
from match_aie.targets.aie_ml.devices import Device
from match_aie.targets.aie_ml.graph.assembly import Assembly, Request
from match_aie.targets.aie_ml.graph.layer import Arrays
from match_aie.targets.aie_ml.graph.plan import GraphKernel, LayerGraph, Part
from match_aie.targets.aie_ml.kernels.block import Access
from match_aie.targets.aie_ml.kernels.recurrent import GROUP, LANES, TILE_K, RecurrentCall
from match_aie.targets.aie_ml.kernels.recurrent_joined import JoinedCall, joined_values
from match_aie.workload import Workload

#: Tiles at most: each writes through a channel of the memory tile.
MOST_TILES = 6


def joined_calls(call: RecurrentCall) -> Iterator[JoinedCall]:
    """The functions of the tiles of a column that could share the units of `call`, fewest first."""
    for tiles in range(2, MOST_TILES + 1):
        units = LANES * ceil(call.hidden / (LANES * tiles))
        if units * (tiles - 1) < call.hidden:
            names = call.symbol, call.header, call.spec, call.steps, call.inputs
            yield JoinedCall(*names, units, GROUP, tiles * units)


def tiles_of(call: RecurrentCall) -> int:
    """Tiles that a function runs on."""
    return call.whole // call.hidden if isinstance(call, JoinedCall) else 1


def kernel_of(call: RecurrentCall) -> GraphKernel:
    """A kernel of the function, without its numbers."""
    inputs: tuple[int, ...] = (call.group * call.x_width,)
    if isinstance(call, JoinedCall):
        inputs = (*inputs, call.whole)
    return GraphKernel(call, (0, 0), inputs, call.stored * call.y_width, 1, walks=True)


def joined_graph(
    call: JoinedCall, name: str, workload: Workload, constants: Arrays, device: Device
) -> LayerGraph | Infeasible:
    """Tiles above each other, between two buffers in memory tiles, or what lacks."""
    tiles, steps, hidden = tiles_of(call), call.steps, workload.sizes["K"]
    rows, whole = call.passes * GROUP, (call.whole,)
    x = call.x_width, rows
    assembly = Assembly(name, device, 1)
    octets, groups = (0, TILE_K, call.x_octets), (1, GROUP, call.passes)
    loops = tuple(loop for loop in (octets, groups) if loop[2] > 1)
    stored = tuple(Access(whole, (call.hidden,), (at * call.hidden,)) for at in range(tiles))
    sent = Access(whole, whole, (0,))
    read = Access(x, (TILE_K, GROUP), (0, 0), loops)
    requests = (
        Request("x", "bfloat16", x, (Access(x, x, (0, 0)),), (read,)),
        Request("h", "bfloat16", whole, stored, (sent, sent)),
    )
    placed = assembly.place(tiles, 1, requests)
    if isinstance(placed, Infeasible):
        return placed
    before, joined = placed.buffers
    assembly.shared[joined] = replace(assembly.shared[joined], fills=steps)
    known = {each: constants[each].astype(np.float32) for each in ("weight", "recurrent", "bias")}
    way_in = Part("x", (steps, 1, call.inputs), 0, rows, 1, call.x_width)
    way_out = Part("y", (steps, 1, hidden), 0, steps, 1, call.whole)
    assembly.connect(("in", assembly.outside(way_in, "bfloat16"), 0), ("shared", before, 0))
    for tile in range(tiles):
        values = joined_values(call, tile, known)
        place = placed.column, placed.row + tile
        kernel = replace(kernel_of(call), place=place, values=tuple(values.items()))
        assembly.kernels.append(kernel)
        assembly.connect(("shared", before, 0), ("buffer", tile, 0))
        assembly.connect(("buffer", tile, 0), ("shared", joined, tile))
    for tile in range(tiles):
        assembly.connect(("shared", joined, 0), ("buffer", tile, 1))
    assembly.connect(("shared", joined, 1), ("out", assembly.outside(way_out, "bfloat16"), 0))
    kind = call.spec.cell.partition("_")[0].upper()
    return assembly.graph(f"{kind} of {hidden} units, {steps} steps on {tiles} tiles")


def joined_cost(call: JoinedCall, device: Device, assumed: Assumed = Assumed()) -> BandCost:
    """Modelled cost of one run: steps one after the other, each state joined before the next."""
    arch = device.architecture
    bodies = {id(one.schedule): one.schedule.body for one in works(kernel_of(call), arch)}
    inputs, step = list(bodies.values())[:2]
    rate = arch.core.dma.bytes_per_cycle
    hops = arch.hop_cycles * (device.mem_rows + tiles_of(call))
    part, whole = ceil(2 * call.hidden / rate), ceil(2 * call.whole / rate)
    joining = 2 * (assumed.descriptor + hops) + part + whole + assumed.acquire + assumed.release
    body = step + joining + max(0.0, inputs - joining) / GROUP
    return band_cost(
        BandWork(
            bands=call.steps,
            body=body,
            around=2 * (assumed.acquire + assumed.release),
            start=assumed.start + 3 * assumed.start_port,
            input_bytes=2 * call.x_width,
            output_bytes=2 * call.whole,
            entering=2 * call.passes * GROUP * call.x_width,
            leaving=2 * call.steps * call.whole,
            handed=0,
            skew=0,
            rate=rate,
            descriptor=assumed.descriptor,
            hops=hops,
        )
    )
