"""A GRU or LSTM over several tiles: each has some of the units, and all their weights.

A memory tile joins what the tiles store of a step, sends the whole state to all of them, and out.
Of several columns each has a memory tile that joins, and hands on to that of the first. Or the
whole state comes to all tiles as packets of one stream; or two tiles send each other their units;
or programmable logic has gates and state, and tiles only multiply.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import ceil

from match_aie.cost_models.aie_image import BandCost, band_cost
from match_aie.errors import Infeasible
from match_aie.targets.aie_ml.array.assumed import Assumed, LogicTimes
from match_aie.targets.aie_ml.array.logic import slower, word_cycles
from match_aie.targets.aie_ml.array.merging import turnaround
from match_aie.targets.aie_ml.array.recurrent import met_cycles
from match_aie.targets.aie_ml.array.works import works
from match_aie.targets.aie_ml.devices import Device
from match_aie.targets.aie_ml.graph.assembly import Request
from match_aie.targets.aie_ml.graph.plan import LayerGraph
from match_aie.targets.aie_ml.graph.recurrent_spread import (
    Spread,
    gathered,
    kernel_of,
    run_work,
)
from match_aie.targets.aie_ml.kernels.block import Access
from match_aie.targets.aie_ml.kernels.recurrent import GROUP, LANES, RecurrentCall
from match_aie.targets.aie_ml.kernels.recurrent_exchange import AnyExchange, exchange_calls
from match_aie.targets.aie_ml.kernels.recurrent_hybrid import AnyHybrid, hybrid_call, logic_call
from match_aie.targets.aie_ml.kernels.recurrent_int8 import WIDE, IntegerCall
from match_aie.targets.aie_ml.kernels.recurrent_joined import (
    AnyJoined,
    JoinedCall,
    JoinedIntegerCall,
)
from match_aie.targets.aie_ml.kernels.recurrent_packets import AnyPacket, packet_call
from match_aie.targets.aie_ml.kernels.recurrent_quarters import spec_for

#: Tiles of a column at most: so many streams lead down to its memory tiles.
HIGH = 4

#: Tiles at most: a memory tile has six ways in, for those of its column and for other columns.
MOST_TILES = 3 * HIGH


def joined_calls(call: RecurrentCall, first: int = 2) -> Iterator[AnyJoined]:
    """The functions of tiles that could share the units of `call`, fewest first.

    Args:
        call: the function of one tile.
        first: number of tiles.
    """
    integers = isinstance(call, IntegerCall)
    kind, lanes = (JoinedIntegerCall, WIDE) if integers else (JoinedCall, LANES)
    for tiles in range(first, MOST_TILES + 1):
        units = lanes * ceil(call.hidden / (lanes * tiles))
        if units * (tiles - 1) < call.hidden:
            spec = call.spec if integers else spec_for(call.spec.cell, units)
            names = call.symbol, call.header, spec, call.steps, call.inputs
            yield kind(*names, units, GROUP, tiles * units)


def exchanging(call: RecurrentCall) -> Iterator[AnyExchange]:
    """The function of the first of two tiles that have the units of `call`."""
    pairs = (joined for joined in joined_calls(call) if joined.tiles == 2)
    return (exchange_calls(joined)[0] for joined in pairs)


def packet_calls(call: RecurrentCall) -> Iterator[AnyPacket]:
    """The functions of three tiles or more that have the units of `call`; two need no packets."""
    return (packet_call(joined) for joined in joined_calls(call, 3))


def hybrid_calls(call: RecurrentCall) -> Iterator[AnyHybrid]:
    """The functions of tiles that have the units of `call`, one tile first."""
    return (hybrid_call(joined) for joined in joined_calls(call, 1))


def joined_graph(call: AnyJoined, spread: Spread) -> LayerGraph | Infeasible:
    """Tiles above each other, between two buffers in memory tiles, or what lacks."""
    size, units = call.out_size, call.hidden
    buffer = (call.tiles * size,)
    back = out = Access(buffer, buffer, (0,))
    if isinstance(call, JoinedIntegerCall):
        each = ((0, size, call.tiles),)
        back = Access(buffer, (units,), (2 * units,), each)
        out = Access(buffer, (2 * units,), (0,), each)
    lacks = _laid(call, spread, "h", (back, out))
    if lacks is not None:
        return lacks
    for tile in range(call.tiles):
        spread.connect(("shared", spread.results[0], 0), ("buffer", tile, 1))
    return spread.leave(call.steps, _on_tiles(call), port=1)


def packet_graph(call: AnyPacket, spread: Spread) -> LayerGraph | Infeasible:
    """Tiles between two buffers in memory tiles, or what lacks."""
    whole = (call.whole,)
    lacks = _laid(call, spread, "y", (Access(whole, whole, (0,)),))
    if lacks is not None:
        return lacks
    sent = 1 if call.sent_size else 0
    for sink in range(call.tiles):
        for source in range(call.tiles):
            spread.connect(("buffer", source, sent), ("packets", sink, 0))
    return spread.leave(call.steps, f"{_on_tiles(call)}, packets")


def exchange_graph(call: AnyExchange, spread: Spread) -> LayerGraph | Infeasible:
    """Both tiles between two buffers in memory tiles, or what lacks."""
    buffer = (2 * call.out_size,)
    mine = 2 * call.hidden if isinstance(call, JoinedIntegerCall) else call.hidden
    out = Access(buffer, (mine,), (0,), ((0, call.out_size, 2),))
    _, stored = gathered(call.out_type, (call.out_size,), (2,))
    result = Request("y", call.out_type, buffer, stored, (out,))
    lacks = spread.place(call, (2, 1), (result,), None, call.steps)
    if lacks is not None:
        return lacks
    for tile, each in enumerate(exchange_calls(call)):
        spread.add(each, (0, tile), tile)
    spread.enter(0, 1)
    for tile in range(2):
        spread.connect(("buffer", tile, 0), ("shared", spread.results[0], tile))
        spread.connect(("buffer", tile, 0), ("buffer", 1 - tile, 1))
    return spread.leave(call.steps, " on two tiles")


def hybrid_graph(call: AnyHybrid, spread: Spread) -> LayerGraph | Infeasible:
    """Tiles above each other, their inputs and results in memory tiles, or what lacks."""
    if spread.device.pl_clock_mhz is None or not spread.device.plio_in:
        levers = ("another way to spread the layer",)
        return Infeasible("streams of programmable logic", call.tiles, 0, "streams", levers)
    whole = (call.whole,)
    all_of_it = (Access(whole, whole, (0,)),)
    result = Request("y", "bfloat16", whole, all_of_it, all_of_it)
    lacks = _placed(call, spread, (result,))
    if lacks is not None:
        return lacks
    spread.enter(*range(call.tiles))
    logic = logic_call(call)
    for tile in range(call.tiles):
        spread.connect(("buffer", tile, 0), ("logic", 0, tile))
        spread.connect(("logic", 0, 0), ("buffer", tile, 1))
    spread.connect(("logic", 0, len(logic.back) - 1), ("shared", spread.results[0], 0))
    return spread.leave(call.steps, f"{_on_tiles(call)}, gates in logic", logic=logic)


def _laid(
    call: AnyJoined, spread: Spread, name: str, reads: tuple[Access, ...]
) -> Infeasible | None:
    """Tiles that get inputs from a memory tile, and fill buffers of a step's results.

    Args:
        call: the function of the tiles.
        spread: where they go.
        name: of the buffer of all results.
        reads: what leaves it.
    """
    columns = columns_of_tiles(call)
    parts, stored = gathered(call.out_type, (call.out_size,), columns)
    whole = (call.tiles * call.out_size,)
    lacks = _placed(call, spread, (*parts, Request(name, call.out_type, whole, stored, reads)))
    if lacks is None:
        spread.enter()
        spread.gather(((tile, tile) for tile in range(call.tiles)), columns)
    return lacks


def _placed(call: AnyJoined, spread: Spread, results: tuple[Request, ...]) -> Infeasible | None:
    """Tiles in columns, and buffers of a step's results."""
    wide, high = shape_of(call)
    lacks = spread.place(call, (high, wide), results, call.tiles, call.steps)
    for tile in range(call.tiles if lacks is None else 0):
        spread.add(call, divmod(tile, high), tile)
    return lacks


