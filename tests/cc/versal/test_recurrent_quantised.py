"""A trained GRU whose weights are stored as integers, from pixels to logits."""

import shutil
from pathlib import Path

import numpy as np
import pytest

import match_aie as match
from match_aie.targets.cpu import CPU
from match_aie.targets.versal import VersalAIEML
from match_aie.workload import product_type
from tests.aie_programs import network_equals

DATA = Path(__file__).resolve().parents[2] / "data"


@pytest.fixture(scope="module")
def net():
    return match.compile(DATA / "digits_gru_qdq.onnx", VersalAIEML(floats="bf16"), name="digits")


def digits():
    with np.load(DATA / "digits_rows.npz", allow_pickle=False) as data:
        return data["image"][:, :, None] / np.float32(16), data["label"]


def test_the_layer_is_on_the_array_and_equals_its_reference(net):
    chosen = [layer for layer in net.program.schedule.chosen if layer.module == "array"]
    assert [layer.workload.kind for layer in chosen] == ["gru"]
    assert network_equals(net, np.random.default_rng(3)) == 1


def test_a_processor_takes_it_as_a_layer_too():
    made = match.compile(DATA / "digits_gru_qdq.onnx", CPU())
    assert "gru" in [layer.workload.kind for layer in made.program.schedule.chosen]


def test_products_of_8_bits_where_they_are_asked_for():
    made = match.compile(DATA / "digits_gru_qdq.onnx", VersalAIEML(floats="int8"), name="digits")
    (layer,) = (each for each in made.program.schedule.chosen if each.module == "array")
    assert product_type(layer.workload) == "int8"
    assert network_equals(made, np.random.default_rng(3)) == 1


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("g++") is None, reason="no C++ compiler")
@pytest.mark.parametrize("floats", ["bf16", "int8"])
def test_digits_are_recognised_as_by_the_float_network(floats, tmp_path):
    """Emitted and emulated; onnxruntime has 98.3 % of all 360 images, with floats and without."""
    ort = pytest.importorskip("onnxruntime")
    session = ort.InferenceSession(DATA / "digits_gru.onnx", providers=["CPUExecutionProvider"])
    images, labels = digits()
    net = match.compile(DATA / "digits_gru_qdq.onnx", VersalAIEML(floats=floats), name="digits")
    project = net.write(tmp_path / "net")
    right = other = 0
    for image, label in zip(images[:60], labels[:60], strict=True):
        result = project.run(image, quick=True)
        assert result.matches_reference
        assert [0 < close.bound_used <= 1 for close in result.floats] == [True]
        said = result.outputs["logits"].argmax()
        right += said == label
        other += said != session.run(None, {"rows": image})[0].argmax()
    assert right >= 58
    assert other <= 1
