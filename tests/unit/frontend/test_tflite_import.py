"""TFLite files: what they load to, and what damaged ones are told."""

import random

import numpy as np
import pytest
import tflite

from match_aie.errors import ModelError
from match_aie.frontend import load
from tests.networks.tflite_file import Step, Stored
from tests.networks.tflite_file import flatbuffer as built
from tests.shared import TFLITE_FILES, TINY, model_file
from tests.thinned import thinned


@pytest.fixture(scope="module")
def flatbuffer():
    return model_file("dscnn_i8.tflite").read_bytes()


@pytest.mark.parametrize("file", thinned(TFLITE_FILES, 2))
def test_ports_labels_and_attributes(file):
    path = model_file(file)
    model = load(path)
    assert (model.name, model.format) == (path.stem, "tflite")
    assert model.source == path.read_bytes()
    assert load(model.source).outputs == model.outputs
    (entry,), (exit_,) = model.inputs, model.outputs
    assert entry.dtype == exit_.dtype == "int8"
    assert (exit_.scale, exit_.zero_point) == (1 / 256, -128)
    attributes = model.module["main"].attrs
    assert attributes is None or "params" not in attributes
    from match_aie import tvm_api

    names = {tvm_api.variable_name(var) for var, _ in tvm_api.bindings(model.module["main"])}
    assert names == set(model.labels)
    assert all(model.labels.values())


@pytest.mark.parametrize("name", thinned(TINY, 2, 1))
@pytest.mark.filterwarnings("ignore:.*batch of 1")
def test_ports_agree_with_the_onnx_twin(name):
    twin, model = (load(model_file(f"{name}.{kind}")) for kind in ("onnx", "tflite"))
    assert twin.inputs == model.inputs
    assert twin.outputs == model.outputs


def test_another_shape_is_refused(flatbuffer):
    with pytest.raises(ModelError, match="fixes"):
        load(flatbuffer, shapes={"x": [2, 49, 10, 1]})


def open_sizes():
    """float32 x [1, 1, 4], of which the second size is open -> y = relu(x) + 1."""
    ports = [
        Stored(name, (1, size, 4), "float32", signature=(1, -1, 4))
        for name, size in (("x", 1), ("r", 3), ("y", 1))
    ]
    one = Stored("one", (4,), "float32", content=np.ones(4, np.float32))
    steps = [Step("RELU", ("x",), "r"), Step("ADD", ("r", "one"), "y", "AddOptions")]
    return built([*ports, one], steps, "x", "y")


def test_open_sizes_are_given():
    with pytest.raises(ModelError, match="not static") as raised:
        load(open_sizes())
    assert "--shape x=" in str(raised.value)
    model = load(open_sizes(), shapes={"x": (1, 7, 4)})
    assert (model.inputs[0].shape, model.outputs[0].shape) == ((1, 7, 4), (1, 7, 4))
    for other in ((1, 7, 5), (2, 7, 4), (1, 0, 4), (7, 4)):
        with pytest.raises(ModelError, match="but for sizes that it leaves open"):
            load(open_sizes(), shapes={"x": other})


def test_truncated(flatbuffer):
    for part in (0.1, 0.5, 0.9, 0.99, 0.9999):
        with pytest.raises(ModelError, match="damaged"):
            load(flatbuffer[: int(len(flatbuffer) * part)])


def test_random_bytes_that_claim_to_be_a_model():
    rng = random.Random(0)
    for size in (8, 20, 100, 5000):
        body = bytes(rng.randrange(256) for _ in range(size))
        with pytest.raises(ModelError):
            load(body[:4] + b"TFL3" + body[8:])


def test_damaged_metadata_never_raises_anything_else(flatbuffer):
    rng = random.Random(3)
    refused = 0
    for _ in range(40):
        data = bytearray(flatbuffer)
        for _ in range(rng.choice([1, 3, 10])):
            data[rng.randrange(len(data) - 16000, len(data))] = rng.choice([0, 255, 128, 7])
        try:
            load(bytes(data))
        except ModelError:
            refused += 1
    assert refused > 20


def test_a_shape_that_its_operators_do_not_give(flatbuffer):
    data = bytearray(flatbuffer)
    graph = tflite.Model.GetRootAs(data).Subgraphs(0)
    shape = graph.Tensors(graph.Outputs(0)).ShapeAsNumpy()
    assert shape.size == 2
    shape[1] += 251
    with pytest.raises(ModelError, match=r"the file says that its result is \[1, 263\]"):
        load(bytes(data))
