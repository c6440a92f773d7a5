"""Why blocks do not fit an array, where a few sums show it."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations

from match_aie.errors import Infeasible
from match_aie.targets.aie_ml.placement.problem import Block, Problem, overlap

LEVERS = ("fewer tiles for a layer (columns_per_layer)", "fewer layers on the array")
MOVE = ("another position", "no position at all")


def refused(problem: Problem) -> Infeasible | None:
    """Why there is no placement; None where these sums do not show it.

    Args:
        problem: what is to be placed.
    """
    return _too_large(problem) or _pins(problem) or _area(problem) or _side_by_side(problem)


def too_wide(problem: Problem, columns: int) -> Infeasible:
    """The refusal of blocks that take at least so many columns, as a search has proven.

    Args:
        problem: what is to be placed.
        columns: more than there are.
    """
    levers = (*MOVE, *LEVERS) if problem.pins else LEVERS
    users = _users(problem.blocks, "width")
    return Infeasible("columns of the array", columns, problem.columns, "columns", levers, users)


def unsettled(problem: Problem) -> Infeasible:
    """The refusal of blocks for which a search found no place, and no proof that there is none."""
    what = "effort of the search for places (nothing is proven)"
    levers = (*MOVE, *LEVERS) if problem.pins else LEVERS
    return Infeasible(what, 1, 0, "searches", levers, _users(problem.blocks, "tiles"))


def _users(blocks: Iterable[Block], what: str) -> tuple[tuple[str, float], ...]:
    return tuple((block.name, float(getattr(block, what))) for block in blocks)


def _too_large(problem: Problem) -> Infeasible | None:
    """A block that is larger than the array."""
    for what, most in (("width", problem.columns), ("height", problem.rows)):
        unit = "columns" if what == "width" else "rows"
        beyond = [block for block in problem.blocks if getattr(block, what) > most]
        if beyond:
            demand = max(getattr(block, what) for block in beyond)
            name = f"{unit} of the array"
            return Infeasible(name, demand, most, unit, LEVERS, _users(beyond, what))
    return None


def _pins(problem: Problem) -> Infeasible | None:
    """A block that is pinned beyond the array, or two onto the same tiles."""
    blocks, at = problem.blocks, {pin.block: pin.at for pin in problem.pins}
    for number, (column, row) in at.items():
        block = blocks[number]
        for first, size, most, unit in (
            (column, block.width, problem.columns, "columns"),
            (row, block.height, problem.rows, "rows"),
        ):
            if first < 0 or first + size > most:
                what = f"{unit} of the array, of {block.name} at {first}"
                demand, bound = (first + size, most) if first >= 0 else (-first, 0)
                return Infeasible(what, demand, bound, unit, MOVE, ((block.name, float(size)),))
    for one, other in combinations(at, 2):
        places = [at.get(number, (0, 0)) for number in range(len(blocks))]
        if overlap(blocks, places, one, other):
            pair = blocks[one], blocks[other]
            shared = _shared(problem, one, other)
            what = f"tiles that {pair[0].name} and {pair[1].name} both have"
            return Infeasible(what, shared, 0, "tiles", MOVE, _users(pair, "tiles"))
    return None


def _shared(problem: Problem, one: int, other: int) -> int:
    """Tiles of two pinned blocks."""
    at = {pin.block: pin.at for pin in problem.pins}
    a, b = problem.blocks[one], problem.blocks[other]
    (x, y), (u, v) = at[one], at[other]
    wide = min(x + a.width, u + b.width) - max(x, u)
    return wide * (min(y + a.height, v + b.height) - max(y, v))


def _area(problem: Problem) -> Infeasible | None:
    """More tiles than there are."""
    demand, bound = sum(block.tiles for block in problem.blocks), problem.columns * problem.rows
    if demand <= bound:
        return None
    users = _users(problem.blocks, "tiles")
    return Infeasible("tiles of the array", demand, bound, "tiles", LEVERS, users)


def _side_by_side(problem: Problem) -> Infeasible | None:
    """Blocks of which no two lie above each other, wider than the array together; or the like."""
    for across, along, most, bound, unit in (
        ("height", "width", problem.rows, problem.columns, "columns"),
        ("width", "height", problem.columns, problem.rows, "rows"),
    ):
        large = [block for block in problem.blocks if 2 * getattr(block, across) > most]
        demand = sum(getattr(block, along) for block in large)
        if demand > bound:
            what = f"{unit} of the array, of blocks that share none"
            return Infeasible(what, demand, bound, unit, LEVERS, _users(large, along))
    return None
