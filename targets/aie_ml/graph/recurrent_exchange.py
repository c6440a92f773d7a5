"""A GRU or LSTM on two tiles above each other that send each other their units of every state."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from match_aie.errors import Infeasible
from match_aie.targets.aie_ml.devices import Device
from match_aie.targets.aie_ml.graph.assembly import Assembly, Request
from match_aie.targets.aie_ml.graph.layer import Arrays
from match_aie.targets.aie_ml.graph.plan import LayerGraph, Part
from match_aie.targets.aie_ml.graph.recurrent_joined import joined_calls, kernel_of
from match_aie.targets.aie_ml.kernels.block import Access
from match_aie.targets.aie_ml.kernels.recurrent import GROUP, TILE_K, RecurrentCall
from match_aie.targets.aie_ml.kernels.recurrent_exchange import AnyExchange, exchange_calls
from match_aie.targets.aie_ml.kernels.recurrent_joined import JoinedIntegerCall, joined_values
from match_aie.workload import Workload


def exchanging(call: RecurrentCall) -> Iterator[AnyExchange]:
    """The function of the first of two tiles that have the units of `call`."""
    for joined in joined_calls(call):
        if joined.whole == 2 * joined.hidden:
            yield exchange_calls(joined)[0]


def exchange_graph(
    call: AnyExchange, name: str, workload: Workload, constants: Arrays, device: Device
) -> LayerGraph | Infeasible:
    """Both tiles between two buffers in memory tiles, or what lacks.

    Args:
        call: the function of the first tile.
        name: of the graph.
        workload: the layer.
        constants: its weights, and its bias.
        device: the array.
    """
    steps, hidden, size = call.steps, workload.sizes["K"], call.out_size
    rows = call.passes * GROUP
    x = call.x_width, rows
    assembly = Assembly(name, device, 1)
    octets, groups = (0, TILE_K, call.x_octets), (1, GROUP, call.passes)
    loops = tuple(loop for loop in (octets, groups) if loop[2] > 1)
    read = Access(x, (TILE_K, GROUP), (0, 0), loops)
    buffer = (2 * size,)
    stored = tuple(Access(buffer, (size,), (at * size,)) for at in range(2))
    mine = 2 * call.hidden if isinstance(call, JoinedIntegerCall) else call.hidden
    out = Access(buffer, (mine,), (0,), ((0, size, 2),))
    requests = (
        Request("x", call.x_type, x, (Access(x, x, (0, 0)),), (read,)),
        Request("y", call.out_type, buffer, stored, (out,)),
    )
    placed = assembly.place(2, 1, requests)
    if isinstance(placed, Infeasible):
        return placed
    before, after = placed.buffers
    assembly.shared[after] = replace(assembly.shared[after], fills=steps)
    known = {each: constants[each].astype(np.float32) for each in ("weight", "recurrent", "bias")}
    way_in = Part("x", (steps, 1, call.inputs), 0, rows, 1, call.x_width)
    way_out = Part("y", (steps, 1, hidden), 0, steps, 1, call.whole)
    assembly.connect(("in", assembly.outside(way_in, call.x_type), 0), ("shared", before, 0))
    for tile, each in enumerate(exchange_calls(call)):
        values = joined_values(each, tile, known, workload.inputs[0])
        place = placed.column, placed.row + tile
        kernel = replace(kernel_of(each), place=place, values=tuple(values.items()))
        assembly.kernels.append(kernel)
        assembly.connect(("shared", before, 0), ("buffer", tile, 0))
    for tile in range(2):
        assembly.connect(("buffer", tile, 0), ("shared", after, tile))
        assembly.connect(("buffer", tile, 0), ("buffer", 1 - tile, 1))
    assembly.connect(("shared", after, 0), ("out", assembly.outside(way_out, "bfloat16"), 0))
    kind = call.spec.cell.partition("_")[0].upper()
    return assembly.graph(f"{kind} of {hidden} units, {steps} steps on two tiles")
