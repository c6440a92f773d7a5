"""A GRU or LSTM whose gates are spread over chains of tiles, one above the other.

Each chain has sixteen units. Its southern tile has their state, and sends it as a packet of a
stream that goes to all tiles of all chains; its northern one multiplies the inputs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import ceil

import numpy as np

from match_aie.cost_models.aie_image import BandCost, BandWork, band_cost
from match_aie.errors import Infeasible
from match_aie.targets.aie_ml.array.assumed import Assumed
from match_aie.targets.aie_ml.array.merging import turnaround
from match_aie.targets.aie_ml.array.recurrent import met_cycles
from match_aie.targets.aie_ml.devices import Device
from match_aie.targets.aie_ml.graph.assembly import Assembly, Request
from match_aie.targets.aie_ml.graph.layer import Arrays
from match_aie.targets.aie_ml.graph.plan import GraphKernel, LayerGraph, Part
from match_aie.targets.aie_ml.graph.recurrent_joined import HIGH, joined_calls
from match_aie.targets.aie_ml.graph.timed_splits import REQUEST_CYCLES
from match_aie.targets.aie_ml.kernels.block import Access
from match_aie.targets.aie_ml.kernels.recurrent import GROUP, TILE_K, RecurrentCall
from match_aie.targets.aie_ml.kernels.recurrent_gates import GatesCall, chain_of, gates_calls
from match_aie.targets.aie_ml.kernels.recurrent_joined import JoinedCall, joined_values
from match_aie.targets.aie_ml.schedule.recurrent_gates import gates_schedules
from match_aie.workload import Workload

#: Chains at least: two tiles with the state reach each other's memory, which is faster.
LEAST = 3


def gates_cuts(call: RecurrentCall) -> Iterator[GatesCall]:
    """The functions of tiles with the state, by every split of the gates."""
    for joined in joined_calls(call):
        if isinstance(joined, JoinedCall) and joined.whole >= LEAST * joined.hidden:
            yield from gates_calls(joined)


def gates_shape(call: GatesCall, device: Device) -> tuple[int, int]:
    """Columns that results go down, and chains of each but for the last one.

    No more than these have streams down from a column.
    """
    most = HIGH if _across(call, device) else min(HIGH, device.core_rows // call.depth)
    wide = ceil(call.chains / most)
    return wide, ceil(call.chains / wide)


def _across(call: GatesCall, device: Device) -> bool:
    """Whether chains lie along rows, where these are enough: packets have shorter ways then."""
    return call.chains <= device.core_rows


def gates_columns(call: GatesCall, device: Device) -> int:
    """Columns of all tiles."""
    return call.depth if _across(call, device) else gates_shape(call, device)[0]


def _places(call: GatesCall, device: Device) -> list[tuple[int, int]]:
    """Column and row of each tile, chain after chain, from that with the state on."""
    _, high = gates_shape(call, device)
    pairs = ((chain, at) for chain in range(call.chains) for at in range(call.depth))
    if _across(call, device):
        return [(call.depth - 1 - at, chain) for chain, at in pairs]
    return [(chain // high, call.depth * (chain % high) + at) for chain, at in pairs]


def gates_kernel(call: GatesCall) -> GraphKernel:
    """A kernel of the function, without its numbers."""
    inputs = (call.in_size,) if call.begins else ()
    sizes = call.out_size or None, call.sent_size or None
    return GraphKernel(call, (0, 0), inputs, sizes[0], 1, walks=True, sent=sizes[1])


def gates_graph(
    call: GatesCall, name: str, workload: Workload, constants: Arrays, device: Device
) -> LayerGraph | Infeasible:
    """Chains between two buffers in memory tiles, or what lacks.

    Args:
        call: the function of the tiles with the state.
        name: of the graph.
        workload: the layer.
        constants: its weights, and its bias.
        device: the array.
    """
    tiles, (wide, high) = chain_of(call), gates_shape(call, device)
    columns = gates_columns(call, device)
    assembly = Assembly(name, device, columns)
    parts, result = _results(call, wide, high)
    inputs = _inputs(call)
    rows = 1 + max(row for _, row in _places(call, device))
    placed = assembly.place(rows, columns, (inputs, *parts, result), down=call.chains)
    if isinstance(placed, Infeasible):
        return placed
    before, *joins, after = placed.buffers
    for column, each in enumerate((after, *joins)):
        at = placed.column + (columns - 1 - column if _across(call, device) else column)
        assembly.shared[each] = replace(assembly.shared[each], fills=tiles[0].passes, column=at)
    places = [(placed.column + x, placed.row + y) for x, y in _places(call, device)]
    _chains(assembly, tiles, places, workload, constants)
    way_in = Part("x", (call.steps, 1, call.inputs), 0, inputs.dimensions[1], 1, call.x_width)
    assembly.connect(("in", assembly.outside(way_in, call.x_type), 0), ("shared", before, 0))
    for chain in range(call.chains):
        first = chain * call.depth
        column, port = divmod(chain, high)
        assembly.connect(("shared", before, 0), ("buffer", first + call.depth - 1, 0))
        assembly.connect(("buffer", first, 0), ("shared", (after, *joins)[column], port))
    for at, part in enumerate(joins):
        assembly.connect(("shared", part, 0), ("shared", after, min(high, call.chains) + at))
    steps = tiles[0].group * tiles[0].passes
    way_out = Part("y", (call.steps, 1, workload.sizes["K"]), 0, steps, 1, call.whole)
    assembly.connect(("shared", after, 0), ("out", assembly.outside(way_out, "bfloat16"), 0))
    kind = call.spec.cell.upper()
    what = f"{kind} of {workload.sizes['K']} units, {call.steps} steps on {call.tiles} tiles"
    return assembly.graph(f"{what}, gates apart, packets")


def _inputs(call: GatesCall) -> Request:
    """The buffer of the inputs: a group of steps at a time goes to all that multiply them."""
    groups = ceil(call.steps / GROUP)
    x = call.x_width, groups * GROUP
    loops = tuple(loop for loop in ((0, TILE_K, call.x_octets), (1, GROUP, groups)) if loop[2] > 1)
    read = Access(x, (TILE_K, GROUP), (0, 0), loops)
    return Request("x", call.x_type, x, (Access(x, x, (0, 0)),), (read,))


def _results(call: GatesCall, wide: int, high: int) -> tuple[list[Request], Request]:
    """Buffers of a group's results: of columns behind the first one, and of all."""
    first = chain_of(call)[0]
    units, group = call.y_width, first.group
    parts, sizes = [], [units] * min(high, call.chains)
    for column in range(1, wide):
        many = min(high, call.chains - high * column)
        part = many * units, group
        stored = tuple(Access(part, (units, group), (at * units, 0)) for at in range(many))
        read = (Access(part, part, (0, 0)),)
        parts.append(Request(f"part{column}_", first.out_type, part, stored, read))
        sizes.append(many * units)
    whole = call.whole, group
    begins = [sum(sizes[:at]) for at in range(len(sizes))]
    stored = tuple(
        Access(whole, (size, group), (begin, 0)) for size, begin in zip(sizes, begins, strict=True)
    )
    return parts, Request("y", first.out_type, whole, stored, (Access(whole, whole, (0, 0)),))


