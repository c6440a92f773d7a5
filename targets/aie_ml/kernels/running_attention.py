"""The kernel of quantised attention with a running softmax, whose keys and values go by once.

Its arithmetic is that of `match_aie.workload.attention_running`. A tile keeps a block of queries,
and of each of its rows a power of two, sums of results, and the sum of its weights (eight times).
Of a part of the keys it makes scores of 16 bits, each row's largest one, weights in place of
scores, and weights times values.

Rows whose power grows have their sums shifted, one after the other; others wait for nothing. Tiles
of four rows are handled two or three at a time (a strip), so that none waits for itself, and ends
of loops count for all of them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from match_aie.errors import TargetError
from match_aie.targets.aie_ml.kernels.attention import TILE_COLUMNS, TILE_ROWS
from match_aie.targets.aie_ml.kernels.attention_parts import PartsCall, Phase
from match_aie.targets.aie_ml.kernels.call import Parameter
from match_aie.targets.aie_ml.kernels.lookup import REPEATED
from match_aie.targets.aie_ml.kernels.product import ProductCall
from match_aie.targets.aie_ml.kernels.spec import BYTES, C_TYPES
from match_aie.workload.attention_running import (
    ENTRIES,
    FULL,
    MOST_SHIFT,
    NUMERATOR_BITS,
    NUMERATOR_SHIFT,
    STEP_BITS,
    RunningNumbers,
)

#: Element type of scores and weights.
WEIGHTS = "int16"

#: Rows that are handled at a time: the first number that divides a block's. Sums of weights of more
#: rows would leave too few accumulators.
STRIPS = (12, 8)

#: Rows whose results are handled at a time.
DIVIDED = 16

#: Keys of a tile of weights: where cores multiply eight at once, tiles are those of scores.
WEIGHT_KEYS = (8, 4)

#: Bytes of a bank of the tiles that run it.
BANK = 1 << 14

#: Elements of one of the table's two arrays, which has everything twice.
TABLE = 2 * ENTRIES


@dataclass(frozen=True)
class RunningSpec:
    """A running softmax of rows of which a part of the columns is there at a time.

    Attributes:
        dtype: of results, 8 bits.
        strip: rows that are handled at a time.
        keys: of a tile of weights.
    """

    dtype: str
    strip: int
    keys: int = 4

    entries: ClassVar[int] = ENTRIES
    step_bits: ClassVar[int] = STEP_BITS
    most_shift: ClassVar[int] = MOST_SHIFT
    full: ClassVar[int] = FULL
    numerator_bits: ClassVar[int] = NUMERATOR_BITS
    numerator_shift: ClassVar[int] = NUMERATOR_SHIFT
    divided: ClassVar[int] = DIVIDED

    @property
    def family(self) -> str:
        """Identifier that kernels with the same source share."""
        return f"running_parts_{self.dtype}_{self.strip}_by_{self.keys}"

    #: Its template, which reads the kernel under the name `k`.
    template = "aie/running_parts.hpp.mako"

    @staticmethod
    def of(dtype: str, rows: int, keys: int) -> RunningSpec:
        """That of blocks of so many rows, and of weights in tiles of so many keys."""
        return RunningSpec(dtype, next(strip for strip in STRIPS if rows % strip == 0), keys)

    #: C++ name of an element type.
    c_type = staticmethod(C_TYPES.__getitem__)


@dataclass(frozen=True)
class RunningAttention(PartsCall):
    """Attention whose keys and values go by once.

    Attributes:
        numbers: of the arithmetic.
        repeated: bytes that its table repeats.
    """

    scores: ProductCall
    spec: RunningSpec
    numbers: RunningNumbers = field(kw_only=True)
    repeated: int = field(default=REPEATED, kw_only=True)

    kinds: ClassVar[tuple[Phase, ...]] = ("values",)
    weights = "scores"

    def __post_init__(self) -> None:
        """Refuse products of which one does not store what the other reads, and uneven parts."""
        first, last = self.scores.spec, self.values.spec
        if (first.m, first.n) != (last.m, last.k) or first.requantise.dtype != WEIGHTS:
            raise TargetError(f"{self.symbol}: values do not go with scores")
        tiles = (first.tiling.m, first.tiling.n), (last.tiling.m, last.tiling.n)
        if set(tiles) != {(TILE_ROWS, TILE_COLUMNS)} or last.tiling.k not in WEIGHT_KEYS:
            raise TargetError(f"{self.symbol}: products are not of tiles of 4 x 8")
        if first.row_bias or first.bias or not last.resumes or last.requantise.dtype != "int32":
            raise TargetError(f"{self.symbol}: parts of attention have no zero points")
        if first.m % DIVIDED or first.n != self.numbers.part:
            raise TargetError(f"{self.symbol}: blocks of {first.m} rows by {first.n} keys")
        super().__post_init__()

    #: Its template, which reads it under the name `call`.
    template = "aie/running_attention_layer.cpp.mako"

    @property
    def dtype(self) -> str:
        """Element type of results."""
        return self.spec.dtype

    @property
    def strip(self) -> int:
        """Rows that are handled at a time."""
        return self.spec.strip

    @property
    def tiles(self) -> int:
        """Tiles of eight sums of four rows, those of weights not among them."""
        return self.width // TILE_COLUMNS

    @property
    def queries_beside_sums(self) -> bool:
        """Whether queries have room in the bank of sums; else they lie with scores.

        The first product loads queries and stores scores.
        """
        return self.rows * self.width * (BYTES[self.scores.spec.a] + BYTES["int32"]) <= BANK

    @property
    def local(self) -> tuple[tuple[str, str, int], ...]:
        """Arrays of the function: name, element type, elements. Sums of results come last."""
        s = self.scores.spec
        return (
            ("queries", s.a, s.m * s.k),
            ("scores", WEIGHTS, s.m * s.n),
            ("powers", "int16", s.m * TILE_COLUMNS),
            ("masses", "int32", s.m * TILE_COLUMNS),
            ("sums", "int32", s.m * TILE_COLUMNS * self.tiles),
        )

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """Both arrays of the table, whose turn of a stream of queries is this tile's."""
        tables = (Parameter(name, "int16", TABLE) for name in ("w", "cd"))
        return (*tables, Parameter("turn", "int32", 1))

    @property
    def rules(self) -> tuple[tuple[str, object], ...]:
        """Where the softmax reads and writes, and its numbers."""
        n = self.numbers
        return (
            ("x", "scores"),
            ("ab", "w"),
            ("cd", "cd"),
            ("powers", "powers"),
            ("masses", "masses"),
            ("sums", "sums"),
            ("rows", self.rows),
            ("width", self.scores.spec.n),
            ("tiles", self.tiles),
            ("factor", n.factor),
            ("bits", n.bits),
            ("numerator", n.numerator),
            ("down", n.down),
            ("lo", n.lo - n.zero_point),
            ("hi", n.hi - n.zero_point),
            ("zero_point", n.zero_point),
        )
