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

from dataclasses import dataclass, field, replace
from typing import ClassVar

from match_aie.errors import TargetError
from match_aie.targets.aie_ml.kernels.attention import (
    LANES,
    TILE_COLUMNS,
    refuse_pairs,
    unknown_bits,
)
from match_aie.targets.aie_ml.kernels.attention_parts import PartsCall, Phase
from match_aie.targets.aie_ml.kernels.call import Parameter
from match_aie.targets.aie_ml.kernels.lookup import ENTRIES, REPEATED, TableSpec
from match_aie.targets.aie_ml.kernels.product import ProductCall
from match_aie.targets.aie_ml.kernels.softmax import SoftmaxNumbers
from match_aie.targets.aie_ml.kernels.spec import KernelSpec, Requantise

#: Element type of weights in a tile.
WEIGHTS = "uint8"


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
class StreamedAttention(PartsCall):
    """Attention whose keys and values go by three times.

    Attributes:
        numbers: of the softmax.
        start: that sums of results begin with.
        repeated: bytes that its table repeats.
    """

    scores: ProductCall
    spec: PartsSpec
    numbers: SoftmaxNumbers = field(kw_only=True)
    start: int = field(default=0, kw_only=True)
    repeated: int = field(default=REPEATED, kw_only=True)

    kinds: ClassVar[tuple[Phase, ...]] = "largest", "totals", "values"

    def __post_init__(self) -> None:
        """Refuse products of which one does not store what the other reads, and uneven parts."""
        first, last = self.scores.spec, self.values.spec
        refuse_pairs(self.symbol, first, last)
        if first.row_bias or not last.resumes or last.a != WEIGHTS:
            raise TargetError(f"{self.symbol}: parts of attention have no zero points")
        if last.requantise.form == "channel" or last.requantise.zero_point:
            raise TargetError(f"{self.symbol}: results have one multiplier, or none, and an addend")
        super().__post_init__()

    #: Its template, which reads it under the name `call`.
    template = "aie/streamed_attention_layer.cpp.mako"

    @property
    def adds(self) -> KernelSpec:
        """The kernel of weights by values: it stores sums, which become results at the end."""
        sums = Requantise("none", "int32", saturation=self.values.spec.requantise.saturation)
        return replace(self.values.spec, requantise=sums, relu=False)

    @property
    def dtype(self) -> str:
        """Element type of results."""
        return self.values.spec.requantise.dtype

    @property
    def unknown(self) -> int:
        """Bits by which sums of a row differ, as of attention that keeps its scores."""
        return unknown_bits(self.columns)

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
    def parameters(self) -> tuple[Parameter, ...]:
        """Both arrays of the table, whose turn of a stream of queries is this tile's, a bias."""
        tables = (Parameter(name, "int32", 2 * ENTRIES) for name in ("w", "cd"))
        biases = (Parameter("bias0", p.c_type, p.size) for p in self.scores.parameters)
        return (*tables, Parameter("turn", "int32", 1), *biases)