def _chains(
    assembly: Assembly,
    tiles: tuple[GatesCall, ...],
    places: Sequence[tuple[int, int]],
    workload: Workload,
    constants: Arrays,
) -> None:
    """All tiles, their cascades, and the stream of packets.

    Args:
        assembly: where they go.
        tiles: functions of a chain, from that with the state on.
        places: of all tiles, chain after chain.
        workload: the layer.
        constants: its weights, and its bias.
    """
    known = {each: constants[each].astype(np.float32) for each in ("weight", "recurrent", "bias")}
    depth, chains = len(tiles), tiles[0].chains
    for chain in range(chains):
        for tile in tiles:
            values = joined_values(tile, chain, known, workload.inputs[0])
            place = places[depth * chain + tile.at]
            kernel = replace(gates_kernel(tile), place=place, values=tuple(values.items()))
            assembly.kernels.append(kernel)
    for chain in range(chains):
        for at in range(1, depth):
            number = depth * chain + at
            assembly.connect(("cascade", number, 0), ("cascade", number - 1, 0))
    for sink in range(chains * depth):
        for source in range(chains):
            assembly.connect(("buffer", depth * source, 1), ("packets", sink, 0))


def _late(tiles: tuple[GatesCall, ...], device: Device, assumed: Assumed) -> float:
    """Cycles that a step of the tile with the state waits for words, all tiles begun together."""
    there: list[float] = []
    late = 0.0
    for tile in reversed(tiles):
        step = gates_schedules(tile, device.architecture)["step"]
        late, sent = 0.0, []
        came = iter(there)
        own = len(tile.kept) if tile.ends else 0  # which came ahead of the step
        moments = [(cycle, False) for cycle in step.reads[own:]]
        moments += [(cycle, True) for cycle in step.writes]
        for cycle, written in sorted(moments):
            if written:
                sent.append(late + cycle + assumed.cascade)
            else:
                late = max(late, next(came) - cycle)
        there = sent
    return late


