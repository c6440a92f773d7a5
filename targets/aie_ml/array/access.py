"""From a DMA's way through a buffer to the buffer descriptors that go it.

A way is a nest of loops over a tile and over tiles; whatever falls outside of the data is read as
zero. A descriptor has a few dimensions, pads whole ones, and counts words: where a loop's turns
are cut differently by the data's edge, the way takes several descriptors, one after the other.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import prod

from match_aie.errors import Infeasible
from match_aie.targets.aie_ml.devices import Addressing
from match_aie.targets.aie_ml.kernels.block import Access

WORD = 4


class _NotPaddedError(Exception):
    """Zeros between descriptors that are no multiple of either."""


@dataclass(frozen=True)
class Pattern:
    """What one descriptor moves, in bytes until `words` made it words.

    Attributes:
        offset: where it begins in the buffer.
        dims: (size, step) from the innermost outward.
        pad: zeros (before, after) of each dimension, as long as `dims` or shorter.
        iteration: (size, step) of the descriptor's uses, or None.
    """

    offset: int
    dims: tuple[tuple[int, int], ...]
    pad: tuple[tuple[int, int], ...] = ()
    iteration: tuple[int, int] | None = None

    @property
    def padding(self) -> tuple[tuple[int, int], ...]:
        """Zeros of each dimension."""
        return (*self.pad, *((0, 0),) * (len(self.dims) - len(self.pad)))

    @property
    def size(self) -> int:
        """Of one use, zeros included."""
        pairs = zip(self.dims, self.padding, strict=True)
        return prod(size + sum(pad) for (size, _), pad in pairs)

    def looped(self, size: int, step: int, pad: tuple[int, int] = (0, 0)) -> Pattern:
        """The same, `size` times, `step` apart, with zeros before and after."""
        last_size, last_step = self.dims[-1]
        plain = pad == (0, 0)
        if plain and size == 1:
            return self
        if plain and self.padding[-1] == (0, 0) and step == last_size * last_step:
            return replace(self, dims=(*self.dims[:-1], (last_size * size, last_step)))
        return replace(self, dims=(*self.dims, (size, step)), pad=(*self.padding, pad))

    def moved(self, by: int) -> Pattern:
        """The same, `by` bytes later."""
        return replace(self, offset=self.offset + by)

    def addresses(self) -> Iterator[int | None]:
        """Every element of the innermost dimension in order, None for a zero; of the first use."""

        def inside(level: int, base: int) -> Iterator[int | None]:
            if level < 0:
                yield base
                return
            (size, step), (before, after) = self.dims[level], self.padding[level]
            below = replace(self, dims=self.dims[:level], pad=self.padding[:level]).size
            yield from itertools.repeat(None, before * below)
            for at in range(size):
                yield from inside(level - 1, base + at * step)
            yield from itertools.repeat(None, after * below)

        return inside(len(self.dims) - 1, self.offset)


def linear(size: int) -> Pattern:
    """All of so many bytes, one after the other."""
    return Pattern(0, ((size // WORD, 1),))


@dataclass(frozen=True)
class _Loop:
    dim: int
    size: int
    stride: int


@dataclass(frozen=True)
class _Way:
    """An access with its loops, innermost first, and what they step over in bytes."""

    loops: tuple[_Loop, ...]
    bounds: tuple[int, ...]
    steps: tuple[int, ...]
    element: int

    def reach(self, level: int, dim: int) -> int:
        """Elements along `dim` that the loops below `level` span, less one."""
        inner = (loop for loop in self.loops[:level] if loop.dim == dim)
        return sum((loop.size - 1) * loop.stride for loop in inner)

    def cut(self, level: int, dim: int, at: int) -> int | str:
        """How the loops below `level` are cut by the edge, begun at `at`: alike, out, or where."""
        if at > self.bounds[dim] - 1 or at + self.reach(level, dim) < 0:
            return "out"
        whole = at >= 0 and at + self.reach(level, dim) < self.bounds[dim]
        return "whole" if whole else at

    def patterns(self, level: int, at: tuple[int, ...]) -> list[Pattern]:
        """Descriptors of the loops below `level` that begin at `at`; none where all is outside."""
        if level == 1:
            return self._run(at)
        loop = self.loops[level - 1]
        turns = [at[loop.dim] + turn * loop.stride for turn in range(loop.size)]
        step = loop.stride * self.steps[loop.dim]
        spans: list[tuple[list[Pattern], int, int]] = []
        zeros = 0
        for cut, group in itertools.groupby(turns, lambda p: self.cut(level - 1, loop.dim, p)):
            positions = list(group)
            begin = (*at[: loop.dim], positions[0], *at[loop.dim + 1 :])
            inner = [] if cut == "out" else self.patterns(level - 1, begin)
            if inner:
                spans.append((inner, len(positions), zeros))
                zeros = 0
            else:
                zeros += len(positions)
        found: list[Pattern] = []
        for number, (inner, many, before) in enumerate(spans):
            after = zeros if number + 1 == len(spans) else 0
            some = _repeated(inner, many, step, (before, after))
            found += _unrolled(some) if len(spans) > 1 else some
        return found

    def _run(self, at: tuple[int, ...]) -> list[Pattern]:
        """Of the innermost loop, whose elements lie side by side."""
        size, bound = self.loops[0].size, self.bounds[0]
        first, end = max(0, -at[0]), min(size, bound - at[0])
        others = zip(at[1:], self.bounds[1:], strict=True)
        if first >= end or not all(0 <= p < b for p, b in others):
            return []
        begin = (at[0] + first, *at[1:])
        offset = sum(p * s for p, s in zip(begin, self.steps, strict=True))
        run = ((end - first) * self.element, 1)
        return [Pattern(offset, (run,), ((first * self.element, (size - end) * self.element),))]


def _repeated(inner: list[Pattern], many: int, step: int, pad: tuple[int, int]) -> list[Pattern]:
    """`inner` so often, with zeros before and after it."""
    if len(inner) == 1 and inner[0].iteration is None:
        return [inner[0].looped(many, step, pad)]
    if pad == (0, 0):
        if many == 1:
            return inner
        if all(pattern.iteration is None for pattern in inner):
            return [replace(pattern, iteration=(many, step)) for pattern in inner]
    found = [p.moved(at * step) for at in range(many) for p in _unrolled(inner)]
    whole = sum(pattern.size for pattern in _unrolled(inner))
    before, after = (zeros * whole for zeros in pad)
    found[0] = found[0].looped(1, step, (_units(before, found[0]), 0))
    found[-1] = found[-1].looped(1, step, (0, _units(after, found[-1])))
    return found


def _units(zeros: int, pattern: Pattern) -> int:
    """How often `pattern` would have to be zeros to make so many bytes of them."""
    if zeros % pattern.size:
        raise _NotPaddedError
    return zeros // pattern.size


def _unrolled(patterns: list[Pattern]) -> list[Pattern]:
    """Without iterations: as many descriptors as they have uses."""
    if not patterns or patterns[0].iteration is None:
        return patterns
    many, step = patterns[0].iteration
    plain = [replace(pattern, iteration=None) for pattern in patterns]
    return [pattern.moved(at * step) for at in range(many) for pattern in plain]


def touched(access: Access) -> int:
    """Elements that a traversal touches, zeros and repetitions included."""
    return access.repeats * prod(access.tile) * prod(wrap for _, _, wrap in access.traversal)


def descriptors(
    access: Access, element: int, limits: Addressing, name: str
) -> tuple[Pattern, ...] | Infeasible:
    """Descriptors of `access`, in words; what repeats it is not their business.

    All have the same iteration, or none: they are used in turn so often.

    Args:
        access: the way.
        element: bytes of an element.
        limits: of one descriptor.
        name: of the buffer, for people.
    """
    strides = [element * prod(access.buffer[:d]) for d in range(len(access.buffer))]
    loops = [_Loop(d, size, 1) for d, size in enumerate(access.tile)]
    loops += [_Loop(d, wrap, stride) for d, stride, wrap in access.traversal]
    way = _Way(tuple(loops), access.boundary or access.buffer, tuple(strides), element)
    try:
        found = way.patterns(len(loops), access.offset)
    except _NotPaddedError:
        return Infeasible(
            f"zeros between descriptors of {name}", 1, 0, "gaps", ("tiles that divide the data",)
        )
    if not found:
        return Infeasible(f"data in {name}", 0, 1, "elements", ("another offset",))
    alone = len(found) == 1 and found[0].iteration is None
    found = [each for pattern in found for each in _within(pattern, limits, alone=alone)]
    words = [_in_words(pattern) for pattern in found]
    if any(word is None for word in words):
        return Infeasible(
            f"32-bit words of {name}",
            element * touched(access),
            WORD,
            "bytes",
            ("rows of whole words", "another tiling"),
        )
    return tuple(word for word in words if word is not None)


def _within(pattern: Pattern, limits: Addressing, *, alone: bool) -> list[Pattern]:
    """With no larger wraps and no more dimensions than a descriptor has.

    The first dimension still counts bytes here; a way without gaps needs no dimension. Where the
    pattern is the only one, the outermost loop may become the descriptor's iteration.
    """
    if len(pattern.dims) == 1 and pattern.padding == ((0, 0),):
        return [pattern]
    most = 2**limits.wrap_bits - 1 if limits.wrap_bits is not None else None
    dims: list[tuple[int, int]] = []
    pads: list[tuple[int, int]] = []
    for at, ((size, step), pad) in enumerate(zip(pattern.dims, pattern.padding, strict=True)):
        unit = WORD if not at else 1
        part = _divisor(size // unit, most) * unit if most and pad == (0, 0) else size
        dims.append((part, step))
        pads.append(pad)
        if part < size and part:
            dims.append((size // part, part * step))
            pads.append((0, 0))
    split = replace(pattern, dims=tuple(dims), pad=tuple(pads))
    if len(split.dims) <= limits.dims or split.padding[-1] != (0, 0):
        return [split]
    size, step = split.dims[-1]
    fewer = replace(split, dims=split.dims[:-1], pad=split.padding[:-1])
    fits = len(fewer.dims) <= limits.dims and size <= 2 ** (limits.iteration_wrap_bits or 0)
    if fits and alone:
        return [replace(fewer, iteration=(size, step))]
    moved = [fewer.moved(at * step) for at in range(size)]
    return [each for one in moved for each in _within(one, limits, alone=False)]


def _divisor(size: int, most: int | None) -> int:
    """The greatest divisor of `size` that is no greater than `most`, one of half as much if any.

    What counts to 1023 was taken to 512 by verifiers of MLIR-AIE until July 2026.
    """
    if most is None or size <= most:
        return size
    parts = [part for part in range(most, 0, -1) if size % part == 0]
    return next((p for p in parts if p <= (most + 1) // 2 and size // p <= most // 2), parts[0])


def _in_words(pattern: Pattern) -> Pattern | None:
    """None where something is no whole number of words.

    Nobody steps along a dimension of one element, which is there for the zeros around it. Its step
    is one word: that of a row may be longer than the buffer, which verifiers of texts refuse.
    """
    (size, _), pads = pattern.dims[0], pattern.padding
    steps = [step for _, step in pattern.dims[1:]]
    if pattern.iteration is not None:
        steps.append(pattern.iteration[1])
    if any(value % WORD for value in (pattern.offset, size, *pads[0], *steps)):
        return None
    outer = ((many, step // WORD if many > 1 else 1) for many, step in pattern.dims[1:])
    dims = ((size // WORD, 1), *outer)
    first = (pads[0][0] // WORD, pads[0][1] // WORD)
    iteration = None
    if pattern.iteration is not None:
        iteration = (pattern.iteration[0], pattern.iteration[1] // WORD)
    return Pattern(pattern.offset // WORD, dims, (first, *pads[1:]), iteration)
