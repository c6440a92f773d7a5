"""What stays from layer to layer: what is there at each step; nothing is worked out twice."""

from collections import Counter
from importlib import import_module

from hypothesis import given, settings
from hypothesis import strategies as st

import match_aie as match
from match_aie.lowering import handover_choice
from match_aie.lowering.handover_plan import Item, Residents
from match_aie.targets.gap9 import GAP9
from tests.networks import network

STEPS = range(8)

placing = import_module("match_aie.lowering.place")


@st.composite
def some_items(draw):
    """Tensors and constants, each used at the first and last step at which it is there."""
    found = []
    for _ in range(draw(st.integers(1, 8))):
        first, last = sorted(draw(st.tuples(*[st.sampled_from(STEPS)] * 2)))
        nbytes = 16 * draw(st.integers(1, 9))
        names = draw(st.tuples(*[st.sampled_from(["x", "y", "weight"])] * 2))
        uses = tuple(
            (step, name, nbytes, 0) for step, name in zip((first, last), names, strict=True)
        )
        found.append(Item(nbytes, first, last, uses, draw(st.booleans())))
    return found


@settings(max_examples=60, deadline=None)
@given(some_items(), st.randoms())
def test_what_is_left_when_items_go_is_what_the_others_are(items, random):
    left, kept = list(items), Residents(items)
    while left:
        for step in STEPS:
            there = [item for item in left if item.alive(step)]
            assert kept.at(step) == there
            assert kept.nbytes(step) == sum(item.nbytes for item in there)
            used = [(u[1], item.moves) for item in left for u in item.uses if u[0] == step]
            assert kept.held(step) == tuple(sorted(used))
        gone = left.pop(random.randrange(len(left)))
        kept.drop(gone)


def test_plans_of_a_network_share_what_a_layer_takes(monkeypatch):
    """However often it is planned: a way to run a layer is worked out once."""
    made, plans = Counter(), []
    make, hand_over = handover_choice.Choices._make, placing.hand_over

    def counted(choices, step, held):
        layer = choices._layers[step]
        way = layer.workload, layer.mapping, layer.tiles, layer.cost
        made[layer.module, way, choices.links.get(step), held] += 1
        return make(choices, step, held)

    def planned(*arguments, **options):
        plans.append(arguments)
        return hand_over(*arguments, **options)

    monkeypatch.setattr(handover_choice.Choices, "_make", counted)
    monkeypatch.setattr(placing, "hand_over", planned)
    match.compile(network("branches_u8.onnx"), GAP9(), cache=False)
    assert len(plans) > 1
    assert set(made.values()) == {1}
