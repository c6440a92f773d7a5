"""Products of two activations as emitted C++, bit for bit numpy's; and in a network."""

import ctypes
import shutil

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper
from test_image_layers import build

import match_aie as match
from match_aie.errors import Infeasible
from match_aie.targets.aie_ml.graph.cut_plan import cut_plan, cut_plans
from match_aie.targets.aie_ml.graph.write import pack
from match_aie.targets.versal import VersalAIEML
from match_aie.workload import reference
from tests.aie_layers import random_inputs, random_product
from tests.shared import random_inputs as network_inputs

pytestmark = pytest.mark.skipif(shutil.which("g++") is None, reason="no C++ compiler")


def check(layers, folder):
    """All layers as emitted, in one library, twice each."""
    library = build(layers, folder)
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
            assert y.size < 8 or np.unique(y).size > 3


def layers_of(seeds, columns):
    """Layers with the widest of their plans, which their loops name again."""
    found = []
    for seed in seeds:
        workload, constants = random_product(seed)
        plans = cut_plans(workload, "vek280", columns)
        assert not isinstance(plans, Infeasible)
        plan = plans[-1]
        assert cut_plan(workload, "vek280", plan.nest) == plan
        found.append((workload, constants, plan.graph(f"layer{len(found)}", workload, constants)))
    return found


@pytest.mark.slow
def test_products_as_emitted(tmp_path) -> None:
    check(layers_of((0, 4), 2), tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, 48, 8))
def test_random_products_as_emitted(tmp_path, first) -> None:
    check(layers_of(range(first, first + 8), 4), tmp_path)


def network(batch, rows, inner, columns):
    """Quantised a [.., rows, inner] times b [.., inner, columns], then a dense layer of 9."""
    rng = np.random.default_rng(4)
    names = {"a": ("uint8", 0.03, 121), "b": ("int8", 0.05, -7), "c": ("int8", 0.4, 3)}
    names["d"] = ("int8", 2.0, 0)
    constants, nodes = [], []

    def const(name, array):
        constants.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def pair(name):
        dtype, scale, zero = names[name]
        return const(f"{name}_s", np.float32(scale)), const(f"{name}_z", np.dtype(dtype).type(zero))

    def node(operator, inputs, output):
        nodes.append(helper.make_node(operator, inputs, [output], name=output))
        return output

    quantised = {name: pair(name) for name in names}
    real = [node("DequantizeLinear", [name, *quantised[name]], f"{name}_r") for name in "ab"]
    c = node("QuantizeLinear", [node("MatMul", real, "c_r"), *quantised["c"]], "c")
    weights = const("w", rng.integers(-127, 128, (columns, 9)).astype(np.int8))
    scale = const("w_s", np.float32(0.01))
    w = node("DequantizeLinear", [weights, scale, const("w_z", np.int8(0))], "w_r")
    c = node("DequantizeLinear", [c, *quantised["c"]], "c_q")
    node("QuantizeLinear", [node("MatMul", [c, w], "d_r"), *quantised["d"]], "d")
    ends = {"a": TensorProto.UINT8, "b": TensorProto.INT8, "d": TensorProto.INT8}
    shapes = {"a": (batch, rows, inner), "b": (batch, inner, columns), "d": (batch, rows, 9)}
    infos = {n: helper.make_tensor_value_info(n, ends[n], shapes[n]) for n in ends}
    graph = helper.make_graph(nodes, "net", [infos["a"], infos["b"]], [infos["d"]], constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


@pytest.mark.slow
def test_a_network_with_a_product_of_activations(tmp_path) -> None:
    """On the array beside a dense layer: run bit for bit, and simulated near its prediction."""
    net = match.compile(network(2, 13, 20, 11), target=VersalAIEML(modules=("array",)))
    kinds = [(layer.module, layer.workload.kind) for layer in net.program.schedule.layers]
    assert kinds == [("array", "matmul"), ("array", "dense")]
    project = net.write(tmp_path / "net")
    for seed in range(3):
        result = project.run(network_inputs(net.inputs, np.random.default_rng(seed)), quick=True)
        assert result.matches_reference
        assert result.layers_checked == 2
        assert all(d.max_lsb <= 1 for d in result.deviations)
        (output,) = result.outputs.values()
        assert np.unique(output).size > 10
    run = net.simulate(record=False)
    assert all(step.simulated for step in run.steps if step.module == "array")
    for step in run.steps:  # the cost model leaves out the memory's latency, 200 cycles a way
        assert abs(step.cycles - step.predicted) < 0.05 * step.predicted + 800
