"""Float32 networks whose rows the array computes in bfloat16: emitted, run, executed, simulated."""

import shutil

import numpy as np
import pytest
from onnx import TensorProto, helper

import match_aie as match
from match_aie.targets.versal import VersalAIEML
from tests.aie_programs import network_equals
from tests.qdq import Nodes
from tests.shared import random_inputs


class Rows(Nodes):
    """Layers of float32 rows, one behind the other."""

    def __init__(self, rows, columns):
        super().__init__()
        self.rng = np.random.default_rng(0)
        self.last, self.shape, self.width = "x", (rows, columns), columns

    def dense(self, outputs):
        weight = self.rng.standard_normal((self.width, outputs)) / self.width**0.5
        bias = self.rng.standard_normal(outputs)
        constants = [self.const(each.astype(np.float32)) for each in (weight, bias)]
        self.last, self.width = self.node("Gemm", [self.last, *constants]), outputs
        return self

    def of(self, operator, *others, **attributes):
        self.last = self.node(operator, [self.last, *others], **attributes)
        return self

    def numbers(self, at):
        return self.const(self.rng.normal(at, 0.3, self.width).astype(np.float32))

    def norm(self):
        return self.of("LayerNormalization", self.numbers(1), self.numbers(0), axis=-1)

    def rms_norm(self):
        mean = self.node(
            "ReduceMean",
            [self.node("Mul", [self.last, self.last]), self.const(np.array([-1]))],
            keepdims=1,
        )
        root = self.node("Sqrt", [self.node("Add", [mean, self.const(np.float32(1e-6))])])
        self.last = self.node("Div", [self.last, root])
        return self.of("Mul", self.numbers(1))

    def gelu(self):
        x, root = self.last, self.const(np.float32(2**0.5))
        one, half = (self.const(np.float32(v)) for v in (1, 0.5))
        both = self.node("Add", [self.node("Erf", [self.node("Div", [x, root])]), one])
        return self.of("Mul", both).of("Mul", half)

    def silu(self):
        return self.of("Mul", self.node("Sigmoid", [self.last]))

    def reshape(self, x, *shape):
        return self.node("Reshape", [x, self.const(np.array(shape))])

    def projected(self, x):
        """Onto as many elements."""
        self.last = x
        return self.dense(self.width).last

    def attention(self, heads):
        """Of rows: projections, scores, softmax, values, a projection."""
        x, (rows, width) = self.last, self.shape
        turned = []
        for order in ((1, 0, 2), (1, 2, 0), (1, 0, 2)):
            part = self.reshape(self.projected(x), rows, heads, width // heads)
            turned.append(self.node("Transpose", [part], perm=list(order)))
        queries, keys, values = turned
        root = self.const(np.float32((width // heads) ** 0.5))
        scores = self.node("Div", [self.node("MatMul", [queries, keys]), root])
        found = self.node("MatMul", [self.node("Softmax", [scores], axis=-1), values])
        found = self.node("Transpose", [found], perm=[1, 0, 2])
        self.last = self.projected(self.reshape(found, rows, width))
        return self

    def model(self):
        shape = (self.shape[0], self.width)
        x = helper.make_tensor_value_info("x", TensorProto.FLOAT, self.shape)
        y = helper.make_tensor_value_info(self.last, TensorProto.FLOAT, shape)
        graph = helper.make_graph(self.nodes, "net", [x], [y], self.constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


def network():
    net = Rows(6, 40).dense(48).gelu()
    kept = net.last
    net = net.dense(48).silu().of("Add", kept).rms_norm().of("Tanh")
    gate = net.node("Sigmoid", [kept])
    return net.of("Mul", gate).of("Exp").of("Softmax", axis=-1).model()


KINDS = ["add", "dense", "dense", *["function"] * 5, "mul", "rms_norm", "softmax"]
NORM = ["layer_norm"]
NETWORKS = {"a chain": (network, KINDS), "a norm": (lambda: Rows(6, 40).norm().model(), NORM)}


@pytest.fixture(scope="module", params=NETWORKS)
def net(request):
    # The Arm core is modelled cheaper for so small tensors.
    made, kinds = NETWORKS[request.param]
    target = VersalAIEML(floats="bf16", columns_per_layer=1, modules=("array",))
    free = match.compile(made(), target=target)
    pins = dict.fromkeys((step.label for step in free.program.schedule.steps), "array")
    found = match.compile(made(), target=target, pins=pins)
    layers = found.program.schedule.chosen
    assert sorted(layer.workload.kind for layer in layers) == kinds
    assert all(layer.module == "array" and layer.workload.rounded for layer in layers)
    return found


def test_executed_programs_equal_their_references(net):
    assert network_equals(net, np.random.default_rng(3)) >= 1


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("g++") is None, reason="no C++ compiler")
def test_the_emitted_network_equals_its_references(net, tmp_path):
    """Bit for bit; as close to the float32 layers as is asked, and to onnxruntime."""
    inputs = random_inputs(net.inputs, np.random.default_rng(1))
    result = net.write(tmp_path / "net").run(inputs, quick=True)
    assert result.matches_reference
    assert len(result.floats) == len(net.program.schedule.chosen)
    assert all(0 < close.bound_used <= 1 for close in result.floats)
    if result.max_abs_vs_model:
        assert max(result.max_abs_vs_model.values()) < 0.05
    simulated = net.simulate(record=False)
    assert all(step.simulated for step in simulated.steps if step.module == "array")


def half_block():
    """Norm, dense, GELU, dense and the residual sum of a transformer."""
    net = Rows(32, 64)
    kept = net.last
    return net.norm().dense(128).gelu().dense(64).of("Add", kept).model()


@pytest.mark.slow
def test_half_of_a_block_is_one_pipeline(tmp_path):
    """The sum is pinned: alone it is cheaper on the core, which selection compares."""
    target = VersalAIEML(
        floats="bf16",
        memory="plio",
        optimize_for="throughput",
        modules=("array",),
        columns_per_layer=2,
    )
    net = match.compile(half_block(), target=target, pins={"add8": "array"})
    assert len(net.program.schedule.chosen) == len(net.program.schedule.steps) == 5
    assert network_equals(net, np.random.default_rng(3)) == 1
    project = net.write(tmp_path / "net")
    assert [path.name for path in tmp_path.glob("net/aie/*_graph.h")] == ["net_chain0_graph.h"]
    if shutil.which("g++") is None:
        return
    result = project.run(random_inputs(net.inputs, np.random.default_rng(1)), quick=True)
    assert result.matches_reference
    assert result.layers_checked == 5


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("g++") is None, reason="no C++ compiler")
def test_a_transformers_block_but_for_its_attentions_products(tmp_path):
    """Norms, dense layers, softmax and GELU are on the array, all else on the Arm core."""
    net = Rows(32, 64)
    kept = net.last
    net = net.norm().attention(2).of("Add", kept)
    kept = net.last
    model = net.norm().dense(128).gelu().dense(64).of("Add", kept).model()
    target = VersalAIEML(floats="bf16", columns_per_layer=2, modules=("array",))
    net = match.compile(model, target=target)
    kinds = sorted(layer.workload.kind for layer in net.program.schedule.chosen)
    assert kinds == [*["dense"] * 6, "function", *["layer_norm"] * 2, "softmax"]
    assert network_equals(net, np.random.default_rng(3)) > 1
    inputs = random_inputs(net.inputs, np.random.default_rng(1))
    result = net.write(tmp_path / "net").run(inputs, quick=True)
    assert result.matches_reference
    if result.max_abs_vs_model:
        (largest,) = (float(np.abs(output).max()) for output in result.outputs.values())
        assert max(result.max_abs_vs_model.values()) < 0.01 * largest
