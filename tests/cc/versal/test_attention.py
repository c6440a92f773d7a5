"""Networks of quantised attention: one layer of the array, executed, emitted, simulated."""

import shutil

import numpy as np
import pytest

import match_aie as match
from match_aie.targets.versal import VersalAIEML
from tests.aie_programs import network_equals
from tests.qdq_attention import AttentionNet
from tests.shared import random_inputs

SHAPE = (1, 2, 12, 40, 16, 16)


def compiled(model, **options):
    return match.compile(model, VersalAIEML(columns_per_layer=1, **options))


def kinds(net):
    return [(layer.module, layer.workload.kind) for layer in net.program.schedule.layers]


@pytest.mark.parametrize("scaled", ["Div", "Mul", ""])
def test_it_is_one_layer_of_the_array(scaled) -> None:
    net = compiled(AttentionNet(SHAPE, scaled=scaled).model())
    assert kinds(net) == [("array", "attention")]
    assert network_equals(net, np.random.default_rng(0)) == 1


def test_scores_whose_integers_change_on_the_way_keep_their_layers() -> None:
    net = compiled(AttentionNet(SHAPE, step=0.021).model())
    assert "attention" not in [kind for _, kind in kinds(net)]
    assert {"matmul", "table", "softmax"} <= {kind for _, kind in kinds(net)}


@pytest.mark.skipif(shutil.which("g++") is None, reason="no C++ compiler")
@pytest.mark.parametrize(
    "points", [(3, -5, 7, 4, -3), pytest.param((0,) * 5, marks=pytest.mark.slow)]
)
def test_as_emitted(points, tmp_path) -> None:
    runtime = pytest.importorskip("onnxruntime")
    model = AttentionNet(SHAPE, points).model()
    net = compiled(model)
    inputs = random_inputs(net.inputs, np.random.default_rng(1))
    result = net.write(tmp_path / "net").run(inputs)
    assert result.matches_reference
    assert all(deviation.max_lsb <= 1 for deviation in result.deviations)
    options = runtime.SessionOptions()
    options.graph_optimization_level = runtime.GraphOptimizationLevel.ORT_DISABLE_ALL
    providers = ["CPUExecutionProvider"]
    session = runtime.InferenceSession(model.SerializeToString(), options, providers=providers)
    wanted = session.run(None, inputs)[0].astype(int)
    (output,) = result.outputs.values()
    assert np.abs(output - wanted).max() <= 2
    simulated = net.simulate(record=False)
    assert all(step.simulated for step in simulated.steps)
