"""What a rule of the array says when it does not hold."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Violation:
    """A broken rule.

    Attributes:
        where: tile, stream or buffer.
        what: was asked for.
        demand: how much of it.
        bound: how much there is.
        remedy: what to change.
    """

    where: str
    what: str
    demand: float
    bound: float
    remedy: str

    def __str__(self) -> str:
        """In a sentence."""
        return f"{self.where}: {self.demand:g} {self.what}, at most {self.bound:g}"
