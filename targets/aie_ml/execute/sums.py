"""What a kernel's function makes of a call: sums that cascades join, or what it stores."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from match_aie.targets.aie_ml.execute.errors import ExecutionError
from match_aie.targets.aie_ml.kernels.spec import KernelSpec


@dataclass(frozen=True)
class Sums:
    """What a call has before the cascade's part is added, and what becomes of it.

    Attributes:
        values: [M, N], int64; float32, and of no meaning where `factors` are.
        spec: of the kernel that adds.
        receives: whether the cascade's sums join.
        sends: whether they go on over the cascade then.
        last: whether they are done after that, and not kept for the next call.
        factors: x [M, K] and w [K, N] of floats whose products are added to the cascade's sums.
    """

    values: np.ndarray
    spec: KernelSpec
    receives: bool
    sends: bool
    last: bool = True
    factors: tuple[np.ndarray, np.ndarray] | None = None


@dataclass
class PausedSums:
    """What such a kernel has between two pauses.

    Attributes:
        came: words that the next block starts from.
        summed: words of the block that is not drained; None before the first one.
        drained: words of blocks that are to be stored together.
    """

    came: np.ndarray | None = None
    summed: np.ndarray | None = None
    drained: list[np.ndarray] = field(default_factory=list)


@dataclass(frozen=True)
class Carried:
    """Some blocks of a call, before the cascade's part is added.

    Attributes:
        values: of the whole call, [M, N], int64.
        spec: of the kernel.
        receives: whether the cascade's sums join.
        sends: whether they go on over the cascade then.
        blocks: those blocks.
        first: whether the run begins with them.
        last: whether it ends with them.
        kept: of the kernel.
    """

    values: np.ndarray
    spec: KernelSpec
    receives: bool
    sends: bool
    blocks: range
    first: bool
    last: bool
    kept: PausedSums


@dataclass(frozen=True)
class Handed:
    """Words of a cascade that a call takes, and what it makes of them.

    Attributes:
        takes: words.
        then: from those, [takes, lanes], the words that it sends and what it stores.
    """

    takes: int
    then: Callable[[np.ndarray], tuple[np.ndarray | None, Lent | np.ndarray | None]]


@dataclass(frozen=True)
class Lent:
    """What a call stores for a neighbour, and what it stores beside it.

    Attributes:
        sent: for the neighbour.
        stored: as results; None where these are not all there.
    """

    sent: np.ndarray
    stored: np.ndarray | None


#: What a call may make.
Made = Sums | Carried | Handed | Lent | np.ndarray | None


class Whole:
    """A function that stores all that it makes: no sums of it are joined by a cascade's."""

    def finish(self, number: int, sums: np.ndarray) -> np.ndarray | None:
        """Never asked."""
        raise ExecutionError(f"call {number} of {type(self).__name__} has no sums")


class Grouped:
    """Results of a recurrent layer's tile, which leave a group of steps at a time.

    Args:
        steps: of a run.
        group: so many leave together.
        width: elements of a step.
        dtype: of these.
    """

    def __init__(self, steps: int, group: int, width: int, dtype: type[np.generic]) -> None:
        """None yet."""
        self._steps, self._rows = steps, np.zeros((group, width), dtype)

    def put(self, step: int, row: np.ndarray) -> np.ndarray | None:
        """Those of a step are there; all of its group with the last one."""
        at = step % len(self._rows)
        if at == 0:
            self._rows[:] = 0
        self._rows[at] = row
        whole = at == len(self._rows) - 1 or step == self._steps - 1
        return self._rows.reshape(-1).copy() if whole else None


class Function(Protocol):
    """A kernel function, with what it keeps between calls."""

    def call(self, number: int, inputs: Sequence[np.ndarray]) -> Made:
        """Call `number` of a run: sums, or what it stores. Inputs are the bytes of its buffers."""

    def finish(self, number: int, sums: np.ndarray) -> np.ndarray | None:
        """What is stored of sums [M, N] that do not go on; None where they are kept."""
