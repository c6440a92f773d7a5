"""What steps in two lanes are priced at: together what all of them take."""

from types import SimpleNamespace

import pytest

from match_aie.hardware import Cost
from match_aie.lowering import stretch
from match_aie.lowering.company import MARGIN
from match_aie.lowering.handover_plan import Plan
from match_aie.lowering.lanes import Beside
from match_aie.lowering.turns import Span, turns_between
from tests.unit.lowering.test_company import lane


def planned(layers, lanes):
    """Steps that move nothing, in two lanes, by themselves in their group."""
    choices = {
        step: SimpleNamespace(
            cost=Cost(layer.alone, (("kernel", layer.alone),)), early=0.0, moved=0.0, ahead=0
        )
        for step, layer in enumerate(layers)
    }
    beside = dict.fromkeys(range(1, len(layers)), Beside(0, lanes=lanes))
    return Plan((), choices, dict(enumerate(layers)), beside, {})


@pytest.mark.parametrize("lanes", [(0, 1), (0, 1, 0), (0, 1, 0, 1), (0, 1, 1, 0)])
@pytest.mark.parametrize("more", [0.0, 300.0])
def test_what_the_first_one_takes_more_beside_others_is_priced(lanes, more):
    """Of two and of several: cycles of the controller which no layer has that runs alone."""
    layers = [lane(5000.0, 4500.0, more=more, works=4500.0) for _ in lanes]
    plan = planned(layers, lanes)
    entered = [stretch.Entered(at, one) for at, one in zip(lanes, layers, strict=True)]
    priced = sum(cost.cycles for cost in plan.costs.values())
    assert priced == pytest.approx(stretch.cycles(entered))


def test_a_layer_that_another_one_follows_is_left_late():
    """It ends just before the other unit wants its next tile, which is not to wait for it."""
    layers = [lane(one, one, works=one) for one in (10000.0, 4990.0, 3000.0)]
    spans = planned(layers, (0, 1, 1)).spans()
    assert spans[0] == Span(0.0, 0.0, 10000.0, 10000.0)
    assert spans[1] == Span(0.0, 0.0, 4990.0, pytest.approx(4990.0 * (1 + MARGIN)))
    assert spans[2] == Span(spans[1].left, 4990.0, 7990.0, 7990.0)
    order = turns_between([2, 1, 1], [spans[step] for step in range(3)])
    assert order == (0, 1, 0, 1, 2, 2, 0)


def test_layers_are_entered_in_their_order_where_one_is_late():
    layers = [lane(one, one, works=one) for one in (5000.0, 4990.0, 3000.0, 3000.0)]
    spans = planned(layers, (0, 1, 1, 0)).spans()
    assert spans[3].entered >= spans[2].entered > 4990.0
    assert all(span.entered <= span.left for span in spans.values())
