"""A GRU or LSTM over several tiles: each has some of the units, and all their weights.

A memory tile joins what the tiles store of a step, sends the whole state to all of them, and out.
Of several columns each has a memory tile that joins, and hands on to that of the first.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import ceil

import numpy as np

from match_aie.cost_models.aie_image import BandCost, BandWork, band_cost
from match_aie.errors import Infeasible
from match_aie.targets.aie_ml.array.assumed import Assumed
from match_aie.targets.aie_ml.array.recurrent import met_cycles
from match_aie.targets.aie_ml.array.works import works
from match_aie.targets.aie_ml.devices import Device
from match_aie.targets.aie_ml.graph.assembly import Assembly, Joint, Request
from match_aie.targets.aie_ml.graph.layer import Arrays
from match_aie.targets.aie_ml.graph.plan import GraphKernel, LayerGraph, Part
from match_aie.targets.aie_ml.graph.timed_splits import REQUEST_CYCLES
from match_aie.targets.aie_ml.kernels.block import Access
from match_aie.targets.aie_ml.kernels.recurrent import (
    GROUP,
    LANES,
    TILE_K,
    RecurrentCall,
)
from match_aie.targets.aie_ml.kernels.recurrent_apart import StatesCall
from match_aie.targets.aie_ml.kernels.recurrent_cascade import AnyCascade
from match_aie.targets.aie_ml.kernels.recurrent_exchange import AnyExchange
from match_aie.targets.aie_ml.kernels.recurrent_hybrid import LogicCall
from match_aie.targets.aie_ml.kernels.recurrent_int8 import WIDE, IntegerCall
from match_aie.targets.aie_ml.kernels.recurrent_joined import (
    AnyJoined,
    JoinedCall,
    JoinedIntegerCall,
    joined_values,
)
from match_aie.targets.aie_ml.kernels.recurrent_neighbours import AnyNeighbour
from match_aie.targets.aie_ml.kernels.recurrent_packets import AnyPacket
from match_aie.targets.aie_ml.kernels.recurrent_quarters import spec_for
from match_aie.workload import Workload

#: Tiles of a column at most: so many streams lead down to its memory tiles.
HIGH = 4

#: Tiles at most: a memory tile has six ways in, for those of its column and for other columns.
MOST_TILES = 3 * HIGH


def joined_calls(call: RecurrentCall) -> Iterator[AnyJoined]:
    """The functions of tiles that could share the units of `call`, fewest first."""
    integers = isinstance(call, IntegerCall)
    kind, lanes = (JoinedIntegerCall, WIDE) if integers else (JoinedCall, LANES)
    for tiles in range(2, MOST_TILES + 1):
        units = lanes * ceil(call.hidden / (lanes * tiles))
        if units * (tiles - 1) < call.hidden:
            spec = call.spec if integers else spec_for(call.spec.cell, units)
            names = call.symbol, call.header, spec, call.steps, call.inputs
            yield kind(*names, units, GROUP, tiles * units)


def tiles_of(call: RecurrentCall) -> int:
    """Tiles that a function runs on, with those that feed it."""
    if isinstance(call, StatesCall | AnyCascade | AnyNeighbour):
        return call.tiles
    return call.whole // call.hidden if isinstance(call, AnyJoined) else 1


def kernel_of(call: RecurrentCall) -> GraphKernel:
    """A kernel of the function, without its numbers."""
    inputs: tuple[int, ...] = (call.in_size,)
    if isinstance(call, AnyJoined) and not isinstance(call, AnyPacket):
        inputs = (*inputs, call.h_size) if call.h_size else inputs
    return GraphKernel(
        call, (0, 0), inputs, call.out_size, 1, walks=True, sent=call.sent_size or None
    )


def joined_graph(
    call: AnyJoined, name: str, workload: Workload, constants: Arrays, device: Device
) -> LayerGraph | Infeasible:
    """Tiles above each other, between two buffers in memory tiles, or what lacks.

    Args:
        call: the function of the tiles.
        name: of the graph.
        workload: the layer.
        constants: its weights, and its bias.
        device: the array.
    """
    stored, back, out = _ways(call)
    result = Request("h", call.out_type, back.buffer, stored, (back, out))
    laid = tiles_with_results(call, name, workload, constants, device, result=result)
    if isinstance(laid, Infeasible):
        return laid
    assembly, joined = laid
    for tile in range(tiles_of(call)):
        assembly.connect(("shared", joined, 0), ("buffer", tile, 1))
    return handed_out(call, workload, assembly, ("shared", joined, 1))


def tiles_with_results(
    call: AnyJoined,
    name: str,
    workload: Workload,
    constants: Arrays,
    device: Device,
    *,
    result: Request,
    stores: bool = True,
) -> tuple[Assembly, int] | Infeasible:
    """Tiles that get x from a memory tile and fill `result`; how states go back is not in it.

    Args:
        call: the function of the tiles.
        name: of the graph.
        workload: the layer.
        constants: its weights, and its bias.
        device: the array.
        result: the buffer of a step's results, in the memory tile of the first column.
        stores: whether tiles fill it; else something else does, which they send their results to.

    Returns:
        What is laid out, and the number of the result's buffer; or what lacks.
    """
    tiles, (wide, high) = tiles_of(call), shape_of(call)
    rows = call.passes * GROUP
    x = call.x_width, rows
    assembly = Assembly(name, device, wide)
    octets, groups = (0, TILE_K, call.x_octets), (1, GROUP, call.passes)
    loops = tuple(loop for loop in (octets, groups) if loop[2] > 1)
    read = Access(x, (TILE_K, GROUP), (0, 0), loops)
    inputs = Request("x", call.x_type, x, (Access(x, x, (0, 0)),), (read,))
    joins = parts_of(call) if stores else ()
    placed = assembly.place(high, wide, (inputs, *joins, result), down=tiles)
    if isinstance(placed, Infeasible):
        return placed
    before, *parts, after = placed.buffers
    for column, each in enumerate((after, *parts)):
        known_as = replace(assembly.shared[each], fills=call.steps, column=placed.column + column)
        assembly.shared[each] = known_as
    known = {each: constants[each].astype(np.float32) for each in ("weight", "recurrent", "bias")}
    way_in = Part("x", (call.steps, 1, call.inputs), 0, rows, 1, call.x_width)
    assembly.connect(("in", assembly.outside(way_in, call.x_type), 0), ("shared", before, 0))
    for tile in range(tiles):
        values = joined_values(call, tile, known, workload.inputs[0])
        column, row = divmod(tile, high)
        place = placed.column + column, placed.row + row
        kernel = replace(kernel_of(call), place=place, values=tuple(values.items()))
        assembly.kernels.append(kernel)
        assembly.connect(("shared", before, 0), ("buffer", tile, 0))
        if stores:
            assembly.connect(("buffer", tile, 0), ("shared", (after, *parts)[column], row))
    for at, part in enumerate(parts):
        assembly.connect(("shared", part, 0), ("shared", after, high + at))
    return assembly, after


def handed_out(
    call: AnyJoined,
    workload: Workload,
    assembly: Assembly,
    port: Joint,
    how: str = "",
    logic: LogicCall | None = None,
) -> LayerGraph:
    """The graph, whose results leave the array by `port`.

    Args:
        call: the function of the tiles.
        workload: the layer.
        assembly: the tiles.
        port: of the buffer of results.
        how: states are exchanged, behind the graph's title.
        logic: that has the gates.
    """
    steps, hidden = call.steps, workload.sizes["K"]
    way_out = Part("y", (steps, 1, hidden), 0, steps, 1, call.whole)
    assembly.connect(port, ("out", assembly.outside(way_out, "bfloat16"), 0))
    kind = call.spec.cell.partition("_")[0].upper()
    tiles = tiles_of(call)
    title = f"{kind} of {hidden} units, {steps} steps on {tiles} tile{'s' * (tiles > 1)}{how}"
    return assembly.graph(title, logic)


def shape_of(call: AnyJoined) -> tuple[int, int]:
    """Columns that the tiles take, and tiles of each but for the last one."""
    tiles = tiles_of(call)
    wide = ceil(tiles / HIGH)
    return wide, ceil(tiles / wide)


def columns_of_tiles(call: AnyJoined) -> tuple[int, ...]:
    """Tiles of each column."""
    tiles, (wide, high) = tiles_of(call), shape_of(call)
    return tuple(min(high, tiles - high * column) for column in range(wide))


def parts_of(call: AnyJoined) -> tuple[Request, ...]:
    """Buffers that join what columns behind the first one store of a step."""
    size = call.out_size
    return tuple(
        Request(
            f"part{column}_",
            call.out_type,
            (many * size,),
            tuple(Access((many * size,), (size,), (at * size,)) for at in range(many)),
            (Access((many * size,), (many * size,), (0,)),),
        )
        for column, many in enumerate(columns_of_tiles(call)[1:], 1)
    )


def stored_of(call: AnyJoined) -> tuple[Access, ...]:
    """How tiles of the first column, and other columns, fill the buffer of a step's results."""
    first, *others = columns_of_tiles(call)
    sizes = [call.out_size] * first + [many * call.out_size for many in others]
    begins = [sum(sizes[:at]) for at in range(len(sizes))]
    buffer = (tiles_of(call) * call.out_size,)
    return tuple(
        Access(buffer, (each,), (begin,)) for each, begin in zip(sizes, begins, strict=True)
    )


