"""Random image layers and sums as emitted C++: many graphs in one library, called one by one."""

import ctypes
import shutil

import numpy as np
import pytest
from array_library import build

from match_aie.errors import Infeasible
from match_aie.targets.aie_ml.graph.cut_plan import plan_cut
from match_aie.targets.aie_ml.graph.write import pack
from match_aie.targets.aie_ml.kernels.arithmetic import in_fixed_point
from match_aie.workload import reference
from tests.aie_layers import constants_of, random_inputs, random_layer

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("g++") is None, reason="no C++ compiler"),
]


def layers_of(kind, count):
    """So many random layers with plans: workload, constants, graph."""
    found = []
    for seed in range(5000, 5100):
        rng = np.random.default_rng(seed)
        workload = random_layer(rng, kind)
        if workload is None:
            continue
        converted = in_fixed_point(workload, constants_of(workload, rng))
        if isinstance(converted, str):
            continue
        fixed, constants = converted.workload, converted.constants
        plan = plan_cut(fixed, "vek280", 1 + seed % 2)
        assert not isinstance(plan, Infeasible)
        found.append((fixed, constants, plan.graph(f"layer{len(found)}", fixed, constants)))
        if len(found) == count:
            return found
    raise AssertionError(f"too few layers of kind {kind}")


@pytest.mark.parametrize("kind", ["conv", "depthwise", "average", "max", "add", "table"])
def test_random_layers_as_emitted(tmp_path, kind) -> None:
    layers = layers_of(kind, 8)
    library = build(layers, tmp_path)
    for number, (workload, constants, graph) in enumerate(layers):
        packed = pack(graph, workload).constants
        for turn in range(2):
            inputs = random_inputs(workload, np.random.default_rng(number + 100 * turn))
            arrays = [inputs.get(o.name, packed.get(o.name)) for o in workload.operands[:-1]]
            y = np.zeros(workload.output.shape, workload.output.dtype)
            call = getattr(library, f"layer{number}_array")
            call(*(array.ctypes.data_as(ctypes.c_void_p) for array in (*arrays, y)))
            wanted = reference(workload, [inputs[o.name] for o in workload.inputs], constants)
            np.testing.assert_array_equal(y, wanted)
