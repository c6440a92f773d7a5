"""What the array's program and its simulator need of a kernel call's schedule, whatever kind."""

from __future__ import annotations

from typing import Protocol


class Scheduled(Protocol):
    """A call of a kernel function; cycles are modelled."""

    @property
    def body(self) -> int:
        """Cycles from the first load to the last store."""

    @property
    def program_bytes(self) -> int:
        """Estimate of the program memory taken."""

    @property
    def reads(self) -> tuple[int, ...]:
        """Cycles of the body at which 512-bit words are read from the cascade, in order."""

    @property
    def writes(self) -> tuple[int, ...]:
        """Cycles of the body at which words are written to the next core's, in order."""