def _ways(call: AnyJoined) -> tuple[tuple[Access, ...], Access, Access]:
    """How tiles and columns fill the buffer of a step's states, how it goes back, and out."""
    tiles, size, units = tiles_of(call), call.out_size, call.hidden
    buffer, stored = (tiles * size,), stored_of(call)
    if not isinstance(call, JoinedIntegerCall):
        whole = Access(buffer, buffer, (0,))
        return stored, whole, whole
    each = ((0, size, tiles),)
    return (
        stored,
        Access(buffer, (units,), (2 * units,), each),
        Access(buffer, (2 * units,), (0,), each),
    )


def joined_cost(call: AnyJoined, device: Device, assumed: Assumed = Assumed()) -> BandCost:
    """Modelled cost of one run: steps one after the other, each state joined before the next.

    Nothing hides the products of the first group's inputs; others are computed as states come.
    """
    arch = device.architecture
    rate = arch.core.dma.bytes_per_cycle
    wide, high = shape_of(call)
    hops = arch.hop_cycles * (device.mem_rows + high + wide - 1)
    part, whole = ceil(call.out_bytes / rate), ceil(call.h_bytes * call.whole / rate)
    joining = 2 * (assumed.descriptor + hops) + part + whole + assumed.acquire + assumed.release
    if wide > 1:  # from memory tile to memory tile
        handed = ceil(high * call.out_bytes / rate)
        joining += assumed.descriptor + hops + handed + assumed.acquire + assumed.release
    if isinstance(call, AnyExchange):  # straight to the other, through both switches
        joining -= assumed.descriptor + 2 * hops + whole - 2 * arch.hop_cycles
    return stepwise_cost(call, device, assumed, joining, hops)


