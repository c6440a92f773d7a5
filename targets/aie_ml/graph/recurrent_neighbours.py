"""A GRU or LSTM on four tiles above each other: the two in the middle have halves of the units.

They read each other's memory, or the upper one sends its units down along the cascade.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import ceil

import numpy as np

from match_aie.cost_models.aie_image import BandCost, BandWork, band_cost
from match_aie.errors import Infeasible
from match_aie.targets.aie_ml.array.assumed import Assumed
from match_aie.targets.aie_ml.array.recurrent import met_cycles, recurrent_banks
from match_aie.targets.aie_ml.array.works import works
from match_aie.targets.aie_ml.devices import Device
from match_aie.targets.aie_ml.graph.assembly import Assembly, Request
from match_aie.targets.aie_ml.graph.layer import Arrays
from match_aie.targets.aie_ml.graph.plan import LayerGraph, Part
from match_aie.targets.aie_ml.graph.recurrent_joined import joined_calls, kernel_of
from match_aie.targets.aie_ml.graph.timed_splits import REQUEST_CYCLES
from match_aie.targets.aie_ml.kernels.block import Access
from match_aie.targets.aie_ml.kernels.recurrent import GROUP, GROUPS, TILE_K, RecurrentCall
from match_aie.targets.aie_ml.kernels.recurrent_joined import joined_values
from match_aie.targets.aie_ml.kernels.recurrent_neighbours import (
    AnyNeighbour,
    ahead_call,
    neighbour_calls,
)
from match_aie.workload import Workload


def neighbouring(call: RecurrentCall, device: Device) -> tuple[AnyNeighbour, ...]:
    """The functions of the first of two tiles that have the units of `call`, longest groups first.

    None where a tile has no room.
    """
    whole = GROUP * ceil(call.steps / GROUP)
    groups = dict.fromkeys(min(group, whole) for group in GROUPS)
    return tuple(
        first
        for joined in joined_calls(call)
        if joined.whole == 2 * joined.hidden
        for first, _ in (neighbour_calls(joined, group) for group in groups)
        if not any(
            isinstance(recurrent_banks(each, device), Infeasible)
            for each in (first, ahead_call(first))
        )
    )


def neighbour_graph(
    call: AnyNeighbour, name: str, workload: Workload, constants: Arrays, device: Device
) -> LayerGraph | Infeasible:
    """All four between two buffers in memory tiles, or what lacks.

    Args:
        call: the function of the first tile with states.
        name: of the graph.
        workload: the layer.
        constants: its weights, and its bias.
        device: the array.
    """
    steps, hidden, group = call.steps, workload.sizes["K"], call.group
    passes, units = ceil(steps / group), call.y_width
    rows = group * passes
    assembly, x = Assembly(name, device, 1), (call.x_width, rows)
    octets, groups = (0, TILE_K, call.x_octets), (1, group, passes)
    loops = tuple(loop for loop in (octets, groups) if loop[2] > 1)
    read, whole = Access(x, (TILE_K, group), (0, 0), loops), (2 * units, group)
    stored = tuple(Access(whole, (units, group), (at * units, 0)) for at in range(2))
    out = Access(whole, whole, (0, 0))
    requests = (
        Request("x", call.x_type, x, (Access(x, x, (0, 0)),), (read,)),
        Request("y", call.out_type, whole, stored, (out,)),
    )
    placed = assembly.place(4, 1, requests, down=2)
    if isinstance(placed, Infeasible):
        return placed
    before, after = placed.buffers
    assembly.shared[after] = replace(assembly.shared[after], fills=passes)
    known = {each: constants[each].astype(np.float32) for each in ("weight", "recurrent", "bias")}
    way_in = Part("x", (steps, 1, call.inputs), 0, rows, 1, call.x_width)
    way_out = Part("y", (steps, 1, hidden), 0, rows, 1, call.whole)
    assembly.connect(("in", assembly.outside(way_in, call.x_type), 0), ("shared", before, 0))
    first, second = neighbour_calls(call, call.group)
    ahead = ahead_call(first)
    for row, (each, tile) in enumerate(((ahead, 0), (first, 0), (second, 1), (ahead, 1))):
        mine = known
        if "steps" not in each.parts:  # products of states are of no use there
            mine = known | {"recurrent": known["recurrent"][:, : call.hidden]}
        values = joined_values(each, tile, mine, workload.inputs[0])
        place = placed.column, placed.row + row
        kernel = replace(kernel_of(each), place=place, values=tuple(values.items()))
        assembly.kernels.append(kernel)
    for tile, (inputs, states) in enumerate(((0, 1), (3, 2))):
        assembly.connect(("shared", before, 0), ("buffer", inputs, 0))
        assembly.connect(("buffer", inputs, 0), ("buffer", states, 0))
        assembly.connect(("buffer", states, 0), ("shared", after, tile))
        if (first, second)[tile].hands:
            assembly.connect(("cascade", states, 1), ("cascade", 3 - states, 0))
        else:
            assembly.connect(("buffer", states, 1), ("lent", 3 - states, 1))
    assembly.connect(("shared", after, 0), ("out", assembly.outside(way_out, "bfloat16"), 0))
    kind = call.spec.cell.partition("_")[0].upper()
    where = "neighbours' memories" if not second.hands else "a neighbour's memory and by cascade"
    return assembly.graph(f"{kind} of {hidden} units, {steps} steps, states in {where}")


def neighbour_costs(
    calls: tuple[AnyNeighbour, ...], device: Device
) -> Iterator[tuple[AnyNeighbour, BandCost]]:
    """Each with its modelled cost."""
    return ((call, neighbour_cost(call, device)) for call in calls)


def neighbour_cost(call: AnyNeighbour, device: Device, assumed: Assumed = Assumed()) -> BandCost:
    """Modelled cost of one run: groups one after the other, tiles for inputs one ahead."""
    arch = device.architecture
    ahead, passes = ahead_call(call), ceil(call.steps / call.group)
    inputs = works(kernel_of(ahead), arch)[0].schedule.body
    both = neighbour_calls(call, call.group)
    step = max(one.schedule.body for each in both for one in works(kernel_of(each), arch))
    ways = 1 if both[1].hands else 2  # for which a step has locks
    locks, rate = assumed.acquire + assumed.release, arch.core.dma.bytes_per_cycle
    steps = call.steps / passes  # of a group
    body = steps * (step + met_cycles(call, device) + ways * locks) + 2 * locks
    return band_cost(
        BandWork(
            bands=passes,
            body=max(body, inputs + 2 * locks),
            around=0,
            start=assumed.start + 3 * assumed.start_port,
            input_bytes=ahead.x_bytes * ahead.group * ahead.x_width,
            output_bytes=2 * call.out_bytes,
            entering=call.x_bytes * passes * call.group * call.x_width,
            leaving=2 * passes * call.out_bytes,
            handed=0,
            skew=inputs + 2 * locks + assumed.descriptor + call.in_bytes / rate,
            rate=rate,
            way_rate=arch.shim_dma.bytes_per_cycle,
            descriptor=assumed.descriptor,
            hops=arch.hop_cycles * (device.mem_rows + call.tiles),
            request=REQUEST_CYCLES,
            early=2 * (passes - 1) * call.out_bytes,
        )
    )
