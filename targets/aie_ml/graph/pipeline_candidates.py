"""Ways to run a dense layer as a stage of a pipeline: splits over tiles, with what bounds them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import ceil

from match_aie.targets.aie_ml.array.assumed import Assumed
from match_aie.targets.aie_ml.array.floor import Floor
from match_aie.targets.aie_ml.array.kernel_choice import least_cycles
from match_aie.targets.aie_ml.array.layer import ArrayMapping, DenseLayer
from match_aie.targets.aie_ml.array.local import demand, logical_banks
from match_aie.targets.aie_ml.array.search import VARIANTS
from match_aie.targets.aie_ml.array.shapes import counts, native_tilings
from match_aie.targets.aie_ml.devices import Tiling
from match_aie.targets.aie_ml.graph.row_stage import divisors
from match_aie.targets.aie_ml.graph.spread_plan import narrow
from match_aie.targets.aie_ml.known import device as known

#: Candidates of a width that are kept, those with the least bounds; and of which single steps of
#: kernels are scheduled for that, where attention is a stage: few of its neighbours' splits fit it.
OF_A_WIDTH, LOOKED_AT = 6, 24

#: Rows that kernels of attention read together, and parts of the rows of a head's values: a memory
#: tile takes few streams.
HEAD_ROWS, HEAD_PARTS = 8, 4

#: Rows of a run are filled up to whole numbers of so many `mmul` tiles, where that adds no more
#: than the share of them: more calls divide them evenly.
ROUND = (1, 2, 4, 8, 16)
FILLED = 1 / 8


@dataclass(frozen=True)
class Candidate:
    """A stage on so many columns; equal ones of different stages are priced once.

    Attributes:
        mapping: of the rows of a pass, its kernel still open.
        rows: of a run.
        columns: that it takes.
        bound: cycles of a run that no kernel of it beats.
        streams: from chains into memory tiles, and from these to columns of tiles.
    """

    mapping: ArrayMapping
    rows: int
    columns: int
    bound: float
    streams: tuple[int, int]

    @property
    def passes(self) -> int:
        """Calls of a tile in a run."""
        return ceil(self.rows / self.mapping.layer.rows)


@lru_cache(maxsize=256)
def candidates(
    layer: DenseLayer,
    name: str,
    most: int,
    heads: int = 0,
    *,
    filled: bool = False,
    near: bool = False,
) -> tuple[Candidate, ...]:
    """Ways to run a layer as a stage on up to `most` columns, those of least bounds of each width.

    Beside attention, where rows divide into odd parts, two sets of each: by products alone, and by
    steps of kernels.

    Args:
        layer: what runs.
        name: of the device.
        most: columns that it may take.
        heads: elements of a head of attention that reads the result, of which calls store parts
            or whole ones, and rows by eight; 0 where nobody minds.
        filled: whether a run may be one call of every tile that is only filled up to whole ones.
        near: whether all but the weights of a tile may lie in one bank.

    Raises:
        TargetError: element types without a product there, or facts that are not known.
    """
    device = known(name)
    tiling = native_tilings(layer, device)[0]
    widths: dict[tuple[int, int], list[Candidate]] = {}
    deep, wide = ceil(layer.reduction / tiling.k), ceil(layer.columns / tiling.n)
    for length in counts(deep, most):
        chains = most // length * device.core_rows
        for parts in counts(wide, chains):
            for high in heights(ceil(layer.rows / tiling.m)):
                able = min(chains // parts, ceil(layer.rows / tiling.m))
                for rows in (n for n in divisors(high) if n <= able):
                    split = length, parts, rows
                    if heads and not _of_heads(layer, tiling, split, heads):
                        continue
                    grain = HEAD_ROWS // tiling.m if heads else 1
                    sizes = high, grain, high if filled else ceil(layer.rows / tiling.m)
                    for made in _of_split(layer, tiling, split, sizes, name, most, near=near):
                        widths.setdefault((made.columns, high), []).append(made)
    found: list[Candidate] = []
    for (_, tall), each in sorted(widths.items()):
        each.sort(key=_order)
        kept = each[:OF_A_WIDTH]
        if filled and tall & tall - 1:  # else no call of several tiles of rows has an odd number
            priced = _bounded(each[:LOOKED_AT], name)
            first, best = priced[:OF_A_WIDTH], sorted(priced, key=_order)[:OF_A_WIDTH]
            kept = [*first, *(one for one in best if one not in first)]
            # Among those that are as wide and fast enough the first is taken: of few streams.
            kept.sort(key=lambda one: (sum(one.streams), *_order(one)))
        found += kept
    return tuple(found)


def _order(one: Candidate) -> tuple[float, int, tuple[int, int]]:
    return one.bound, one.mapping.tiles, one.streams


def _bounded(found: Sequence[Candidate], name: str) -> list[Candidate]:
    """Candidates that have a kernel, with bounds by its steps: odd rows load weights twice."""
    least = [least_cycles(one.mapping, narrow(name, one.mapping), VARIANTS) for one in found]
    return [
        replace(one, bound=max(one.bound, one.passes * (cycles + Assumed().acquire)))
        for one, cycles in zip(found, least, strict=True)
        if cycles is not None
    ]


def _of_heads(layer: DenseLayer, tiling: Tiling, split: tuple[int, int, int], size: int) -> bool:
    """Whether parts of the columns are parts of one head or whole heads, written by few."""
    _, parts, rows = split
    wide = ceil(ceil(layer.columns / tiling.n) / parts) * tiling.n
    whole = wide % size == 0 or size % wide == 0
    return whole and wide * parts == layer.columns and rows <= HEAD_PARTS


def heights(tiles: int) -> list[int]:
    """Numbers of `mmul` tiles of rows in a run, those that are filled up included."""
    filled = {ceil(tiles / step) * step for step in ROUND}
    return sorted(high for high in filled if high - tiles <= FILLED * tiles)


def _of_split(
    layer: DenseLayer,
    tiling: Tiling,
    split: tuple[int, int, int],
    tiles: tuple[int, int, int],
    name: str,
    most: int,
    *,
    near: bool = False,
) -> list[Candidate]:
    """Candidates of parts of the reduction, the columns and the rows.

    Calls are of the most rows that fit a tile, with and without banks that the DMA shares.

    Args:
        layer: what runs.
        tiling: of its products.
        split: the parts.
        tiles: of rows in a run, what is filled up included; of which calls have multiples; and
            of which parts have their share at most.
        name: of the device.
        most: columns that it may take.
        near: whether all but the weights of a tile may lie in one bank.
    """
    device = known(name)
    length, parts, rows = split
    base = ArrayMapping(
        replace(layer, rows=min(layer.rows, tiling.m * rows)),
        tiling,
        (1, 1),
        VARIANTS[0],
        length,
        parts,
        rows,
        tiling.m,
        ceil(ceil(layer.columns / tiling.n) / parts) * tiling.n,
    )
    region = narrow(name, base)
    if region.columns > most:
        return []
    one, (banks, size) = demand(base, device, near=near), logical_banks(device)
    share, whole = tiles[0] // rows, tiles[2] // rows
    heights = [n for n in divisors(share) if n <= whole and n % tiles[1] == 0]
    fitting = [(n, plan) for n in heights if (plan := one.plan(banks, size, n))]
    largest = {
        max((n for n, _ in fitting), default=0),
        max((n for n, plan in fitting if not plan.shared), default=0),
    }
    core, crossing = device.architecture.core, (base.chains, Floor(base, region).copies[0])
    rate = core.macs_of(layer.a, layer.w) or 1
    found = []
    for tall in sorted(largest - {0}):
        high = tall * tiling.m
        part = replace(layer, rows=min(layer.rows, high * rows))
        mapping = replace(base, layer=part, call_rows=high)
        products = high * mapping.part_reduction * mapping.call_columns / rate
        streams = max(mapping.input_bytes, mapping.output_bytes) / core.dma.bytes_per_cycle
        cycles = share // tall * max(products + Assumed().acquire, streams)
        found.append(Candidate(mapping, layer.rows, region.columns, cycles, crossing))
    return found
