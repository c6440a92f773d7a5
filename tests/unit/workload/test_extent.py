"""Numbers that depend on sizes, from their values at several sizes."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from match_aie.trials import trials
from match_aie.workload import Size, Word
from match_aie.workload.extent import (
    Different,
    Extent,
    Fit,
    at,
    from_json,
    mapped,
    text,
    to_json,
)

ONE = (Size("n", 1, 128),)
TWO = (Size("batch", 1, 8), Size("n", 1, 512))
POWERS = {
    1: [(0,), (1,), (2,)],
    2: [p for p in product(range(3), repeat=2) if sum(p) <= 3],
}


def fit(sizes):
    points = next(trials(sizes))
    return points, Fit(points, sizes)


@given(st.data(), st.sampled_from([ONE, TWO]))
def test_a_polynomial_is_found_from_its_values(data, sizes):
    points, found = fit(sizes)
    powers = POWERS[len(sizes)]
    factors = data.draw(
        st.lists(st.integers(-200, 200), min_size=len(powers), max_size=len(powers))
    )
    made = Extent(tuple((p, c) for p, c in zip(powers, factors, strict=True) if c))
    number = found.number([made.at(point) for point in points])
    for point in (*points, *((s.low,) * len(sizes) for s in sizes), tuple(s.high for s in sizes)):
        assert at(number, point) == made.at(point)
        named = dict(zip("ab", point, strict=False))
        # What C prints is Python, too.
        assert eval(text(number, "ab"[: len(sizes)]), {}, named) == made.at(point)


@pytest.mark.parametrize("sizes", [ONE, TWO], ids=["one", "two"])
@pytest.mark.parametrize(
    "other",
    [lambda n: n // 2, lambda n: -(-n // 8), lambda n: 1 if n > 30 else 2, lambda n: n**3],
    ids=["halves", "eighths", "branch", "cube"],
)
def test_what_is_no_polynomial_is_refused(sizes, other):
    points, found = fit(sizes)
    with pytest.raises(Different, match="no polynomial"):
        found.number([other(point[-1]) for point in points])


def test_a_number_beyond_int32_is_refused():
    sizes = (Size("n", 1, 1 << 16),)
    points, found = fit(sizes)
    assert found.number([point[0] ** 2 // 1 for point in points[:0]] or [7] * len(points)) == 7
    with pytest.raises(Different):
        found.number([2 * point[0] ** 2 for point in points])


def test_points_on_a_curve_cannot_tell_coefficients_apart():
    with pytest.raises(ValueError, match="curve"):
        Fit([(n, n) for n in range(2, 14)], TWO)
    with pytest.raises(ValueError, match="no point is left"):
        Fit([(2,), (3,), (5,)], ONE)


def test_trees_differ_in_numbers_only():
    points, found = fit(ONE)
    trees = [{"dims": [["B", 2 * n], ["K", 7]], "kind": "dense"} for (n,) in points]
    tree = found.tree(trees)
    assert mapped(tree, lambda extent: extent.at((9,))) == {
        "dims": [["B", 18], ["K", 7]],
        "kind": "dense",
    }
    assert from_json(to_json(tree)) == tree
    with pytest.raises(Different, match="kind: 'dense' at one size is 'add' at another"):
        found.tree([*trees[:-1], {**trees[-1], "kind": "add"}])
    with pytest.raises(Different):
        found.tree([[1] * n for (n,) in points])


def test_trials_are_spread_and_never_the_sizes_of_everything():
    (points,) = [next(trials([Size("n", 1, 128)]))]
    assert points == [(127,), (89,), (59,), (29,), (5,)]
    beyond = next(trials([Size("n", 1, 4)]))
    assert all(value > 4 for (value,) in beyond)
    assert len({value for (value,) in next(trials([Size("n", 120, 128)]))}) == 5
    for first, second in (TWO, (TWO[1], TWO[1])):
        pairs = next(trials((first, second)))
        assert len(pairs) > 8
        assert all(a != b for a, b in pairs)


def test_words_multiply_as_text():
    assert str(3 * Word("n_B") * 4) == "3 * n_B * 4"
