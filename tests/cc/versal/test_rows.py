"""A network whose activations and softmax are on the array: executed, emitted, simulated."""

import shutil

import numpy as np
import pytest
from versal_networks import Attending, Layer

import match_aie as match
from match_aie.targets.versal import VersalAIEML
from tests.aie_programs import network_equals
from tests.shared import random_inputs


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
