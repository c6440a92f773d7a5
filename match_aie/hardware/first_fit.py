"""Blocks with a fixed interval of steps, each given an offset in memory, as low as it may be."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Block:
    """`size` units of memory, alive from step `first` to step `last`, inclusive."""

    first: int
    last: int
    size: int

    def meets(self, other: Block) -> bool:
        """Whether both are alive at some step."""
        return self.first <= other.last and other.first <= self.last


def lower_bound(blocks: Sequence[Block]) -> tuple[int, int]:
    """(most units alive at one step, the first such step); (0, 0) without blocks."""
    most, peak, alive = 0, 0, 0
    changes: dict[int, int] = {}
    for block in blocks:
        changes[block.first] = changes.get(block.first, 0) + block.size
        changes[block.last + 1] = changes.get(block.last + 1, 0) - block.size
    for step in sorted(changes):
        alive += changes[step]
        if alive > most:
            most, peak = alive, step
    return most, peak


class _Placed:
    """Blocks by the steps at which they are alive, to find those that meet another one.

    Steps are halved and halved again, and a block is kept with the few spans that make up its
    life, and noted at all spans around these. A query reads its own spans, and walks up to those
    around them and down into those inside; what does not meet it is never looked at.
    """

    def __init__(self, blocks: Sequence[Block]) -> None:
        steps = sorted({step for block in blocks for step in (block.first, block.last)})
        self._rank = {step: rank for rank, step in enumerate(steps)}
        self._blocks = blocks
        self._leaves = len(steps)
        self._whole: list[list[int]] = [[] for _ in range(2 * self._leaves)]
        self._inside: list[list[int]] = [[] for _ in range(2 * self._leaves)]

    def add(self, index: int) -> None:
        """Keep block `index`."""
        around: set[int] = set()
        for span in self._spans(self._blocks[index]):
            self._whole[span].append(index)
            while span > 1:
                span //= 2
                around.add(span)
        for span in around:
            self._inside[span].append(index)

    def at(self, block: Block) -> set[int]:
        """Those kept that meet `block`."""
        found: set[int] = set()
        for span in self._spans(block):
            found.update(self._inside[span])
            while span:
                found.update(self._whole[span])
                span //= 2
        return found

    def _spans(self, block: Block) -> list[int]:
        """The spans that make up a life, as nodes of a segment tree."""
        low = self._rank[block.first] + self._leaves
        high = self._rank[block.last] + self._leaves + 1
        found = []
        while low < high:
            if low & 1:
                found.append(low)
                low += 1
            if high & 1:
                high -= 1
                found.append(high)
            low //= 2
            high //= 2
        return found


def height(blocks: Sequence[Block], offsets: Sequence[int]) -> int:
    """Units of memory that a packing uses."""
    return max((at + block.size for block, at in zip(blocks, offsets, strict=True)), default=0)


def first_fit(blocks: Sequence[Block], order: Sequence[int]) -> tuple[int, ...]:
    """Offsets when blocks are placed in `order`, each as low as those before it allow."""
    offsets: dict[int, int] = {}
    placed = _Placed(blocks)
    for index in order:
        block = blocks[index]
        at = 0
        for low, size in sorted((offsets[other], blocks[other].size) for other in placed.at(block)):
            if low - at >= block.size:
                break
            at = max(at, low + size)
        offsets[index] = at
        placed.add(index)
    return tuple(offsets[index] for index in range(len(blocks)))


def first_fits(blocks: Sequence[Block]) -> Iterator[tuple[int, ...]]:
    """First-fit packings in four orders: by size, area, length of life, and start."""
    keys: tuple[Callable[[Block], tuple[int, ...]], ...] = (
        lambda b: (-b.size, b.first),
        lambda b: (-b.size * (b.last - b.first + 1), b.first),
        lambda b: (b.first - b.last, -b.size, b.first),
        lambda b: (b.first, -b.size),
    )
    for key in keys:
        ranks = [(*key(block), index) for index, block in enumerate(blocks)]
        yield first_fit(blocks, [rank[-1] for rank in sorted(ranks)])


def greedy(blocks: Sequence[Block]) -> tuple[int, ...]:
    """The best of `first_fits`."""
    return min(first_fits(blocks), key=lambda offsets: height(blocks, offsets))
