"""Which layers are divided over cores, along which dimension, and where."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import pairwise

from match_aie.cost_models.cores import fork_join
from match_aie.workload import Word

#: C expressions of what a part of a layer covers; templates declare them.
BEGIN, END = "part_begin", "part_end"
#: Bytes of a cache line: the scratch of different cores shares none.
LINE = 64


@dataclass(frozen=True)
class Split:
    """A layer in parts, one for each core.

    Attributes:
        dim: what is divided: a loop dimension, or a side of a product.
        bounds: where parts begin and end, one more than there are parts.
        share: of the layer's cycles on one core, that the slowest part takes; modelled.
        join: cycles to start and to end.
    """

    dim: str
    bounds: tuple[int, ...]
    share: float
    join: float

    @property
    def parts(self) -> int:
        """How many."""
        return len(self.bounds) - 1

    @property
    def sizes(self) -> frozenset[int]:
        """Elements of the parts."""
        return frozenset(b - a for a, b in pairwise(self.bounds))

    @property
    def most(self) -> int:
        """Elements of the largest part."""
        return max(self.sizes)


def over(split: Split | None, dim: str, size: int | Word) -> tuple[str, str]:
    """C expressions of where a part begins along `dim`, and what it stays below."""
    return (BEGIN, END) if split is not None and split.dim == dim else ("0", str(size))


def part_bytes(split: Split | None, elements: int) -> int:
    """Scratch of one core for `elements` of float32, whole cache lines; 0 where there is one."""
    return -(-4 * elements // LINE) * LINE if split is not None else 0


@dataclass(frozen=True)
class Way:
    """A dimension that a layer can be divided along.

    Attributes:
        dim: its name.
        size: elements.
        grain: parts begin at multiples of so many.
    """

    dim: str
    size: int
    grain: int = 1


def bounds(way: Way, parts: int) -> tuple[int, ...]:
    """Where `parts` parts begin and end, as equal as grains allow.

    >>> bounds(Way("K", 33, 8), 2)
    (0, 16, 33)
    """
    grains = -(-way.size // way.grain)
    return tuple(min(way.size, grains * part // parts * way.grain) for part in range(parts + 1))


def divide(
    cores: int, ways: Iterable[Way], whole: float, price: Callable[[str, int], float]
) -> Split | None:
    """The cheapest division of a layer; None where one core is as fast.

    Args:
        cores: that there are, all of which take part in starting and ending.
        ways: dimensions to divide, the first preferred where two cost the same.
        whole: cycles on one core.
        price: cycles of a part, by dimension and elements.
    """
    if cores == 1:
        return None
    join = fork_join(cores)
    best: tuple[float, Split] | None = None
    for way in ways:
        for parts in range(2, min(cores, -(-way.size // way.grain)) + 1):
            ends = bounds(way, parts)
            most = max(b - a for a, b in pairwise(ends))
            part = price(way.dim, most)
            if part + join < (best[0] if best else whole):
                best = (part + join, Split(way.dim, ends, part / whole, join))
    return best[1] if best else None
