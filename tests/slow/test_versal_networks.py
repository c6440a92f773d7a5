"""Whole networks on the AI Engine array, emitted, built and run: equal to their references."""

import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

import match_aie as match
from match_aie.targets.aie_ml.graph.documented import undocumented
from match_aie.targets.versal import VersalAIEML
from tests.aie_programs import network_equals
from tests.shared import model_file, random_inputs

sys.path.append(str(Path(__file__).resolve().parents[1] / "cc" / "versal"))
from versal_networks import DenseNet, Layer

pytestmark = pytest.mark.slow


def compiled(model, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # an assumed batch of 1
        return match.compile(model, target=VersalAIEML(**options))


def on_array(net):
    return sum(layer.module == "array" for layer in net.program.schedule.layers)


def checked(net, folder, layers):
    """The network, run once, its programs executed, simulated; layers equal their references."""
    project = net.write(folder / "net")
    inputs = random_inputs(net.inputs, np.random.default_rng(1))
    result = project.run(inputs)
    assert on_array(net) == layers
    assert result.matches_reference
    assert all(d.max_lsb <= 1 for d in result.deviations)
    assert network_equals(net, np.random.default_rng(2)) >= 1
    steps = [step for step in net.simulate(record=False).steps if step.module == "array"]
    assert len(steps) == layers
    assert all(step.simulated and step.cycles > 0 for step in steps)
    return project, inputs, result


@pytest.mark.parametrize(
    ("name", "layers"), [("dense_1l_i8", 1), ("mlp_3l_i8", 3), ("mlp_i16xi8", 2)]
)
def test_powers_of_two_equal_onnxruntime(tmp_path, name, layers):
    pytest.importorskip("onnxruntime")
    net = compiled(model_file(f"{name}.onnx"))
    _, _, result = checked(net, tmp_path, layers)
    assert set(result.max_abs_vs_model.values()) == {0.0}


def test_seven_layers_of_512(tmp_path):
    """Side by side on the array; also with sanitizers, and by the emitted Makefile."""
    made = DenseNet(1, 512)
    for _ in range(7):
        made.dense(Layer(512, step=made.step * 4, weight_scale=2.0**-7, relu=True))
    net = compiled(made.model())
    project, inputs, result = checked(net, tmp_path, 7)
    (name,) = result.outputs
    assert np.unique(result.outputs[name]).size > 20
    assert set(result.max_abs_vs_model.values()) <= {0.0}  # none where onnxruntime is missing
    done = subprocess.run(
        ["make", "-s"], cwd=project.folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[:2000]
    sanitized = project.run_sanitized(inputs)
    np.testing.assert_array_equal(sanitized[name], result.outputs[name])


def test_layers_that_no_tiles_hold(tmp_path):
    """Weights of two layers are streamed, the last one's stay; zero points, one scale a channel."""
    made = DenseNet(37, 700, "uint8", 3, seed=4)
    made.dense(Layer(3001, "int8", 7, 0.9, 0.0123, per_channel=True, relu=True))
    made.dense(Layer(1024, "int8", -2, 2.0, 0.004))
    made.dense(Layer(10, "int8", 0, 40.0, 0.004))
    net = compiled(made.model(), modules=("array",))
    _, _, result = checked(net, tmp_path, 3)
    headers = list((tmp_path / "net" / "aie").glob("*_graph.h"))
    ways = [path.name for path in headers if "w_way0" in path.read_text()]
    assert len(ways) == 2, headers
    (output,) = result.outputs.values()
    assert np.unique(output).size > 20


def test_resnet8(tmp_path):
    """Each layer is within 1 LSB of the model; what that adds up to is docs/versal.md's."""
    net = compiled(model_file("resnet8_u8.onnx"))
    checked(net, tmp_path, on_array(net))
    assert on_array(net) >= 12


def test_mobilenet(tmp_path):
    """More layers than the array has channels to memory: in a chain they need one each way."""
    net = compiled(model_file("mobilenetv1_025_u8.onnx"))
    checked(net, tmp_path, on_array(net))
    assert on_array(net) >= 28
    graphs = [unit.path for unit in net.program.units if unit.path.endswith("_graph.h")]
    assert len(graphs) == 1


@pytest.mark.parametrize(
    ("name", "layers"), [("resnet8_u8.onnx", 12), ("mobilenetv1_025_u8.onnx", 12)]
)
def test_networks_of_documented_constructs_alone(tmp_path, name, layers):
    """A graph a layer, as many as channels to memory last; no buffer hands on to another."""
    net = compiled(model_file(name), documented_only=True)
    checked(net, tmp_path, on_array(net))
    assert on_array(net) >= layers
    graphs = [u.values["g"] for u in net.program.units if u.path.endswith("_graph.h")]
    assert len(graphs) == on_array(net)
    assert [undocumented(graph) for graph in graphs] == [()] * len(graphs)


def test_exact_arithmetic_keeps_shifts_on_the_array(tmp_path):
    """With the model's arithmetic, powers of two stay; multipliers, which have a bound, do not."""
    pytest.importorskip("onnxruntime")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # an assumed batch of 1
        shifts, multipliers = (
            match.compile(model_file(name), target=VersalAIEML(), arithmetic="model")
            for name in ("mlp_3l_i8.onnx", "resnet8_u8.onnx")
        )
    *_, result = checked(shifts, tmp_path, 3)
    assert set(result.max_abs_vs_model.values()) == {0.0}
    assert on_array(multipliers) == 0
