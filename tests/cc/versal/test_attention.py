"""Networks of quantised attention: one layer of the array, executed, emitted, simulated."""

import shutil

import numpy as np
import pytest

import match_aie as match
from match_aie.report import layer_text, network_report
from match_aie.targets.versal import VersalAIEML
from match_aie.targets.xdna import XDNA
from match_aie.workload import reference
from match_aie.workload.attention_running import runs
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


@pytest.mark.parametrize("reads", [{"weights": (2 / 256, -128)}, {"weights": (1 / 256, -100)}])
def test_weights_that_are_read_otherwise_than_stored_keep_their_layers(reads) -> None:
    """`QuantizeLinear` and `DequantizeLinear` may say different things of the same bytes."""
    net = compiled(AttentionNet(SHAPE, scaled="", reads=reads).model())
    assert "attention" not in [kind for _, kind in kinds(net)]


def meant(model, inputs):
    """Outputs of onnxruntime, unoptimised."""
    runtime = pytest.importorskip("onnxruntime")
    options = runtime.SessionOptions()
    options.graph_optimization_level = runtime.GraphOptimizationLevel.ORT_DISABLE_ALL
    providers = ["CPUExecutionProvider"]
    session = runtime.InferenceSession(model.SerializeToString(), options, providers=providers)
    return session.run(None, inputs)[0].astype(int)


def test_scores_saturate_where_they_are_stored() -> None:
    """A softmax does not see from where scores are counted, what clips them does."""
    model = AttentionNet(SHAPE, scaled="", reads={"scores": (0.16, 100)}).model()
    (layer,) = compiled(model).program.schedule.layers
    assert layer.workload.kind == "attention"
    inputs = {
        name: np.random.default_rng(1).integers(-128, 128, shape).astype(np.int8)
        for name, shape in (("q", (1, 2, 12, 16)), ("k", (1, 2, 16, 40)), ("v", (1, 2, 40, 16)))
    }
    shaped = [
        inputs[name].reshape(layer.workload.operand(operand).shape)
        for name, operand in (("q", "x"), ("k", "x1"), ("v", "x2"))
    ]
    got = reference(layer.workload, shaped, layer.constants).astype(int)
    assert np.abs(got.reshape(1, 2, 12, 16) - meant(model, inputs)).max() <= 2


def test_scores_whose_integers_change_on_the_way_keep_their_layers() -> None:
    net = compiled(AttentionNet(SHAPE, step=0.021).model())
    assert "attention" not in [kind for _, kind in kinds(net)]
    assert {"matmul", "table", "softmax"} <= {kind for _, kind in kinds(net)}


@pytest.mark.skipif(shutil.which("g++") is None, reason="no C++ compiler")
@pytest.mark.parametrize(
    ("points", "keys"),
    [
        pytest.param((3, -5, 7, 4, -3), 100, marks=pytest.mark.slow),
        pytest.param((0,) * 5, 40, marks=pytest.mark.slow),
    ],
)
def test_as_emitted(points, keys, tmp_path) -> None:
    model = AttentionNet((1, 4, 64, keys, 16, 16), points, scaled="").model()
    net = compiled(model)
    project = net.write(tmp_path / "net")
    for seed in range(5):
        inputs = random_inputs(net.inputs, np.random.default_rng(seed))
        result = project.run(inputs, quick=True)
        assert result.matches_reference, seed
        # Weights are within one step of the model's each; a row of many adds up.
        assert all(deviation.max_lsb <= 4 for deviation in result.deviations)
        (output,) = result.outputs.values()
        assert np.abs(output - meant(model, inputs)).max() <= 4
    simulated = net.simulate(record=False)
    assert all(step.simulated for step in simulated.steps)


@pytest.mark.skipif(shutil.which("g++") is None, reason="no C++ compiler")
@pytest.mark.parametrize("wide", [1.0, pytest.param(4.0, marks=pytest.mark.slow)])
def test_long_heads_as_emitted(tmp_path, wide) -> None:
    """Keys and values go by: once, or three times where scores are too coarse for that."""
    model = AttentionNet((1, 1, 20, 260, 64, 64), (0,) * 5, scaled="", wide=wide).model()
    net = match.compile(model, target=XDNA(device="npu1"), selection="match")
    assert kinds(net) == [("array", "attention")]
    (layer,) = net.program.schedule.layers
    assert runs(layer.workload) == (wide == 1.0)
    project = net.write(tmp_path / "net")
    told = network_report(match.load(tmp_path / "net").record.everything)
    assert ("a running softmax" in layer_text(told, told.steps[0])) == (wide == 1.0)
    for seed in range(2):
        inputs = random_inputs(net.inputs, np.random.default_rng(seed))
        result = project.run(inputs, quick=True)
        assert result.matches_reference, seed
        (output,) = result.outputs.values()
        if wide == 1.0:
            assert np.abs(output - real(inputs)).max() <= 3  # two steps of values, which are wider
            continue
        # Weights are within one step of the model's each; 260 of them add up, in few rows.
        apart = np.abs(output - meant(model, inputs))
        assert apart.mean() < 0.1
        assert apart.max() < 16


def real(inputs):
    """What real numbers make of quantised inputs, in steps of the output."""
    q, k, v = (inputs[name].astype(np.float64) for name in "qkv")
    scores = q @ k * 0.01 * 0.012
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    y = weights / weights.sum(axis=-1, keepdims=True) @ v * 0.03 / 0.02
    return np.clip(y, -128, 127)
