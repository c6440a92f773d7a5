"""How a dense layer whose rows go by in passes may be split over tiles, and what feeds them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from itertools import islice, product
from math import ceil
from typing import NamedTuple

from match_aie.targets.aie_ml.array.layer import ORDERS, ArrayMapping, DenseLayer, Home
from match_aie.targets.aie_ml.array.search import Given
from match_aie.targets.aie_ml.array.shapes import native_tilings, smallest, splits, stays
from match_aie.targets.aie_ml.devices import Device
from match_aie.targets.aie_ml.graph.region import chains_high, rectangle
from match_aie.targets.aie_ml.graph.timed import Timed
from match_aie.targets.aie_ml.graph.timed_room import PARTS, holds
from match_aie.targets.aie_ml.known import device as known
from match_aie.targets.aie_ml.schedule.kernel import ELEMENT_BYTES

#: What the chip's memory delivers where the device's facts say nothing. ASSUMPTION: the peak of one
#: 64-bit LPDDR4 memory at 3200 MT/s.
MEMORY_GBPS = 25.6

#: Cycles from a request for a buffer's weights to its first data. ASSUMPTION, as the simulator's
#: (`simulate.Beyond.memory_cycles`; a test holds both together).
REQUEST_CYCLES = 200


#: Numbers of passes that are tried where weights are streamed, of rows that so many blocks divide:
#: rows of a pass that the blocks of a call divide waste less.
BESIDE = 8

#: Ways for the weights of a column of tiles whose partial sums are rounded.
FEEDS_OF_ROUNDED = 2

#: Row tiles that tall blocks of accumulators have.
TALL = (4, 3, 2)


def splits_of(
    layer: DenseLayer, name: str, columns: int, most_tiles: int | None
) -> list[tuple[float, Given]]:
    """Least cycles and splits, best first; of equal ones those with the fewest streams.

    Args:
        layer: a dense layer.
        name: of the device.
        columns: of it that may be used.
        most_tiles: of a mapping; any number where None.
    """
    found = []
    whole = _region(name, columns, known(name).core_rows)
    for split in splits(layer, whole, native_tilings(layer, whole)[0], most_tiles):
        chains = split.column_parts * split.row_parts
        rows = chains_high(known(name), split.cas_length)
        if ceil(chains / rows) * split.cas_length > columns:
            continue
        device = columns_for(name, chains, split.cas_length)
        bound = max(split.bound, least_of_weights(layer, device, feeds_of(device, layer)))
        streams = min(split.column_parts, rows) + min(split.row_parts, rows)
        key = bound, chains * split.cas_length, streams
        given = Given(split.cas_length, split.column_parts, split.row_parts)
        found.append((key, (bound, given)))
    return [entry for _, entry in sorted(found, key=lambda one: one[0])]


def may_fit(one: ArrayMapping, device: Device, rows: int, feeds: int) -> bool:
    """Whether calls of a split may fit, of which `one` is the smallest, in any order of chains.

    Args:
        one: the mapping of the split's smallest call.
        device: as many columns as the split needs.
        rows: of a run.
        feeds: channels into a column from outside.
    """
    return any(timed.may_fit for timed in _smallest(one, device, rows, feeds))


def may_double(one: ArrayMapping, device: Device, rows: int, feeds: int) -> bool:
    """Whether memory tiles may hold activations of two passes.

    Args:
        one: as of `may_fit`.
        device: likewise.
        rows: likewise.
        feeds: likewise.
    """
    if not device.mem_rows:
        return False
    return any(holds(timed, 2, least=True) for timed in _smallest(one, device, rows, feeds))


def _smallest(one: ArrayMapping, device: Device, rows: int, feeds: int) -> Iterator[Timed]:
    """The smallest calls of a split by order and home: weights may stay where a tile has bytes.

    Args:
        one: as of `may_fit`.
        device: likewise.
        rows: likewise.
        feeds: likewise.
    """
    stay = one.part_weight_bytes <= device.architecture.core.data_memory_bytes
    homes: tuple[Home, ...] = ("tile", "chip") if stay else ("chip",)
    for order, home in product(ORDERS, homes):
        yield from spreads(replace(one, order=order, home=home), device, rows, feeds)


def spreads(mapping: ArrayMapping, device: Device, rows: int, feeds: int) -> Iterator[Timed]:
    """A layer in passes with its results in one memory tile of a slot, in two, and so on.

    Then likewise with weights that come straight to the tiles, where a text says what is counted.

    Args:
        mapping: of the rows of a pass.
        device: as many columns as the layer takes.
        rows: of a run.
        feeds: channels into a column from outside.
    """
    most = min(mapping.cas_length, device.core_rows) if mapping.streamed else 1
    past = (False, True) if mapping.streamed and device.dispatch_us is not None else (False,)
    for direct in past:
        spread = 1
        while spread <= most:
            yield Timed(mapping, device, rows, feeds, spread=spread, direct=direct)
            spread *= 2


def least_of_weights(layer: DenseLayer, device: Device, feeds: int) -> float:
    """Cycles in which weights that do not fit the tiles come; 0 where they may fit."""
    arch = device.architecture
    weights = layer.reduction * layer.columns * ELEMENT_BYTES[layer.w]
    if weights < device.columns * device.core_rows * arch.core.data_memory_bytes:
        return 0.0
    ways = device.columns * feeds * arch.shim_dma.bytes_per_cycle
    return weights / min(ways, memory_rate(device))


def may_stay(one: ArrayMapping, device: Device) -> bool:
    """Whether weights of a tile may stay there, by their bytes."""
    bound = device.architecture.core.data_memory_bytes
    return one.layer.resident and one.part_weight_bytes <= bound


def least_of_passes(layer: DenseLayer, device: Device, passes: int, one: ArrayMapping) -> float:
    """Cycles that no plan of a split with so many passes beats, whatever its calls.

    Tiles multiply. Where weights cannot stay, streams bring them once in every pass, and again for
    each call along the rows where calls take turns, as activations for each call along the columns;
    sums of a call lie in the tile. The chip's memory gives weights in every pass.

    Args:
        layer: all of its rows.
        device: as many columns as the split needs.
        passes: over the rows.
        one: the mapping of the split's smallest call, of the rows of a pass.
    """
    inside = _least_inside(layer, device, passes, one)
    if may_stay(one, device):
        return inside
    x, w = ELEMENT_BYTES[layer.a], ELEMENT_BYTES[layer.w]
    moved = w * layer.reduction * layer.columns * passes + x * layer.rows * layer.reduction
    return max(inside, moved / memory_rate(device))


def _least_inside(layer: DenseLayer, device: Device, passes: int, one: ArrayMapping) -> float:
    """Of `least_of_passes`, what tiles and streams take, whatever the chip's memory does.

    Args:
        layer: as there.
        device: likewise.
        passes: likewise.
        one: likewise.
    """
    core, k = device.architecture.core, one.part_reduction
    x, w = ELEMENT_BYTES[layer.a], ELEMENT_BYTES[layer.w]
    high, wide = one.part_rows, one.part_columns
    macs = high * k * wide / (core.macs_of(layer.a, layer.w) or 1)
    if may_stay(one, device):
        return passes * macs
    each = k / core.dma.bytes_per_cycle
    streams = [
        max(x * high * ceil(wide / (room // rows)), w * wide * ceil(high / rows)) * each
        for room in (core.data_memory_bytes // 4,)
        for rows in range(one.tiling.m, min(high, room) + 1, one.tiling.m)
    ]
    half = core.data_memory_bytes // 2 // k
    if half // x >= one.tiling.m and half // w >= one.tiling.n:  # no turns: all of it in a call
        again = 1 if half // x >= high else ceil(wide / (half // w))
        streams.append(max(x * high * again, w * wide) * each)
    return passes * max(macs, min(streams))


def finer_passes(layer: DenseLayer, device: Device, split: Given, fewest: int) -> list[int]:
    """Numbers of passes around `fewest`, whose rows are whole blocks of every part's calls.

    The fewest that fit are a power of two, so that half as many do not.

    Args:
        layer: all of its rows.
        device: as many columns as the split needs.
        split: over tiles.
        fewest: passes that fit.
    """
    tiling, feeds = native_tilings(layer, device)[0], feeds_of(device, layer)
    half = ceil(layer.rows / (2 * ceil(layer.rows / fewest)))

    def may(passes: int) -> bool:
        rows = ceil(layer.rows / passes)
        if (split.row_parts or 1) > ceil(rows / tiling.m):
            return False
        one = smallest(replace(layer, rows=rows), tiling, split.split)
        return may_fit(one, device, layer.rows, feeds)

    found: set[int] = set()
    for tall in TALL:
        unit = tall * tiling.m * (split.row_parts or 1)
        numbers = {ceil(layer.rows / rows) for rows in range(unit, 2 * layer.rows, unit)}
        able = sorted(n for n in numbers if half < n <= 2 * fewest and n != fewest)
        found |= set(islice(filter(may, able), BESIDE))
    return sorted(found)


class LeastOfRun(NamedTuple):
    """Cycles that no plan of a split with so many passes beats.

    Attributes:
        beside: of the passes' work: activations that come while nothing is at work.
        run: all of it.
    """

    beside: float
    run: float


def least_of_run(layer: DenseLayer, device: Device, passes: int, one: ArrayMapping) -> LeastOfRun:
    """As `least_of_passes`, closer: with what the chip's memory gives and takes in every pass.

    Activations of the first pass come before anything else, or the first part of them; as those of
    all others do where memory tiles hold them once and as a whole.

    Args:
        layer: all of its rows.
        device: as many columns as the split needs.
        passes: over the rows.
        one: the mapping of the split's smallest call, of the rows of a pass.
    """
    rate, way = memory_rate(device), device.architecture.shim_dma.bytes_per_cycle
    rows, turns = one.layer.rows, one.part_reduction // one.tiling.k
    x = rows * layer.reduction * ELEMENT_BYTES[layer.a]
    y = rows * layer.columns * ELEMENT_BYTES[layer.out]
    # A call in one turn has no sums beside the weights, one in most turns the least activations.
    stay = any(stays(replace(one, reduction_steps=many), device) for many in {1, turns})
    w = 0 if stay else layer.reduction * layer.columns * ELEMENT_BYTES[layer.w]
    moved = max(x + w, y) if known(device.name).dram_duplex else x + w + y
    entering = x / min(device.columns * way, rate)  # no more ways than tiles of all chains
    inside = _least_inside(layer, device, passes, one)
    # What comes while calls wait for activations does not come again while they are at work.
    least = max(least_of_passes(layer, device, passes, one), passes * moved / rate)
    if passes > 1 and not stay and known(device.name).dispatch_us is not None:  # as `Timed.cuts`
        # All but the first part may come while the first call is at work, which is no longer than
        # a pass.
        first, others = entering / PARTS[-1], inside * (passes - 1) / passes
        run = max(first + inside, entering + others, passes * entering)
        return LeastOfRun(first, max(run, least))
    if passes > 1 and may_double(one, device, layer.rows, feeds_of(device, layer)):
        return LeastOfRun(entering, max(entering + inside, passes * entering, least))
    return LeastOfRun(passes * entering, max(passes * entering + inside, least))


@lru_cache(maxsize=4096)
def columns_for(name: str, chains: int, length: int) -> Device:
    """As few columns as hold so many chains."""
    rows = chains_high(known(name), length)
    return _region(name, ceil(chains / rows) * length, rows)


def _region(name: str, columns: int, rows: int) -> Device:
    """A rectangle of device `name`, all of whose channels to memory it may take.

    What the memory's rate makes of them is priced pass by pass (`timed_cycles`), not inside.
    """
    made = rectangle(name, columns, rows)
    return replace(made, plio_in=None, plio_out=None, dram_gbps=None)


def memory_rate(device: Device) -> float:
    """Bytes of the chip's memory in a cycle of the array, of which `device` may be a rectangle."""
    return (known(device.name).dram_gbps or MEMORY_GBPS) / device.clock_ghz


def feeds_of(device: Device, layer: DenseLayer) -> int:
    """Ways for the weights of a column: all columns together as many as the memory keeps busy.

    No more than arrive, beside one for activations, where the array begins: from one side. Where
    partial sums are rounded calls are large, fewer chains than columns share each part of them, and
    a way for all parts would be what bounds them: so there are two.
    """
    arch = device.architecture
    busy = int(memory_rate(device) / arch.shim_dma.bytes_per_cycle)
    aside = arch.switch_ports.get(("shim_tile", "master", "W"), busy + 1) - 1
    return max(FEEDS_OF_ROUNDED if layer.rounds else 1, min(busy, aside) // device.columns)
