"""Networks of 16-bit activations on GAP9: convolutions and dense layers run on the cluster."""

import warnings

import numpy as np
import pytest
from onnx import TensorProto, helper

import match_aie as match
from match_aie.report.text import compiled_report
from match_aie.targets.gap9 import GAP9
from tests.qdq import Nodes
from tests.shared import random_inputs

TYPES = {"int16": (np.int16, 0), "uint16": (np.uint16, 33_000)}


class Net(Nodes):
    """Layers as ONNX has them since opset 21: activations of 16 bits, weights of 8."""

    def __init__(self, dtype, channels, size):
        super().__init__()
        self.rng = np.random.default_rng(5)
        self.dtype, self.channels, self.size = dtype, channels, size
        self.step = 2.0e-4
        self.real = self.stored("x")

    def stored(self, real):
        """As integers and back, in steps of `step`."""
        kind, zero = TYPES[self.dtype]
        pair = [self.const(np.float32(self.step)), self.const(kind(zero))]
        return self.node("DequantizeLinear", [self.node("QuantizeLinear", [real, *pair]), *pair])

    def constants_of(self, shape):
        """Weights, a scale for each channel, and a bias."""
        scales = self.rng.uniform(0.5, 1.5, shape[0]).astype(np.float32) / 800
        values = self.const(self.rng.integers(-127, 128, shape).astype(np.int8))
        zeros = self.const(np.zeros(shape[0], np.int8))
        weight = self.node("DequantizeLinear", [values, self.const(scales), zeros], axis=0)
        bias = self.const(self.rng.integers(-(2**20), 2**20, shape[0]).astype(np.int32))
        steps = self.const(scales * np.float32(self.step))
        zeros = self.const(np.zeros(shape[0], np.int32))
        return weight, self.node("DequantizeLinear", [bias, steps, zeros], axis=0)

    def conv(self, outputs, size=3, stride=1, depthwise=False, relu=False):
        groups = self.channels if depthwise else 1
        outputs = self.channels if depthwise else outputs
        shape = (outputs, self.channels // groups, size, size)
        how = {"strides": [stride] * 2, "pads": [size // 2] * 4, "group": groups}
        y = self.node("Conv", [self.real, *self.constants_of(shape)], **how)
        y = self.node("Relu", [y]) if relu else y
        self.channels, self.size = outputs, (self.size - 1) // stride + 1
        self.step *= 0.2 * np.sqrt(np.prod(shape[1:])) / 2
        self.real = self.stored(y)
        return self

    def dense(self, outputs):
        inputs = self.channels * self.size**2
        flat = self.node("Flatten", [self.real])
        weight, bias = self.constants_of((outputs, inputs))
        y = self.node("Gemm", [flat, weight, bias], transB=1)
        self.step *= 0.2 * np.sqrt(inputs) / 2
        self.real = self.stored(y)
        return self

    def model(self, shape, outputs):
        ports = [
            helper.make_tensor_value_info("x", TensorProto.FLOAT, shape),
            helper.make_tensor_value_info(self.real, TensorProto.FLOAT, outputs),
        ]
        graph = helper.make_graph(self.nodes, "net", ports[:1], ports[1:], self.constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


def images(dtype):
    net = Net(dtype, 3, 12).conv(10, relu=True).conv(0, depthwise=True, stride=2)
    return net.conv(21, size=1).dense(9).model((1, 3, 12, 12), (1, 9))


def compiled(model, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return match.compile(model, GAP9(modules=("cluster",), **options))


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("l1_bytes", [None, 8192])
def test_products_run_on_the_cluster(dtype, l1_bytes, tmp_path):
    """Every layer equals its reference bit for bit, and is a step of 16 bits off the model."""
    net = compiled(images(dtype), l1_bytes=l1_bytes)
    details = [step.layer for step in compiled_report(net).steps if step.layer is not None]
    kinds = [layer.workload.kind for layer in details if layer.workload.macs]
    assert kinds == ["conv2d", "conv2d", "conv2d", "dense"]
    for layer in details:
        if layer.workload.macs:
            assert layer.workload.output.dtype == dtype
            assert layer.error_lsb < 0.51
    for seed in range(2):
        inputs = random_inputs(net.inputs, np.random.default_rng(seed))
        result = net.write(tmp_path / f"net{seed}").run(inputs, quick=True)
        assert result.matches_reference
        assert max(found.max_lsb for found in result.deviations) <= 1
        (output,) = result.outputs.values()
        assert np.unique(output).size > 5
    assert (l1_bytes is None) or any(
        step.layer.tiles.loops for step in net.program.schedule.steps if step.layer
    )


def test_simulated_as_predicted():
    run = compiled(images("int16")).simulate(record=False)
    found = [step for step in run.steps if step.simulated]
    assert len(found) >= 4
    for step in found:
        assert step.cycles == pytest.approx(step.predicted, rel=0.15), step.label
