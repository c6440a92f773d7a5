"""Products of two activations: what their graphs mean, that they lie, what is refused."""

import numpy as np
import pytest

from match_aie.errors import Infeasible
from match_aie.targets.aie_ml import device
from match_aie.targets.aie_ml.array.layout import lay_out
from match_aie.targets.aie_ml.execute import execute
from match_aie.targets.aie_ml.graph.cut_plan import cut_plan, cut_plans
from match_aie.targets.aie_ml.simulate import run_layer
from match_aie.targets.versal.patterns import refuses_pair
from match_aie.workload import Quantized, Workload, full_range, matmul, reference
from tests.aie_graph import interpret
from tests.aie_layers import product, random_inputs, random_product

VEK280 = device("vek280")
BYTES = ("int8", "int8", "int8")


@pytest.mark.parametrize("seed", range(12))
def test_graphs_mean_the_product(seed: int) -> None:
    """All plans of random products, bit for bit; each is found again by its loops."""
    workload, constants = random_product(seed)
    plans = cut_plans(workload, "vek280", 4)
    assert not isinstance(plans, Infeasible)
    inputs = random_inputs(workload, np.random.default_rng(seed))
    wanted = reference(workload, [inputs[o.name] for o in workload.inputs], constants)
    for plan in plans:
        assert cut_plan(workload, "vek280", plan.nest) == plan
        graph = plan.graph("layer", workload, constants)
        assert graph.columns == plan.columns
        np.testing.assert_array_equal(interpret(graph, inputs, wanted), wanted)
        laid = lay_out(graph, VEK280)
        assert not isinstance(laid, Infeasible)
        done = execute(laid, VEK280, inputs)
        np.testing.assert_array_equal(done.tensor(wanted), wanted)


@pytest.mark.parametrize("shape", [(8, 128, 64, 128), (1, 64, 128, 64), (4, 64, 32, 64)])
def test_more_columns_are_faster_and_predicted(shape: tuple[int, int, int, int]) -> None:
    """Cost and simulator agree within 2 % or 800 cycles: the memory takes 400 to answer."""
    rng = np.random.default_rng(2)
    workload, constants = product(rng, shape, BYTES, (3, 4, 5), 1e-3)
    plans = cut_plans(workload, "vek280", 4)
    assert not isinstance(plans, Infeasible)
    cycles = [plan.cycles for plan in plans]
    assert cycles == sorted(cycles, reverse=True)
    for plan in plans:
        laid = lay_out(plan.graph("layer", workload, constants), VEK280)
        assert not isinstance(laid, Infeasible)
        assert run_layer(laid, VEK280).cycles == pytest.approx(plan.cycles, rel=0.02, abs=800)


def test_what_does_not_fit_says_what_lacks() -> None:
    rng = np.random.default_rng(3)
    workload, _ = product(rng, (1, 1024, 64, 1024), BYTES, (0, 0, 0), 2.0**-10)
    plans = cut_plans(workload, "vek280", 4)
    assert isinstance(plans, Infeasible)
    assert plans.resource == "a memory tile for y"
    assert (plans.demand, plans.bound) == (1 << 20, 1 << 19)


def pair(a: str, b: str, y: str) -> Workload:
    quantised = [Quantized(dtype, 0.1, 0) for dtype in (a, b, y)]
    tail = full_range(y, 0)
    return matmul(*quantised, batch=2, rows=4, inner=8, columns=4, tail=tail)


def test_element_types_are_refused_by_name() -> None:
    assert refuses_pair(pair("uint8", "int8", "uint8")) is None
    assert "int8 by uint8" in (refuses_pair(pair("int8", "uint8", "int8")) or "")
    assert "int16 by int16" in (refuses_pair(pair("int16", "int16", "int16")) or "")
