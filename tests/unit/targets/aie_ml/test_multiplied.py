"""Element-wise products of two activations as layers of the array."""

import numpy as np
import pytest
from onnx import TensorProto, helper

import match_aie as match
from match_aie.targets.aie_ml.graph.cut_plan import cut_plans, refuses
from match_aie.targets.aie_ml.kernels.arithmetic import in_fixed_point
from match_aie.targets.versal import VersalAIEML
from match_aie.workload import Quantized, elementwise, full_range
from tests.aie_layers import constants_of
from tests.aie_programs import case, equal, network_equals
from tests.qdq import Nodes


def product(rng, shape=(1, 1, 9, 40), types=("int8", "int8")):
    """A product with random scales and zero points."""
    points = [int(rng.integers(np.iinfo(t).min, np.iinfo(t).max)) for t in (types[0], *types)]
    x, x1 = (Quantized(types[0], float(rng.uniform(0.01, 0.1)), point) for point in points[:2])
    y = Quantized(types[1], float(rng.uniform(0.02, 0.2)), points[2])
    tail = full_range(types[1], points[2])
    return elementwise("mul", x, x1, y, shape=shape, shape1=shape, out=shape, tail=tail)


@pytest.mark.parametrize("types", [("int8", "int8"), ("uint8", "uint8"), ("uint8", "int8")])
@pytest.mark.parametrize("seed", range(4))
def test_random_products_equal_their_reference(types, seed):
    """One program on up to two columns, executed twice; a 16-bit multiplier is as good as any."""
    rng = np.random.default_rng(seed)
    shape = (1, 1, int(rng.integers(1, 30)), int(rng.integers(1, 70)))
    workload = product(rng, shape, types)
    assert refuses(workload) is None
    made = in_fixed_point(workload, constants_of(workload, rng))
    assert made.error_lsb < 0.02
    plan = cut_plans(made.workload, "vek280", 2)[-1]
    graph = plan.graph("layer", made.workload, made.constants)
    equal(case(graph, made.workload, made.constants, rng))


def test_other_products_stay_with_the_core():
    rng = np.random.default_rng(0)
    assert "8 bits" in refuses(product(rng, types=("int16", "int16")))


def gate():
    """A dense layer's result times a sigmoid of another's."""
    n, rng = Nodes(), np.random.default_rng(5)

    def pair(step, point=3):
        return [n.const(np.float32(step)), n.const(np.int8(point))]

    def through(real, step):
        stored = n.node("QuantizeLinear", [real, *pair(step)])
        return n.node("DequantizeLinear", [stored, *pair(step)])

    def dense(x):
        weight = n.const(rng.integers(-127, 128, (48, 64)).astype(np.int8))
        scale = [n.const(np.float32(2**-9)), n.const(np.int8(0))]
        real = n.node("DequantizeLinear", [weight, *scale])
        return through(n.node("MatMul", [x, real]), 0.05)

    x = n.node("DequantizeLinear", ["x", *pair(0.05)])
    gated = n.node("Mul", [dense(x), through(n.node("Sigmoid", [dense(x)]), 1 / 256)])
    n.nodes.append(helper.make_node("QuantizeLinear", [gated, *pair(0.04)], ["y"]))
    shapes = {"x": [24, 48], "y": [24, 64]}
    x, y = (helper.make_tensor_value_info(k, TensorProto.INT8, v) for k, v in shapes.items())
    graph = helper.make_graph(n.nodes, "gate", [x], [y], n.constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


@pytest.mark.parametrize(
    "options", [{}, {"memory": "plio", "optimize_for": "throughput"}], ids=["latency", "pipeline"]
)
def test_a_gate_is_on_the_array(options):
    target = VersalAIEML(columns_per_layer=2, modules=("array",), **options)
    net = match.compile(gate(), target, cache=False)
    layers = net.program.schedule.layers
    assert sorted(layer.workload.kind for layer in layers) == ["dense", "dense", "mul", "table"]
    assert {layer.module for layer in layers} == {"array"}
    assert network_equals(net, np.random.default_rng(0)) > 0
