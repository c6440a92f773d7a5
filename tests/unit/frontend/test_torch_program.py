"""Programs of PyTorch, by objects that stand in for it: it is not installed here."""

import sys
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

import match_aie
from match_aie.errors import ModelError
from tests.networks import sized


class ExportedProgram:
    """What `torch.export.export` gives."""


class Module:
    pass


class ONNXProgram:
    model_proto = sized.softmax()


class Layer(Module):
    pass


ExportedProgram.__module__ = "torch.export.exported_program"
Module.__module__ = "torch.nn.modules.module"
ONNXProgram.__module__ = "torch.onnx._internal.exporter._onnx_program"


def stand_in(monkeypatch, export):
    package, onnx = ModuleType("torch"), ModuleType("torch.onnx")
    onnx.export = export
    monkeypatch.setitem(sys.modules, "torch", package)
    monkeypatch.setitem(sys.modules, "torch.onnx", onnx)


def test_a_program_goes_through_torchs_own_exporter(monkeypatch, tmp_path):
    asked = []

    def export(program, **how):
        asked.append((program, how))
        return SimpleNamespace(model_proto=sized.mlp())

    stand_in(monkeypatch, export)
    program = ExportedProgram()
    compiled = match_aie.compile(program, "CPU", shapes={"x": ("1..9", 20)}, name="mine")
    assert asked == [(program, {"dynamo": True, "verbose": False})]
    assert [size.name for size in compiled.program.schedule.sizes] == ["batch"]
    x = np.ones((2, 20), np.float32)
    assert compiled.write(tmp_path / "mine").run(x, quick=True).matches_reference


def test_what_the_exporter_made_is_a_model():
    compiled = match_aie.compile(ONNXProgram(), "CPU", shapes={"x": (2, 8)})
    assert [port.shape for port in compiled.inputs] == [(2, 8)]


def test_a_module_is_no_program_yet():
    with pytest.raises(ModelError, match="is a PyTorch module, and not a program yet") as caught:
        match_aie.compile(Layer(), "CPU")
    assert "torch.export.export" in caught.value.hint


def test_without_the_exporters_packages_the_error_names_them(monkeypatch):
    def export(program, **how):
        raise ModuleNotFoundError("No module named 'onnxscript'")

    stand_in(monkeypatch, export)
    with pytest.raises(ModelError, match="onnxscript") as caught:
        match_aie.compile(ExportedProgram(), "CPU")
    assert caught.value.hint == "pip install onnx onnxscript"


def test_what_torch_cannot_export_says_why(monkeypatch):
    def export(program, **how):
        raise RuntimeError("no decomposition for aten.odd")

    stand_in(monkeypatch, export)
    with pytest.raises(ModelError, match=r"RuntimeError: no decomposition for aten\.odd"):
        match_aie.compile(ExportedProgram(), "CPU")


def test_a_saved_program_is_for_torch_to_read(tmp_path):
    path = tmp_path / "net.pt2"
    path.write_bytes(b"PK\x03\x04" + bytes(100))
    with pytest.raises(ModelError, match="as PyTorch saves programs") as caught:
        match_aie.compile(path, "CPU")
    assert "torch.export.load" in caught.value.hint
