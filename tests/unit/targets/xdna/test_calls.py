"""What calling a function for each turn costs on Ryzen AI, and that it is counted once."""

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from match_aie.errors import Infeasible
from match_aie.targets.aie_ml.array.assumed import Assumed
from match_aie.targets.aie_ml.array.layout import lay_out
from match_aie.targets.aie_ml.array.price import Priced, price
from match_aie.targets.aie_ml.graph.dense_plan import dense_layer
from match_aie.targets.aie_ml.graph.timed_plan import TimedPlan, timed_best
from match_aie.targets.aie_ml.known import device
from match_aie.targets.aie_ml.simulate import run_layer, simulate_program
from tests.aie_timed import layer

sys.path.append(str(Path(__file__).parents[4] / "benchmarks"))

from xdna_gemm import Gemm, program

NPU1 = device("npu1")

#: Where a function makes its turns itself.
WALKS = replace(NPU1, dispatch_us=None)

EMPTY = 20


@pytest.mark.parametrize(
    ("name", "cycles"),
    [("npu1", EMPTY), ("npu2", EMPTY), ("vek280", 0), ("vck190", 0)],
)
def test_functions_are_called_by_name_on_ryzen_ai_alone(name, cycles):
    one = device(name)
    assert one.call_cycles == cycles
    if cycles:
        assert one.architecture.latency("l1_kernel_call_loop_overhead") == cycles


def planned():
    """A dense layer in turns whose weights come in every run, and its program."""
    made = layer(np.random.default_rng(5), 96, 1536, 64, form="shift", zero=3)
    assert made is not None
    workload, constants = made
    asked = replace(dense_layer(workload), resident=False)
    plan = timed_best(asked, workload, "npu1", 2, 2)
    assert isinstance(plan, TimedPlan)
    laid = lay_out(plan.graph("layer", workload, constants), NPU1)
    assert not isinstance(laid, Infeasible)
    return plan, laid


def test_simulated_turns_cost_a_call_each():
    """A started turn has it in its start; the others cost the fact, which no factor changes."""
    gemm = Gemm("npu1", (448, 1120, 448), (112, 112, 112), "int8", "int8")
    array = replace(NPU1, dram_gbps=1000.0)
    walks = replace(array, dispatch_us=None)
    made = program(gemm, walks, 5_000)
    turns = len(made.cores[0].work)
    assert turns == 10
    assert not any(work.starts for work in made.cores[0].work)
    called, walked = (simulate_program(made, one).interval for one in (array, walks))
    assert called - walked == turns * EMPTY
    no_times = Assumed().scaled(0)
    called, walked = (
        simulate_program(made, one, assumed=no_times).interval for one in (array, walks)
    )
    assert called - walked == turns * EMPTY
    started = replace(
        made,
        cores=tuple(
            replace(core, work=tuple(replace(work, starts=True) for work in core.work))
            for core in made.cores
        ),
    )
    assert simulate_program(started, array) == simulate_program(started, walks)


def test_published_mappings_count_a_call_once():
    """Their cycles are those of a whole call."""
    gemm = Gemm("npu1", (448, 1120, 448), (112, 112, 112), "int8", "int8")
    one, other = (simulate_program(program(gemm, array, 5_000), array) for array in (NPU1, WALKS))
    assert one.interval == other.interval


def test_schedules_of_turns_have_no_call_in_their_bodies():
    """What the simulator and the cost model add is in `cycles` alone."""
    _, laid = planned()
    for work in laid.cores[0].work:
        assert work.schedule.cycles == work.schedule.body + EMPTY


def test_a_run_of_turns_costs_their_calls():
    plan, laid = planned()
    core = laid.cores[0]
    waits = sum(not work.starts for work in core.work)
    assert waits >= plan.timed.mapping.reduction_steps - 1 > 0
    called, walked = (run_layer(laid, one).cycles for one in (NPU1, WALKS))
    assert walked <= called <= walked + EMPTY * waits * len(laid.cores)
    assert plan.cycles == pytest.approx(called, rel=0.1)


def test_the_cost_model_counts_calls_of_turns():
    plan, _ = planned()
    mapping = plan.timed.mapping
    compute = []
    for one in (NPU1, WALKS):
        found = price(mapping, one, Assumed())
        assert isinstance(found, Priced)
        compute.append(dict(found.cost.parts)["compute"])
    assert compute[0] - compute[1] == mapping.calls * (mapping.reduction_steps - 1) * EMPTY
