"""The best way to spread a layer over an array: an exact enumeration, cheapest bounds first.

Splits of the reduction, the columns and the rows over tiles are enumerated (only those that change
the largest part), and for each the calls in a tile: rows and columns of a call, which of them stays
while the other goes by, and where the weights live. The ideal compute time of a split is a bound:
splits are priced in its order until no other can be better.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import ceil
from typing import Literal

from match_aie.errors import Infeasible, TargetError
from match_aie.targets.aie_ml.array.assumed import Assumed
from match_aie.targets.aie_ml.array.build import build
from match_aie.targets.aie_ml.array.check import violations
from match_aie.targets.aie_ml.array.fit import program_bytes, schedules
from match_aie.targets.aie_ml.array.floor import Floor
from match_aie.targets.aie_ml.array.layer import ArrayMapping, DenseLayer, Home, Order, Outer
from match_aie.targets.aie_ml.array.local import LocalPlan, demand, logical_banks
from match_aie.targets.aie_ml.array.price import Priced, bound, price
from match_aie.targets.aie_ml.devices import Device, Tiling, pair_name
from match_aie.targets.aie_ml.schedule import Variant, machine
from match_aie.targets.aie_ml.schedule.kernel import ELEMENT_BYTES

Objective = Literal["interval", "latency"]

#: How epilogues may meet the next block; the first where the program memory holds it.
VARIANTS: tuple[Variant, ...] = ("flat", "overlapped")

#: Where weights that do not stay in the tile come from.
STREAMED: tuple[Home, ...] = ("memory tile", "chip")

#: Blocks of accumulators that mappings use, by whether a call has several row tiles.
TALL = ((2, 2), (4, 1), (3, 1), (2, 1))
FLAT = ((1, 4), (1, 3), (1, 2), (1, 1))

#: Numbers of turns of a call, and of calls along the columns, that are tried where the reduction is
#: walked over time: evenly spread on a logarithmic scale.
MOST_TURNS = 6
MOST_COLUMN_STEPS = 8


@dataclass(frozen=True)
class Given:
    """Parts that the caller prescribes; None where the search chooses."""

    cas_length: int | None = None
    column_parts: int | None = None
    row_parts: int | None = None


@dataclass(frozen=True)
class Split:
    """Parts of a layer over tiles, and the least cycles that any schedule of it takes."""

    cas_length: int
    column_parts: int
    row_parts: int
    bound: float


def search(
    layer: DenseLayer,
    device: Device,
    *,
    assumed: Assumed | None = None,
    objective: Objective = "interval",
    most_tiles: int | None = None,
    keep: int = 1,
    given: Given | None = None,
    variants: tuple[Variant, ...] = VARIANTS,
) -> tuple[Priced, ...] | Infeasible:
    """The best mappings of `layer` on `device`, best first.

    Args:
        layer: what to run.
        device: the array.
        assumed: times that no document states.
        objective: cycles between runs of a repeated layer, or of a single run.
        most_tiles: cores that may be used; all of them where None.
        keep: how many mappings to return.
        given: parts that are prescribed.
        variants: epilogues that the kernels may have.

    Raises:
        TargetError: element types without a product on this array, or facts not known.
    """
    machine(device.architecture)  # refuses by name where schedules lack facts
    task = Task(layer, device, assumed or Assumed(), objective, most_tiles, keep, given, variants)
    found = _search(task, strict=False)
    if isinstance(found, Infeasible) or all(_legal(p.mapping, device) for p in found):
        return found
    return _search(task, strict=True)


@dataclass(frozen=True)
class Task:
    """The arguments of `search`."""

    layer: DenseLayer
    device: Device
    assumed: Assumed
    objective: Objective
    most_tiles: int | None
    keep: int
    given: Given | None
    variants: tuple[Variant, ...]


def _search(task: Task, *, strict: bool) -> tuple[Priced, ...] | Infeasible:
    """The best mappings; `strict` where each must keep all rules before it counts.

    The reduction is walked over time where it must be, and where streams that carry something more
    than once set the pace without.
    Channels, descriptors and ports hardly ever refuse what memories accept, and checking them
    means building the program: they are looked at only where the quick answer breaks a rule.
    """
    layer, device, assumed, keep = task.layer, task.device, task.assumed, task.keep
    found: list[Priced] = []
    refused: Infeasible | None = None
    worst = float("inf")
    for tiling, turns in itertools.product(native_tilings(layer, device), (False, True)):
        if turns and found and not _sent_again(found[0]):
            continue
        for split in sorted(_splits(task, tiling), key=lambda s: s.bound):
            if split.bound >= worst:
                break
            for shape in candidates(layer, device, tiling, split, turns=turns):
                quick = bound(shape, device, assumed)
                if isinstance(quick, Infeasible):
                    refused = _closer(refused, quick)
                    continue
                if quick >= worst:
                    continue
                mapping = _kernel(shape, device, task.variants)
                if mapping is None:
                    continue
                priced = price(mapping, device, assumed)
                if isinstance(priced, Infeasible):
                    refused = _closer(refused, priced)
                    continue
                if _key(priced, task.objective)[0] >= worst:
                    continue
                if strict and not _legal(mapping, device):
                    continue
                found.append(priced)
                found.sort(key=lambda p: _key(p, task.objective))
                del found[keep:]
                if len(found) == keep:
                    worst = _key(found[-1], task.objective)[0]
    if not found:
        return refused or Infeasible("tiles", 1, 0, "tiles")
    return tuple(found)


def _sent_again(priced: Priced) -> bool:
    """Whether the streams that set the pace carry the same thing more than once."""
    m, which = priced.mapping, priced.cost.bound
    if which == "activation streams":
        return m.input_sends() > m.row_steps
    return which == "weight streams" and m.weight_sends() > m.column_steps


def _legal(mapping: ArrayMapping, device: Device) -> bool:
    """Whether the whole program keeps every rule: channels, descriptors and ports too."""
    program = build(mapping, device)
    return not isinstance(program, Infeasible) and not violations(program, device)


def _key(priced: Priced, objective: Objective) -> tuple[float, int, float]:
    cost = priced.cost
    value = cost.interval if objective == "interval" else cost.latency
    return value, priced.mapping.tiles, cost.latency


def _closer(a: Infeasible | None, b: Infeasible) -> Infeasible:
    """The refusal that misses its bound by less."""
    if a is None or b.demand * a.bound < a.demand * b.bound:
        return b
    return a


def native_tilings(layer: DenseLayer, device: Device) -> tuple[Tiling, ...]:
    """Native shapes at the core's full rate, fewest rows of padding first.

    Raises:
        TargetError: there is none.
    """
    core = device.architecture.core
    shapes = [t for t in core.tilings_of(layer.a, layer.w) if t.native]
    if not shapes:
        raise TargetError(f"{device.name} has no native product {pair_name(layer.a, layer.w)}")
    most = max(t.macs for t in shapes)
    return tuple(t for t in shapes if t.macs == most)[:1]


def _splits(task: Task, tiling: Tiling) -> Iterator[Split]:
    """All splits, or those that the caller prescribes."""
    given, layer = task.given or Given(), task.layer
    wanted = (given.cas_length, given.column_parts, given.row_parts)
    if None in wanted:
        for split in splits(layer, task.device, tiling, task.most_tiles):
            parts = (split.cas_length, split.column_parts, split.row_parts)
            if all(want is None or want == part for want, part in zip(wanted, parts, strict=True)):
                yield split
        return
    yield Split(given.cas_length or 1, given.column_parts or 1, given.row_parts or 1, 0.0)


def splits(
    layer: DenseLayer, device: Device, tiling: Tiling, most_tiles: int | None
) -> Iterator[Split]:
    """Splits that differ in their largest part."""
    rate = device.architecture.core.macs_of(layer.a, layer.w) or 1
    k_tiles, n_tiles = ceil(layer.reduction / tiling.k), ceil(layer.columns / tiling.n)
    m_tiles = ceil(layer.rows / tiling.m)
    tiles = min(most_tiles or device.core_tiles, device.core_tiles)
    for length in _counts(k_tiles, min(device.columns, tiles)):
        capacity = min((device.columns // length) * device.core_rows, tiles // length)
        for columns in _counts(n_tiles, capacity):
            options = _counts(m_tiles, capacity // columns)
            for rows in options[-3:]:
                macs = ceil(k_tiles / length) * ceil(n_tiles / columns) * ceil(m_tiles / rows)
                yield Split(length, columns, rows, macs * tiling.macs / rate)


def _counts(tiles: int, most: int) -> list[int]:
    """Numbers of parts up to `most`, the least one for each size of the largest part."""
    sizes = {ceil(tiles / parts) for parts in range(1, min(tiles, most) + 1)}
    return sorted({ceil(tiles / size) for size in sizes})


def candidates(
    layer: DenseLayer, device: Device, tiling: Tiling, split: Split, *, turns: bool = False
) -> Iterator[ArrayMapping]:
    """Mappings of one split: calls, residency, order and channels; with `turns`, in turns."""
    base = ArrayMapping(
        layer,
        tiling,
        (1, 1),
        "overlapped",
        split.cas_length,
        split.column_parts,
        split.row_parts,
        tiling.m,
        tiling.n,
    )
    for shape in _turns(base, device) if turns else _calls(base, device):
        one = split.row_parts == 1 or split.column_parts == 1
        orders: tuple[Order, ...] = ("m",) if one else ("m", "n")
        for order in orders:
            ordered = replace(shape, order=order)
            yield _with_channels(ordered, device)


def _calls(base: ArrayMapping, device: Device) -> Iterator[ArrayMapping]:
    """Rows and columns of a call that fit a tile, as large as they can be.

    Weights that fit a tile stay there.
    """
    resident = list(_rows(replace(base, call_columns=base.part_columns), device))
    yield from resident
    if resident:
        return
    column_tiles = base.part_columns // base.tiling.n
    element = ELEMENT_BYTES[base.layer.w]
    for steps in _counts(column_tiles, column_tiles):
        columns = ceil(column_tiles / steps) * base.tiling.n
        if columns * base.part_reduction * element > device.architecture.core.data_memory_bytes:
            continue
        outers: tuple[Outer, ...] = ("n", "m") if steps > 1 else ("n",)
        for home in STREAMED:
            for outer in outers:
                streamed = replace(base, call_columns=columns, home=home, outer=outer)
                yield from _rows(streamed, device)


def _turns(base: ArrayMapping, device: Device) -> Iterator[ArrayMapping]:
    """Calls whose reduction is walked in turns: weights that stay, else weights by stream."""
    k_tiles = base.part_reduction // base.tiling.k
    pieces = [steps for steps in _counts(k_tiles, k_tiles) if steps > 1]
    column_tiles = base.part_columns // base.tiling.n
    for steps in _spread(pieces, MOST_TURNS):
        turned = replace(base, reduction_steps=steps)
        resident = list(_rows(replace(turned, call_columns=base.part_columns), device))
        yield from resident
        if resident:
            continue
        for calls in _spread(_counts(column_tiles, column_tiles), MOST_COLUMN_STEPS):
            columns = ceil(column_tiles / calls) * base.tiling.n
            for home in STREAMED:
                yield from _rows(replace(turned, call_columns=columns, home=home), device)


def _spread(values: list[int], most: int) -> list[int]:
    """At most `most` of ascending values, the first and the last among them."""
    if len(values) <= most:
        return values
    first, ratio = values[0], values[-1] / values[0]
    wanted = [first * ratio ** (at / (most - 1)) for at in range(most)]
    return sorted({min(values, key=lambda value: abs(value - want)) for want in wanted})


def _rows(base: ArrayMapping, device: Device) -> Iterator[ArrayMapping]:
    """The largest calls that fit, with and without banks that the DMA shares with the core."""
    unit = base.tiling.m
    row_tiles = base.part_rows // unit
    one = demand(replace(base, call_rows=unit), device)
    banks, size = logical_banks(device)

    def fits(tiles: int) -> LocalPlan | None:
        return one.times(tiles).plan(banks, size)

    seen: set[int] = set()
    for shared in (True, False):
        low, high = 0, row_tiles
        while low < high:
            middle = (low + high + 1) // 2
            plan = fits(middle)
            good = plan is not None and (shared or not plan.shared)
            low, high = (middle, high) if good else (low, middle - 1)
        if not low:
            continue
        even = ceil(row_tiles / ceil(row_tiles / low))
        # Blocks of two row tiles must divide a call.
        seen |= {even, even + even % 2 if even < low else max(1, even - even % 2)}
    for tiles in sorted(seen, reverse=True):
        yield replace(base, call_rows=tiles * unit)


def _with_channels(mapping: ArrayMapping, device: Device) -> ArrayMapping:
    """Two channels of activations where weights need none and the lanes allow it."""
    if mapping.streamed or device.architecture.core.dma.s2mm < 2:
        return mapping
    floor = Floor(mapping, device)
    return mapping.with_channels(2 if 2 * floor.distinct_a <= floor.lanes_up else 1)


def _kernel(
    mapping: ArrayMapping, device: Device, variants: tuple[Variant, ...]
) -> ArrayMapping | None:
    """The mapping with the block that is fastest in the last tile of a chain."""
    most = device.architecture.core.program_memory_bytes
    best: tuple[int, ArrayMapping] | None = None
    for block in blocks(mapping):
        for variant in variants:
            tried = replace(mapping, block=block, variant=variant)
            try:
                calls = schedules(tried, device)
            except TargetError:
                continue
            body = sum(turn.body for turn in calls[-1])
            if max(program_bytes(turns) for turns in calls[:2] + calls[-1:]) > most:
                continue
            if best is None or body < best[0]:
                best = body, tried
    return None if best is None else best[1]


def blocks(mapping: ArrayMapping) -> tuple[tuple[int, int], ...]:
    """Blocks of accumulators that divide a call; those of several row tiles where there are."""
    t = mapping.tiling
    rows, columns = mapping.call_rows // t.m, mapping.call_columns // t.n
    for shapes in (TALL, FLAT):
        found = tuple((r, c) for r, c in shapes if rows % r == 0 and columns % c == 0)
        if found:
            return found
    return ()