def gates_cost(call: GatesCall, device: Device, assumed: Assumed = Assumed()) -> BandCost:
    """Modelled cost of one run: steps one after the other, a state's packets between them.

    Inputs' products hide as long as the tile that has them is ready for packets when these come.
    """
    arch, tiles = device.architecture, chain_of(call)
    first, last = tiles[0], tiles[-1]
    own, inputs = (gates_schedules(each, arch) for each in (first, last))
    rate, locks = arch.core.dma.bytes_per_cycle, assumed.acquire + assumed.release
    places, words = _places(call, device), 1 + ceil(first.sent_bytes / rate)
    ready = assumed.descriptor + arch.hop_cycles
    away = assumed.descriptor
    away += turnaround(places[:: call.depth], places, words, arch.hop_cycles)
    step = own["later"].body + met_cycles(first, device) + _late(tiles, device, assumed)
    group = 2 * locks * first.passes / call.steps
    met = met_cycles(last, device)
    busy = inputs["later"].body + inputs["send"].body + inputs["ahead"].body + 3 * met + locks
    shown = max(0.0, busy - step - locks - ready)
    seen = inputs["inputs"].body + met + locks
    rows, (wide, high) = first.group * first.passes, gates_shape(call, device)
    begin = seen + inputs["send"].body + first.out_bytes / rate  # the last group leaves together
    if wide > 1:  # results go from memory tile to memory tile
        begin += assumed.descriptor + high * first.out_bytes / rate
    return band_cost(
        BandWork(
            bands=call.steps,
            body=step + away + shown + group,
            around=locks + device.call_cycles,
            start=assumed.start + 2 * assumed.start_port,
            input_bytes=call.x_bytes * call.x_width,
            output_bytes=2 * call.whole,
            entering=call.x_bytes * GROUP * ceil(call.steps / GROUP) * call.x_width,
            leaving=2 * rows * call.whole,
            handed=0,
            skew=begin + call.x_bytes * (GROUP - 1) * call.x_width / rate,
            rate=rate,
            way_rate=arch.shim_dma.bytes_per_cycle,
            descriptor=assumed.descriptor,
            hops=arch.hop_cycles * (device.mem_rows + 1 + max(row for _, row in places)),
            request=REQUEST_CYCLES,
            early=2 * (first.passes - 1) * first.group * call.whole,
        )
    )
