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

from dataclasses import dataclass
from typing import ClassVar

from match_aie.errors import TargetError
from match_aie.targets.aie_ml.kernels.attention import TILE_COLUMNS, TILE_ROWS
from match_aie.targets.aie_ml.kernels.call import LayerCall, Parameter, arguments_of
from match_aie.targets.aie_ml.kernels.lookup import REPEATED
from match_aie.targets.aie_ml.kernels.product import ProductCall
from match_aie.targets.aie_ml.kernels.spec import BYTES, C_TYPES, KernelSpec
from match_aie.targets.aie_ml.kernels.streamed_attention import Phase, joins_sums, phases_of
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

#: Rows whose results are handled at a time, and keys of a tile of weights.
DIVIDED, WEIGHT_KEYS = 16, 4

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
    """

    dtype: str
    strip: int

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
        return f"running_parts_{self.dtype}_{self.strip}"

    #: Its template, which reads the kernel under the name `k`.
    template = "aie/running_parts.hpp.mako"

    @staticmethod
    def c_type(dtype: str) -> str:
        """C++ name of an element type."""
        return C_TYPES[dtype]


@dataclass(frozen=True)
class RunningAttention:
    """Blocks of queries, one after the other, each with all parts of the keys and values.

    Queries of all tiles that share a stream come one after the other, in pieces; a tile copies its
    own. "turn" says which these are.

    Attributes:
        symbol: its name, a C identifier.
        header: of its declaration.
        scores: queries by a part of the keys.
        values: weights by a part of the values; it stores sums.
        dtype: of results.
        numbers: of the arithmetic.
        columns: keys, before they are filled up.
        parts: of the keys.
        blocks: of queries that a run goes through, those of all heads.
        together: tiles that share a stream of queries.
        pieces: in which a block of queries comes.
        repeated: bytes that its table repeats.
    """

    symbol: str
    header: str
    scores: ProductCall
    values: LayerCall
    dtype: str
    numbers: RunningNumbers
    columns: int
    parts: int
    blocks: int = 1
    together: int = 1
    pieces: int = 1
    repeated: int = REPEATED

    def __post_init__(self) -> None:
        """Refuse products of which one does not store what the other reads, and uneven parts."""
        first, last = self.scores.spec, self.values.spec
        if (first.m, first.n) != (last.m, last.k) or first.requantise.dtype != WEIGHTS:
            raise TargetError(f"{self.symbol}: values do not go with scores")
        tiles = (first.tiling.m, first.tiling.n), (last.tiling.m, last.tiling.n)
        if set(tiles) != {(TILE_ROWS, TILE_COLUMNS)} or last.tiling.k != WEIGHT_KEYS:
            raise TargetError(f"{self.symbol}: products are not of tiles of 4 x 8")
        if first.row_bias or first.bias or not last.resumes or last.requantise.dtype != "int32":
            raise TargetError(f"{self.symbol}: parts of attention have no zero points")
        if first.m % DIVIDED or first.n != self.numbers.part:
            raise TargetError(f"{self.symbol}: blocks of {first.m} rows by {first.n} keys")
        if not (self.parts - 1) * first.n < self.columns <= self.parts * first.n:
            raise TargetError(f"{self.symbol}: {self.columns} keys are not {self.parts} parts")
        if self.parts < 2 or first.m * first.k % (self.pieces * 32):
            raise TargetError(f"{self.symbol}: one part, or pieces of queries that are no vectors")

    #: Its template, which reads it under the name `call`.
    template = "aie/running_attention_layer.cpp.mako"

    @property
    def spec(self) -> RunningSpec:
        """Functions of the loops around both products."""
        return RunningSpec(self.dtype, self.strip)

    @property
    def adds(self) -> KernelSpec:
        """The kernel of weights by values."""
        return self.values.spec

    @property
    def headers(self) -> tuple[KernelSpec | RunningSpec, ...]:
        """Kernels that its source includes, those with the same source once."""
        found = (self.scores.spec, self.adds, self.spec)
        return tuple({spec.family: spec for spec in found}.values())

    @property
    def rows(self) -> int:
        """Queries of a block."""
        return self.scores.spec.m

    @property
    def width(self) -> int:
        """Elements of a query, a key or a value."""
        return self.scores.spec.k

    @property
    def strip(self) -> int:
        """Rows that are handled at a time."""
        return next(strip for strip in STRIPS if self.rows % strip == 0)

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
    def held(self) -> int:
        """Elements of a part of the keys and of the values."""
        return 2 * self.width * self.scores.spec.n

    @property
    def piece(self) -> int:
        """Elements of a piece of queries."""
        return self.rows * self.width // self.pieces

    @property
    def last(self) -> int:
        """Keys of the last part."""
        return self.columns - (self.parts - 1) * self.scores.spec.n

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
    def stack_bytes(self) -> int:
        """Of all its arrays."""
        return sum(BYTES[dtype] * size for _, dtype, size in self.local)

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """Both arrays of the table, whose turn of a stream of queries is this tile's."""
        tables = (Parameter(name, "int16", TABLE) for name in ("w", "cd"))
        return (*tables, Parameter("turn", "int32", 1))

    @property
    def arguments(self) -> tuple[str, ...]:
        """The function's arguments as C++ text."""
        q, kv = self.scores.spec.a, self.scores.spec.b
        return arguments_of(((q, "q"), (kv, "kv")), self.parameters, self.dtype, fetches=True)

    @property
    def phases(self) -> tuple[tuple[Phase, int], ...]:
        """Calls of a block in their order, each with its number among those of its kind."""
        return phases_of(self.together * self.pieces, ("values",), self.parts)

    @property
    def scored(self) -> tuple[tuple[str, object], ...]:
        """The first product's call, field by field as C++ text or numbers."""
        named = dict(self.scores.fields)
        return tuple((named | {"x": "queries", "w": "kv.data()", "y": "scores"}).items())

    @property
    def added(self) -> tuple[tuple[str, object], ...]:
        """The second product's call, likewise."""
        return joins_sums(self.values, "scores", self.held, self.width)

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
