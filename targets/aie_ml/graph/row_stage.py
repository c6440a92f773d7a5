"""A layer whose rows are computed by themselves (norms, tables, sums) as a stage of a pipeline.

Every tile has a part of the rows of each pass, and of the columns where a row need not lie in one
tile. A tile has a buffer of its own in a memory tile for each operand and for its results where
streams of programmable logic bring and take them; the pipeline puts its own between stages.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from math import ceil
from typing import ClassVar, Literal

from match_aie.errors import Infeasible, TargetError
from match_aie.hardware import Loop, Mapping
from match_aie.targets.aie_ml.array.assumed import Assumed
from match_aie.targets.aie_ml.array.local import Demand
from match_aie.targets.aie_ml.devices import Device
from match_aie.targets.aie_ml.graph.blocks import Blocks
from match_aie.targets.aie_ml.graph.fit import fits_local
from match_aie.targets.aie_ml.graph.image import WORD
from match_aie.targets.aie_ml.graph.kinds import STAGE_KINDS
from match_aie.targets.aie_ml.graph.layer import Arrays, zeros_of
from match_aie.targets.aie_ml.graph.plan import (
    Connection,
    End,
    GraphKernel,
    LayerGraph,
    MemoryKind,
    Outside,
    Shared,
)
from match_aie.targets.aie_ml.graph.region import links_down
from match_aie.targets.aie_ml.graph.rows import STREAMS, RowLayer, row_cycles, row_demand
from match_aie.targets.aie_ml.kernels.block import Access
from match_aie.targets.aie_ml.kernels.lookup import FilledCall
from match_aie.targets.aie_ml.kernels.spec import BYTES
from match_aie.targets.aie_ml.known import device as known
from match_aie.targets.aie_ml.schedule.rows import RowCall
from match_aie.workload import Workload


@dataclass(frozen=True)
class RowStage:
    """Rows of a run over tiles: sizes of everything.

    Attributes:
        workload: in the fixed point of its kernel.
        name: of the device.
        row_parts: tiles along the rows of a pass.
        column_parts: tiles along a row.
        call_rows: rows of a call.
        part_columns: elements of a row in a tile.
        passes: calls of a tile in a run.
    """

    workload: Workload
    name: str
    row_parts: int
    column_parts: int
    call_rows: int
    part_columns: int
    passes: int

    @property
    def device(self) -> Device:
        """The whole array."""
        return known(self.name)

    @property
    def wide(self) -> int:
        """Elements of a row."""
        return self.column_parts * self.part_columns

    @property
    def rows(self) -> int:
        """Of a run."""
        return self.workload.output.size // self.wide

    @property
    def padded(self) -> int:
        """Rows that it computes in a run."""
        return self.passes * self.row_parts * self.call_rows

    @property
    def tiles(self) -> int:
        """In all."""
        return self.row_parts * self.column_parts

    @property
    def chunk(self) -> int:
        """Elements of a call."""
        return self.call_rows * self.part_columns

    @cached_property
    def call(self) -> RowCall:
        """The function of a tile, its numbers apart."""
        return self._call(_layer(self.workload))

    def _call(self, layer: RowLayer) -> RowCall:
        return replace(layer.call, rows=self.chunk // layer.call.width)

    @property
    def types(self) -> tuple[str, str]:
        """Of elements that are read, and stored."""
        return self.call.spec.a, self.call.spec.dtype

    @property
    def ways(self) -> tuple[int, int]:
        """Streams into the array, and back, of a graph of its own."""
        return self.tiles * len(self.call.reads), self.tiles

    @property
    def lanes(self) -> int:
        """Elements that its kernel takes together."""
        return self.call.width

    @property
    def high(self) -> int:
        """Tiles of a column: each has a stream for every operand, and one for its results."""
        return min(STREAMS // len(self.call.reads), links_down(self.device))

    @property
    def columns(self) -> int:
        """Of the array."""
        return ceil(self.tiles / self.high)

    def place(self, tile: int) -> tuple[int, int]:
        """Column and row of a tile."""
        return divmod(tile, self.high)

    @cached_property
    def cycles(self) -> float:
        """Between runs that follow each other; modelled."""
        device, assumed = self.device, Assumed()
        work = row_cycles(self.call, self._demand(), device)
        work += assumed.call(len(self.call.reads) + 1)
        sizes = (BYTES[each] for each in (self.call.spec.a, self.call.spec.dtype))
        rate = device.architecture.core.dma.bytes_per_cycle
        moved = max(self.chunk * size / rate for size in sizes) + assumed.descriptor
        return self.passes * max(work, moved)

    def refuses(self) -> Infeasible | None:
        """What it lacks: whole words and vectors, whole rows where kernels need them, memory."""
        layer, spec = _layer(self.workload), self.call.spec
        grain = WORD // min(BYTES[spec.a], BYTES[spec.dtype])
        whole = isinstance(layer.call, FilledCall)
        wanted = layer.call.width if whole else grain
        if self.part_columns % wanted or (whole and (self.column_parts > 1 or layer.real)):
            return Infeasible("elements of a row in a tile", wanted, self.part_columns, "elements")
        if self.chunk % layer.call.width:
            return Infeasible("elements of a call", layer.call.width, self.chunk, "elements")
        return self.lacks()

    def lacks(self) -> Infeasible | None:
        """What of a tile's memory its buffers do not fit."""
        return fits_local(self._demand(), self.device)

    def _demand(self) -> Demand:
        return row_demand(self.call, self.chunk, self.device)

    def blocks(self, operand: str, tile: int) -> Blocks:
        """What of an operand a tile reads, or of the result it stores."""
        row, column = divmod(tile, self.column_parts)
        return Blocks(
            operand,
            (self.rows, self.wide),
            self.call_rows,
            self.part_columns,
            row=row * self.call_rows,
            row_step=self.row_parts * self.call_rows,
            passes=self.passes,
            column=column * self.part_columns,
        )

    def graph(self, name: str, constants: Arrays) -> LayerGraph:
        """As a graph of its own, fed by streams of programmable logic.

        Args:
            name: of it.
            constants: by operand.
        """
        layer = STAGE_KINDS[self.workload.kind].layer(self.workload, constants, name)
        call, reads = self._call(layer), self.call.reads
        ins = [self._outside(at, tile) for tile in range(self.tiles) for at in reads]
        outs = [self._outside("y", tile) for tile in range(self.tiles)]
        links: list[Connection] = []
        for at in range(len(ins)):
            tile, port = divmod(at, len(reads))
            links.append(Connection(End("outside", at), End("shared", at)))
            links.append(Connection(End("shared", at), End("buffer", tile, port)))
        for tile in range(self.tiles):
            at = len(ins) + tile
            links.append(Connection(End("buffer", tile), End("shared", at)))
            links.append(Connection(End("shared", at), End("outside", at)))
        kernels = tuple(
            GraphKernel(
                call,
                self.place(tile),
                (self.chunk,) * len(reads),
                self.chunk,
                self.passes,
                layer.values,
            )
            for tile in range(self.tiles)
        )
        return LayerGraph(
            name,
            f"Rows of {self.wide} elements on {self.tiles} tiles, {self.passes} calls each.",
            tuple(ins),
            tuple(outs),
            tuple(self.shared(name, each) for each in (*ins, *outs)),
            kernels,
            tuple(links),
            self.columns,
            "plio",
        )

    def _outside(self, operand: str, tile: int) -> Outside:
        spec, blocks = self.call.spec, self.blocks(operand, tile)
        dtype = spec.dtype if operand == "y" else spec.a
        return Outside(f"{operand}_{tile}", dtype, blocks.elements, blocks=blocks)

    def shared(self, name: str, outside: Outside) -> Shared:
        """A buffer of a run, which a tile reads or stores as `walked` says."""
        out = outside.blocks is not None and outside.blocks.operand == "y"
        calls = self.walked(out=out)
        size = calls.buffer
        whole = Access(size, size, (0, 0))
        writes, reads = ((calls,), (whole,)) if out else ((whole,), (calls,))
        column = self.place(int(outside.name.rsplit("_", 1)[1]))[0]
        return Shared(f"{name}_{outside.name}_held", outside.dtype, size, writes, reads, 2, column)

    def walked(self, *, out: bool) -> Access:
        """A tile's way through what holds a run's elements, call by call.

        Args:
            out: whether these are results.
        """
        del out
        high, wide = self.call_rows, self.part_columns
        loop = ((1, high, self.passes),) if self.passes > 1 else ()
        return Access((wide, high * self.passes), (wide, high), (0, 0), loop)


