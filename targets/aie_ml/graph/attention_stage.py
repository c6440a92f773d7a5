"""Attention as a stage of a pipeline: a tile has some heads, and a part of their queries' rows.

Queries, values and results are matrices whose rows have the elements of all heads side by side, as
projections store and read them; keys are transposed. A tile's queries are a piece of their matrix
like those of other stages. A head's keys and its values come one after the other by one stream, for
all tiles that have rows of the head: they lie in one buffer, in the order in which kernels read.
Where that stream would be the bound each has a stream of its own; the DMA of the tile north, whose
core does nothing, brings values.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

from match_aie.errors import Infeasible
from match_aie.targets.aie_ml.array.assumed import Assumed
from match_aie.targets.aie_ml.graph.attention import AttentionCut, AttentionGraph
from match_aie.targets.aie_ml.graph.attention_cuts import AttentionCuts
from match_aie.targets.aie_ml.graph.blocks import Blocks
from match_aie.targets.aie_ml.graph.layer import Arrays
from match_aie.targets.aie_ml.graph.plan import (
    Connection,
    End,
    GraphKernel,
    LayerGraph,
    Outside,
    Shared,
)
from match_aie.targets.aie_ml.graph.row_stage import RowStage, divisors
from match_aie.targets.aie_ml.graph.rows import STREAMS
from match_aie.targets.aie_ml.kernels.attention import PAIR, TILE_COLUMNS, TILE_ROWS
from match_aie.targets.aie_ml.kernels.block import Access
from match_aie.targets.aie_ml.known import device as known
from match_aie.workload import Workload

#: Tiles of a column: with more, ways through switches lack between attention and its neighbours.
#: Of tiles whose values lie in the tile north.
HIGH, APART_HIGH = 3, 4


@dataclass(frozen=True)
class AttentionStage(RowStage):
    """Parts of the queries' rows and of the heads; a run is one call of a tile."""

    @property
    def size(self) -> int:
        """Elements of a head."""
        return self.workload.sizes["C"]

    @property
    def wide(self) -> int:
        """Elements of a row: of all heads."""
        return self.workload.output.shape[1]

    @property
    def heads(self) -> int:
        """Of a tile."""
        return self.part_columns // self.size

    @property
    def keys(self) -> int:
        """Of a head, filled up to the rows of a run, as many as the stages before give."""
        return -(-max(self.workload.sizes["OX"], self.padded) // PAIR) * PAIR

    @property
    def held(self) -> int:
        """Rows of eight elements that the keys, or the values, of a head are."""
        return self.keys * self.size // TILE_COLUMNS

    @property
    def types(self) -> tuple[str, str]:
        """Of queries, and of results."""
        return self.workload.operand("x").dtype, self.workload.output.dtype

    @property
    def ways(self) -> tuple[int, int]:
        """Queries of each tile, keys and values of each part of the heads; results."""
        return self.tiles + 2 * self.column_parts, self.tiles

    @property
    def lanes(self) -> int:
        """Columns of a tile of scores."""
        return TILE_COLUMNS

    @cached_property
    def apart(self) -> bool:
        """Whether keys and values have streams of their own: one for both would be the bound."""
        return 2 * self._moved > self._work and 2 * APART_HIGH <= self.device.core_rows

    @property
    def cut(self) -> AttentionCut | None:
        """A tile's part, with the fastest kernels; None where there are none."""
        found = _fastest(self.workload, self.name, self.call_rows, self.heads, self.keys)
        return None if found is None else found[1]

    @property
    def high(self) -> int:
        """Tiles of a column: few, since each has streams from, and to, several memory tiles."""
        return APART_HIGH if self.apart else HIGH

    @property
    def alone(self) -> bool:
        """Whether a graph of its own has streams from below for all operands of every column."""
        columns = [self.place(tile)[0] for tile in range(self.tiles)]
        middles = (self.number(self.row_parts // 2, part) for part in range(self.column_parts))
        columns += [self.place(each)[0] for each in middles for _ in range(2)]
        return all(columns.count(each) <= STREAMS for each in set(columns))

    def number(self, row: int, column: int) -> int:
        """Of a tile: those that have the same heads lie side by side."""
        return column * self.row_parts + row

    def place(self, tile: int) -> tuple[int, int]:
        """Column and row of a tile; between two of them lie the values of the lower one."""
        column, row = super().place(tile)
        return column, row * (2 if self.apart else 1)

    @property
    def _work(self) -> float:
        """Cycles of a head in a tile; modelled."""
        found = _fastest(self.workload, self.name, self.call_rows, self.heads, self.keys)
        return (0.0 if found is None else found[0]) + 2 * Assumed().call(2)

    @property
    def _moved(self) -> float:
        """Of the stream that brings a head's keys, or its values."""
        rate = self.device.architecture.core.dma.bytes_per_cycle
        return self.held * TILE_COLUMNS / rate + Assumed().descriptor

    @cached_property
    def cycles(self) -> float:
        """Between runs that follow each other; modelled."""
        return self.heads * max(self._work, self._moved * (1 if self.apart else 2))

    def refuses(self) -> Infeasible | None:
        """What it lacks: heads of whole tiles, one call a run, memory, kernels."""
        sizes = self.workload.sizes
        if self.passes > 1 or self.part_columns % self.size or self.call_rows % TILE_ROWS:
            return Infeasible("rows of a tile", TILE_ROWS, self.call_rows, "rows")
        if sizes["K"] != self.size or self.size % TILE_COLUMNS:
            return Infeasible("elements of a head", TILE_COLUMNS, self.size, "elements")
        if self.padded < self.rows or self._mixes():
            return Infeasible("rows of a run", self.keys, self.padded, "rows")
        return self.lacks()

    def _mixes(self) -> bool:
        """Whether what lies behind the last value would count, as zero points of weights have it.

        Values behind the last one are whatever the stage before makes of rows that are none.
        """
        points = dict(self.workload.parameters)["weights_zero"] != 0
        return points and self.keys != self.workload.sizes["OX"]

    def lacks(self) -> Infeasible | None:
        """What of a tile's memory its buffers do not fit, or of its program memory the kernels."""
        cuts = AttentionCuts(self.workload, self.device)
        placed = cuts.placed(_part(cuts, self.call_rows, self.heads, self.keys))
        if placed is not None:
            return placed
        if self.cut is None:
            return Infeasible("kernels that fit registers and program memory", 1, 0, "kernels")
        return None

    def blocks(self, operand: str, tile: int) -> Blocks:
        """What of queries, of a part's keys or values, or of the results there is of a tile."""
        column, row = divmod(tile, self.row_parts)
        first, wide = column * self.part_columns, self.part_columns
        if operand == "x1":
            matrix = self.wide, self.workload.sizes["OX"]
            return Blocks(operand, matrix, wide, self.keys, row=first)
        if operand == "x2":
            matrix = self.workload.sizes["OX"], self.wide
            return Blocks(operand, matrix, self.keys, wide, column=first)
        matrix, high = (self.rows, self.wide), self.call_rows
        return Blocks(operand, matrix, high, wide, row=row * high, column=first)

    def graph(self, name: str, constants: Arrays) -> LayerGraph:
        """As a graph of its own, fed by streams of programmable logic.

        Args:
            name: of it.
            constants: by operand.
        """
        assert self.cut is not None, "a stage that was refused"
        made = AttentionGraph(name, self.cut, self.device, self.workload, constants)
        tiles = self.tiles
        queries = [self._outside("x", tile) for tile in range(tiles)]
        firsts = range(0, tiles, self.row_parts)
        pairs = [self._outside(at, first) for first in firsts for at in ("x1", "x2")]
        outs = [self._outside("y", tile) for tile in range(tiles)]
        rows, keys = self.call_rows * self.size, self.keys * self.size
        sizes, north = ((rows, keys, keys), (2,)) if self.apart else ((rows, keys), ())
        call = replace(made.call, apart=self.apart)
        kernels = tuple(
            GraphKernel(
                call, self.place(tile), sizes, rows, 1, made.values, walks=True, north=north
            )
            for tile in range(tiles)
        )
        shared = [self.shared(name, each) for each in queries]
        shared += [self._pair(name, part) for part in range(self.column_parts)]
        shared += [self.shared(name, each) for each in outs]
        return LayerGraph(
            name,
            f"Attention of {self.workload.sizes['B']} heads of {self.size} elements, "
            f"{self.keys} keys each, on {tiles} tiles.",
            (*queries, *pairs),
            tuple(outs),
            tuple(shared),
            kernels,
            tuple(self._links()),
            self.columns,
            "plio",
        )

    def _links(self) -> Iterator[Connection]:
        """From streams through buffers to tiles, and back."""
        tiles, parts = self.tiles, self.column_parts
        for tile in range(tiles):
            yield Connection(End("outside", tile), End("shared", tile))
            yield Connection(End("shared", tile), End("buffer", tile, 0))
        for part in range(parts):
            for side in range(2):
                pair = End("outside", tiles + 2 * part + side)
                yield Connection(pair, End("shared", tiles + part, side))
            for row in range(self.row_parts):
                for side in range(2 if self.apart else 1):
                    kernel = End("buffer", self.number(row, part), 1 + side)
                    yield Connection(End("shared", tiles + part, side), kernel)
        for tile in range(tiles):
            out = End("shared", tiles + parts + tile)
            yield Connection(End("buffer", tile), out)
            yield Connection(out, End("outside", tiles + 2 * parts + tile))

    def _outside(self, operand: str, tile: int) -> Outside:
        blocks = self.blocks(operand, tile)
        found = next(each for each in self.workload.operands if each.name == operand)
        return Outside(f"{operand}_{tile}", found.dtype, blocks.elements, blocks=blocks)

    def walk(self, dimensions: tuple[int, int], offset: tuple[int, int]) -> Access:
        """A tile's way through queries, or results, head by head.

        Args:
            dimensions: of what holds them.
            offset: where the tile's part begins.
        """
        loops = (
            (0, TILE_COLUMNS, self.size // TILE_COLUMNS),
            (1, TILE_ROWS, self.call_rows // TILE_ROWS),
            (0, self.size, self.heads),
        )
        kept = loops if self.heads > 1 else loops[:2]
        return Access(dimensions, (TILE_COLUMNS, TILE_ROWS), offset, kept)

    def walked(self, *, out: bool) -> Access:
        """A tile's way through a run's queries, or results."""
        del out
        return self.walk((self.part_columns, self.call_rows), (0, 0))

    def pair(self, heads: int) -> tuple[int, int]:
        """Dimensions of what holds keys and values of so many heads."""
        return TILE_COLUMNS, 2 * self.held * heads

    def read_pairs(self, heads: int, first: int) -> tuple[Access, ...]:
        """A tile's ways through them, which begin with number `first` of these `heads`.

        Where keys and values have streams of their own these are two.
        """
        whole, begin, each = self.pair(heads), 2 * self.held * first, 2 * self.held
        if not self.apart:
            return (Access(whole, (TILE_COLUMNS, each * self.heads), (0, begin)),)
        loops = ((1, each, self.heads),) if self.heads > 1 else ()
        tile = TILE_COLUMNS, self.held
        return tuple(Access(whole, tile, (0, at), loops) for at in (begin, begin + self.held))

    def _pair(self, name: str, part: int) -> Shared:
        """A buffer of a run's keys and values of a part of the heads, which come row by row."""
        whole, t = self.pair(self.heads), TILE_COLUMNS

        def write(rows: int, columns: int, begin: int) -> Access:
            across, down = columns // t, rows // t
            order = ((1, t, across), (1, 1, t), (1, across * t, down))
            return Access(whole, (t, 1), (0, begin), order)

        def of_heads(rows: int, columns: int, begin: int, *, beside: bool) -> Access:
            one = write(rows, columns, begin)
            if self.heads == 1:
                return one
            more = (1, 2 * self.held, self.heads)
            first, *rest = one.traversal
            loops = (first, more, *rest) if beside else (*one.traversal, more)
            return replace(one, traversal=loops)

        writes = (
            of_heads(self.size, self.keys, 0, beside=False),
            of_heads(self.keys, self.size, self.held, beside=True),
        )
        column = self.place(self.number(self.row_parts // 2, part))[0]
        dtype = self.workload.operand("x1").dtype
        reads = self.read_pairs(self.heads, 0)
        return Shared(f"{name}_kv_{part}_held", dtype, whole, writes, reads, 2, column)


def _part(cuts: AttentionCuts, rows: int, heads: int, keys: int) -> AttentionCut:
    """What one tile has of attention."""
    return cuts.divided(replace(cuts.base, heads=heads, rows=rows, filled=keys))


@lru_cache(maxsize=256)
def _fastest(
    workload: Workload, name: str, rows: int, heads: int, keys: int
) -> tuple[float, AttentionCut] | None:
    """Cycles of a head, and the cut of a tile with the kernels that take them."""
    cuts = AttentionCuts(workload, known(name))
    found = cuts.kernels(_part(cuts, rows, heads, keys))
    return min(found, key=lambda each: each[0], default=None)


@lru_cache(maxsize=64)
def attention_stages(
    workload: Workload, name: str, heights: tuple[int, ...], most: int
) -> tuple[AttentionStage, ...]:
    """Ways to spread attention over up to `most` columns of the array.

    Args:
        workload: with joined heads, in fixed point.
        name: of the device.
        heights: rows of a run, with what they may be filled up to.
        most: columns that it may take.
    """
    return tuple(_splits(workload, name, heights, most))


def _splits(
    workload: Workload, name: str, heights: tuple[int, ...], most: int
) -> Iterator[AttentionStage]:
    wide, heads = workload.output.shape[1], workload.sizes["B"]
    for padded in (each for each in heights if not each % TILE_ROWS):
        for rows in divisors(padded // TILE_ROWS):
            for parts in divisors(heads):
                if rows * parts > most * APART_HIGH:
                    break
                sizes = rows, parts, padded // rows, wide // parts
                stage = AttentionStage(workload, name, *sizes, 1)
                if stage.columns <= most and stage.refuses() is None:
                    yield stage
