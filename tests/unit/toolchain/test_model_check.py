from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from match_aie.codegen.port import PortRecord
from match_aie.toolchain import model_check, sessions
from match_aie.toolchain.model_check import _difference


def port(dtype, scale=None, zero_point=0):
    return PortRecord("t", "y", dtype, (3,), scale, zero_point)


@pytest.mark.parametrize(
    ("record", "ours", "model", "lsb", "real"),
    [
        (port("uint8"), np.uint8([0, 9, 255]), np.uint8([2, 9, 255]), 2, None),
        (port("int8"), np.int8([-128, 0, 1]), np.int8([127, 0, 1]), 255, None),
        (port("bool"), np.array([True, False, True]), np.array([True, True, True]), 1, None),
        (port("float32", 0.5), np.float32([0, 1, 2]), np.float32([0, 1, 3.5]), 3, 1.5),
        (port("float32"), np.float32([0, 1, 2]), np.float32([0, 1, 2.25]), None, 0.25),
        # Integers from the project, real numbers from the model: (q - 1) * 0.5.
        (port("int8", 0.5, 1), np.int8([1, 3, 5]), np.float32([0, 1, 1.5]), 1, 0.5),
        (port("int8"), np.int8([1, 3, 5]), np.float32([0, 1, 1.5]), None, None),
        (
            port("float32"),
            np.float32([np.nan, np.inf, 0]),
            np.float32([np.nan, np.inf, 0]),
            None,
            0,
        ),
        (port("float32", 1.0), np.float32([np.nan, 0, 0]), np.float32([0, 0, 0]), None, np.inf),
    ],
)
def test_differences_in_steps_and_in_real_numbers(record, ours, model, lsb, real):
    assert _difference(record, ours, model) == (lsb, real)


class Session:
    """onnxruntime as far as it is asked: an output y for an input x."""

    def __init__(self, value):
        self.value = np.float32([value])

    def get_inputs(self):
        return [SimpleNamespace(name="x", type="tensor(float)")]

    def get_outputs(self):
        return [SimpleNamespace(name="y")]

    def run(self, names, feeds):
        return [feeds["x"] + self.value]


def compared(monkeypatch, values):
    """1.0 compared with a model that adds `values` by level; a string is an error."""
    asked = []

    def session(path, level, exact):
        asked.append(level.name)
        value = values[level.name]
        if isinstance(value, str):
            raise RuntimeError(value)
        return Session(value)

    def optimised(path, feed):
        try:
            return {
                "y": session(path, SimpleNamespace(name="ORT_ENABLE_ALL"), True).run("y", feed)[0]
            }
        except RuntimeError:
            return None

    monkeypatch.setattr(sessions, "_session", session)
    monkeypatch.setattr(model_check, "optimised_run", optimised)
    monkeypatch.setattr(model_check, "whole_sums", lambda path: None)
    ports = [PortRecord("t", name, "float32", (1,), 0.25, 0) for name in "xy"]
    record = SimpleNamespace(model="model.onnx", inputs=ports[:1], outputs=ports[1:])
    arrays = {"x": np.float32([1.0])}, {"y": np.float32([1.0])}
    return model_check.compare_with_model(Path(), record, *arrays), asked


def test_the_model_is_meant_and_the_optimiser_told_apart(monkeypatch):
    pytest.importorskip("onnxruntime")
    values = {"ORT_DISABLE_ALL": 0.5, "ORT_ENABLE_ALL": 3.0}
    found, asked = compared(monkeypatch, values)
    assert asked == ["ORT_DISABLE_ALL", "ORT_ENABLE_ALL"]
    assert (found.max_lsb, found.max_abs) == ({"y": 2}, {"y": 0.5})
    assert (found.optimiser_lsb, found.optimiser_abs) == ({"y": 10}, {"y": 2.5})
    assert found.note == ""


def test_models_that_onnxruntime_takes_at_some_levels_only(monkeypatch):
    pytest.importorskip("onnxruntime")
    values = {"ORT_DISABLE_ALL": "no", "ORT_ENABLE_BASIC": 0.25, "ORT_ENABLE_ALL": "neither"}
    found, _ = compared(monkeypatch, values)
    assert (found.max_lsb, found.optimiser_lsb) == ({"y": 1}, {})
    found, _ = compared(monkeypatch, dict.fromkeys(values, "not at all"))
    assert found.max_lsb == {}
    assert found.note == "onnxruntime cannot run the model: not at all"


def normed(bias):
    """A layer norm of x, its inputs ending with `bias`."""
    onnx = pytest.importorskip("onnx")
    nodes = [onnx.helper.make_node("LayerNormalization", ["x", "scale", *bias], ["y"])]
    ports = [
        [onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, (2, 5))] for name in "xy"
    ]
    scale = onnx.numpy_helper.from_array(np.ones(5, np.float32), "scale")
    graph = onnx.helper.make_graph(nodes, "norm", *ports, [scale])
    opset = [onnx.helper.make_opsetid("", 17)]
    return onnx.helper.make_model(graph, opset_imports=opset, ir_version=10)


@pytest.mark.parametrize("bias", [[], [""]], ids=["none", "absent"])
def test_onnxruntimes_optimiser_may_crash(tmp_path, bias):
    """onnxruntime 1.31 ends by a signal where an optimised norm's bias is named as absent."""
    pytest.importorskip("onnxruntime")
    (tmp_path / "model.onnx").write_bytes(normed(bias).SerializeToString())
    ports = [PortRecord("t", name, "float32", (2, 5), None, 0) for name in "xy"]
    record = SimpleNamespace(model="model.onnx", inputs=ports[:1], outputs=ports[1:])
    x = np.arange(10, dtype=np.float32).reshape(2, 5)
    y = (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-5)
    found = model_check.compare_with_model(tmp_path, record, {"x": x}, {"y": y})
    assert found.note == ""
    assert found.max_abs["y"] < 1e-5
    assert set(found.optimiser_abs) <= {"y"}
    if not bias:
        assert found.optimiser_abs["y"] < 1e-5
