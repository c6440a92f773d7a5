"""Layers that are fastest alone with weights that go by, but not where they lie in a row."""

from dataclasses import dataclass

import numpy as np
import pytest

import match_aie as match
from match_aie.demo import digits_model
from match_aie.hardware import Cost
from match_aie.targets.aie_ml import device
from match_aie.targets.aie_ml.graph.dense_plan import DensePlan
from match_aie.targets.aie_ml.graph.timed_plan import TimedPlan
from match_aie.targets.versal import VersalAIEML, handed
from match_aie.targets.versal.executing import prove
from match_aie.targets.versal.module import AieArray, layer_cost, plans
from tests import integer_graphs as ig

ARRAY = AieArray("vek280", 4)


def made(count, **options):
    widths = (768,) * (count + 1)
    return match.compile(ig.dense_row(256, widths), VersalAIEML(modules=("array",), **options))


def planned(net):
    return [ARRAY.plan(layer.workload, layer.mapping) for layer in net.program.schedule.chosen]


def test_layers_in_a_row_keep_their_weights_so_that_results_stay():
    net = made(2)
    layers = net.program.schedule.chosen
    assert [type(plan) for plan in planned(net)] == [DensePlan] * 2
    assert prove(layers, "vek280", np.random.default_rng(1)) == 1
    (workload, *_) = [layer.workload for layer in layers]
    alone = min(
        (layer_cost(plan, workload, device("vek280")).cycles, type(plan))
        for plan in plans(workload, "vek280", 4)
    )
    assert alone[1] is TimedPlan
    costs = [step.layer.cost for step in net.program.schedule.steps if step.layer is not None]
    assert sum(cost.cycles for cost in costs) < 2 * alone[0]
    modelled = sum(cost.cycles for cost in costs) / device("vek280").clock_ghz / 1e3
    assert net.simulate(record=False).microseconds == pytest.approx(modelled, rel=0.05)


def test_layers_before_a_fork_keep_their_weights_and_those_behind_it_do_not():
    """Results of the two behind it leave the array: their neighbours' stay for nobody."""
    target = VersalAIEML(modules=("array",))
    net = match.compile(ig.dense_fork(256, 768), target)
    layers = net.program.schedule.chosen
    dense = [layer for layer in layers if layer.workload.kind == "dense"]
    kept = [isinstance(ARRAY.plan(one.workload, one.mapping), DensePlan) for one in dense]
    assert kept == [True, True, False, False]
    assert prove(layers, "vek280", np.random.default_rng(1)) >= 1


@dataclass(frozen=True)
class Sized:
    """A plan of so many columns."""

    columns: int


@pytest.mark.parametrize("room", range(8))
@pytest.mark.parametrize("costly", [set(), {0}, {2}, {0, 4}, {0, 1, 2, 3, 4}])
def test_a_run_changes_in_part_where_not_all_of_it_is_better(monkeypatch, room, costly):
    """Layers of `costly` take more cycles with weights in their tiles, all others fewer."""
    now, held = ({at: Sized(columns) for at in range(5)} for columns in (1, 2))

    def costs(layers, plans_of, array):
        return {
            at: Cost(cycles=10 if plan is now[at] else 50 if at in costly else 9)
            for at, plan in plans_of.items()
        }

    monkeypatch.setattr(handed, "_costs", costs)
    monkeypatch.setattr(Sized, "nest", property(lambda plan: plan.columns), raising=False)
    run = handed._Run((), ARRAY, now, held)
    found = run.within(room)
    assert run.more == len(found) <= room
    assert all(nest == 2 for nest, _ in found.values())
    cycles = sum(cost.cycles for _, cost in found.values()) + 10 * (5 - len(found))
    assert cycles <= 50
    if not costly:
        assert sorted(found) == list(range(min(room, 5)))
    assert not costly & set(found)
    if room >= 5:
        assert set(found) == set(range(5)) - costly


