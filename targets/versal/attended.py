"""Layers that feed attention: three projections of one tensor, and the transpose of its keys."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from match_aie.workload import Workload, heads_joined


class Layer(Protocol):
    """A layer and whose results it reads, by operand; None where nobody of those makes it."""

    @property
    def workload(self) -> Workload:
        """What it computes."""

    @property
    def sources(self) -> tuple[int | None, ...]:
        """Numbers of layers."""


@dataclass(frozen=True)
class Standing:
    """Just that of a layer."""

    workload: Workload
    sources: tuple[int | None, ...]


@dataclass(frozen=True)
class Fed:
    """Five layers in a row, of which attention is the last.

    Attributes:
        first: number of the first of them.
        queries: of the layer that projects queries.
        keys: keys.
        turned: that transposes them.
        values: that projects values.
        source: of the layer whose result all three project; None where it comes from outside.
    """

    first: int
    queries: int
    keys: int
    turned: int
    values: int
    source: int | None

    @property
    def last(self) -> int:
        """Number of the attention itself."""
        return self.first + 4

    @property
    def projections(self) -> tuple[int, int, int]:
        """Of queries, keys and values."""
        return self.queries, self.keys, self.values

    @property
    def feeds(self) -> tuple[int, int, int, int]:
        """Queries, keys, transposed keys and values, counted from the first of the five."""
        mine = self.queries, self.keys, self.turned, self.values
        queries, keys, turned, values = (at - self.first for at in mine)
        return queries, keys, turned, values


def fed(layers: Sequence[Layer]) -> Mapping[int, Fed]:
    """Attention whose four feeding layers stand just before it, by the number of the attention."""
    found = {}
    for at, layer in enumerate(layers):
        if heads_joined(layer.workload) and at >= 4:
            one = _fed(layers, at)
            if one is not None:
                found[at] = one
    return found


def _fed(layers: Sequence[Layer], at: int) -> Fed | None:
    """The five layers that end at number `at`; None where they are no such ones."""
    queries, turned, values = layers[at].sources
    if turned is None or queries is None or values is None:
        return None
    (keys,) = layers[turned].sources if layers[turned].workload.kind == "permute" else (None,)
    if keys is None or {queries, keys, turned, values} != set(range(at - 4, at)):
        return None
    projections = queries, keys, values
    if any(layers[each].workload.kind != "dense" for each in projections):
        return None
    sources = {layers[each].sources[0] for each in projections}
    if len(sources) != 1:
        return None
    return Fed(at - 4, queries, keys, turned, values, sources.pop())


def projecting(layers: Sequence[Layer]) -> set[int]:
    """Numbers of the layers that project queries, keys and values."""
    return {at for one in fed(layers).values() for at in one.projections}
