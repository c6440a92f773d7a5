"""A kernel that goes on from call to call: its last block is drained in the next call.

So are its words: a block's leave, or are stored, while the block behind it is multiplied, and what
that block's follower starts from is read then, be it of the next call.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence

import numpy as np

from match_aie.targets.aie_ml.execute.cascade import Fifo
from match_aie.targets.aie_ml.execute.streams import Clock, Process, Wait
from match_aie.targets.aie_ml.execute.sums import Carried, Function, Handed, Lent, PausedSums, Sums
from match_aie.targets.aie_ml.kernels.spec import KernelSpec


class Passing:
    """The meaning of such a kernel.

    Args:
        call: the meaning of one call of it.
        spec: of the kernel.
        passes: calls of a run.
    """

    def __init__(self, call: Function, spec: KernelSpec, passes: int) -> None:
        """At the beginning of a run."""
        self._call, self._spec, self._passes = call, spec, passes
        self._kept = PausedSums()

    def call(self, number: int, inputs: Sequence[np.ndarray]) -> Carried:
        """Stretch `number`."""
        sums = self._call.call(0, inputs)
        assert isinstance(sums, Sums)
        stretch = stretch_of(number, self._spec, self._passes)
        return Carried(sums.values, self._spec, sums.receives, sums.sends, *stretch, self._kept)

    def finish(self, number: int, sums: np.ndarray) -> np.ndarray | None:
        """Of a whole call."""
        del number
        return self._call.finish(0, sums)


def stretch_of(number: int, spec: KernelSpec, passes: int) -> tuple[range, bool, bool]:
    """Blocks of stretch `number` of a run; whether the run begins, or ends, with them.

    A kernel that stores has two stretches for each call but the first: its first block, all others.
    """
    count = spec.blocks[0] * spec.blocks[1]
    if not spec.stores:
        number %= passes
        return range(count), number == 0, number == passes - 1
    number %= 2 * passes - 1
    blocks = range(count) if number == 0 else range(1) if number % 2 else range(1, count)
    return blocks, number == 0, number == 2 * passes - 2


def carry(
    words: np.ndarray, made: Carried, west: Fifo | None, east: Fifo | None, clock: Clock
) -> Process:
    """Go through `made`, with the `words` of its whole call.

    Args:
        words: of the sums, block after block.
        made: what is summed.
        west: where sums come from; None where the kernel begins the chain.
        east: where they go; None where they are stored.
        clock: of the execution.
    """
    kept, each = made.kept, len(words) // (made.spec.blocks[0] * made.spec.blocks[1])
    if made.first and west is not None:
        kept.came = yield from _taken(west, each, clock)
    for block in made.blocks:
        yield from _drain(kept, east, clock)
        own = words[block * each : (block + 1) * each]
        kept.summed = own if kept.came is None else own + kept.came
        if west is not None and not (made.last and block == made.blocks[-1]):
            kept.came = yield from _taken(west, each, clock)
    if made.last:
        yield from _drain(kept, east, clock)
        kept.came = kept.summed = None


def _drain(kept: PausedSums, east: Fifo | None, clock: Clock) -> Process:
    """Pass the block on that waits, or keep it for the store."""
    if kept.summed is None:
        return
    if east is None:
        kept.drained.append(kept.summed)
        return
    yield from _sent(kept.summed, east, clock)


def _sent(words: np.ndarray, east: Fifo, clock: Clock) -> Process:
    """Words, as there is room for them."""
    left = words
    while len(left):
        while not east.room:
            yield east.full
        count = min(east.room, len(left))
        east.put(left[:count])
        left = left[count:]
        clock.events += 1


def handed(
    made: Handed, west: Fifo | None, east: Fifo | None, clock: Clock
) -> Generator[Wait, None, Lent | np.ndarray | None]:
    """Take words, send those that are made of them.

    Args:
        made: how many, and what becomes of them.
        west: where they come from; None where nothing does.
        east: where they go; None where they end.
        clock: of the execution.

    Returns:
        What is stored.
    """
    came = np.zeros((0, 0), np.float32)
    if made.takes and west is not None:
        came = yield from _taken(west, made.takes, clock)
    words, stored = made.then(came)
    if words is not None and east is not None:
        yield from _sent(words, east, clock)
    return stored


def _taken(west: Fifo, count: int, clock: Clock) -> Generator[Wait, None, np.ndarray]:
    """So many words, as they come."""
    found: list[np.ndarray] = []
    left = count
    while left:
        while not west.held:
            yield west.empty
        some = west.get(min(left, west.held))
        found.append(some)
        left -= len(some)
        clock.events += 1
    return np.concatenate(found)
