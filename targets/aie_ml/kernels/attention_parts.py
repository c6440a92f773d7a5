"""What kernels of attention have in common whose keys and values go by.

A tile keeps a block of queries, and sums of its results. Keys and values of a head come in parts
of some keys each, all of them once or several times for a block. Queries of all tiles that share a
stream come one after the other, in pieces; a tile copies its own. "turn" says which these are.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from typing import ClassVar, Literal, Protocol

from match_aie.errors import TargetError
from match_aie.targets.aie_ml.kernels.call import LayerCall, Parameter, arguments_of
from match_aie.targets.aie_ml.kernels.product import ProductCall
from match_aie.targets.aie_ml.kernels.spec import BYTES, KernelSpec

#: What a call does: takes queries; or, of a part of the keys, compares scores, adds exponentials,
#: or multiplies weights by values.
Phase = Literal["queries", "largest", "totals", "values"]

#: Elements of a vector, of which pieces of queries have whole ones.
VECTOR = 32


class Between(Protocol):
    """Functions of the loops around both products."""

    @property
    def family(self) -> str:
        """Identifier that kernels with the same source share."""

    @property
    def template(self) -> str:
        """Its template, which reads the kernel under the name `k`."""


@dataclass(frozen=True)
class PartsCall(ABC):
    """Blocks of queries, one after the other, each with all parts of the keys and values.

    Attributes:
        symbol: its name, a C identifier.
        header: of its declaration.
        scores: queries by a part of the keys, or the other way round.
        values: weights by a part of the values.
        spec: functions of the loops around both products.
        columns: keys, before they are filled up.
        parts: of the keys.
        blocks: of queries that a run goes through, those of all heads.
        together: tiles that share a stream of queries.
        pieces: in which a block of queries comes.
    """

    symbol: str
    header: str
    scores: ProductCall | LayerCall
    values: LayerCall
    spec: Between
    columns: int
    parts: int
    blocks: int = field(default=1, kw_only=True)
    together: int = field(default=1, kw_only=True)
    pieces: int = field(default=1, kw_only=True)

    #: The array of weights.
    weights: ClassVar[str] = "weights"

    def __post_init__(self) -> None:
        """Refuse uneven parts, and pieces that are no vectors."""
        if not (self.parts - 1) * self.part < self.columns <= self.parts * self.part:
            raise TargetError(f"{self.symbol}: {self.columns} keys are not {self.parts} parts")
        if self.parts < 2 or self.rows * self.width % (self.pieces * VECTOR):
            raise TargetError(f"{self.symbol}: one part, or pieces of queries that are no vectors")

    @property
    @abstractmethod
    def template(self) -> str:
        """Its template, which reads it under the name `call`."""

    @property
    @abstractmethod
    def dtype(self) -> str:
        """Element type of results."""

    @property
    @abstractmethod
    def kinds(self) -> tuple[Phase, ...]:
        """What is done with all parts of the keys and values, one after the other."""

    @property
    @abstractmethod
    def local(self) -> tuple[tuple[str, str, int], ...]:
        """Arrays of the function: name, element type, elements. Sums of results come last."""

    @property
    @abstractmethod
    def parameters(self) -> tuple[Parameter, ...]:
        """What the host hands over; whose turn of a stream of queries is this tile's among it."""

    @property
    def adds(self) -> KernelSpec:
        """The kernel of weights by values, which stores sums."""
        return self.values.spec

    @property
    def headers(self) -> tuple[KernelSpec | Between, ...]:
        """Kernels that its source includes, those with the same source once."""
        found: tuple[KernelSpec | Between, ...] = (self.scores.spec, self.adds, self.spec)
        return tuple({spec.family: spec for spec in found}.values())

    @property
    def rows(self) -> int:
        """Queries of a block."""
        return self.scores.spec.m

    @property
    def part(self) -> int:
        """Keys of a part."""
        return self.scores.spec.n

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
    def stack_bytes(self) -> int:
        """Of all its arrays."""
        return sum(BYTES[dtype] * size for _, dtype, size in self.local)

    @property
    def arguments(self) -> tuple[str, ...]:
        """The function's arguments as C++ text."""
        buffers = (self.scores.spec.a, "q"), (self.scores.spec.b, "kv")
        return arguments_of(buffers, self.parameters, self.dtype, fetches=True)

    @property
    def phases(self) -> tuple[tuple[Phase, int], ...]:
        """Calls of a block in their order, each with its number among those of its kind.

        Pieces of queries come first, those of all tiles that share a stream.
        """
        found: list[tuple[Phase, int]] = [
            ("queries", at) for at in range(self.together * self.pieces)
        ]
        return (*found, *((kind, part) for kind in self.kinds for part in range(self.parts)))

    @property
    def scored(self) -> tuple[tuple[str, object], ...]:
        """The first product's call, field by field as C++ text or numbers."""
        named = dict(self.scores.fields) | {"x": "queries", "w": "kv.data()", "y": "scores"}
        return tuple((named | ({"bias": "bias0"} if "bias" in named else {})).items())

    @property
    def added(self) -> tuple[tuple[str, object], ...]:
        """The second product's call: weights by values join the sums of results."""
        s, t = self.adds, self.adds.tiling
        steps = {"m_step": s.n * t.m, "n_step": t.m * t.n}
        named = dict(replace(self.values, spec=s).fields)
        named |= {"x": self.weights, "w": f"kv.data() + {self.held // 2}", "y": "sums"}
        named |= {"partial": "sums", **{f"partial_{name}": step for name, step in steps.items()}}
        named |= {f"y_{name}": step for name, step in steps.items()}
        order = ("x", "w", "partial", "partial_m_step", "partial_n_step")
        return (*((name, named.pop(name)) for name in order), *named.items())
