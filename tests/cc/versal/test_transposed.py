"""A network with a transposed convolution: emitted, executed and simulated; or on the processor."""

import shutil

import numpy as np
import pytest

import match_aie as match
from match_aie.targets.cpu import CPU
from match_aie.targets.versal import VersalAIEML
from match_aie.targets.xdna import XDNA
from tests.aie_programs import network_equals
from tests.shared import random_inputs
from tests.transposed import upsampling

pytestmark = pytest.mark.skipif(shutil.which("g++") is None, reason="no C++ compiler")


def of_onnxruntime(model, inputs):
    """As its operators say one after the other."""
    runtime = pytest.importorskip("onnxruntime")
    options = runtime.SessionOptions()
    options.graph_optimization_level = runtime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = runtime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    return session.run(None, inputs)[0].astype(int)


@pytest.mark.slow
def test_upsampling_on_the_array(tmp_path):
    model = upsampling()
    net = match.compile(model, VersalAIEML(columns_per_layer=1, modules=("array",)))
    layers = net.program.schedule.layers
    assert [layer.workload.kind for layer in layers] == ["conv2d", "conv2d_transpose", "conv2d"]
    assert {layer.module for layer in layers} == {"array"}
    assert network_equals(net, np.random.default_rng(0)) > 0
    inputs = random_inputs(net.inputs, np.random.default_rng(1))
    result = net.write(tmp_path / "net").run(inputs, quick=True)
    assert result.matches_reference
    assert result.layers_checked == 3
    assert all(deviation.max_lsb <= 1 for deviation in result.deviations)
    (output,) = result.outputs.values()
    difference = np.abs(output - of_onnxruntime(model, inputs))
    assert difference.max() <= 2
    assert np.mean(difference == 0) > 0.9
    simulated = net.simulate(record=False)
    assert all(step.simulated for step in simulated.steps if step.module == "array")


@pytest.mark.slow
@pytest.mark.parametrize("target", [XDNA, VersalAIEML])
def test_as_a_convolution_on_the_array(tmp_path, target):
    """Nine channels are no whole words of the transposed one, which the array refuses."""
    model = upsampling(9)
    (label,) = (node.name for node in model.graph.node if node.op_type == "ConvTranspose")
    net = match.compile(model, target(columns_per_layer=1), pins={label: "array"})
    mine = [layer for layer in net.program.schedule.layers if layer.module == "array"]
    assert "conv2d" in {layer.workload.kind for layer in mine}
    inputs = random_inputs(net.inputs, np.random.default_rng(1))
    result = net.write(tmp_path / "net").run(inputs, quick=True)
    assert result.matches_reference
    (output,) = result.outputs.values()
    assert np.abs(output - of_onnxruntime(model, inputs)).max() <= 2
    simulated = net.simulate(record=False)
    assert all(step.simulated for step in simulated.steps if step.module == "array")


class Kept(CPU):
    """A target that has no layer of them and does not ask for convolutions."""

    transposed = "as_is"


@pytest.mark.parametrize(("target", "layers"), [(CPU, 3), (Kept, 2)])
def test_where_there_is_no_such_layer(tmp_path, target, layers):
    """It is a convolution, or the processor's."""
    model = upsampling()
    net = match.compile(model, target("portable"))
    kinds = [layer.workload.kind for layer in net.program.schedule.layers]
    assert (kinds.count("conv2d"), kinds.count("conv2d_transpose")) == (layers, 0)
    inputs = random_inputs(net.inputs, np.random.default_rng(2))
    result = net.write(tmp_path / "net").run(inputs, quick=True)
    assert result.matches_reference
    (output,) = result.outputs.values()
    assert np.abs(output - of_onnxruntime(model, inputs)).max() <= 1