def stepwise_cost(
    call: AnyJoined, device: Device, assumed: Assumed, away: float, hops: int
) -> BandCost:
    """Modelled cost of steps one after the other, each of whose states is `away` before the next.

    Args:
        call: the function of the tiles.
        device: the array.
        assumed: times of the array that no document states.
        away: cycles from a state's store to the load of the whole.
        hops: cycles of a stream between tiles and memory tiles.
    """
    arch = device.architecture
    bodies = {id(one.schedule): one.schedule.body for one in works(kernel_of(call), arch)}
    inputs, step = list(bodies.values())[:2]
    rate = arch.core.dma.bytes_per_cycle
    met, locks = met_cycles(call, device), assumed.acquire + assumed.release
    shown = max(0.0, inputs + met + locks - away) * (call.passes - 1) / call.steps
    return band_cost(
        BandWork(
            bands=call.steps,
            body=step + met + away + shown,
            around=2 * locks + device.call_cycles,
            start=assumed.start + 3 * assumed.start_port,
            input_bytes=call.x_bytes * call.x_width,
            output_bytes=2 * call.whole,
            entering=call.x_bytes * call.passes * GROUP * call.x_width,
            leaving=2 * call.steps * call.whole,
            handed=0,
            skew=inputs + met + locks + call.x_bytes * (GROUP - 1) * call.x_width / rate,
            rate=rate,
            way_rate=arch.shim_dma.bytes_per_cycle,
            descriptor=assumed.descriptor,
            hops=hops,
            request=REQUEST_CYCLES,
            early=2 * (call.steps - 1) * call.whole,
        )
    )
