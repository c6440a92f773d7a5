"""A placement found one block after the other: where the search begins, and often the best."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from match_aie.targets.aie_ml.placement.problem import Position, Problem, overlap


def start(problem: Problem) -> tuple[Position, ...] | None:
    """The cheapest of a few; None where each of them leaves a block without a place.

    Args:
        problem: what is to be placed.
    """
    numbers = range(len(problem.blocks))
    orders = (
        list(numbers),
        sorted(numbers, key=lambda n: (-problem.blocks[n].height, n)),
        sorted(numbers, key=lambda n: (-problem.blocks[n].tiles, n)),
    )
    found = [at for order in orders for near in (True, False) if (at := _one(problem, order, near))]
    return min(found, key=problem.cost, default=None)


def floor(problem: Problem) -> Fraction:
    """A cost that no placement beats: neighbours share no tile, so columns or rows part them.

    Args:
        problem: what is to be placed.
    """
    return len(problem.edges) * min(Fraction(1), problem.lam)


def _one(problem: Problem, order: Sequence[int], near: bool) -> tuple[Position, ...] | None:
    """Blocks in `order`, each where it adds least to the cost, or as far west as it can be."""
    at: dict[int, Position] = {pin.block: pin.at for pin in problem.pins}
    for number in order:
        if number in at:
            continue
        block = problem.blocks[number]
        free = [
            (column, row)
            for column in range(problem.columns - block.width + 1)
            for row in range(problem.rows - block.height + 1)
            if _free(problem, at, number, (column, row))
        ]
        if not free:
            return None
        at[number] = (
            min(free, key=lambda p: (_adds(problem, at, number, p), p)) if near else free[0]
        )
    return tuple(at[number] for number in range(len(problem.blocks)))


def _free(problem: Problem, at: dict[int, Position], number: int, position: Position) -> bool:
    places = [at.get(other, position) for other in range(len(problem.blocks))]
    places[number] = position
    return not any(overlap(problem.blocks, places, number, other) for other in at)


def _adds(problem: Problem, at: dict[int, Position], number: int, position: Position) -> Fraction:
    """What a block costs there, with those that have places."""
    places = [at.get(other, position) for other in range(len(problem.blocks))]
    places[number] = position
    found = problem.mu * position[1]
    for edge in problem.edges:
        if number in edge and all(end == number or end in at for end in edge):
            columns, rows = problem.apart(edge, places)
            found += columns + problem.lam * rows
    return found
