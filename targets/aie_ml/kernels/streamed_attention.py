"""The kernel of quantised attention whose keys and values go by, three times for a block.

A tile keeps a block of queries, and sums of its results. Keys and values of a head come in parts
of some keys each. The first time only each row's largest score is kept, the second time the sum of
its exponentials, the third time scores become weights, and weights times values join the sums. So
every score is computed three times and never leaves the tile, and results are those of the layer
that keeps all scores (`kernels.attention`), bit for bit: their sums of exponentials are exact, and
begin when the largest score is known.

Weights are kept without their zero point, as unsigned bytes: no sums over values correct it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from match_aie.errors import TargetError
from match_aie.targets.aie_ml.kernels.attention import (
    LANES,
    MODES,
    PAIR,
    TILE_COLUMNS,
    TILE_ROWS,
)
from match_aie.targets.aie_ml.kernels.call import LayerCall, Parameter, arguments_of
from match_aie.targets.aie_ml.kernels.lookup import ENTRIES, REPEATED, TableSpec
from match_aie.targets.aie_ml.kernels.product import ProductCall
from match_aie.targets.aie_ml.kernels.softmax import SoftmaxNumbers
from match_aie.targets.aie_ml.kernels.spec import BYTES, KernelSpec, Requantise

#: Element type of weights in a tile.
WEIGHTS = "uint8"

#: What a call does: takes queries; or, of a part of the keys, compares scores, adds exponentials,
#: or multiplies weights by values.
Phase = Literal["queries", "largest", "totals", "values"]


def phases_of(queries: int, kinds: tuple[Phase, ...], parts: int) -> tuple[tuple[Phase, int], ...]:
    """Calls of a block in their order, each with its number among those of its kind.

    Pieces of queries come first, those of all tiles that share a stream; then all parts of the keys
    and values, once for each of `kinds`.
    """
    first: tuple[tuple[Phase, int], ...] = tuple(("queries", at) for at in range(queries))
    return (*first, *((kind, part) for kind in kinds for part in range(parts)))


def joins_sums(values: LayerCall, x: str, held: int, across: int) -> tuple[tuple[str, object], ...]:
    """Fields of the call of weights by values, which join the sums of results.

    Args:
        values: the call, whose kernel stores sums.
        x: array of the weights.
        held: elements of a part of the keys and of the values, which lie behind these.
        across: columns of sums.
    """
    tiling = values.spec.tiling
    steps = {"m_step": across * tiling.m, "n_step": tiling.m * tiling.n}
    named = dict(values.fields) | {"x": x, "w": f"kv.data() + {held // 2}", "y": "sums"}
    named |= {"partial": "sums", **{f"partial_{name}": step for name, step in steps.items()}}
    named |= {f"y_{name}": step for name, step in steps.items()}
    order = ("x", "w", "partial", "partial_m_step", "partial_n_step")
    return (*((name, named.pop(name)) for name in order), *named.items())


@dataclass(frozen=True)
class PartsSpec(TableSpec):
    """Softmax of rows of which a part of the columns is there at a time, in tiles of 4 x 8."""

    @property
    def family(self) -> str:
        """Identifier that kernels with the same source share."""
        return f"weight_parts_{self.a}_{self.dtype}"

    #: Its template, which reads the kernel under the name `k`.
    template = "aie/weight_parts.hpp.mako"


@dataclass(frozen=True)
class StreamedAttention:
    """Blocks of queries, one after the other, each with all parts of the keys and values.

    Queries of all tiles that share a stream come one after the other, in pieces; a tile copies its
    own. "turn" says which these are.

    Attributes:
        symbol: its name, a C identifier.
        header: of its declaration.
        scores: queries by a part of the keys.
        spec: of the softmax.
        columns: keys, before they are filled up.
        parts: of the keys.
        numbers: of the softmax.
        values: weights by a part of the values; what it stores are results.
        start: that sums of results begin with.
        blocks: of queries that a run goes through, those of all heads.
        together: tiles that share a stream of queries.
        pieces: in which a block of queries comes.
        repeated: bytes that its table repeats.
    """

    symbol: str
    header: str
    scores: ProductCall
    spec: PartsSpec
    columns: int
    parts: int
    numbers: SoftmaxNumbers
    values: LayerCall
    start: int = 0
    blocks: int = 1
    together: int = 1
    pieces: int = 1
    repeated: int = REPEATED

    def __post_init__(self) -> None:
        """Refuse products of which one does not store what the other reads, and uneven parts."""
        first, last = self.scores.spec, self.values.spec
        stored = first.m, first.n, first.tiling.m, first.tiling.n
        if stored != (last.m, last.k, last.tiling.m, last.tiling.k):
            raise TargetError(f"{self.symbol}: values do not go with scores")
        if (first.tiling.m, first.tiling.n) != (TILE_ROWS, TILE_COLUMNS) or first.n % PAIR:
            raise TargetError(f"{self.symbol}: scores are no pairs of tiles of 4 x 8")
        if first.row_bias or not last.resumes or last.a != WEIGHTS:
            raise TargetError(f"{self.symbol}: parts of attention have no zero points")
        if last.requantise.form == "channel" or last.requantise.zero_point:
            raise TargetError(f"{self.symbol}: results have one multiplier, or none, and an addend")
        for spec in (first, last):
            if (spec.requantise.rounding, spec.requantise.saturation) != MODES:
                raise TargetError(f"{self.symbol}: all of it rounds and saturates alike, {MODES}")
        if not (self.parts - 1) * first.n < self.columns <= self.parts * first.n:
            raise TargetError(f"{self.symbol}: {self.columns} keys are not {self.parts} parts")
        if self.parts < 2 or first.m * first.k % (self.pieces * PAIR * 2):
            raise TargetError(f"{self.symbol}: one part, or pieces of queries that are no vectors")

    #: Its template, which reads it under the name `call`.
    template = "aie/streamed_attention_layer.cpp.mako"

    @property
    def adds(self) -> KernelSpec:
        """The kernel of weights by values: it stores sums, which become results at the end."""
        sums = Requantise("none", "int32", saturation=self.values.spec.requantise.saturation)
        return replace(self.values.spec, requantise=sums, relu=False)

    @property
    def headers(self) -> tuple[KernelSpec | PartsSpec, ...]:
        """Kernels that its source includes, those with the same source once."""
        found = (self.scores.spec, self.adds, self.spec)
        return tuple({spec.family: spec for spec in found}.values())

    @property
    def held(self) -> int:
        """Elements of a part of the keys and of the values."""
        return 2 * self.scores.spec.k * self.scores.spec.n

    @property
    def piece(self) -> int:
        """Elements of a piece of queries."""
        return self.scores.spec.m * self.scores.spec.k // self.pieces

    @property
    def last(self) -> int:
        """Keys of the last part."""
        return self.columns - (self.parts - 1) * self.scores.spec.n

    @property
    def unknown(self) -> int:
        """Bits by which sums of a row differ, as of attention that keeps its scores."""
        return (max(self.columns, 2 * LANES) - 1).bit_length() - 1

    @property
    def known(self) -> int:
        """Bits beyond 15 that every sum has."""
        return 15 - self.unknown

    @property
    def local(self) -> tuple[tuple[str, str, int], ...]:
        """Arrays of the function: name, element type, elements. Sums of results come last."""
        s, groups = self.scores.spec, -(-self.scores.spec.m // LANES)
        return (
            ("queries", s.a, s.m * s.k),
            ("scores", s.requantise.dtype, s.m * s.n),
            ("most", s.requantise.dtype, s.m * TILE_COLUMNS),
            ("totals", "int32", groups * LANES * LANES),
            ("sums", "int32", self.values.spec.m * self.values.spec.n),
        )

    @property
    def stack_bytes(self) -> int:
        """Of all its arrays."""
        return sum(BYTES[dtype] * size for _, dtype, size in self.local)

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """Both arrays of the table, whose turn of a stream of queries is this tile's, a bias."""
        tables = (Parameter(name, "int32", 2 * ENTRIES) for name in ("w", "cd"))
        biases = (Parameter("bias0", p.c_type, p.size) for p in self.scores.parameters)
        return (*tables, Parameter("turn", "int32", 1), *biases)

    @property
    def arguments(self) -> tuple[str, ...]:
        """The function's arguments as C++ text."""
        q, kv, y = self.scores.spec.a, self.scores.spec.b, self.values.spec.requantise.dtype
        return arguments_of(((q, "q"), (kv, "kv")), self.parameters, y, fetches=True)

    @property
    def phases(self) -> tuple[tuple[Phase, int], ...]:
        """Calls of a block in their order, each with its number among those of its kind."""
        kinds: tuple[Phase, ...] = ("largest", "totals", "values")
        return phases_of(self.together * self.pieces, kinds, self.parts)

    @property
    def scored(self) -> tuple[tuple[str, object], ...]:
        """The first product's call, field by field as C++ text or numbers."""
        named = dict(self.scores.fields)
        named |= {"x": "queries", "w": "kv.data()", "y": "scores"}
        if "bias" in named:
            named["bias"] = "bias0"
        return tuple(named.items())

    @property
    def added(self) -> tuple[tuple[str, object], ...]:
        """The second product's call, likewise."""
        summed = replace(self.values, spec=self.adds)
        return joins_sums(summed, "weights", self.held, summed.spec.n)