def _on_tiles(call: AnyJoined) -> str:
    """Where it is, for the graph's title."""
    return f" on {call.tiles} tile{'s' * (call.tiles > 1)}"


def shape_of(call: AnyJoined) -> tuple[int, int]:
    """Columns that the tiles take, and tiles of each but for the last one."""
    wide = ceil(call.tiles / HIGH)
    return wide, ceil(call.tiles / wide)


def columns_of_tiles(call: AnyJoined) -> tuple[int, ...]:
    """Tiles of each column."""
    wide, high = shape_of(call)
    return tuple(min(high, call.tiles - high * column) for column in range(wide))


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
    return _stepwise_cost(call, device, assumed, joining, hops, ahead=joining, ports=3)


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
    return _stepwise_cost(call, device, assumed, away, hops, ahead=away, ports=3)


def packet_cost(call: AnyPacket, device: Device, assumed: Assumed = Assumed()) -> BandCost:
    """Modelled cost of one run: steps one after the other, a state's packets between them.

    A core reads packets itself, so that inputs' products only hide the way to the first of them,
    and those of the first group nothing. It has two locks for its units: for each of their readers,
    or for each form of them.
    """
    arch, (_, high) = device.architecture, shape_of(call)
    places = [divmod(at, high) for at in range(call.tiles)]
    words = 1 + ceil(call.packet_bytes / arch.core.dma.bytes_per_cycle)
    away = assumed.descriptor + turnaround(places, places, words, arch.hop_cycles)
    hops, begin = arch.hop_cycles * (device.mem_rows + high), assumed.descriptor + arch.hop_cycles
    return _stepwise_cost(call, device, assumed, away, hops, ahead=begin, ports=2)


def _stepwise_cost(
    call: AnyJoined,
    device: Device,
    assumed: Assumed,
    away: float,
    hops: int,
    *,
    ahead: float,
    ports: int,
) -> BandCost:
    """Modelled cost of steps one after the other, each of whose states is `away` before the next.

    Args:
        call: the function of the tiles.
        device: the array.
        assumed: times of the array that no document states.
        away: cycles from a state's store to the load of the whole.
        hops: cycles of a stream between tiles and memory tiles.
        ahead: cycles of `away` that hide products of inputs.
        ports: of kernels, that a start waits for.
    """
    work = run_work(call, device, assumed, ports)
    done = works(kernel_of(call), device.architecture)
    inputs = done[0].schedule.body
    step = max(one.schedule.body for one in done if "out" in one.gives)
    met, locks = met_cycles(call, device), assumed.acquire + assumed.release
    shown = max(0.0, inputs + met + locks - ahead) * (call.passes - 1) / call.steps
    return band_cost(
        replace(
            work,
            body=step + met + away + shown,
            around=2 * locks + device.call_cycles,
            skew=inputs + met + locks + call.x_bytes * (GROUP - 1) * call.x_width / work.rate,
            hops=hops,
            early=2 * (call.steps - 1) * call.whole,
        )
    )
