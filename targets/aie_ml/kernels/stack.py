"""A kernel function that runs several dense layers, one after the other, over the same rows.

All their weights stay in the tile, and so do the results between them: nothing is moved, locked or
started from one layer to the next.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

from match_aie.errors import TargetError
from match_aie.targets.aie_ml.kernels.call import Parameter, arguments_of
from match_aie.targets.aie_ml.kernels.nest import Nest
from match_aie.targets.aie_ml.kernels.spec import BYTES, KernelSpec


@dataclass(frozen=True)
class Stack:
    """Layers of one tile.

    Attributes:
        symbol: the function's name, a C identifier.
        header: of its declaration.
        nests: the layers' own functions, each a single call of a kernel for the rows of a pass.
    """

    symbol: str
    header: str
    nests: tuple[Nest, ...]

    def __post_init__(self) -> None:
        """Refuse layers of which one does not store what the next one reads."""
        for nest in self.nests:
            s = nest.call.spec
            plain = nest.n_tiles == nest.k_tiles == 1 and not nest.streamed
            if not plain or s.position != "only" or nest.m_tiles != self.passes:
                raise TargetError(f"{nest.symbol} is not a single call for the rows of a pass")
        for before, after in pairwise(self.nests):
            if not follows(before.call.spec, after.call.spec):
                raise TargetError(f"{after.symbol} does not read what {before.symbol} stores")

    @property
    def passes(self) -> int:
        """Times that all layers run for one run of the network."""
        return self.nests[0].m_tiles

    #: Its template, which reads it under the name `call`.
    template = "aie/stack.cpp.mako"

    @property
    def headers(self) -> tuple[KernelSpec, ...]:
        """Kernels that its source includes, those with the same source once."""
        specs = [spec for nest in self.nests for spec in nest.kernels]
        return tuple({spec.family: spec for spec in specs}.values())

    #: It has no local arrays.
    stack_bytes = 0

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """Those of every layer, numbered."""
        return tuple(
            replace(p, name=f"{p.name}{at}")
            for at, nest in enumerate(self.nests)
            for p in nest.parameters
        )

    @property
    def arguments(self) -> tuple[str, ...]:
        """The function's arguments as C++ text: x of the first layer, parameters, y of the last."""
        first, last = self.nests[0].call.spec, self.nests[-1].call.spec
        x, y = ((first.a, "x"),), last.requantise.dtype
        return arguments_of(x, self.parameters, y, fetches=True)

    def kept(self, at: int) -> str:
        """Name of the result of layer `at`, where it stays in the tile."""
        return f"{self.symbol}_y{at}"

    def kept_bytes(self, at: int) -> int:
        """Of that result, for the rows of a pass."""
        s = self.nests[at].call.spec
        return s.m * s.n * BYTES[s.requantise.dtype]

    def fields(self, at: int) -> tuple[tuple[str, object], ...]:
        """The call of layer `at`'s kernel, as C++ text or numbers."""
        nest = self.nests[at]
        named = dict(nest.call.fields)
        named |= {p.name: f"{p.name}{at}" for p in nest.parameters if p.name in named}
        named["x"] = "x.data()" if at == 0 else self.kept(at - 1)
        named["y"] = "y.data()" if at + 1 == len(self.nests) else self.kept(at)
        return tuple(named.items())


def follows(before: KernelSpec, after: KernelSpec) -> bool:
    """Whether the one kernel stores just what the other reads, tile by tile in its order."""
    stored = before.requantise.dtype, before.m, before.n, before.tiling.m, before.tiling.n
    return stored == (after.a, after.m, after.k, after.tiling.m, after.tiling.k)