@pytest.mark.parametrize(
    ("now", "held", "slow", "room", "taken"),
    [
        # The first gives back what the second one takes, but is not faster so.
        ((4, 1), (1, 4), {0}, 0, [0, 1]),
        ((4, 1), (1, 4), {0}, 3, [1]),
        # No room for the first one keeps nothing from those behind it.
        ((1, 1, 1), (9, 2, 2), set(), 2, [1, 2]),
    ],
)
def test_a_run_takes_no_more_columns_than_there_are(monkeypatch, now, held, slow, room, taken):
    """Columns of plans differ either way."""
    before, then = ({at: Sized(size) for at, size in enumerate(sizes)} for sizes in (now, held))

    def costs(layers, plans_of, array):
        changed = {at: plan is not before[at] for at, plan in plans_of.items()}
        return {at: Cost(10 + (1 if at in slow else -5) * new) for at, new in changed.items()}

    monkeypatch.setattr(handed, "_costs", costs)
    monkeypatch.setattr(Sized, "nest", property(lambda plan: plan.columns), raising=False)
    run = handed._Run((), ARRAY, before, then)
    assert sorted(run.within(room)) == taken
    assert run.more <= room


def test_no_slower_plan_is_called_the_next_wider_one():
    """The plan that is fastest alone has two columns; four would keep the weights, more slowly."""
    target = VersalAIEML(modules=("array",))
    (layer,) = match.compile(ig.dense_row(256, (768, 768)), target).program.schedule.chosen
    one = ARRAY.plan(layer.workload, layer.mapping)
    found = plans(layer.workload, "vek280", 4)
    assert any(plan.columns > one.columns and plan.cycles > one.cycles for plan in found)
    (stage,) = target.stages([layer])
    wider = [p for p in found if p.columns > one.columns and p.cycles < one.cycles]
    assert stage.more.startswith("the next wider plan" if wider else "nothing: no plan")


@pytest.mark.slow
def test_a_layer_alone_and_one_of_which_its_user_asks_have_the_plans_that_are_fastest_alone():
    assert [type(plan) for plan in planned(made(1))] == [TimedPlan]
    label = made(2).program.schedule.chosen[1].label
    pinned = made(2, layers={label: {"position": (5, 0)}})
    assert TimedPlan in [type(plan) for plan in planned(pinned)]


@pytest.mark.slow
def test_a_row_is_joined_as_far_as_columns_go():
    """Four columns a layer, of 38."""
    kinds = [type(plan) for plan in planned(made(10))]
    assert kinds == [DensePlan] * 9 + [TimedPlan]


def test_requests_are_of_what_runs_and_not_of_what_selection_compares():
    """Layers in a row ask the chip's memory once, which selection cannot know of each."""
    (layer,) = match.compile(
        ig.dense_row(16, (64, 64)), VersalAIEML(modules=("array",))
    ).program.schedule.steps
    workload, mapping = layer.layer.workload, layer.layer.mapping
    requests = sum(ARRAY.plan(workload, mapping).requests)
    compared = ARRAY.cost_model(workload).cost(workload, mapping).cycles
    assert requests > 0
    assert layer.layer.cost.cycles == pytest.approx(compared + requests)


@pytest.mark.parametrize("wished", [False, True])
def test_the_start_of_a_graph_that_logic_feeds_counts_once(wished):
    """As a part of its first layer, which is what is simulated; handing over is what is left."""
    target = VersalAIEML(modules=("array",), memory="plio")
    model = ig.dense_row(16, (64, 64))
    if wished:
        (chosen,) = match.compile(model, target).program.schedule.chosen
        target = VersalAIEML(
            modules=("array",), memory="plio", layers={chosen.label: {"columns": 2}}
        )
    net = match.compile(model, target)
    (step,) = net.simulate(record=False).steps
    cost = net.assignment.cost
    assert cost.moves == target.synchronisation * 2
    assert cost.layers == pytest.approx(step.predicted)
    assert net.cycles == pytest.approx(step.predicted + cost.moves)


def test_image_layers_in_a_row_start_once_where_selection_compares_them():
    """Small ones, each cheaper on the Arm core than a start of its own would be."""
    net = match.compile(digits_model(), VersalAIEML())
    on_array = [layer.label for layer in net.program.schedule.chosen if layer.module == "array"]
    assert on_array == ["stem", "down", "depth", "point", "residual", "pooled"]
    assert VersalAIEML()._array.joins
    assert not VersalAIEML(handover=False)._array.joins


def test_layers_that_cannot_lie_as_one_graph_are_not_taken_for_one():
    """Each more graph that logic feeds is started, so that sharing a tile is faster."""
    net = match.compile(
        ig.dense_row(16, (64, 128, 64)), VersalAIEML(modules=("array",), memory="plio")
    )
    run = net.simulate(record=False)
    cost = net.assignment.cost
    assert cost.layers == pytest.approx(sum(step.predicted for step in run.steps))
    assert {stage.graph for stage in net.target.stages(net.program.schedule.chosen)} == {"graph 0"}
