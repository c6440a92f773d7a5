"""The kernel of attention in bfloat16 whose keys and values go by, twice for a block or once.

Its arithmetic is that of `match_aie.workload.attention_bfloat16`. A tile keeps a block of queries,
and sums of its results. Keys and values of a head come in parts of some keys each. The first time
only each row's largest score is kept; the second time scores become weights, which join the sum of
their row, and weights times values join the sums of results. An unshifted softmax has no largest
scores: keys and values go by once.

Scores are products of keys by queries, four keys by four queries a tile, since a core turns its
queries once and a DMA moves no single elements of two bytes. Eight keys' weights are turned into a
tile of the second product.

Where products are made lane by lane (npu2) rows of queries lie in lanes: scores have a row for each
key, and weights, which the second product takes upright, are never turned.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from match_aie.errors import TargetError
from match_aie.targets.aie_ml.kernels.call import LayerCall, Parameter, arguments_of
from match_aie.targets.aie_ml.kernels.floats import FloatSpec
from match_aie.targets.aie_ml.kernels.spec import BYTES, KernelSpec
from match_aie.targets.aie_ml.kernels.streamed_attention import Phase, joins_sums, phases_of
from match_aie.workload.attention_bfloat16 import (
    FARTHEST_STEPS,
    LARGEST_STEP,
    LINEAR,
    ONE_BITS,
    SQUARE,
    START,
    STEPS,
    SUMS,
    TOGETHER,
)
from match_aie.workload.rows_bfloat16 import INVERSE, INVERSE_STEPS, MAGIC, Split

#: Queries and keys of a tile of scores; keys of a tile of weights.
QUERIES, KEYS, PAIR = 4, 4, 8

#: Keys of a round of sums: parts have whole ones.
ROUND = TOGETHER * SUMS

#: Elements of a tile of queries, keys or weights, which the loops handle at a time.
TILE = QUERIES * PAIR


#: The least weight.
FARTHEST = 2.0 ** -(FARTHEST_STEPS // STEPS)


@dataclass(frozen=True)
class FloatPartsSpec(FloatSpec):
    """Weights of scores of which a part of the keys is there at a time, with their numbers.

    Attributes:
        laned: whether rows of queries lie in lanes.
        shifted: whether weights are of scores less their row's largest one.
    """

    laned: bool = False
    shifted: bool = True

    steps: ClassVar[int] = STEPS
    farthest: ClassVar[int] = FARTHEST_STEPS
    one: ClassVar[int] = ONE_BITS
    sums: ClassVar[int] = SUMS
    #: The polynomial's, so many powers of two smaller that exponents are only added.
    start: ClassVar[float] = START.item() * FARTHEST
    linear: ClassVar[float] = LINEAR.item() * FARTHEST
    square: ClassVar[float] = SQUARE.item() * FARTHEST
    magic: ClassVar[float] = MAGIC.item()
    magic_bits: ClassVar[int] = int(MAGIC.view("int32"))
    largest: ClassVar[int] = LARGEST_STEP
    inverse: ClassVar[int] = INVERSE
    inverse_steps: ClassVar[int] = INVERSE_STEPS

    @property
    def family(self) -> str:
        """Identifier that kernels with the same source share."""
        if self.laned:
            return "attention_parts_laned_bfloat16"
        return "attention_parts_bfloat16" if self.shifted else "attention_unshifted_bfloat16"

    @property
    def template(self) -> str:
        """Its template."""
        return "aie/float_parts_laned.hpp.mako" if self.laned else "aie/float_parts.hpp.mako"


@dataclass(frozen=True)
class FloatAttention:
    """Blocks of queries, one after the other, each with all parts of the keys and values.

    Queries of all tiles that share a stream come one after the other, in pieces; a tile copies its
    own. "turn" says which these are.

    Attributes:
        symbol: its name, a C identifier.
        header: of its declaration.
        scores: a part of the keys by queries, float32.
        values: weights by a part of the values, float32 sums.
        factor: what queries are multiplied by.
        columns: keys, before they are filled up.
        parts: of the keys.
        blocks: of queries that a run goes through, those of all heads.
        together: tiles that share a stream of queries.
        pieces: in which a block of queries comes.
        spec: functions of the loops around both products, which say whether keys go by twice.
    """

    symbol: str
    header: str
    scores: LayerCall
    values: LayerCall
    factor: tuple[float, float]
    columns: int
    parts: int
    blocks: int = 1
    together: int = 1
    pieces: int = 1
    spec: FloatPartsSpec = FloatPartsSpec()

    def __post_init__(self) -> None:
        """Refuse products of which one does not store what the other reads, and uneven parts."""
        first, last = self.scores.spec, self.values.spec
        if (first.n, first.m) != (last.m, last.k) or first.k != last.n:
            raise TargetError(f"{self.symbol}: values do not go with scores")
        shapes = {(s.tiling.m, s.tiling.k, s.tiling.lanes or s.tiling.n) for s in (first, last)}
        if shapes not in ({(QUERIES, PAIR, KEYS)}, {(QUERIES, PAIR, TILE)}):
            raise TargetError(f"{self.symbol}: products are not of tiles of 4 x 8 by 8 x 4")
        self._refuse_lanes()
        stored = {s.requantise.dtype for s in (first, last)}
        if stored != {"float32"} or first.bias or not last.resumes:
            raise TargetError(f"{self.symbol}: sums are kept as floats")
        if first.m % ROUND or not (self.parts - 1) * first.m < self.columns <= self.parts * first.m:
            raise TargetError(f"{self.symbol}: {self.columns} keys are not {self.parts} parts")
        if self.parts < 2 or first.n * first.k % (self.pieces * TILE):
            raise TargetError(f"{self.symbol}: one part, or pieces of queries that are no tiles")

    def _refuse_lanes(self) -> None:
        """Refuse what rows in lanes do not have."""
        first, last = self.scores.spec, self.values.spec
        if self.spec.laned != self.laned or (self.laned and not self.spec.shifted):
            raise TargetError(f"{self.symbol}: loops are not of the products' kind")
        if self.laned and {first.n, last.n} != {first.tiling.n}:
            raise TargetError(
                f"{self.symbol}: {first.n} rows of {last.n} elements, products lane by lane take "
                f"{first.tiling.n} of both"
            )
        if self.laned and (not last.upright or first.n % (8 * self.pieces)):
            raise TargetError(f"{self.symbol}: pieces of no eight rows, or weights that are turned")

    @property
    def laned(self) -> bool:
        """Whether products are made lane by lane, and rows of queries lie in lanes."""
        return self.scores.spec.by_lanes

    @staticmethod
    def factors(factor: Split) -> tuple[float, float]:
        """A factor as two numbers."""
        return factor.high.item(), factor.low.item()

    #: Its template, which reads it under the name `call`.
    template = "aie/float_attention_layer.cpp.mako"

    @property
    def adds(self) -> KernelSpec:
        """The kernel of weights by values."""
        return self.values.spec

    @property
    def headers(self) -> tuple[KernelSpec | FloatPartsSpec, ...]:
        """Kernels that its source includes, those with the same source once."""
        found = (self.scores.spec, self.adds, self.spec)
        return tuple({spec.family: spec for spec in found}.values())

    @property
    def rows(self) -> int:
        """Queries of a block."""
        return self.scores.spec.n

    @property
    def part(self) -> int:
        """Keys of a part."""
        return self.scores.spec.m

    @property
    def width(self) -> int:
        """Elements of a query, a key or a value."""
        return self.scores.spec.k

    @property
    def held(self) -> int:
        """Elements of a part of the keys and of the values."""
        return 2 * self.width * self.part

    @property
    def piece(self) -> int:
        """Elements of a piece of queries."""
        return self.rows * self.width // self.pieces

    @property
    def last(self) -> int:
        """Keys of the last part."""
        return self.columns - (self.parts - 1) * self.part

    @property
    def local(self) -> tuple[tuple[str, str, int], ...]:
        """Arrays of the function: name, element type, elements. Sums of results come last."""
        queries = ("queries", "bfloat16", self.rows * self.width)
        scores = ("scores", "float32", self.rows * self.part)
        sums = ("sums", "float32", self.rows * self.width)
        if self.laned:
            most, totals = ("most", "int16", self.rows), ("totals", "float32", self.rows * SUMS)
            return queries, scores, most, totals, sums
        kept = (("most", "int16", self.rows * PAIR),) if self.spec.shifted else ()
        totals = ("totals", "float32", self.rows * KEYS * SUMS)
        return queries, scores, *kept, totals, ("ones", "bfloat16", self.part * KEYS), sums

    @property
    def stack_bytes(self) -> int:
        """Of all its arrays."""
        return sum(BYTES[dtype] * size for _, dtype, size in self.local)

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """Whose turn of a stream of queries is this tile's."""
        return (Parameter("turn", "int32", 1),)

    @property
    def arguments(self) -> tuple[str, ...]:
        """The function's arguments as C++ text."""
        buffers = (("bfloat16", "q"), ("bfloat16", "kv"))
        return arguments_of(buffers, self.parameters, "bfloat16", fetches=True)

    @property
    def phases(self) -> tuple[tuple[Phase, int], ...]:
        """Calls of a block in their order, each with its number among those of its kind."""
        kinds: tuple[Phase, ...] = ("largest", "values") if self.spec.shifted else ("values",)
        return phases_of(self.together * self.pieces, kinds, self.parts)

    @property
    def scored(self) -> tuple[tuple[str, object], ...]:
        """The first product's call: tiles of four queries lie one after the other.

        Where they are made lane by lane, rows of keys do.
        """
        named = dict(self.scores.fields)
        named |= {"x": "kv.data()", "w": "queries", "y": "scores"}
        if self.laned:
            return tuple(named.items())
        size = QUERIES * KEYS
        named |= {"y_m_step": size, "y_n_step": size * (self.part // KEYS)}
        return tuple(named.items())

    @property
    def added(self) -> tuple[tuple[str, object], ...]:
        """The second product's call."""
        return joins_sums(self.values, "weights", self.held, self.adds.n)
