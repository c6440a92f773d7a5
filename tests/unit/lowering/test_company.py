"""Two layers with one controller, modelled: cycles worked out by hand."""

import pytest

from match_aie.hardware import Company
from match_aie.lowering.company import Lane, beside_cycles, beside_idle, stretched
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
