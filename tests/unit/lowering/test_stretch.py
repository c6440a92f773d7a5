"""Several layers in two lanes, modelled: cycles worked out by hand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from match_aie.hardware import Company
from match_aie.lowering.company import beside_cycles
from match_aie.lowering.stretch import Entered, all_cycles, cycles, times
from tests.unit.lowering.test_company import lane

parts = st.floats(0.0, 1.0)
lengths = st.floats(300.0, 5000.0)


@given(lengths, lengths, parts, parts, st.booleans())
def test_two_layers_take_what_a_pair_takes(first, other, slowed, free, is_first):
    """Where one of them slows the other down; if both do, a pair is priced a little shorter."""
    slower = (slowed, 0.0) if is_first else (0.0, slowed)
    one = lane(first, free * (first - 200), works=first - 200, slowed=slower[0], more=10.0)
    two = lane(other, free * (other - 200), works=other - 200, slowed=slower[1], more=20.0)
    found = cycles([Entered(0, one), Entered(1, two)])
    assert found == pytest.approx(beside_cycles(one, two))


def test_a_lane_goes_on_while_the_other_one_works():
    """200 cycles of the controller and 800 of the unit each; the first layer takes 5,000."""
    layers = [Entered(0, lane(5000.0, 4800.0)), Entered(1, lane()), Entered(1, lane())]
    found = [(time.begin, time.started, time.end) for time in times(layers)]
    assert found == [(0, 200, 5000), (200, 400, 1200), (1200, 1400, 2200)]
    assert cycles(layers) == 5000


def test_the_controller_waits_for_a_lane_before_it_goes_on_with_it():
    """The third layer's lane is over at 5,000: the fourth, in the other lane, comes after it."""
    layers = [Entered(at, lane(5000.0, 4800.0) if not at else lane()) for at in (0, 1, 0, 1)]
    layers[2] = Entered(0, lane())
    assert [time.begin for time in times(layers)] == [0, 200, 5000, 5200]


def test_units_slow_each_other_down_while_both_work():
    """The first unit works from 200 on; beside it are 800 cycles from 400, and 800 from 1,400."""
    layers = [Entered(0, lane(5000.0, 4800.0, slowed=0.5)), Entered(1, lane()), Entered(1, lane())]
    assert cycles(layers) == pytest.approx(200 + 4800 + 2 * 800 / 3)
    alone = [Entered(0, lane(500.0, 300.0)), Entered(1, lane(slowed=0.5)), Entered(1, lane())]
    # 100 of the first one's cycles are left when the second begins.
    assert cycles(alone) == pytest.approx(400 + 800 + 0.5 * 100 / 1.5 + 1000)


def test_constants_come_while_the_layer_entered_before_works():
    """Loads begin at 400, when the second is started; the third needs them 100 after it enters."""
    layers = [Entered(0, lane()), Entered(1, lane()), Entered(0, lane(), early=900.0, led=100.0)]
    last = times(layers)[-1]
    assert last.begin == 1000
    assert last.waited == 400 + 900 - 1000 - 100
    assert last.end == 2000 + last.waited


def test_every_case_is_priced_as_if_it_were_the_only_one():
    def layers(first, other):
        companies = Company(5.0, slowed=first), Company(5.0, slowed=other)
        return [Entered(at, lane(company=companies[at])) for at in (0, 1, 0, 1)]

    cases = Company(5.0, cases=(Company(5.0, slowed=0.5),))
    found = all_cycles([Entered(at, lane(company=cases)) for at in (0, 1, 0, 1)])
    assert found == [cycles(layers(0.0, 0.0)), cycles(layers(0.5, 0.5))]
