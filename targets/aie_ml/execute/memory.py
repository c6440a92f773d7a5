"""Buffers with what lies in them, and the locks in front of them.

A lock counts copies: who writes waits for an empty one, who reads for a full one. A copy is full
when all its writers have written their parts, and empty when all its readers have read it; with
several writers or readers each has a count of its own. Where semaphores are given, they alone say
who waits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from match_aie.targets.aie_ml.array.program import ArrayProgram, Buffer, State
from match_aie.targets.aie_ml.array.semaphores import Handshake
from match_aie.targets.aie_ml.array.words import WORD
from match_aie.targets.aie_ml.execute.errors import ExecutionError
from match_aie.targets.aie_ml.execute.held import HeldSemaphores
from match_aie.targets.aie_ml.execute.result import BufferUse

#: What bytes hold that nobody has written, where the caller does not say otherwise.
POISON = 0xA5


def place(buffer: Buffer) -> str:
    """A buffer's name for people."""
    return f"buffer {buffer.name!r} of tile {buffer.tile}"


class Memory:
    """The copies of one buffer.

    Args:
        buffer: of the program.
        locks: what its own count before the first run, by what they count.
        poison: what its bytes hold at first.
        held: semaphores in front of it; None where the locks count for each alone.
    """

    def __init__(
        self,
        buffer: Buffer,
        locks: dict[State, int],
        poison: int,
        held: HeldSemaphores | None = None,
    ) -> None:
        """Nothing is written but what lies there before the first run."""
        self.buffer = buffer
        self._held = held
        words = -(-buffer.bytes // WORD)
        self.data = np.full((buffer.copies, words), poison * 0x01010101, np.uint32)
        self.written = np.zeros((buffer.copies, words), bool)
        self.ever = np.zeros(words, bool)
        self._margin = words if buffer.written is None else -(-buffer.written // WORD)
        self._locks = locks
        #: Copies that each writer has written, and each reader has read.
        self._wrote: list[int] = []
        self._read: list[int] = []
        self._begun = 0
        self.words_written = self.words_read = 0
        if buffer.values is not None:
            self._fill(buffer.values)

    def _fill(self, values: np.ndarray) -> None:
        """What lies in every copy before the first run."""
        flat = np.ascontiguousarray(values).reshape(-1).view(np.uint8)
        if flat.size != self.buffer.bytes:
            raise ExecutionError(f"{place(self.buffer)} holds {flat.size} bytes of values")
        self.data.view(np.uint8)[:, : flat.size] = flat
        self.written[:] = True
        self.ever[:] = True

    def writer(self) -> int:
        """Number of one more who writes."""
        self._wrote.append(0)
        return len(self._wrote) - 1

    def reader(self) -> int:
        """Number of one more who reads."""
        self._read.append(0)
        return len(self._read) - 1

    @property
    def resident(self) -> bool:
        """Whether what lies there before the first run stays."""
        return not self._wrote and not self.buffer.fills

    def _initial(self, state: State) -> int:
        count = self._locks.get(state)
        if count is None:
            raise ExecutionError(
                f"{place(self.buffer)} has no lock that counts its {state} copies",
                hint="a lock for each state of every buffer that streams fill or empty",
            )
        return count

    def empty(self, writer: int) -> bool:
        """Whether a copy is empty for this writer."""
        if self._held is not None:
            return self._held.ready("writers", writer, self._copy(self._wrote[writer]))
        freed = min(self._read, default=0)
        return self._wrote[writer] < self._initial("empty") + freed

    def full(self, reader: int, ahead: int = 0) -> bool:
        """Whether a copy is full for this reader, which has so many that it goes on reading."""
        if self.resident:
            return True
        number = self._read[reader] + ahead
        if self._held is not None:
            return self._held.ready("readers", reader, self._copy(number))
        return number < self._initial("full") + min(self._wrote, default=0)

    def begin(self, writer: int) -> int:
        """The copy that a writer takes; the first one of a copy makes it poisoned again."""
        number = self._wrote[writer]
        copy = self._copy(number)
        if self._held is not None:
            self._held.take("writers", writer, copy)
        if number == self._begun:
            if not self.gates(writer, sink=True):
                self.written[copy] = False
            self._begun += 1
        return copy

    def clear(self, copy: int, at: np.ndarray) -> None:
        """A writer with gates takes these words of a copy: they are poisoned again."""
        self.written[copy, at] = False

    def taken(self, reader: int, ahead: int = 0) -> int:
        """The copy that a reader takes, beside so many that it has."""
        copy = self._copy(self._read[reader] + ahead)
        if self._held is not None and not self.resident:
            self._held.take("readers", reader, copy)
        return copy

    def _copy(self, number: int) -> int:
        return number % self.buffer.copies

    def moved(self, user: int, *, sink: bool) -> None:
        """A first piece of a copy has moved: the next one may begin."""
        if self._held is not None and not self.resident:
            self._held.passed("writers" if sink else "readers", user)

    def gates(self, user: int, *, sink: bool) -> tuple[int, ...]:
        """Words of a copy behind each of which a channel takes and gives, too."""
        if self._held is None or self.resident:
            return ()
        return self._held.gates("writers" if sink else "readers", user)

    def reached(self, writer: int, gate: int) -> None:
        """A writer is at a gate, and gives."""
        if self._held is not None:
            self._held.reached("writers", writer, gate, self._copy(self._wrote[writer]))

    def passes(self, writer: int, gate: int) -> bool:
        """Whether a writer can go on there, and does."""
        if self._held is None:
            return True
        return self._held.passes("writers", writer, gate, self._copy(self._wrote[writer]))

    def wrote(self, writer: int) -> None:
        """The writer is done with its copy."""
        if self._held is not None:
            self._held.give("writers", writer, self._copy(self._wrote[writer]))
        self._wrote[writer] += 1

    def read(self, reader: int) -> None:
        """The reader is done with its copy."""
        if self._held is not None and not self.resident:
            self._held.give("readers", reader, self._copy(self._read[reader]))
        self._read[reader] += 1

    def put(self, copy: int, at: np.ndarray, words: np.ndarray, who: Callable[[int], str]) -> None:
        """Write words; `who(n)` names what moves the one in position n."""
        outside = (at < 0) | (at >= self.data.shape[1])
        if outside.any():
            first = int(outside.argmax())
            raise ExecutionError(
                f"{who(first)} writes word {int(at[first])} of {place(self.buffer)}, "
                f"which has {self.data.shape[1]}"
            )
        self.data[copy, at] = words
        self.written[copy, at] = True
        self.ever[at] = True
        self.words_written += at.size

    def get(self, copy: int, at: np.ndarray, who: Callable[[int], str]) -> np.ndarray:
        """Read words, zero for padding; `who(n)` names what moves the one in position n."""
        held = self.data.shape[1]
        if at.max(initial=-1) >= held:
            first = int((at >= held).argmax())
            raise ExecutionError(
                f"{who(first)} reads word {int(at[first])} of {place(self.buffer)}, "
                f"which has {held}"
            )
        real = np.maximum(at, 0)
        missing = ~self.written[copy, real] & (at >= 0) & (at < self._margin)
        if missing.any():
            self._refuse(copy, at, int(missing.argmax()), who)
        self.words_read += int((at >= 0).sum())
        return np.where(at < 0, np.uint32(0), self.data[copy, real])

    def whole(self, copy: int, who: str) -> np.ndarray:
        """All bytes of a copy, as a kernel reads them.

        Raises:
            ExecutionError: a word of them was never written.
        """
        if not self.written[copy].all():
            at = np.arange(self.data.shape[1])
            self._refuse(copy, at, int((~self.written[copy]).argmax()), lambda _: who)
        self.words_read += self.data.shape[1]
        return np.asarray(self.data[copy].view(np.uint8)[: self.buffer.bytes])

    def store(self, copy: int, values: np.ndarray) -> None:
        """What a kernel stores into a copy, all of it."""
        flat = np.ascontiguousarray(values).reshape(-1).view(np.uint8)
        if flat.size != self.buffer.bytes:
            raise ExecutionError(f"a kernel stores {flat.size} bytes into {place(self.buffer)}")
        self.data[copy].view(np.uint8)[: flat.size] = flat
        self.written[copy] = True
        self.ever[:] = True
        self.words_written += self.data.shape[1]

    def _refuse(self, copy: int, at: np.ndarray, first: int, who: Callable[[int], str]) -> None:
        raise ExecutionError(
            f"{who(first)} reads word {int(at[first])} of copy {copy} of {place(self.buffer)}, "
            "which nothing has written",
            hint="writers that cover what is read, or padding",
        )

    def use(self) -> BufferUse:
        """What happened."""
        return BufferUse(
            self.buffer.tile,
            self.buffer.name,
            min(self._wrote, default=0),
            self.words_written,
            self.words_read,
            int((~self.ever).sum()),
        )


def memories(
    program: ArrayProgram, poison: int, semaphores: Sequence[Handshake] | None = None
) -> dict[tuple[object, str], Memory]:
    """All buffers of a program, by tile and name."""
    held = {(one.buffer.tile, one.buffer.name): HeldSemaphores(one) for one in semaphores or ()}
    locks: dict[tuple[object, str], dict[State, int]] = {}
    for lock in program.locks:
        counts = locks.setdefault((lock.tile, lock.buffer), {})
        if lock.copy is None:
            counts[lock.state] = lock.initial
            continue
        one: tuple[tuple[State, int], ...] = (("full", lock.initial), ("empty", 1 - lock.initial))
        for state, many in one:
            counts[state] = counts.get(state, 0) + many
    return {
        place: Memory(buffer, locks.get(place, {}), poison, held.get(place))
        for place, buffer in program.buffer_at.items()
    }
