"""A transpose as a stage of a pipeline: a tile turns a part of the rows and of the columns."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from match_aie.errors import Infeasible
from match_aie.targets.aie_ml.graph.blocks import Blocks
from match_aie.targets.aie_ml.graph.region import links_down
from match_aie.targets.aie_ml.graph.row_stage import RowStage, divisors
from match_aie.targets.aie_ml.kernels.block import Access
from match_aie.targets.aie_ml.kernels.turned import SIDE
from match_aie.targets.aie_ml.known import device as known
from match_aie.workload import Workload


@dataclass(frozen=True)
class TurnedStage(RowStage):
    """Parts of a matrix, each turned in one call a run, or all rows in several.

    Rows and columns are those of x.
    """

    @property
    def part_rows(self) -> int:
        """Rows of a tile, of all its calls: these follow each other."""
        return self.call_rows * self.passes

    @property
    def matrix(self) -> tuple[int, int]:
        """Rows and columns of x."""
        rows, columns = (size for size in self.workload.operand("x").shape if size > 1)
        return rows, columns

    @property
    def wide(self) -> int:
        """Elements of a row of x."""
        return self.matrix[1]

    @property
    def rows(self) -> int:
        """Of x."""
        return self.matrix[0]

    @property
    def turned(self) -> int:
        """Rows of the result that are computed: columns of x, whole tiles of them."""
        return self.column_parts * self.part_columns

    def refuses(self) -> Infeasible | None:
        """What it lacks: whole tiles, calls that follow each other, memory."""
        for what, much in (("rows", self.call_rows), ("columns", self.part_columns)):
            if much % SIDE or (self.passes > 1 and self.row_parts > 1):
                return Infeasible(f"{what} of a tile that are turned", SIDE, much, what)
        return self.lacks()

    def blocks(self, operand: str, tile: int) -> Blocks:
        """What of x a tile reads, or of the result it stores."""
        row, column = divmod(tile, self.column_parts)
        high, wide = self.part_rows, self.part_columns
        if operand == "y":
            matrix = self.matrix[::-1]
            return Blocks("y", matrix, wide, high, row=column * wide, column=row * high)
        return Blocks("x", self.matrix, high, wide, row=row * high, column=column * wide)

    def walked(self, *, out: bool) -> Access:
        """A tile's way through a run's elements, tile of elements by tile."""
        high, wide = self.part_rows, self.part_columns
        return walk((high, wide) if out else (wide, high), (0, 0), self, out=out)


def walk(
    buffer: tuple[int, int],
    offset: tuple[int, int],
    stage: TurnedStage,
    *,
    out: bool,
    boundary: tuple[int, ...] = (),
) -> Access:
    """A tile's way through x, or through the result, in the same order of tiles of elements.

    Args:
        buffer: dimensions of what holds it.
        offset: where the tile's part begins.
        stage: what it turns.
        out: whether the result is stored.
        boundary: dimensions beyond which zeros are read; none where empty.
    """
    along, down = (1, 0) if out else (0, 1)
    loops = (along, SIDE, stage.part_columns // SIDE), (down, SIDE, stage.part_rows // SIDE)
    return Access(buffer, (SIDE, SIDE), offset, loops, boundary)


@lru_cache(maxsize=64)
def turned_stages(
    workload: Workload,
    name: str,
    rows: tuple[int, ...],
    columns: tuple[int, ...],
    most: int,
) -> tuple[TurnedStage, ...]:
    """Ways to turn a matrix on up to `most` columns of the array.

    Args:
        workload: what is turned.
        name: of the device.
        rows: of x, with what they may be filled up to.
        columns: likewise.
        most: columns of the array that it may take.
    """
    return tuple(_splits(workload, name, rows, columns, most))


def _splits(
    workload: Workload, name: str, rows: tuple[int, ...], columns: tuple[int, ...], most: int
) -> Iterator[TurnedStage]:
    for high in (each for each in rows if not each % SIDE):
        for wide in (each for each in columns if not each % SIDE):
            for down in divisors(high // SIDE):
                for along in divisors(wide // SIDE):
                    if down * along > most * links_down(known(name)):
                        break
                    for passes in (1,) if down > 1 else divisors(high // SIDE):
                        sizes = down, along, high // (down * passes), wide // along, passes
                        stage = TurnedStage(workload, name, *sizes)
                        if stage.columns <= most and stage.refuses() is None:
                            yield stage
                            break
