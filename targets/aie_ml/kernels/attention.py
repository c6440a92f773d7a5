"""The kernel of quantised attention: two products, and a softmax of tiles between them.

Keys and values come through one port, a head's keys and then its values, so that a tile holds one
of each and fetches the next head's while it works on the other; or each through a port of its own,
where one DMA channel would be the bound: values lie in the memory of the tile north then. Scores
lie as the first product stores them, [M/4][N/8][4][8], which is how the second one reads them.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import numpy as np

from match_aie.errors import TargetError
from match_aie.targets.aie_ml.kernels.call import Parameter, arguments_of
from match_aie.targets.aie_ml.kernels.lookup import ENTRIES, REPEATED, TableSpec
from match_aie.targets.aie_ml.kernels.product import OperandSums, ProductCall
from match_aie.targets.aie_ml.kernels.softmax import SoftmaxNumbers
from match_aie.targets.aie_ml.kernels.spec import KernelSpec
from match_aie.workload import softmax_rows

#: Rows and columns of a tile of scores, and columns of two of them: a vector of each row.
TILE_ROWS, TILE_COLUMNS, PAIR = 4, 8, 16

#: Rows whose sums are divided at once: lanes of a vector of 32-bit integers, or a part of them
#: where a bank has no room for the exponentials of all.
LANES = 16
DIVIDED = (LANES, 8, TILE_ROWS)


@dataclass(frozen=True)
class WeightsSpec(TableSpec):
    """Softmax of rows that lie in tiles of 4 x 8, four rows at a time."""

    @property
    def family(self) -> str:
        """Identifier that kernels with the same source share."""
        return f"weights_{self.a}_{self.dtype}"

    #: Its template, which reads the kernel under the name `k`.
    template = "aie/weights.hpp.mako"


#: Tiles of rows, or of columns, whose sums for zero points are made together.
SUMMED = (4, 2, 1)

#: Calls for a head: scores, softmax, what values make of it.
HEAD_PIECES = 3

#: How every result is rounded and saturated.
MODES = ("conv_even", "saturate")


def refuse_pairs(symbol: str, first: KernelSpec, second: KernelSpec) -> None:
    """Refuse products of attention of which one does not store what the other reads.

    Raises:
        TargetError: they do not go together; it names `symbol`.
    """
    stored = first.m, first.n, first.tiling.m, first.tiling.n
    if stored != (second.m, second.k, second.tiling.m, second.tiling.k):
        raise TargetError(f"{symbol}: values do not go with scores")
    if (first.tiling.m, first.tiling.n) != (TILE_ROWS, TILE_COLUMNS) or first.n % PAIR:
        raise TargetError(f"{symbol}: scores are no pairs of tiles of 4 x 8")
    for product in (first, second):
        # The softmax between them sets these modes for the second product, too.
        if (product.requantise.rounding, product.requantise.saturation) != MODES:
            raise TargetError(f"{symbol}: all of it rounds and saturates alike, {MODES}")


def unknown_bits(columns: int) -> int:
    """Bits by which sums of a row differ: between its largest exponential and 2**30."""
    return (max(columns, 2 * LANES) - 1).bit_length() - 1


@dataclass(frozen=True)
class AttentionCall:
    """A block of query rows of one head after the other.

    Attributes:
        symbol: its name, a C identifier.
        header: of its declaration.
        scores: queries by keys.
        spec: of the softmax.
        columns: keys, before they are filled up to pairs of tiles.
        numbers: of the softmax.
        values: weights by values.
        heads: that a run goes through.
        divided: rows whose sums are divided at once, one of `DIVIDED`.
        summed: tiles at most whose sums for zero points are made together, one of `SUMMED`.
        apart: whether keys and values come through ports of their own.
        repeated: bytes that its table repeats.
    """

    symbol: str
    header: str
    scores: ProductCall
    spec: WeightsSpec
    columns: int
    numbers: SoftmaxNumbers
    values: ProductCall
    heads: int = 1
    divided: int = LANES
    summed: int = 1
    apart: bool = False
    repeated: int = REPEATED

    def __post_init__(self) -> None:
        """Refuse products of which one does not store what the other reads."""
        refuse_pairs(self.symbol, self.scores.spec, self.values.spec)

    #: Its template, which reads it under the name `call`.
    template = "aie/attention_layer.cpp.mako"

    @property
    def held(self) -> int:
        """Elements of a buffer of keys, or of values: the larger of the two."""
        first, second = self.scores.spec, self.values.spec
        return max(first.k * first.n, second.k * second.n)

    @property
    def products(self) -> tuple[ProductCall, ProductCall]:
        """Both."""
        return self.scores, self.values

    @property
    def headers(self) -> tuple[KernelSpec | WeightsSpec, ...]:
        """Kernels that its source includes, those with the same source once."""
        both = [product.spec for product in self.products]
        sums = [each for each in self.sums if each is not None]
        found: tuple[KernelSpec | WeightsSpec, ...] = (*both, *sums, self.spec)
        return tuple({spec.family: spec for spec in found}.values())

    @property
    def sums(self) -> tuple[OperandSums | None, OperandSums | None]:
        """Those that zero points of either product need; both by as many tiles, for less code."""
        both = [product.spec for product in self.products]
        tiles = [(spec.m // spec.tiling.m, spec.n // spec.tiling.n) for spec in both]
        rows, columns = (
            next(
                many
                for many in SUMMED
                if many <= self.summed and not any(each[side] % many for each in tiles)
            )
            for side in range(2)
        )
        first, second = (_sums(spec, rows, columns) for spec in both)
        return first, second

    @property
    def unknown(self) -> int:
        """See `unknown_bits`."""
        return unknown_bits(self.columns)

    @property
    def known(self) -> int:
        """Bits beyond 15 that every sum has."""
        return 15 - self.unknown

    @property
    def stack_bytes(self) -> int:
        """Scores, exponentials of rows that are divided together, sums, addends of products."""
        first = self.scores.spec
        mine = first.m * first.n + 4 * self.divided * first.n + 4 * LANES * LANES
        return mine + max(product.stack_bytes for product in self.products)

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """Both arrays of the table, and biases where a product has one."""
        tables = (Parameter(name, "int32", 2 * ENTRIES) for name in ("w", "cd"))
        biases = (
            Parameter(f"bias{at}", p.c_type, p.size)
            for at, product in enumerate(self.products)
            for p in product.parameters
        )
        return (*tables, *biases)

    @property
    def seconds(self) -> tuple[str, str]:
        """Arguments that hold keys, and values."""
        return ("k", "v") if self.apart else ("kv", "kv")

    @property
    def arguments(self) -> tuple[str, ...]:
        """The function's arguments as C++ text."""
        q, kv, y = self.scores.spec.a, self.scores.spec.b, self.values.spec.requantise.dtype
        inputs = ((q, "q"), *((kv, name) for name in dict.fromkeys(self.seconds)))
        return arguments_of(inputs, self.parameters, y, fetches=True)

    def fields(self, at: int) -> tuple[tuple[str, object], ...]:
        """The call of product `at`, field by field as C++ text or numbers."""
        product = self.products[at]
        named = dict(product.fields)
        named |= {"x": "scores_of", "y": "y.data()"} if at else {"x": "q.data()", "y": "scores"}
        named["w"] = f"{self.seconds[at]}.data()"
        if not product.spec.row_bias and "bias" in named:
            named["bias"] = f"bias{at}"
        return tuple(named.items())

    def weights(self, scores: np.ndarray, table: np.ndarray) -> np.ndarray:
        """Softmax of scores [M, N] in the kernel's integers; 0 behind the keys."""
        n = self.numbers
        found = np.zeros(scores.shape, np.int64)
        rows = scores[:, : self.columns]
        found[:, : self.columns] = softmax_rows(rows, table, n.multiplier, n.tail)
        return found


def _sums(spec: KernelSpec, rows: int, columns: int) -> OperandSums | None:
    if not spec.row_bias:
        return None
    several = replace(spec, rows=rows, columns=columns)
    return OperandSums(**{field.name: getattr(several, field.name) for field in fields(several)})
