"""Conditions over choices, as gates: what a cover costs depends on what is chosen together.

A literal is a number: +k holds where gate k holds, -k where it does not. Gates 1 .. n are the
choices themselves; every other gate is the disjunction of its literals.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

Literal = int


@dataclass(frozen=True)
class Assignments:
    """Which choices are taken, and which gates hold then."""

    chosen: frozenset[int]
    choices: int
    open: set[int] = field(default_factory=set)

    def holds(self, literal: Literal) -> bool:
        """Whether `literal` holds; its gate was evaluated."""
        gate = abs(literal)
        return (gate in (self.chosen if gate <= self.choices else self.open)) == (literal > 0)


class Circuit:
    """Gates over `choices` choices; equal conditions become one gate."""

    def __init__(self, choices: int) -> None:
        """Choices are the gates 1 .. `choices`; the first gate behind them is false."""
        self.choices = choices
        self.gates: dict[int, tuple[Literal, ...]] = {}
        self._known: dict[tuple[Literal, ...], int] = {}
        self._supports: dict[int, frozenset[int]] = {}
        self.false = self._gate(())
        self.true = -self.false

    def any(self, literals: Iterable[Literal]) -> Literal:
        """Holds where one of `literals` does."""
        kept = set(literals) - {self.false}
        if self.true in kept or any(-literal in kept for literal in kept):
            return self.true
        if len(kept) == 1:
            return kept.pop()
        return self._gate(tuple(sorted(kept)))

    def all(self, literals: Iterable[Literal]) -> Literal:
        """Holds where each of `literals` does."""
        return -self.any(-literal for literal in literals)

    def none(self, literals: Iterable[Literal]) -> Literal:
        """Holds where none of `literals` does."""
        return -self.any(literals)

    def support(self, literal: Literal) -> frozenset[int]:
        """Choices that decide whether `literal` holds."""
        gate = abs(literal)
        return frozenset({gate}) if gate <= self.choices else self._supports[gate]

    def gates_of(self, literals: Iterable[Literal]) -> tuple[int, ...]:
        """Gates (choices aside) that decide `literals`, inner ones first."""
        seen: set[int] = set()
        waiting = [abs(literal) for literal in literals]
        while waiting:
            gate = waiting.pop()
            if gate > self.choices and gate not in seen:
                seen.add(gate)
                waiting.extend(abs(literal) for literal in self.gates[gate])
        return tuple(sorted(seen))

    def evaluate(self, chosen: Iterable[int], gates: Iterable[int]) -> Assignments:
        """Whether each of `gates` (inner ones first) holds when exactly `chosen` are chosen."""
        found = Assignments(frozenset(chosen), self.choices)
        for gate in gates:
            if any(found.holds(literal) for literal in self.gates[gate]):
                found.open.add(gate)
        return found

    def _gate(self, literals: tuple[Literal, ...]) -> int:
        if literals not in self._known:
            gate = self.choices + 1 + len(self.gates)
            self._known[literals] = gate
            self.gates[gate] = literals
            supports = [self.support(literal) for literal in literals]
            self._supports[gate] = frozenset().union(*supports)
        return self._known[literals]
