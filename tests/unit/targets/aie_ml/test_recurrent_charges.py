"""Ways to spread a recurrent layer are charged alike: bytes in banks, locks, and what plans say."""

from dataclasses import replace
from math import ceil

import pytest

from match_aie.hardware import Loop, Mapping
from match_aie.targets.aie_ml import device
from match_aie.targets.aie_ml.array import Assumed
from match_aie.targets.aie_ml.array.layout import lay_out
from match_aie.targets.aie_ml.array.neighbours import readers
from match_aie.targets.aie_ml.array.recurrent import (
    met_bytes,
    met_cycles,
    readers_of,
    recurrent_banks,
)
from match_aie.targets.aie_ml.graph.cut_plan import cut_plan, plan_cut
from match_aie.targets.aie_ml.kernels.recurrent_neighbours import AnyNeighbour
from match_aie.targets.aie_ml.simulate import simulate_program
from tests.unit.workload.test_recurrent_bfloat16 import layer

VEK280 = device("vek280")

#: Loops of each way of four tiles or two, and the core to look at: one that walks steps.
WAYS = {
    "joined": ((Loop("K", 2), Loop("K", 16)), 0),
    "exchange": ((Loop("K", 1), Loop("K", 2), Loop("K", 16)), 0),
    "packets": ((Loop("K", 1), Loop("K", 4), Loop("K", 16)), 0),
    "neighbours": ((Loop("C", 2), Loop("K", 2), Loop("K", 16)), 1),
}


def program(way, steps, inputs, hidden):
    """The plan, its program, and the core to look at."""
    spatial, at = WAYS[way]
    workload, constants, _ = layer("gru", True, steps, inputs, hidden)
    plan = cut_plan(workload, "vek280", Mapping(spatial, ()))
    made = lay_out(plan.graph("layer", workload, constants), VEK280, 3)
    return plan, made, made.cores[at]


@pytest.mark.parametrize("inputs", [32, 128])
@pytest.mark.parametrize("way", WAYS)
def test_the_same_traffic_is_charged_the_same(way, inputs):
    """A step: its stores, and what streams of another pace, or a neighbour, do in its banks."""
    plan, made, core = program(way, 32, inputs, 64 if way == "packets" else 32)
    (into,) = (
        route.bytes * route.sends
        for route in made.routes
        for sink, name in zip(route.sinks, route.writes, strict=True)
        if sink.tile == core.tile and name == "in0"
    )
    share = into / 32
    reads = sum(route.source.tile == core.tile for route in made.routes)
    reads += sum(each.tile == core.tile for merge in made.merges for each in merge.sources)
    reads += sum(tile == core.tile for other in made.cores for _, tile, _ in other.lent)
    assert reads == (2 if way in ("packets", "neighbours") else 1)  # the neighbour, and results
    units = 2 * 16
    more = {"packets": 0, "neighbours": units}.get(way, ceil(share))  # loads of each step
    assert core.shared_bytes == units + more
    wide, penalty = 16, VEK280.architecture.latency("bank_conflict_penalty")
    assert met_cycles(plan.cut, VEK280) == ceil(core.shared_bytes / wide) * penalty


@pytest.mark.parametrize("way", WAYS)
def test_plan_and_simulator_have_a_lock_for_each_reader(way):
    """What a cycle more for each lock costs both, of units that all who read them wait for."""
    plan, made, core = program(way, 32, 32, 64 if way == "packets" else 32)
    assert readers(made)[core.tile, "out"] == readers_of(plan.cut)
    plain = simulate_program(made, VEK280).interval
    slow = simulate_program(made, VEK280, assumed=Assumed(acquire=Assumed().acquire + 10)).interval
    # Units' locks, and the state's where a buffer holds it; inputs' once in a group at most, and
    # so results' beside a neighbour.
    locks = {"joined": 2, "exchange": 2, "packets": 2, "neighbours": 1}[way]
    assert 10 * locks <= (slow - plain) / 32 <= 10 * (locks + 0.5)


@pytest.mark.parametrize(
    ("spatial", "near"),
    [
        ((), 0.02),
        ((Loop("C", 2), Loop("K", 1)), 0.08),
        ((Loop("C", 2), Loop("K", 2)), 0.05),
        ((Loop("K", 1), Loop("K", 2)), 0.1),
    ],
    ids=["one", "apart", "neighbours", "exchange"],
)
@pytest.mark.parametrize("steps", [1, 5])
def test_short_runs_wait_for_the_chips_memory_twice(spatial, near, steps):
    """Its requests are much of such a run."""
    workload, constants, _ = layer("gru", True, steps, 32, 32)
    plan = cut_plan(workload, "vek280", Mapping((*spatial, Loop("K", 16)), ()))
    made = lay_out(plan.graph("layer", workload, constants), VEK280, 3)
    assert simulate_program(made, VEK280).latency == pytest.approx(plan.cycles, rel=near)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("steps", "inputs"), [(64, 32), (8, 192), (16, 4)])
def test_plans_are_what_is_simulated(way, steps, inputs):
    """Long runs and short ones, few inputs and many, whose first group's products none hides."""
    plan, made, _ = program(way, steps, inputs, 64 if way == "packets" else 32)
    assert simulate_program(made, VEK280).latency == pytest.approx(plan.cycles, rel=0.1)


def test_short_runs_with_many_inputs_have_tiles_for_these():
    """Others' first products, and the fetch of what they multiply, come before the first step."""
    workload, _, _ = layer("gru", True, 8, 256, 32)
    assert isinstance(plan_cut(workload, "vek280", 1).cut, AnyNeighbour)
    taken, other = (
        simulate_program(program(way, 8, 256, 32)[1], VEK280).latency
        for way in ("neighbours", "exchange")
    )
    assert taken < other


def test_the_first_tile_of_a_cascade_is_charged_its_inputs_once_in_a_group():
    """Not where copies take turns in banks of their own; else in a group's calls all together."""
    workload, constants, _ = layer("gru", True, 32, 64, 32)
    spatial = Loop("C", 3), Loop("K", 1), Loop("K", 16)
    plan = cut_plan(workload, "vek280", Mapping(spatial, ()))
    made = lay_out(plan.graph("layer", workload, constants), VEK280, 3)
    (first,) = (core for core in made.cores if "in0" in core.buffers and len(core.work) > 33)
    assert first.shared_bytes == 0
    calls = len(first.work) // 8  # of a group of four steps
    into = made.buffer_at[first.tile, "in0"].bytes
    call = first.function
    both = [replace(one, banks=(0, 1)) for one in recurrent_banks(call, VEK280)]
    assert into <= calls * met_bytes(call, both) < into + calls
