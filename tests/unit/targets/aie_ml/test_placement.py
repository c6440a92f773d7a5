"""Blocks on the array: the best place is found and proven, what cannot fit says why."""

import json
from fractions import Fraction
from itertools import pairwise, product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from match_aie.errors import Infeasible, TargetError
from match_aie.targets.aie_ml.placement import Block, Pin, Placement, Problem, place
from tests.shared import DATA

EXERCISES = json.loads((DATA / "placement.json").read_text())


def blocks(*sizes):
    return tuple(Block(f"block{at}", *size) for at, size in enumerate(sizes))


def chain(*sizes, pins=(), columns=38, rows=8):
    edges = tuple(pairwise(range(len(sizes))))
    return Problem(blocks(*sizes), edges, columns, rows, pins)


def exercise(name):
    (found,) = (one for one in EXERCISES["examples"] if one["name"] == name)
    problem = Problem(
        blocks(*found["blocks"]),
        tuple((a, b) for a, b in found["edges"]),
        EXERCISES["W"],
        EXERCISES["H"],
        lam=Fraction(str(EXERCISES["lam"])),
        mu=Fraction(str(EXERCISES["mu"])),
    )
    return problem, Fraction(str(found["optimal_J"]))


@pytest.mark.parametrize("name", [one["name"] for one in EXERCISES["examples"]])
def test_exercises_reach_their_optimum_with_a_proof(name):
    problem, optimum = exercise(name)
    found = place(problem)
    assert isinstance(found, Placement)
    assert (found.cost, found.proven) == (optimum, True)
    assert problem.cost(found.at) == found.cost
    assert problem.clash(found.at) == ()


@pytest.mark.parametrize("sizes", [[(5, 8)] * 7, [(4, 8)] * 9, [(38, 8)]])
def test_stacks_as_large_as_the_array_fit(sizes):
    problem = chain(*sizes)
    found = place(problem)
    assert isinstance(found, Placement)
    assert (found.cost, found.proven) == (len(sizes) - 1, True)
    assert problem.clash(found.at) == ()


def test_rows_are_counted_between_intervals():
    problem = Problem(blocks((2, 2), (2, 2)), ((0, 1),), 6, 6)
    assert problem.apart((0, 1), ((0, 0), (2, 0))) == (1, 0)
    assert problem.apart((0, 1), ((0, 0), (2, 1))) == (1, 0)  # rows overlap
    assert problem.apart((0, 1), ((0, 0), (1, 2))) == (0, 1)  # rows touch
    assert problem.apart((0, 1), ((2, 0), (0, 4))) == (3, 3)
    assert problem.cost(((2, 0), (0, 4))) == 6 + Fraction(4, 20)


def cheapest(problem):
    """By looking at all places of all blocks; None where none is right."""
    fixed = {pin.block: [pin.at] for pin in problem.pins}
    everywhere = list(product(range(problem.columns), range(problem.rows)))
    ways = product(*(fixed.get(n, everywhere) for n in range(len(problem.blocks))))
    return min((problem.cost(at) for at in ways if not problem.clash(at)), default=None)


@st.composite
def problems(draw):
    columns, rows = draw(st.integers(2, 4)), draw(st.integers(1, 3))
    count = draw(st.integers(1, 3))
    size = st.tuples(st.integers(1, columns), st.integers(1, rows))
    made = blocks(*draw(st.lists(size, min_size=count, max_size=count)))
    pairs = [(a, b) for a in range(count) for b in range(count) if a != b]
    edges = draw(st.lists(st.sampled_from(pairs), max_size=4)) if pairs else []
    spot = st.tuples(st.integers(0, columns - 1), st.integers(0, rows - 1))
    pinned = draw(st.sets(st.integers(0, count - 1), max_size=2))
    pins = tuple(Pin(number, draw(spot)) for number in sorted(pinned))
    weights = [Fraction(n, 20) for n in draw(st.tuples(st.integers(0, 40), st.integers(0, 40)))]
    return Problem(made, tuple(edges), columns, rows, pins, *weights)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(problems())
def test_nothing_beats_what_is_proven(problem):
    wanted, found = cheapest(problem), place(problem)
    if wanted is None:
        assert isinstance(found, Infeasible)
        assert found.demand > found.bound
        assert {who for who, _ in found.breakdown} <= {block.name for block in problem.blocks}
        assert found.breakdown
    else:
        assert isinstance(found, Placement)
        assert (found.cost, found.proven) == (wanted, True)
        assert problem.clash(found.at) == ()
        assert all(found.at[pin.block] == pin.at for pin in problem.pins)


@pytest.mark.parametrize(
    ("problem", "resource", "demand", "bound", "named"),
    [
        (chain((39, 8), (1, 1)), "columns of the array", 39, 38, {"block0"}),
        (chain((1, 1), (4, 9)), "rows of the array", 9, 8, {"block1"}),
        (
            chain(*[(5, 8)] * 8),
            "tiles of the array",
            320,
            304,
            {f"block{n}" for n in range(8)},
        ),
        (
            chain((14, 5), (14, 5), (14, 5), (2, 1)),
            "columns of the array, of blocks that share none",
            42,
            38,
            {"block0", "block1", "block2"},
        ),
        (
            chain((4, 8), (4, 8), pins=(Pin(0, (36, 0)),)),
            "columns of the array, of block0 at 36",
            40,
            38,
            {"block0"},
        ),
        (
            chain((4, 2), (4, 2), pins=(Pin(0, (3, 1)), Pin(1, (5, 2)))),
            "tiles that block0 and block1 both have",
            2,
            0,
            {"block0", "block1"},
        ),
        # Six columns are free on each side, and eight are wanted on one.
        (
            chain((2, 2), (8, 2), pins=(Pin(0, (6, 0)),), columns=14, rows=2),
            "columns of the array",
            16,
            14,
            {"block0", "block1"},
        ),
    ],
)
def test_what_cannot_fit_names_blocks_demand_and_bound(problem, resource, demand, bound, named):
    found = place(problem)
    assert isinstance(found, Infeasible)
    assert (found.resource, found.demand, found.bound) == (resource, demand, bound)
    assert {who for who, _ in found.breakdown} == named
    assert found.levers


def test_the_gap_is_stated_where_the_effort_ends():
    problem, _ = exercise("residual10")
    found = place(problem, effort=0.001)
    assert isinstance(found, Placement)
    assert not found.proven
    assert found.gap == found.cost - found.bound > 0
    assert problem.clash(found.at) == ()


def test_places_are_the_same_again():
    problem, _ = exercise("residual10")
    assert place(problem, effort=0.01) == place(problem, effort=0.01)


def test_what_means_nothing_is_refused():
    two = blocks((1, 1), (1, 1))
    for wrong, why in (
        (lambda: Problem(blocks((0, 1)), (), 4, 4), "of 0 x 1 tiles"),
        (lambda: Problem(two[:1] * 2, (), 4, 4), "two blocks of one name"),
        (lambda: Problem(two, ((0, 2),), 4, 4), "an edge between blocks"),
        (lambda: Problem(two, ((1, 1),), 4, 4), "an edge between blocks"),
        (lambda: Problem(two, (), 4, 4, (Pin(2, (0, 0)),)), "pins of blocks"),
        (lambda: Problem(two, (), 4, 4, mu=Fraction(-1)), "weights"),
    ):
        with pytest.raises(TargetError, match=why):
            wrong()
