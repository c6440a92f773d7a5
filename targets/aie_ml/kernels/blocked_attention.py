"""The kernel of attention whose products are of block floating point, and whose keys go by once.

Its arithmetic is that of `match_aie.workload.attention_bfloat16` for layers of precision "bfp16".
Scores are products of queries by keys, in tiles of eight by eight: both lie with their elements
along the reduction, as rows do, so that nothing is turned. What scores become lies as they do, and
is what the second product reads, with eight keys of a row in a block. Values lie with their keys
across the rows of a tile, which that product turns as it makes them blocks (`KernelSpec.turned`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from match_aie.errors import TargetError
from match_aie.targets.aie_ml.kernels.attention_parts import VECTOR
from match_aie.targets.aie_ml.kernels.float_attention import FloatAttention
from match_aie.workload.block_float import BLOCK

#: Elements that the loops handle at a time: four rows of a tile.
FOUR = VECTOR // BLOCK

#: Keys of a part at least: two tiles of the first product, which it makes side by side.
LEAST_PART = 2 * BLOCK


@dataclass(frozen=True)
class BlockedAttention(FloatAttention):
    """Attention in bfloat16 with products of block floating point."""

    round: ClassVar[int] = BLOCK

    #: Its template, which reads it under the name `call`.
    template = "aie/blocked_attention_layer.cpp.mako"

    def _refuse_products(self) -> None:
        """Refuse products that do not go together, or are of no blocks."""
        first, last = self.scores.spec, self.values.spec
        if (first.m, first.n, first.k) != (last.m, last.k, last.n):
            raise TargetError(f"{self.symbol}: values do not go with scores")
        tiles = {(s.tiling.m, s.tiling.k, s.tiling.n) for s in (first, last)}
        if not (first.blocked and last.blocked) or tiles != {(BLOCK, BLOCK, BLOCK)}:
            raise TargetError(f"{self.symbol}: products are of no blocks of floats")
        if first.turned or not last.turned or self.spec.lying != "blocked":
            raise TargetError(f"{self.symbol}: values alone are turned, and loops are of blocks")
        if self.rows % (2 * BLOCK):
            raise TargetError(f"{self.symbol}: {self.rows} rows are divided sixteen at a time")

    @property
    def rows(self) -> int:
        """Queries of a block."""
        return self.scores.spec.m

    @property
    def part(self) -> int:
        """Keys of a part."""
        return self.scores.spec.n

    @property
    def local(self) -> tuple[tuple[str, str, int], ...]:
        """Arrays of the function: name, element type, elements. Sums of results come last."""
        return (
            ("queries", "bfloat16", self.rows * self.width),
            ("scores", "float32", self.rows * self.part),
            ("totals", "float32", self.rows * BLOCK),
            ("marks", "int16", FOUR * self.part),
            ("sums", "float32", self.rows * self.width),
        )

    @property
    def scored(self) -> tuple[tuple[str, object], ...]:
        """The first product's call."""
        return tuple(
            (dict(self.scores.fields) | {"x": "queries", "w": "kv.data()", "y": "scores"}).items()
        )