@lru_cache(maxsize=256)
def _layer(workload: Workload) -> RowLayer:
    """The layer, its numbers apart."""
    return STAGE_KINDS[workload.kind].layer(workload, zeros_of(workload), "layer")


@dataclass(frozen=True)
class RowStagePlan:
    """The plan of such a stage.

    Attributes:
        stage: sizes of everything.
    """

    stage: RowStage

    @property
    def columns(self) -> int:
        """Of the array."""
        return self.stage.columns

    @property
    def interval(self) -> float:
        """Cycles between runs that follow each other; modelled."""
        return self.stage.cycles

    @property
    def cycles(self) -> float:
        """Of a single run, likewise."""
        return self.stage.cycles

    @property
    def ways(self) -> tuple[int, int]:
        """Streams into the array, and back."""
        return self.stage.ways

    #: Programmable logic.
    memory: ClassVar[MemoryKind] = "plio"

    #: Its streams.
    through: ClassVar[Literal["plio", "gmio"]] = "plio"

    @property
    def moved(self) -> tuple[int, int]:
        """Nothing comes from the chip's memory."""
        return 0, 0

    @property
    def legs(self) -> tuple[float, float]:
        """Runs follow each other: nothing is waited for."""
        return 0.0, 0.0

    #: Likewise.
    requests = 0.0, 0.0

    #: Likewise.
    starting = 0.0

    @property
    def spatial(self) -> tuple[Loop, ...]:
        """Tiles along rows and columns, then lanes: all loops over the longest dimension."""
        s, dim = self.stage, _longest(self.stage.workload)
        return Loop(dim, s.row_parts), Loop(dim, s.column_parts), Loop(dim, s.lanes)

    @property
    def nest(self) -> Mapping:
        """Passes, the rows of a call, and a row's elements in a tile."""
        s, dim = self.stage, _longest(self.stage.workload)
        high, wide = s.row_parts * s.call_rows * s.wide, s.part_columns
        loops = Loop(dim, s.passes, high), Loop(dim, s.call_rows, s.wide), Loop(dim, wide)
        return Mapping(self.spatial, loops)

    def graph(self, name: str, workload: Workload, constants: Arrays) -> LayerGraph:
        """The graph, called `name`, with the numbers of `constants`."""
        del workload
        return self.stage.graph(name, constants)


