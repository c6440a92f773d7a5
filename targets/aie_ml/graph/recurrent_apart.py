"""A GRU or LSTM on two tiles: one multiplies inputs ahead, above it one walks the steps."""

from __future__ import annotations

from dataclasses import replace
from math import ceil

from match_aie.cost_models.aie_image import BandCost, BandWork, band_cost
from match_aie.errors import Infeasible
from match_aie.targets.aie_ml.array.assumed import Assumed
from match_aie.targets.aie_ml.array.recurrent import met_cycles, recurrent_banks
from match_aie.targets.aie_ml.array.works import works
from match_aie.targets.aie_ml.devices import Device
from match_aie.targets.aie_ml.graph.assembly import Assembly, Request
from match_aie.targets.aie_ml.graph.layer import Arrays
from match_aie.targets.aie_ml.graph.plan import LayerGraph, Part
from match_aie.targets.aie_ml.graph.recurrent_joined import kernel_of
from match_aie.targets.aie_ml.graph.recurrent_values import values_of
from match_aie.targets.aie_ml.graph.timed_splits import REQUEST_CYCLES
from match_aie.targets.aie_ml.kernels.block import Access
from match_aie.targets.aie_ml.kernels.recurrent import GROUP, GROUPS, TILE_K, RecurrentCall
from match_aie.targets.aie_ml.kernels.recurrent_apart import StatesCall, inputs_call, states_call
from match_aie.workload import Workload


def apart_calls(call: RecurrentCall, device: Device) -> tuple[StatesCall, ...]:
    """The functions that walk the steps of `call`, with calls of different lengths, longest first.

    Short calls begin earlier, long ones wait for locks less often. None where a tile has no room.
    """
    whole = GROUP * ceil(call.steps / GROUP)
    groups = dict.fromkeys(min(group, whole) for group in GROUPS)
    found = (states_call(replace(call, group=group)) for group in groups)
    return tuple(
        states
        for states in found
        if not any(
            isinstance(recurrent_banks(each, device), Infeasible)
            for each in (states, inputs_call(states))
        )
    )


def apart_graph(
    call: StatesCall, name: str, workload: Workload, constants: Arrays, device: Device
) -> LayerGraph | Infeasible:
    """Two tiles above each other, between two buffers in memory tiles, or what lacks.

    Args:
        call: the function of the tile that walks steps.
        name: of the graph.
        workload: the layer.
        constants: its weights, and its bias.
        device: the array.
    """
    ahead, steps = inputs_call(call), workload.sizes["OY"]
    rows = call.passes * call.group
    assembly = Assembly(name, device, 1)
    octets, groups = (0, TILE_K, call.x_octets), (1, call.group, call.passes)
    loops = tuple(loop for loop in (octets, groups) if loop[2] > 1)
    x, y = (call.x_width, rows), (call.y_width, rows)
    read = Access(x, (TILE_K, call.group), (0, 0), loops)
    write = Access(y, (call.y_width, call.group), (0, 0), (groups,) if call.passes > 1 else ())
    requests = (
        Request("x", call.x_type, x, (Access(x, x, (0, 0)),), (read,)),
        Request("y", "bfloat16", y, (write,), (Access(y, y, (0, 0)),)),
    )
    placed = assembly.place(2, 1, requests)
    if isinstance(placed, Infeasible):
        return placed
    before, after = placed.buffers
    for row, each in enumerate((ahead, call)):
        values = values_of(each, workload, constants)
        place = placed.column, placed.row + row
        assembly.kernels.append(replace(kernel_of(each), place=place, values=tuple(values.items())))
    way_in = Part("x", (steps, 1, call.inputs), 0, rows, 1, call.x_width)
    way_out = Part("y", (steps, 1, call.hidden), 0, rows, 1, call.y_width)
    assembly.connect(("in", assembly.outside(way_in, call.x_type), 0), ("shared", before, 0))
    assembly.connect(("shared", before, 0), ("buffer", 0, 0))
    assembly.connect(("buffer", 0, 0), ("buffer", 1, 0))
    assembly.connect(("buffer", 1, 0), ("shared", after, 0))
    assembly.connect(("shared", after, 0), ("out", assembly.outside(way_out, "bfloat16"), 0))
    kind = call.spec.cell.partition("_")[0].upper()
    return assembly.graph(f"{kind} of {call.hidden} units, {steps} steps, inputs apart from states")


def apart_cost(call: StatesCall, device: Device, assumed: Assumed = Assumed()) -> BandCost:
    """Modelled cost of one run: groups one after the other, each tile one ahead of the next."""
    arch = device.architecture
    ahead, rows = inputs_call(call), call.passes * call.group
    inputs = works(kernel_of(ahead), arch)[0].schedule.body
    bodies = [work.schedule.body for work in works(kernel_of(call), arch)]
    rate = arch.core.dma.bytes_per_cycle
    locks = 2 * (assumed.acquire + assumed.release)
    return band_cost(
        BandWork(
            bands=call.passes,
            body=max(sum(bodies) / len(bodies) + met_cycles(call, device), inputs),
            around=locks + device.call_cycles,
            start=assumed.start + 2 * assumed.start_port,
            input_bytes=ahead.out_bytes,
            output_bytes=call.out_bytes,
            entering=call.x_bytes * rows * call.x_width,
            leaving=2 * rows * call.y_width,
            handed=0,
            skew=inputs + locks + assumed.descriptor + ahead.in_bytes / rate,
            rate=rate,
            way_rate=arch.shim_dma.bytes_per_cycle,
            descriptor=assumed.descriptor,
            hops=arch.hop_cycles * (device.mem_rows + call.tiles),
            request=REQUEST_CYCLES,
        )
    )
