"""A network whose activations and softmax are on the array: executed, emitted, simulated."""

import shutil

import numpy as np
import pytest
from versal_networks import DenseNet, Layer

import match_aie as match
from match_aie.targets.versal import VersalAIEML
from tests.aie_programs import network_equals
from tests.shared import random_inputs


class Attending(DenseNet):
    """Dense layers with what transformers put between them."""

    def stored_as(self, real, step, zero):
        self.step, self.zero = step, zero
        self.stored = self.node("QuantizeLinear", [real, *self.pair()])
        self.last = self.node("DequantizeLinear", [self.stored, *self.pair()])
        return self

    def gelu(self):
        root, one, half = (self.const(np.float32(v)) for v in (2**0.5, 1.0, 0.5))
        inner = self.node("Erf", [self.node("Div", [self.last, root])])
        both = self.node("Mul", [self.last, self.node("Add", [inner, one])])
        return self.stored_as(self.node("Mul", [both, half]), 0.031, -100)

    def gated(self):
        """x * sigmoid(x), quantised between the two."""
        x = self.last
        self.stored_as(self.node("Sigmoid", [x]), 1 / 256, -128)
        return self.stored_as(self.node("Mul", [x, self.last]), 0.03, -60)

    def norm(self, quantised):
        """With its numbers in float32, or quantised."""
        weight, bias = (self.rng.normal(at, 0.2, self.width).astype(np.float32) for at in (1, 0))
        if not quantised:
            names = [self.const(weight), self.const(bias)]
        else:
            step, zero = self.const(np.float32(0.01)), self.const(np.int8(0))
            stored = (self.const(np.rint(v / 0.02).astype(np.int8)) for v in (weight, bias))
            names = [self.node("DequantizeLinear", [name, step, zero]) for name in stored]
        real = self.node("LayerNormalization", [self.last, *names], axis=-1, epsilon=1e-5)
        return self.stored_as(real, 0.03, 5)

    def rms_norm(self):
        """Spelled out, as exporters do before opset 23."""
        two, epsilon = self.const(np.float32(2)), self.const(np.float32(1e-5))
        mean = self.node(
            "ReduceMean",
            [self.node("Pow", [self.last, two]), self.const(np.array([-1]))],
            keepdims=1,
        )
        root = self.node("Sqrt", [self.node("Add", [mean, epsilon])])
        weight = self.const(self.rng.normal(1, 0.2, self.width).astype(np.float32))
        real = self.node("Mul", [self.node("Div", [self.last, root]), weight])
        return self.stored_as(real, 0.03, -7)

    def softmax(self):
        return self.stored_as(self.node("Softmax", [self.last], axis=-1), 1 / 256, -128)


def network():
    net = Attending(12, 40).dense(Layer(64)).gelu().dense(Layer(48)).gated()
    net = net.norm(quantised=False).dense(Layer(42)).norm(quantised=True)
    net = net.dense(Layer(42)).rms_norm()
    return net.softmax().model()


KINDS = ["dense", "table", "dense", "table", "layer_norm", "dense", "layer_norm"]
KINDS += ["dense", "rms_norm", "softmax"]


def compiled():
    net = match.compile(network(), VersalAIEML(columns_per_layer=1, modules=("array",)))
    layers = net.program.schedule.layers
    assert [layer.workload.kind for layer in layers] == KINDS
    assert {layer.module for layer in layers} == {"array"}
    return net


def test_all_layers_are_on_the_array_and_equal_their_references() -> None:
    assert network_equals(compiled(), np.random.default_rng(0)) > 0


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("g++") is None, reason="no C++ compiler")
def test_as_emitted(tmp_path) -> None:
    runtime = pytest.importorskip("onnxruntime")
    net = compiled()
    inputs = random_inputs(net.inputs, np.random.default_rng(1))
    result = net.write(tmp_path / "net").run(inputs, quick=True)
    assert result.matches_reference
    assert result.layers_checked == len(KINDS)
    assert all(deviation.max_lsb <= 1 for deviation in result.deviations)
    options = runtime.SessionOptions()
    options.graph_optimization_level = runtime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = runtime.InferenceSession(
        network().SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    (output,) = result.outputs.values()
    wanted = session.run(None, inputs)[0].astype(int)
    assert np.abs(output - wanted).max() <= 2
    simulated = net.simulate(record=False)
    assert all(step.simulated for step in simulated.steps if step.module == "array")
