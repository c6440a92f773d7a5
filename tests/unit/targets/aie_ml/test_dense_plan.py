"""Dense layers with weights in the tiles: the best of all splits, and what plans take."""

import numpy as np
import pytest

from match_aie.errors import Infeasible
from match_aie.targets.aie_ml import device
from match_aie.targets.aie_ml.array.layout import lay_out
from match_aie.targets.aie_ml.array.search import Given
from match_aie.targets.aie_ml.graph import dense_plan
from match_aie.targets.aie_ml.graph.layer import zeros_of
from match_aie.targets.aie_ml.graph.proof import cannot_be_written
from match_aie.targets.aie_ml.simulate import run_layer
from tests.aie_timed import layer as dense

VEK280, NPU1 = device("vek280"), device("npu1")


def workload_of(rows, reduction, columns):
    return dense(np.random.default_rng(0), rows, reduction, columns, ("int8", "int8"))[0]


def both(sizes, split):
    """Modelled and simulated cycles of a split's plan."""
    workload = workload_of(*sizes)
    plan = dense_plan.plan_of_split(dense_plan.dense_layer(workload), "vek280", Given(*split))
    assert not isinstance(plan, Infeasible)
    program = lay_out(plan.graph("layer", workload, zeros_of(workload)), VEK280)
    assert not isinstance(program, Infeasible)
    return plan.cycles, run_layer(program, VEK280).cycles


@pytest.mark.parametrize("sizes", [(512, 512, 512), (64, 64, 64), (197, 192, 768)])
@pytest.mark.parametrize("columns", [2, 4])
def test_no_split_has_a_faster_plan(sizes, columns):
    """To a hundredth: a plan of fewer columns, or more tiles in a row, is looked at as well."""
    workload = workload_of(*sizes)
    layer = dense_plan.dense_layer(workload)
    found = dense_plan._best(workload, "vek280", columns)
    assert found is not None
    assert found.columns <= columns
    for bound, split in dense_plan._ordered(layer, "vek280", columns):
        plan = dense_plan.plan_of_split(layer, "vek280", split)
        if not isinstance(plan, Infeasible):
            assert plan.cycles >= bound
            if plan.cycles < dense_plan.NEAR * found.cycles:
                assert not dense_plan._laid_out(plan, workload, "vek280")


@pytest.mark.parametrize(
    ("sizes", "split"),
    [
        ((64, 512, 512), (8, 4, 2)),  # 8 chains: three hand on to a memory tile of six channels
        ((64, 512, 512), (1, 22, 1)),  # handed on several times
        ((64, 512, 512), (8, 2, 4)),  # x read by 32 ways, brought once
        ((256, 256, 256), (6, 6, 1)),  # columns of padding leave
        ((200, 100, 100), (2, 1, 3)),
    ],
)
def test_modelled_cycles_are_near_those_simulated(sizes, split):
    modelled, simulated = both(sizes, split)
    assert modelled == pytest.approx(simulated, rel=0.03)


def test_a_hand_over_takes_its_way_beside_its_bytes():
    """Results of 7 and 8 chains are handed on: what models leave out is what it is of fewer."""
    found = [both((1, 64, 64), (1, chains, 1)) for chains in (4, 6, 7, 8)]
    left_out = [simulated - modelled for modelled, simulated in found]
    assert max(left_out) - min(left_out) <= 8


def written(plan, workload):
    return cannot_be_written(plan.graph("layer", workload, zeros_of(workload)), NPU1) is None


@pytest.mark.parametrize("sizes", [(105, 19, 208), (116, 211, 246)])
def test_plans_have_a_text_where_any_has(sizes):
    """The fastest ones with all weights in the tiles lack descriptors of a memory tile."""
    workload = workload_of(*sizes)
    layer = dense_plan.dense_layer(workload)
    fastest = dense_plan._fastest(layer, "npu1", dense_plan._ordered(layer, "npu1", 4), set())
    assert fastest is not None
    assert dense_plan._laid_out(fastest[1], workload, "npu1")
    assert not written(fastest[1], workload)
    found = dense_plan.dense_plans(workload, "npu1", 4)
    assert not isinstance(found, Infeasible)
    assert all(written(plan, workload) for plan in found)


def test_a_plan_without_a_text_is_kept_where_there_is_no_other_one(monkeypatch):
    workload = workload_of(105, 19, 208)
    reason = Infeasible("descriptors", 25, 24, "descriptors")
    monkeypatch.setattr(dense_plan, "CANDIDATES", 1)
    monkeypatch.setattr(dense_plan, "timed_best", lambda *_, **__: reason)
    dense_plan._best.cache_clear()
    found = dense_plan.dense_plans(workload, "npu1", 4)
    dense_plan._best.cache_clear()
    assert not isinstance(found, Infeasible)
    assert not any(written(plan, workload) for plan in found)
