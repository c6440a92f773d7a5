"""What the search chooses from: splits of a layer over tiles, and the shapes of a tile's calls."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from math import ceil
from typing import NamedTuple

from match_aie.errors import TargetError
from match_aie.targets.aie_ml.array.layer import ArrayMapping, DenseLayer, Home, Order
from match_aie.targets.aie_ml.array.local import Demand, demand, logical_banks
from match_aie.targets.aie_ml.devices import Device, Tiling, pair_name
from match_aie.targets.aie_ml.schedule.call import ArchitectureKey
from match_aie.targets.aie_ml.schedule.kernel import ELEMENT_BYTES

#: Blocks of accumulators that mappings use, by whether a call has several row tiles.
TALL = ((2, 2), (4, 1), (3, 1), (2, 1))
#: More of them, where accumulators are half of the others' (bfloat16): larger blocks load less.
LARGE = ((2, 4), (4, 2), (3, 3), (2, 3), (3, 2))
NARROW_BITS = 512
FLAT = ((1, 4), (1, 3), (1, 2), (1, 1))

#: Those of block floating point: operands become blocks by way of the accumulators that are left.
BLOCKED = ((3, 1), (1, 3), (2, 2), (2, 1), (1, 2), (1, 1))

#: Numbers of turns of a call, and of calls along the columns, that are tried where the reduction is
#: walked over time: evenly spread on a logarithmic scale.
MOST_TURNS = 12
MOST_COLUMN_STEPS = 12

#: Tiles of columns of a call that are tried as well: streams of both operands keep up with the
#: products where a call has about as many rows as columns, and as many as its sums leave room for:
#: more where these are rounded. Beside them columns whose number is in `WIDE`, where tiles are
#: narrower.
SQUARE = range(6, 13)
SQUARE_ROUNDED = range(6, 19)
WIDE = range(48, 97)

#: Reduction of a turn for which all numbers of turns are tried where weights come by stream: longer
#: ones have no room beside such calls, shorter ones are mostly beginnings and ends.
TURN = range(32, 161)

#: Numbers of calls along the rows that are tried, from the fewest that fit upward.
ROW_STEPS = 3


@dataclass(frozen=True)
class Split:
    """Parts of a layer over tiles, and the least cycles that any schedule of it takes."""

    cas_length: int
    column_parts: int
    row_parts: int
    bound: float

    @property
    def chains(self) -> int:
        """Of tiles."""
        return self.column_parts * self.row_parts


def native_tilings(layer: DenseLayer, device: Device) -> tuple[Tiling, ...]:
    """Native shapes at the core's full rate, fewest rows of padding first.

    Of pairs that cores multiply in several products, or lane by lane, the facts' first.

    Raises:
        TargetError: there is none, or none whose kernels round sums that wait, as the layer asks.
    """
    core = device.architecture.core
    known = core.tilings_of(layer.a, layer.w)
    shapes = [t for t in known[:1] if t.lanes] or [t for t in known if t.native]
    if not shapes and core.macs_of(layer.a, layer.w):
        shapes = list(known[:1])
    if not shapes:
        raise TargetError(f"{device.name} has no native product {pair_name(layer.a, layer.w)}")
    if layer.rounds and shapes[0].waits:
        pair = pair_name(layer.a, layer.w)
        raise TargetError(
            f"partial sums in {layer.out}: kernels of {device.name} for {pair} do not round sums "
            "that wait between turns",
            hint='partial_sums="exact"',
        )
    most = max(t.macs for t in shapes)
    return tuple(t for t in shapes if t.macs == most)[:1]


def splits(
    layer: DenseLayer,
    device: Device,
    tiling: Tiling,
    most_tiles: int | None,
    *,
    coarse: bool = False,
) -> Iterator[Split]:
    """Splits that differ in their largest part.

    Args:
        layer: what to run.
        device: the array.
        tiling: of its products.
        most_tiles: cores that may be used; all of them where None.
        coarse: whether few parts of the rows count, too, not the three finest only.
    """
    core = device.architecture.core
    rate = core.macs_of(layer.a, layer.w) or 1
    weight = tiling.k * tiling.n * ELEMENT_BYTES[layer.w]
    k_tiles, n_tiles = ceil(layer.reduction / tiling.k), ceil(layer.columns / tiling.n)
    m_tiles = ceil(layer.rows / tiling.m)
    tiles = min(most_tiles or device.core_tiles, device.core_tiles)
    for length in counts(k_tiles, min(device.columns, tiles)):
        capacity = min((device.columns // length) * device.core_rows, tiles // length)
        for columns in counts(n_tiles, capacity):
            options = counts(m_tiles, capacity // columns)
            for rows in options if coarse else options[-3:]:
                weights = ceil(k_tiles / length) * ceil(n_tiles / columns)
                cycles = weights * ceil(m_tiles / rows) * tiling.macs / rate
                if weights * weight > core.data_memory_bytes:  # each is sent at least once a run
                    cycles = max(cycles, weights * weight / core.dma.bytes_per_cycle)
                yield Split(length, columns, rows, cycles)


def counts(tiles: int, most: int) -> list[int]:
    """Numbers of parts up to `most`, the least one for each size of the largest part."""
    sizes = {ceil(tiles / parts) for parts in range(1, min(tiles, most) + 1)}
    return sorted({ceil(tiles / size) for size in sizes})


def candidates(
    layer: DenseLayer,
    device: Device,
    tiling: Tiling,
    split: Split,
    *,
    turns: bool = False,
    resident: bool = False,
) -> Iterator[ArrayMapping]:
    """Mappings of one split: calls, residency and order; with `turns`, in turns.

    Where `resident`, those whose weights stay: if there is none, one that does not fit.
    """
    base = smallest(layer, tiling, split)
    for shape in shapes(alone(base), TileKey(device), turns, resident):
        yield from (shape.of(base, order) for order in orders(base))


def orders(base: ArrayMapping) -> tuple[Order, ...]:
    """Orders of a split's chains."""
    return ("m",) if base.row_parts == 1 or base.column_parts == 1 else ("m", "n")


