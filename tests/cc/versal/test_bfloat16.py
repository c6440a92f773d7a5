"""Float32 networks whose dense layers the array computes in bfloat16: emitted, run, executed."""

import shutil

import numpy as np
import pytest
from onnx import TensorProto, helper

import match_aie as match
from match_aie.errors import TargetError
from match_aie.targets.versal import VersalAIEML
from match_aie.targets.versal.module import AieArray
from tests.aie_programs import network_equals
from tests.qdq import Nodes
from tests.shared import random_inputs


class FloatNet(Nodes):
    """Dense layers of float32: (operator, outputs, bias, activation) each."""

    def __init__(self, rows, inputs, layers):
        super().__init__()
        rng = np.random.default_rng(0)
        self.shape, last, width = (rows, inputs), "x", inputs
        for operator, outputs, bias, activation in layers:
            weight = self.const((rng.standard_normal((width, outputs)) / 8).astype(np.float32))
            added = [self.const(rng.standard_normal(outputs).astype(np.float32))] if bias else []
            if operator == "Gemm":
                last = self.node("Gemm", [last, weight, *added])
            else:
                last = self.node("MatMul", [last, weight])
                last = self.node("Add", [last, *added]) if added else last
            last = self.node(activation, [last]) if activation else last
            width = outputs
        self.last, self.width = last, width

    def model(self):
        x = helper.make_tensor_value_info("x", TensorProto.FLOAT, self.shape)
        y = helper.make_tensor_value_info(self.last, TensorProto.FLOAT, (self.shape[0], self.width))
        graph = helper.make_graph(self.nodes, "net", [x], [y], self.constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


#: A bias and none, both operators, sizes that are no multiples of anything, an activation that
#: stays with the core; and two layers in a row that hand over in memory tiles.
NET = FloatNet(7, 30, (("MatMul", 41, False, "Relu"), ("Gemm", 24, True, "HardSigmoid")))


def array_layers(net):
    return [layer for layer in net.program.schedule.chosen if layer.module == "array"]


@pytest.fixture(scope="module")
def net():
    # Without the Arm core's layers, which are modelled cheaper than so small ones on the array.
    target = VersalAIEML(floats="bf16", columns_per_layer=2, modules=("array",))
    return match.compile(NET.model(), target=target)


def test_layers_are_rounded(net):
    layers = array_layers(net)
    assert len(layers) == 2
    assert all(layer.workload.rounded for layer in layers)


def test_executed_programs_equal_their_references(net):
    assert network_equals(net, np.random.default_rng(3)) >= 1


@pytest.mark.skipif(shutil.which("g++") is None, reason="no C++ compiler")
def test_the_emitted_network_equals_its_references(net, tmp_path):
    """Bit for bit; as close to the float32 layers as is derived, and to onnxruntime."""
    project = net.write(tmp_path / "net")
    result = project.run(random_inputs(net.inputs, np.random.default_rng(1)), quick=True)
    assert result.matches_reference
    assert len(result.floats) == 2
    assert all(0 < close.bound_used <= 1 for close in result.floats)
    assert not result.deviations
    if result.max_abs_vs_model:
        assert 1e-5 < max(result.max_abs_vs_model.values()) < 0.05


def test_float_layers_stay_with_the_core_unless_asked():
    net = match.compile(NET.model(), target=VersalAIEML(columns_per_layer=2))
    assert not array_layers(net)


def test_the_models_arithmetic_is_not_rounded():
    target = VersalAIEML(floats="bf16", columns_per_layer=2, modules=("array",))
    net = match.compile(NET.model(), target=target, arithmetic="model")
    assert not array_layers(net)


def test_cores_without_bfloat16_are_refused_by_name():
    with pytest.raises(TargetError, match="cores of vck190 have no products of bfloat16"):
        AieArray("vck190", 1, floats="bf16")
    with pytest.raises(TargetError, match="'bf17'"):
        VersalAIEML(floats="bf17")


def test_options_make_an_equal_target():
    options = VersalAIEML(floats="bf16").options()
    assert options["floats"] == "bf16"
    assert VersalAIEML(**options).options() == options
