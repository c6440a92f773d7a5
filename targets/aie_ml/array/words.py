"""Which words of a buffer its descriptors move, in their order.

A channel goes through the descriptors of one copy in the order of the program, again and again as
their iteration says, then through those of the other copy.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from match_aie.errors import InternalError
from match_aie.targets.aie_ml.array.program import ArrayProgram, Channel, Descriptor
from match_aie.targets.aie_ml.kernels.block import Access

WORD = 4

#: Stands for a word of padding; anything below zero is one.
PADDING = -1

_FAR = -(1 << 40)

_Steps = tuple[tuple[int, int], ...]


@lru_cache(maxsize=256)
def _spread(words: int, dims: _Steps, pad: _Steps) -> np.ndarray:
    """Words of a descriptor without its offset, in order; negative for padding."""
    sizes = dims or ((words - sum(map(sum, pad)), 1),)
    pads = (*pad, *((0, 0),) * (len(sizes) - len(pad)))
    found = np.zeros(1, np.int64)
    for (size, step), (before, after) in zip(sizes, pads, strict=True):
        inside = (found + step * np.arange(size)[:, None]).reshape(-1)
        zeros = [np.full(n * found.size, _FAR, np.int64) for n in (before, after)]
        found = np.concatenate((zeros[0], inside, zeros[1]))
    found.flags.writeable = False
    return found


def one_use(descriptor: Descriptor, use: int = 0) -> np.ndarray:
    """Words that use number `use` of a descriptor moves, in order; `PADDING` for zeros."""
    d = descriptor
    begin = d.offset
    if d.iteration is not None:
        size, step = d.iteration
        begin += use % size * step
    return np.asarray(np.maximum(_spread(d.words, d.dims, d.pad) + begin, PADDING))


def uses(descriptors: Sequence[Descriptor]) -> int:
    """How often a channel goes through the descriptors of a copy until it is done with it."""
    return max(1 if d.iteration is None else d.iteration[0] for d in descriptors)


def cut_at(descriptor: Descriptor) -> int | None:
    """Dimension behind whose first element another channel may begin; None where there is none.

    That of the last of several elements: zeros around those of a single one stay with it. A linear
    descriptor of several words is cut along dimension 0, which it does not say.
    """
    d = descriptor
    if not d.dims:
        return 0 if d.words > 1 and not d.pad else None
    pads = (*d.pad, *((0, 0),) * (len(d.dims) - len(d.pad)))
    for at in reversed(range(len(d.dims))):
        if d.dims[at][0] > 1:
            return at
        if pads[at] != (0, 0):
            return None
    return None


def walked(descriptors: Sequence[Descriptor]) -> np.ndarray:
    """Words of a copy that its descriptors on one channel move, all uses, in order."""
    turns = range(uses(descriptors))
    return np.concatenate([one_use(d, use) for use in turns for d in descriptors])


def parts_of(
    writer: Sequence[Descriptor], readers: Sequence[Sequence[Descriptor]]
) -> tuple[tuple[int, int], ...] | None:
    """Readers in the order in which a writer comes to the words of each, which are nobody else's.

    Args:
        writer: descriptors of a copy.
        readers: the same of each reader.

    Returns:
        Number of the reader, and words that are written before its part; between two elements of
        the writer's outermost dimension, and 0 for the first one. None where words have two readers
        or parts are no such pieces.
    """
    if len(writer) != 1 or writer[0].iteration is not None or writer[0].pad:
        return None
    if not all(readers):
        return None
    order = one_use(writer[0])
    reads = [walked(reader) for reader in readers]
    place = np.full(1 + max(int(at.max(initial=0)) for at in (order, *reads)), PADDING)
    place[order] = np.arange(order.size)
    found = []
    for number, at in enumerate(reads):
        places = place[at[at >= 0]]
        places = places[places >= 0]  # what nobody writes may be read where no result needs it
        if not places.size:
            return None
        found.append((int(places.min()), int(places.max()), number))
    found.sort()
    dims = writer[0].dims
    step = order.size // dims[-1][0] if dims else 1
    starts = [0, *(first // step * step for first, *_ in found[1:])]
    if any(last >= start for (_, last, _), start in zip(found, starts[1:], strict=False)):
        return None
    return tuple((number, start) for (*_, number), start in zip(found, starts, strict=True))


def responsible(descriptors: Sequence[Descriptor], position: int) -> Descriptor:
    """The descriptor that moves word number `position` of `walked`."""
    at = position % sum(d.words for d in descriptors)
    for descriptor in descriptors:
        if at < descriptor.words:
            return descriptor
        at -= descriptor.words
    raise AssertionError("a position beyond all descriptors")


def by_copy(program: ArrayProgram) -> dict[tuple[Channel, str, int], tuple[Descriptor, ...]]:
    """Descriptors of each channel, by buffer and copy, in their order."""
    found: dict[tuple[Channel, str, int], list[Descriptor]] = {}
    for descriptor in program.descriptors:
        key = descriptor.channel, descriptor.buffer, descriptor.copy
        found.setdefault(key, []).append(descriptor)
    return {key: tuple(some) for key, some in found.items()}


def _in_words(begin: np.ndarray, element: int) -> np.ndarray:
    """Words of elements that begin at these bytes."""
    if element >= WORD:
        each = begin[:, None] + WORD * np.arange(element // WORD)
        words = np.where(begin[:, None] < 0, PADDING, each // WORD)
        return np.asarray(words.reshape(-1))
    lanes = WORD // element
    whole = begin.size % lanes == 0
    each = begin.reshape(-1, lanes) if whole else begin[None]
    beside = each == each[:, :1] + element * np.arange(each.shape[1])
    if not whole or not np.all(beside.all(axis=1) & (each[:, 0] % WORD == 0) | (each < 0).all(1)):
        raise InternalError("an access moves parts of 32-bit words")
    return np.where(each[:, 0] < 0, PADDING, each[:, 0] // WORD)


@lru_cache(maxsize=128)
def meant(access: Access, element: int) -> np.ndarray:
    """Words of a buffer that an `Access` goes through once, in order; `PADDING` for zeros.

    Raises:
        InternalError: elements of one word do not lie side by side in one.
    """
    strides = np.cumprod((1, *access.buffer[:-1]))
    data = access.boundary or access.buffer
    # Outermost first: loops over tiles, then the tile's own dimensions.
    steps = [(d, stride, wrap) for d, stride, wrap in reversed(access.traversal)]
    steps += [(d, 1, size) for d, size in reversed(list(enumerate(access.tile)))]
    at = [np.array(first) for first in access.offset]
    for dim, stride, wrap in steps:
        at = [a[..., None] for a in at]
        at[dim] = at[dim] + stride * np.arange(wrap)
    places = np.broadcast_arrays(*at)
    inside = np.logical_and.reduce(
        [(a >= 0) & (a < size) for a, size in zip(places, data, strict=True)]
    )
    index = sum(a * s for a, s in zip(places, strides, strict=True))
    begin = np.where(inside, index * element, PADDING).reshape(-1)
    found = _in_words(begin, element)
    found.flags.writeable = False
    return found