class Shape(NamedTuple):
    """A tile's calls: rows and columns, turns, where weights stay."""

    rows: int
    columns: int
    turns: int
    home: Home

    @classmethod
    def made(cls, mapping: ArrayMapping) -> Shape:
        """Those of a mapping."""
        m = mapping
        return cls(m.call_rows, m.call_columns, m.reduction_steps, m.home)

    def of(self, base: ArrayMapping, order: Order = "m") -> ArrayMapping:
        """These calls of a split, of which `base` has the smallest."""
        return base.with_calls(*self, order)


class TileKey:
    """A device, as far as its tiles go: equal where these are."""

    def __init__(self, device: Device) -> None:
        """Of `device`."""
        self.device, self._alike = device, ArchitectureKey(device.architecture)

    def __eq__(self, other: object) -> bool:
        """Whether tiles are the same."""
        return isinstance(other, TileKey) and other._alike == self._alike

    def __hash__(self) -> int:
        """Of the architecture's name."""
        return hash(self._alike)


def alone(base: ArrayMapping) -> ArrayMapping:
    """The part of one chain as a layer of its own: many splits, of many layers, have the same.

    Of a longer chain its first tile and its last one; an activation takes no room.
    """
    length = min(base.cas_length, 2)
    sizes = base.part_rows, base.part_reduction * length, base.part_columns
    rows, reduction, columns = sizes
    layer = replace(base.layer, rows=rows, reduction=reduction, columns=columns, relu=True)
    return replace(base, layer=layer, cas_length=length, column_parts=1, row_parts=1)


@lru_cache(maxsize=1024)
def shapes(base: ArrayMapping, tile: TileKey, turns: bool, resident: bool) -> tuple[Shape, ...]:
    """Calls of a part; see `candidates`.

    Args:
        base: the part in its smallest calls (`alone`).
        tile: of the device.
        turns: whether in turns.
        resident: whether weights stay.
    """
    if resident:
        whole = replace(base, call_columns=base.part_columns)
        found = list(_rows(whole, tile.device)) or [whole]
    else:
        found = list(_turns(base, tile.device) if turns else _calls(base, tile.device))
    return tuple(map(Shape.made, found))


