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
key, and weights, which the second product takes upright, are never turned. Products of block
floating point are `kernels.blocked_attention`'s.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Literal

from match_aie.errors import TargetError
from match_aie.targets.aie_ml.kernels.attention_parts import PartsCall, Phase
from match_aie.targets.aie_ml.kernels.call import Parameter
from match_aie.targets.aie_ml.kernels.floats import FloatSpec
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


#: How scores lie: in tiles of keys by queries, with rows of queries in lanes, or in tiles of
#: queries by keys that are blocks of floats along the keys.
Lying = Literal["tiles", "laned", "blocked"]

#: The least weight.
FARTHEST = 2.0 ** -(FARTHEST_STEPS // STEPS)


@dataclass(frozen=True)
class FloatPartsSpec(FloatSpec):
    """Weights of scores of which a part of the keys is there at a time, with their numbers.

    Attributes:
        lying: how scores lie.
        shifted: whether weights are of scores less their row's largest one.
    """

    lying: Lying = "tiles"
    shifted: bool = True

    def __post_init__(self) -> None:
        """Refuse largest scores where there are none."""
        if self.lying == "blocked" and self.shifted:
            raise TargetError("attention in block floating point has an unshifted softmax")

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
        what = "parts" if self.shifted else "unshifted"
        return f"attention_{what}{_BEHIND[self.lying]}_bfloat16"

    @property
    def template(self) -> str:
        """Its template."""
        return f"aie/float_parts{_BEHIND[self.lying]}.hpp.mako"


#: What names end with.
_BEHIND: dict[Lying, str] = {"tiles": "", "laned": "_laned", "blocked": "_blocked"}


@dataclass(frozen=True)
class FloatAttention(PartsCall):
    """Attention in bfloat16; its first product is a part of the keys by queries, in float32.

    Attributes:
        factor: what queries are multiplied by.
    """

    spec: FloatPartsSpec
    factor: tuple[float, float] = field(kw_only=True)

    dtype = "bfloat16"

    #: Keys of which parts have whole ones.
    round: ClassVar[int] = ROUND

    def __post_init__(self) -> None:
        """Refuse products of which one does not store what the other reads, and uneven parts."""
        first, last = self.scores.spec, self.values.spec
        self._refuse_products()
        stored = {s.requantise.dtype for s in (first, last)}
        if stored != {"float32"} or first.bias or not last.resumes:
            raise TargetError(f"{self.symbol}: sums are kept as floats")
        if self.part % self.round:
            raise TargetError(f"{self.symbol}: parts of {self.part} keys are no rounds of sums")
        super().__post_init__()

    def _refuse_products(self) -> None:
        """Refuse products that do not go together, or are of other tiles."""
        first, last = self.scores.spec, self.values.spec
        if (first.n, first.m) != (last.m, last.k) or first.k != last.n:
            raise TargetError(f"{self.symbol}: values do not go with scores")
        shapes = {(s.tiling.m, s.tiling.k, s.tiling.lanes or s.tiling.n) for s in (first, last)}
        if shapes not in ({(QUERIES, PAIR, KEYS)}, {(QUERIES, PAIR, TILE)}):
            raise TargetError(f"{self.symbol}: products are not of tiles of 4 x 8 by 8 x 4")
        self._refuse_lanes()

    def _refuse_lanes(self) -> None:
        """Refuse what rows in lanes do not have."""
        first, last = self.scores.spec, self.values.spec
        if self.spec.lying != ("laned" if self.laned else "tiles"):
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
    def kinds(self) -> tuple[Phase, ...]:
        """What is done with all parts, which say whether keys go by twice."""
        return ("largest", "values") if self.spec.shifted else ("values",)

    @property
    def rows(self) -> int:
        """Queries of a block."""
        return self.scores.spec.n

    @property
    def part(self) -> int:
        """Keys of a part."""
        return self.scores.spec.m

    @property
    def local(self) -> tuple[tuple[str, str, int], ...]:
        """Arrays of the function: name, element type, elements. Sums of results come last."""
        queries = ("queries", "bfloat16", self.rows * self.width)
        scores = ("scores", "float32", self.rows * self.part)
        sums = ("sums", "float32", self.rows * self.width)
        most = ("most", "int16", self.rows * (1 if self.laned else PAIR))
        kept = (most,) if self.spec.shifted else ()
        if self.laned:
            return queries, scores, *kept, ("totals", "float32", self.rows * SUMS), sums
        totals = ("totals", "float32", self.rows * KEYS * SUMS)
        return queries, scores, *kept, totals, ("ones", "bfloat16", self.part * KEYS), sums

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """Whose turn of a stream of queries is this tile's."""
        return (Parameter("turn", "int32", 1),)

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