def _longest(workload: Workload) -> str:
    return max(workload.dims, key=lambda dim: dim[1])[0]


def is_row_stage(mapping: Mapping) -> bool:
    """Whether it has the loops of `RowStagePlan.nest`."""
    return len(mapping.spatial) == 3 and len(mapping.temporal) == 3


def row_stage_of(workload: Workload, name: str, nest: Mapping) -> RowStagePlan:
    """The plan that a nest says.

    Raises:
        TargetError: it says none.
    """
    rows, columns, _ = (loop.size for loop in nest.spatial)
    passes, high, wide = (loop.size for loop in nest.temporal)
    stage = RowStage(workload, name, rows, columns, high, wide, passes)
    if workload.output.size % stage.wide or stage.refuses() is not None:
        raise TargetError(f"{nest} is no stage of a {workload.kind} on {name}")
    return RowStagePlan(stage)


def divisors(number: int) -> list[int]:
    """Of a number, in ascending order."""
    return [part for part in range(1, number + 1) if number % part == 0]


@lru_cache(maxsize=256)
def row_stages(
    workload: Workload, name: str, wide: int, heights: tuple[int, ...], most: int
) -> tuple[RowStage, ...]:
    """Stages of a layer on up to `most` columns: of each split and period that of fewest cycles.

    Args:
        workload: in the fixed point of its kernel.
        name: of the device.
        wide: elements of a row.
        heights: rows of a run, with what they may be filled up to.
        most: columns that it may take.
    """
    found: list[RowStage] = []
    for padded in heights:
        for period in divisors(padded):
            for rows in divisors(period):
                found += _splits(workload, name, wide, (padded, period, rows), most)
    return tuple(found)


def _splits(
    workload: Workload, name: str, wide: int, sizes: tuple[int, int, int], most: int
) -> Iterator[RowStage]:
    """Stages of a number of rows, those of a pass, and parts of them, by parts of the columns."""
    padded, period, rows = sizes
    layer = _layer(workload)
    whole = isinstance(layer.call, FilledCall)
    for columns in (1,) if whole else divisors(wide // WORD):
        if rows * columns > most * links_down(known(name)):
            break
        stage = RowStage(
            workload, name, rows, columns, period // rows, wide // columns, padded // period
        )
        if stage.columns <= most and stage.refuses() is None:
            yield stage