def smallest(layer: DenseLayer, tiling: Tiling, split: Split) -> ArrayMapping:
    """A split with calls of one `mmul`, from which its mappings are made."""
    return ArrayMapping(
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


def _calls(base: ArrayMapping, device: Device) -> Iterator[ArrayMapping]:
    """Rows and columns of a call that fit a tile, as large as they can be.

    Weights that fit a tile stay there, if the layer's may; others stay for a call along the columns
    while rows go by. They come from the chip's memory: no graph keeps them in memory tiles, or
    sends them again for every call along the rows.
    """
    resident = list(_resident(base, device))
    yield from resident
    if resident:
        return
    column_tiles = base.part_columns // base.tiling.n
    element = ELEMENT_BYTES[base.layer.w]
    for steps in counts(column_tiles, column_tiles):
        columns = ceil(column_tiles / steps) * base.tiling.n
        if columns * base.part_reduction * element > device.architecture.core.data_memory_bytes:
            continue
        yield from _rows(replace(base, call_columns=columns, home="chip"), device)


def _turns(base: ArrayMapping, device: Device) -> Iterator[ArrayMapping]:
    """Calls whose reduction is walked in turns: weights that stay, else weights by stream."""
    k_tiles = base.part_reduction // base.tiling.k
    pieces = [steps for steps in counts(k_tiles, k_tiles) if steps > 1]
    column_tiles = base.part_columns // base.tiling.n
    every = counts(column_tiles, column_tiles)
    wide = {tiles for tiles in range(1, column_tiles + 1) if tiles * base.tiling.n in WIDE}
    able = {*(SQUARE_ROUNDED if base.layer.rounds else SQUARE), *wide}
    square = [calls for calls in every if ceil(column_tiles / calls) in able]
    spread = _spread(pieces, MOST_TURNS)
    near = [steps for steps in pieces if ceil(k_tiles / steps) * base.tiling.k in TURN]
    for steps in sorted({*spread, *near}):
        turned = replace(base, reduction_steps=steps)
        resident = list(_resident(turned, device)) if steps in spread else []
        yield from resident
        if resident:
            continue
        often = _spread(every, MOST_COLUMN_STEPS) if steps in spread else []
        for calls in sorted({*often, *square}):
            columns = ceil(column_tiles / calls) * base.tiling.n
            yield from _rows(replace(turned, call_columns=columns, home="chip"), device)


def _resident(base: ArrayMapping, device: Device) -> Iterator[ArrayMapping]:
    """Calls beside all weights of a tile; none where these do not fit, or must not stay."""
    if base.layer.resident:
        yield from _rows(replace(base, call_columns=base.part_columns), device)


def stays(mapping: ArrayMapping, device: Device) -> bool:
    """Whether weights stay in their tiles: they do where any call fits beside them."""
    least = replace(mapping, block=(1, 1), home="tile")
    return next(_resident(least, device), None) is not None


def _spread(values: list[int], most: int) -> list[int]:
    """At most `most` of ascending values, the first and the last among them."""
    if len(values) <= most:
        return values
    first, ratio = values[0], values[-1] / values[0]
    wanted = [first * ratio ** (at / (most - 1)) for at in range(most)]
    return sorted({min(values, key=lambda value: abs(value - want)) for want in wanted})


def _rows(base: ArrayMapping, device: Device) -> Iterator[ArrayMapping]:
    """Large calls that fit, with and without banks that the DMA shares with the core.

    Row tiles are spread evenly over the fewest calls, and over a few more: these may waste less.
    """
    unit = base.tiling.m
    row_tiles = base.part_rows // unit
    one = demand(base.with_rows(unit), device)
    seen: set[int] = set()
    for shared in (True, False):
        most = min(row_tiles, _most_rows(one, *logical_banks(device), shared))
        fewest = ceil(row_tiles / most) if most else row_tiles + 1
        for steps in range(fewest, min(row_tiles, fewest + ROW_STEPS - 1) + 1):
            even = ceil(row_tiles / steps)
            # Blocks of several row tiles must divide a call.
            talls = {ceil(even / tall) * tall for tall in (1, 2, 4)}
            seen |= {tiles for tiles in (*talls, even - even % 2) if 0 < tiles <= most}
    for tiles in sorted(seen, reverse=True):
        yield base.with_rows(tiles * unit)


@lru_cache(maxsize=65536)
def _most_rows(one: Demand, banks: int, size: int, shared: bool) -> int:
    """Most row tiles of a call, 0 where none fits: `shared` says whether banks may be the DMA's."""
    low, high = 0, one.most_times(banks * size)
    while low < high:
        middle = (low + high + 1) // 2
        plan = one.plan(banks, size, middle)
        good = plan is not None and (shared or not plan.shared)
        low, high = (middle, high) if good else (low, middle - 1)
    return low


def blocks(mapping: ArrayMapping) -> tuple[tuple[int, int], ...]:
    """Blocks of accumulators that divide a call; those of several row tiles where there are."""
    t = mapping.tiling
    rows, columns = mapping.call_rows // t.m, mapping.call_columns // t.n
    if t.lanes:
        return FLAT[-1:]
    if t.blocks:
        return tuple((r, c) for r, c in BLOCKED if rows % r == 0 and columns % c == 0)
    large = LARGE if t.m * t.n * t.lane_bits <= NARROW_BITS else ()
    for shapes in ((*large, *TALL), FLAT):
        found = tuple((r, c) for r, c in shapes if rows % r == 0 and columns % c == 0)
        if found:
            return found
    return ()
