"""The cheapest-cover problem in whole numbers: choices, which exclude each other, and charges.

Costs are rounded to a power of two of a cycle (1/1024 where the sums allow it), so that adding
them is exact and every way of solving gives the same answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from match_aie.partition.circuit import Circuit, Literal
from match_aie.partition.pricing import CORE_SIDE, Place, Pricing, Side

if TYPE_CHECKING:
    from match_aie.partition.select import Option

#: Parts of a cycle that costs are rounded to, at best.
FINEST = 1024
#: Sums of costs stay below this: solvers count in 64 bits.
LARGEST = 1 << 60


@dataclass(frozen=True, eq=False)
class Problem:
    """Choose a set of choices 1 .. n, at the least cost.

    Attributes:
        circuit: conditions over the choices.
        costs: of choice k at [k - 1], in units.
        ranks: choice k's place among those with the same root at [k - 1], from 1: covers of equal
            cost are told apart by the sum of these, so that ties go to the first.
        exclusive: of each of these sets at most one may be chosen.
        required: (choice, literal): the choice may be taken only where the literal holds.
        charges: units to pay where a literal holds.
        links: (read, ((written, moved), ...)): where `read` holds, one of `moved` does, and with it
            its `written`. The gates say so already; solvers of linear programs need it spelled out.
        resolution: units of a cycle.
        scale: weight of a unit of cost against one of rank.
        limits: (what each choice takes, how much there is) of what the chosen ones share.
    """

    circuit: Circuit
    costs: tuple[int, ...]
    ranks: tuple[int, ...]
    exclusive: tuple[frozenset[int], ...]
    required: tuple[tuple[int, Literal], ...]
    charges: dict[Literal, int]
    links: tuple[tuple[Literal, tuple[tuple[Literal, Literal], ...]], ...]
    resolution: float
    scale: int
    limits: tuple[tuple[tuple[int, ...], int], ...] = ()

    def fits(self, chosen: Iterable[int]) -> bool:
        """Whether there is enough for all of `chosen`."""
        taken = tuple(chosen)
        return all(sum(of[c - 1] for c in taken) <= most for of, most in self.limits)

    def weight(self, choice: int) -> int:
        """What taking `choice` adds to the objective."""
        return self.costs[choice - 1] * self.scale + self.ranks[choice - 1]

    def unit(self, cycles: float) -> int:
        """`cycles` in units."""
        return round(cycles * self.resolution)


def problem(
    pricing: Pricing,
    options: Sequence[Option],
    limits: tuple[tuple[tuple[int, ...], int], ...] = (),
) -> Problem:
    """The problem of covering `pricing.graph` by some of `options`, all of which are priced.

    Args:
        pricing: of the graph and the target.
        options: to choose from.
        limits: (what each option takes, how much there is) of what the chosen ones share.
    """
    builder = _Builder(pricing, options)
    charges = builder.charges()
    costs = [pricing.option(option) for option in options]
    ranks = _ranks(builder.places)
    highest: dict[int, int] = {}
    for place, rank in zip(builder.places, ranks, strict=True):
        highest[place.root] = max(rank, highest.get(place.root, 0))
    scale = 1 + sum(highest.values())
    resolution = _resolution(sum(costs) + sum(c for _, c in charges), scale)
    merged: dict[Literal, int] = {}
    for literal, cycles in charges:
        merged[literal] = merged.get(literal, 0) + round(cycles * resolution)
    return Problem(
        builder.circuit,
        tuple(round(c * resolution) for c in costs),
        ranks,
        tuple(dict.fromkeys(frozenset(o) for o in builder.owners.values() if len(o) > 1)),
        builder.required(),
        {literal: units for literal, units in merged.items() if units},
        tuple(builder.links),
        resolution,
        scale,
        limits,
    )


def _ranks(places: Sequence[Place]) -> tuple[int, ...]:
    seen: dict[int, int] = {}
    ranks = []
    for place in places:
        seen[place.root] = seen.get(place.root, 0) + 1
        ranks.append(seen[place.root])
    return tuple(ranks)


def _resolution(bound: float, scale: int) -> float:
    """The finest power of two at which `bound` cycles stay countable."""
    resolution = float(FINEST)
    while bound * resolution * scale > LARGEST:
        resolution /= 2
    return resolution


class _Builder:
    """Turns places in the graph into conditions; node order decides, nothing is iterated twice."""

    def __init__(self, pricing: Pricing, options: Sequence[Option]) -> None:
        self.pricing = pricing
        self.graph = pricing.graph
        self.options = options
        self.circuit = Circuit(len(options))
        self.places = [pricing.place(option) for option in options]
        self.owners: dict[int, list[int]] = {}
        self.rooted: dict[str, list[int]] = {}
        self.reading: dict[str, list[int]] = {}
        for choice, place in enumerate(self.places, 1):
            for index in sorted(place.owned):
                self.owners.setdefault(index, []).append(choice)
            root = self.graph.nodes[place.root].output
            self.rooted.setdefault(root, []).append(choice)
            for name in place.reads:
                self.reading.setdefault(name, []).append(choice)
        self.links: list[tuple[Literal, tuple[tuple[Literal, Literal], ...]]] = []
        self.left: dict[int, Literal] = {}
        for node in reversed(self.graph.nodes):
            self.left[node.index] = self._left(node.index)

    def _left(self, index: int) -> Literal:
        """That the core computes node `index`; later nodes are known."""
        output = self.graph.nodes[index].output
        if output in self.pricing.known:
            return self.circuit.false
        alone = self.circuit.none(self.owners.get(index, ()))
        if not self.pricing.repeatable(index):
            return alone
        return self.circuit.all((alone, self.read(output)))

    def core_reads(self, name: str) -> Literal:
        """That the core, or the caller, reads value `name`."""
        users = self.graph.users[name]
        return self.circuit.any(
            self.circuit.true if user == -1 else self.left[user] for user in users
        )

    def read(self, name: str) -> Literal:
        """That anything reads value `name` from outside the options that hold it."""
        return self.circuit.any((*self.reading.get(name, ()), self.core_reads(name)))

    def required(self) -> tuple[tuple[int, Literal], ...]:
        """Options of nothing but repeatable operators run only where something reads them."""
        return tuple(
            (choice, self.read(self.graph.nodes[place.root].output))
            for choice, place in enumerate(self.places, 1)
            if all(self.pricing.repeatable(index) for index in place.nodes)
        )

    def charges(self) -> list[tuple[Literal, float]]:
        """What is to pay beside the options themselves, where what holds."""
        found = [(literal, self.pricing.fallback(node)) for node, literal in self.left.items()]
        for name in self.graph.values:
            if name not in self.pricing.known:
                found += self._moves(name)
        return [(literal, cycles) for literal, cycles in found if literal != self.circuit.false]

    def _moves(self, name: str) -> list[tuple[Literal, float]]:
        rooted = self.rooted.get(name, [])
        sources = [(CORE_SIDE, self.circuit.none(rooted)), *self._by_side(name, rooted)]
        reading = self._by_side(name, self.reading.get(name, []))
        found: list[tuple[Literal, float]] = []
        for side, read in [(CORE_SIDE, self.core_reads(name)), *reading]:
            prices = [(self.pricing.move(name, source, side), w) for source, w in sources]
            moved = [(w, self.circuit.all((w, read)), cycles) for cycles, w in prices]
            if any(cycles for *_, cycles in moved):
                self.links.append((read, tuple((w, m) for w, m, _ in moved)))
                found += [(m, cycles) for _, m, cycles in moved if cycles]
        return found

    def _by_side(self, name: str, choices: Sequence[int]) -> list[tuple[Side, Literal]]:
        """(module with an order of `name`, one of its choices is taken) for those of `choices`."""
        grouped: dict[Side, list[int]] = {}
        for choice in choices:
            side = self.pricing.side(self.options[choice - 1], name)
            grouped.setdefault(side, []).append(choice)
        return [(side, self.circuit.any(group)) for side, group in grouped.items()]
