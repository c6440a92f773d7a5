"""Semaphores in front of a buffer, as channels and cores take and give them."""

from __future__ import annotations

from typing import Literal

from match_aie.targets.aie_ml.array.semaphores import Handshake, Semaphore, User

Side = Literal["writers", "readers"]


class HeldSemaphores:
    """Their values; users are numbered as the handshake has them.

    Args:
        handshake: of the buffer.
    """

    def __init__(self, handshake: Handshake) -> None:
        """As before the first run."""
        self._users: dict[Side, tuple[User, ...]] = {
            "writers": handshake.writers,
            "readers": handshake.readers,
        }
        self._values: dict[Semaphore, int] = {s: s.initial for s in handshake.semaphores}

    def ready(self, side: Side, number: int, copy: int) -> bool:
        """Whether this user could take a copy."""
        user = self._users[side][number]
        semaphore, many = user.takes[copy]
        return self._values[semaphore] >= many * user.times

    def take(self, side: Side, number: int, copy: int) -> None:
        """It takes it."""
        user = self._users[side][number]
        semaphore, many = user.takes[copy]
        self._values[semaphore] -= many * user.times

    def passed(self, side: Side, number: int) -> None:
        """A first piece of it has moved."""
        user = self._users[side][number]
        if user.passes is not None:
            semaphore, many = user.passes
            self._values[semaphore] += many * user.times

    def give(self, side: Side, number: int, copy: int) -> None:
        """It is done with it."""
        user = self._users[side][number]
        semaphore, many = user.gives[copy]
        self._values[semaphore] += many * user.times

    def gates(self, side: Side, number: int) -> tuple[int, ...]:
        """Words of a copy behind each of which this user takes and gives, too."""
        return tuple(gate.words for gate in self._users[side][number].gates)

    def reached(self, side: Side, number: int, gate: int, copy: int) -> None:
        """It is there in a copy, and gives."""
        semaphore, many = self._users[side][number].gates[gate].gives[copy]
        self._values[semaphore] += many

    def passes(self, side: Side, number: int, gate: int, copy: int) -> bool:
        """Whether it can take what it needs to go on, and does."""
        semaphore, many = self._users[side][number].gates[gate].takes[copy]
        able = self._values[semaphore] >= many
        if able:
            self._values[semaphore] -= many
        return able
