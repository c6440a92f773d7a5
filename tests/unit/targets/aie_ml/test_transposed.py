"""Transposed convolutions on the array: the example of a kind of layer that is a declaration.

What the array knows of them is `targets/aie_ml/graph/transposed.py` and a line of `kinds.py`: the
planner, the builder, the cost model, the kernels and the layout are those of all image layers.
"""

import numpy as np
import pytest

from match_aie.errors import Infeasible, TargetError
from match_aie.targets.aie_ml.graph.cut_plan import cut_plan, cut_plans, plan_cut, refuses
from match_aie.targets.aie_ml.graph.transposed import transposed_layer
from match_aie.targets.aie_ml.kernels.arithmetic import in_fixed_point
from tests.aie_layers import constants_of
from tests.aie_programs import case, equal
from tests.transposed import SHAPES, transposed

SIZES = ((5, 7, 8, 4), (1, 1, 3, 8), (8, 6, 12, 8))


def fixed(rng, *args, **options):
    workload = transposed(rng, *args, **options)
    made = in_fixed_point(workload, constants_of(workload, rng))
    assert not isinstance(made, str), made
    return made.workload, made.constants


@pytest.mark.parametrize("number", range(len(SHAPES)))
def test_programs_compute_the_reference(number):
    rng = np.random.default_rng(number)
    dtype, point = ("int8", "uint8")[number % 2], (0, 0, 7, 7)[number % 4]
    shape, size = SHAPES[number], SIZES[number % 3]
    workload, constants = fixed(rng, shape, size, dtype=dtype, point=point)
    plan = plan_cut(workload, "vek280", 1 + number % 2)
    assert not isinstance(plan, Infeasible), plan
    graph = plan.graph("layer", workload, constants)
    assert graph.outputs[0].part.tensor == workload.output.shape[1:]
    equal(case(graph, workload, constants, rng, 7))


def test_a_mapping_gives_its_plan():
    workload, _ = fixed(np.random.default_rng(3), SHAPES[0], SIZES[0])
    plans = cut_plans(workload, "vek280", 2)
    assert plans
    for plan in plans:
        again = cut_plan(workload, "vek280", plan.nest)
        assert (again.cut.cut, again.cycles) == (plan.cut.cut, plan.cycles)


@pytest.mark.parametrize(
    ("shape", "size", "says"),
    [
        (SHAPES[0], (4, 4, 8, 3), "6 bytes of neighbouring outputs are no whole number"),
        (((2, 2), (2, 2), (2, 2, 2, 2), (0, 0)), (4, 4, 8, 4), "cuts off all that some rows"),
    ],
)
def test_refusals(shape, size, says):
    rng = np.random.default_rng(0)
    workload, constants = fixed(rng, shape, size)
    assert says in refuses(workload)
    with pytest.raises(TargetError, match=says):
        transposed_layer(workload, constants, "layer")
