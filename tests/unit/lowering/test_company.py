"""Two layers with one controller, modelled: cycles worked out by hand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from match_aie.hardware import Company
from match_aie.lowering.company import (
    Lane,
    all_beside_cycles,
    all_trailing_cycles,
    beside_cycles,
    beside_idle,
    in_cases,
    stretched,
    trailing_cycles,
)
from match_aie.workload import Quantized, Tail, dense

U8 = Quantized("uint8")
#: Which layer it is says nothing here, but where it is asked for.
LAYERS = [
    dense(U8, U8, rows=1, inputs=8, outputs=k, tail=Tail(0, 0, 255), scales=1) for k in (8, 16)
]


def lane(alone=1000.0, free=800.0, more=0.0, slowed=0.0, **other):
    company = Company(enter=more, slowed=slowed)
    return Lane(alone, free, **{"works": free, "workload": LAYERS[0], "company": company, **other})


def test_the_controller_sets_one_up_after_the_other():
    """200 for the first; its unit works 800, and the other's begins 200 later."""
    assert beside_cycles(lane(), lane()) == 200 + 1000
    assert beside_idle(lane(), lane()) == 800


def test_what_the_first_one_hides_costs_nothing():
    assert beside_cycles(lane(5000.0, 4800.0), lane()) == 5000
    assert beside_idle(lane(5000.0, 4800.0), lane()) == 4600


def test_what_company_takes_is_the_controller_s():
    assert beside_cycles(lane(more=10.0), lane(more=20.0)) == 210 + 1020


@pytest.mark.parametrize(
    ("first", "other", "cycles"),
    [
        # The first one is slowed from when the other works: 600 of its 800 are left.
        ({"slowed": 0.5}, {"works": 800.0, "free": 800.0}, 200 + 200 + 600 + 0.5 * 800 / 1.5),
        # The other one works for a short time only.
        ({"slowed": 0.5}, {"alone": 500.0, "free": 300.0}, 200 + 800 + 0.5 * 200),
        # The other one is slowed for as long as the first one works.
        ({}, {"slowed": 0.5}, 200 + 1000 + 0.5 * 600 / 1.5),
        # The controller sets jobs up while the other unit works: that slows the first one as well.
        ({"slowed": 0.5}, {"free": 10.0, "works": 800.0}, 200 + 200 + 600 + 0.5 * 800 / 1.5),
    ],
)
def test_units_are_in_each_other_s_way_while_both_work(first, other, cycles):
    assert beside_cycles(lane(**first), lane(**other)) == pytest.approx(cycles)


def test_what_slows_a_unit_down_lengthens_its_layer():
    """600 of the first one's cycles are left when the other begins: of these a part, or of 200."""
    assert stretched(lane(), lane(slowed=0.0)) == (0, 0)
    slow = lane(slowed=0.5)
    assert stretched(slow, lane()) == pytest.approx((0.5 * 800 / 1.5, 0.0))
    assert stretched(slow, lane(500.0, 300.0)) == pytest.approx((0.5 * 200, 0.0))
    assert stretched(lane(), slow) == pytest.approx((0.0, 0.5 * 600 / 1.5))


def test_fewer_cores_work_from_the_start_to_the_end_of_a_kernel():
    """Twice as long, though the other unit is done long before."""
    fewer = Company(fewer=lambda layer: 2.0 if layer == LAYERS[0] else 1.0)
    half = lane(company=fewer)
    assert beside_cycles(lane(500.0, 300.0), half) == 200 + 200 + 2 * 800
    assert beside_cycles(half, lane(500.0, 300.0)) == 200 + 2 * 800
    assert beside_cycles(lane(), lane(company=fewer, workload=LAYERS[1])) == 200 + 1000
    assert stretched(half, lane(500.0, 300.0)) == (800, 0)
    assert stretched(lane(500.0, 300.0), half) == (0, 800)


def test_what_slows_a_unit_down_may_depend_on_both_layers():
    def waits(own, other):
        return 0.25 if (own, other) == tuple(LAYERS) else 0.5

    one, other = lane(slowed=waits), lane(workload=LAYERS[1])
    assert beside_cycles(one, other) == beside_cycles(lane(slowed=0.25), lane())
    assert beside_cycles(other, one) == beside_cycles(lane(), lane(slowed=0.25))
    assert beside_cycles(one, lane()) == beside_cycles(lane(slowed=0.5), lane())


def test_in_each_case_both_are_as_they_are_in_it():
    """One that has no such case stays as it is priced."""
    one = Company(1.0, cases=(Company(2.0), Company(3.0)))
    other, third = Company(10.0, cases=(Company(20.0), Company(30.0))), Company(100.0)
    entered = [tuple(c.enter for c in both) for both in in_cases(one, other, third)]
    assert entered == [(1.0, 10.0, 100.0), (2.0, 20.0, 100.0), (3.0, 30.0, 100.0)]
    assert list(in_cases(third, third)) == [(third, third)]


parts = st.floats(0.0, 1.0)


@given(parts, parts, st.lists(st.tuples(parts, parts), max_size=3), st.floats(300.0, 3000.0))
def test_every_case_is_priced_as_if_it_were_the_only_one(one, other, cases, works):
    def both(slowed, more=((), ())):
        companies = (
            Company(
                enter=10.0, call=5.0, slowed=part, cases=tuple(Company(10.0, 5.0, c) for c in m)
            )
            for part, m in zip(slowed, more, strict=True)
        )
        first = Lane(1000.0, 800.0, 800.0, LAYERS[0], next(companies), calls=2)
        return first, Lane(works + 200, works, works, LAYERS[1], next(companies), calls=2)

    lanes = both((one, other), (tuple(c[0] for c in cases), tuple(c[1] for c in cases)))
    alone = [both(case) for case in ((one, other), *cases)]
    assert all_beside_cycles(*lanes) == [beside_cycles(*case) for case in alone]
    assert all_trailing_cycles(*lanes, (1, 2)) == [trailing_cycles(*c, (1, 2)) for c in alone]
    assert all_beside_cycles(*lanes)[0] == beside_cycles(*lanes)
