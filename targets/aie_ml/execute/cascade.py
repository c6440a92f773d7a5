"""A cascade: a FIFO of 512-bit words between two cores, a few at each end."""

from __future__ import annotations

from collections import deque

import numpy as np

from match_aie.targets.aie_ml.array.program import Cascade, Tile
from match_aie.targets.aie_ml.devices import Device
from match_aie.targets.aie_ml.execute.errors import ExecutionError
from match_aie.targets.aie_ml.execute.streams import Clock, Process, Wait
from match_aie.targets.aie_ml.kernels.spec import KernelSpec
from match_aie.workload.block_float import continued_blocks

#: Bits of a word.
WIDTH = 512


class Fifo:
    """Words on their way from one core to the next.

    Args:
        link: between which cores.
        device: whose FIFOs.

    Attributes:
        held: words that are in it.
    """

    def __init__(self, link: Cascade, device: Device) -> None:
        """Empty."""
        self._room = 2 * device.architecture.core.cascade_fifo
        self._words: deque[np.ndarray] = deque()
        self.held = 0
        self._of: tuple[object, ...] | None = None
        self.full = Wait(f"core {link.source}: room in its cascade to {{}}", link.sink)
        self.empty = Wait(f"core {link.sink}: sums from the cascade of {{}}", link.source)

    def agree(self, spec: KernelSpec, tile: Tile) -> None:
        """Both ends must cut sums into the same accumulators, in the same order."""
        shape = (spec.m, spec.n, spec.tiling.m, spec.tiling.n, spec.rows, spec.columns)
        mine = (*shape, spec.accumulator)
        if self._of is not None and self._of != mine:
            raise ExecutionError(f"core {tile} takes sums in another order than they come")
        self._of = mine

    @property
    def room(self) -> int:
        """Words that it has room for."""
        return self._room - self.held

    def put(self, words: np.ndarray) -> None:
        """Some words, [count, lanes]; as many as there is room for at most."""
        self._words.append(words)
        self.held += len(words)

    def get(self, count: int) -> np.ndarray:
        """So many words, of those that are held."""
        self.held -= count
        first = self._words.popleft()
        while len(first) < count:
            first = np.concatenate((first, self._words.popleft()))
        if len(first) > count:
            self._words.appendleft(first[count:])
        return first[:count]


def lanes(spec: KernelSpec) -> int:
    """Sums of a word: a power of two, eight of AIE's 48 bits."""
    most: int = WIDTH // spec.lane_bits
    return 1 << most.bit_length() - 1


def in_words(sums: np.ndarray, spec: KernelSpec) -> np.ndarray:
    """Sums [M, N] as words: block after block, blocks and their accumulators along N first."""
    tiles = sums.reshape(_blocks(spec)).transpose(0, 3, 1, 4, 2, 5)
    return np.ascontiguousarray(tiles).reshape(-1, lanes(spec))


def _blocks(spec: KernelSpec) -> tuple[int, ...]:
    """[M, N] as blocks, their accumulators, rows or columns of those."""
    (m, n), t = spec.blocks, spec.tiling
    return m, spec.rows, t.m, n, spec.columns, t.n


def from_words(words: np.ndarray, spec: KernelSpec) -> np.ndarray:
    """The inverse of `in_words`."""
    m, rows, high, n, columns, wide = _blocks(spec)
    tiles = words.reshape(m, n, rows, columns, high, wide).transpose(0, 2, 4, 1, 3, 5)
    return np.ascontiguousarray(tiles).reshape(spec.m, spec.n)


class Added:
    """Integer sums of a core, joined by those that come, in any order."""

    def join(self, words: np.ndarray, at: int, came: np.ndarray) -> None:
        """Add `came` to `words` from `at` on."""
        words[at : at + len(came)] += came


class Continued:
    """Float sums that go on from those that come: products, or blocks, one after the other.

    Args:
        spec: of the kernel.
        x: [M, K].
        w: [K, N].
    """

    def __init__(self, spec: KernelSpec, x: np.ndarray, w: np.ndarray) -> None:
        """Which row and column each lane of each word has."""
        row, column = np.indices((spec.m, spec.n))
        self._rows, self._columns = in_words(row, spec), in_words(column, spec)
        self._x, self._w = x, np.ascontiguousarray(w.T)
        self._blocked = spec.blocked

    def join(self, words: np.ndarray, at: int, came: np.ndarray) -> None:
        """Replace `words` from `at` on."""
        here = slice(at, at + len(came))
        x, w = self._x[self._rows[here]], self._w[self._columns[here]]
        if self._blocked:
            words[here] = continued_blocks(came, x, w)
            return
        with np.errstate(over="ignore", invalid="ignore"):
            products = x * w
            terms = np.concatenate((came[..., None], products), axis=-1)
            # What accumulates adds strictly one after the other, unlike a sum.
            words[here] = np.add.accumulate(terms, axis=-1, dtype=np.float32)[..., -1]


def through(
    words: np.ndarray,
    west: Fifo | None,
    east: Fifo | None,
    clock: Clock,
    joined: Added | Continued = Added(),
) -> Process:
    """Join what comes from the west to `words`, in place, and pass all on to the east.

    Word by word as the FIFOs have some and have room: none is kept back until the others are
    there.
    """
    at = passed = 0
    total = len(words)
    while at < total or (east is not None and passed < total):
        moved = 0
        if west is None:
            at = total
        elif at < total:
            # Accumulators are few: a core reads no further than it can pass on.
            moved = min(west.held, total - at)
            if east is not None:
                moved = min(moved, passed + east.room - at)
            if moved > 0:
                joined.join(words, at, west.get(moved))
                at += moved
                clock.events += 1
        if east is not None and passed < at and east.room:
            count = min(east.room, at - passed)
            east.put(words[passed : passed + count])
            passed += count
            clock.events += 1
            continue
        if moved > 0:
            continue
        if west is not None and at < total and not west.held:
            yield west.empty
        elif east is not None:
            yield east.full
