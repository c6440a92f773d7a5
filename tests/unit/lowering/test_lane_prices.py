"""What steps in two lanes are priced at: together what all of them take."""

from types import SimpleNamespace

import pytest

from match_aie.hardware import Cost
from match_aie.lowering import stretch
from match_aie.lowering.handover_plan import Plan
from match_aie.lowering.lanes import Beside
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
