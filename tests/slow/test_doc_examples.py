"""The Python and the commands of the documents, run as they stand in an empty folder."""

import re
import shlex
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import onnx
import pytest
import tvm

import match_aie as match
from match_aie.cli.guard import run
from match_aie.demo import digits, digits_model
from match_aie.hardware import Pattern
from match_aie.targets.gap9 import GAP9
from tests.streams import Kept, delay_line

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
RELAY = """#[version = "0.0.5"]
def @main(%x: Tensor[(1, 4), float32], %weight: Tensor[(3, 4), float32]) {
  nn.dense(%x, %weight, units=3)
}
"""


def blocks(name: str, language: str) -> list[str]:
    page = (ROOT if name == "README.md" else ROOT / "docs") / name
    text = page.read_text()
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def commands(name: str) -> list[list[str]]:
    """Those of match-aie, as the command line takes them."""
    lines = "\n".join(blocks(name, "sh")).replace("&&", "\n").splitlines()
    found = [shlex.split(line, comments=True) for line in lines]
    return [words[1:] for words in found if words[:1] == ["match-aie"]]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """The current one; `resnet8.onnx` is there."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "resnet8.onnx").write_bytes(digits_model())
    return tmp_path


def executed(name: str, **space: object) -> dict[str, object]:
    for number, block in enumerate(blocks(name, "python")):
        exec(compile(block, f"{name}, block {number}", "exec"), space)
    return space


def test_first_network(folder, capsys):
    space = executed("first.md")
    assert capsys.readouterr().out.splitlines()[-1] == "True (8, 64)"
    assert space["result"].outputs["y"].min() >= 0
    for words in commands("first.md"):
        assert run(words) == 0, words
    assert (folder / "build" / "first_gap9" / "report.html").is_file()


def test_readme_s_commands(folder):
    """`check-target` has tests of its own, and takes minutes."""
    (folder / "build" / "digits").mkdir(parents=True)
    (folder / "build" / "digits" / "model.onnx").write_bytes(digits_model())
    for words in commands("README.md"):
        if words[0] != "check-target":
            assert run(words) == 0, words
    assert (folder / "t.json").is_file()


def test_inside_tvm(folder):
    first, second, third = blocks("byoc.md", "python")
    model = onnx.load_from_string(digits_model())
    space = {"tvm": tvm, "model": model, "Pattern": Pattern, "check": lambda workload: None}
    exec(compile(first, "byoc.md, block 0", "exec"), space)
    assert (folder / "network.so").is_file()
    image = digits().images[:1]
    logits = space["machine"]["main"](tvm.runtime.tensor(image)).numpy()
    assert logits.argmax() == digits().labels[0]
    space["module"] = space["from_onnx"](model)
    exec(compile(second, "byoc.md, block 1", "exec"), space)
    assert space["found"]
    exec(compile(third, "byoc.md, block 2", "exec"), space)


def test_streams(folder):
    (folder / "wake_word.tflite").write_bytes(delay_line((Kept("input", 3),)))
    frames = np.zeros((3, 1, 1, 3), np.int8)
    space = executed("cli.md", match=match, frames=frames)
    assert space["scores"]["y"].shape == (1, 3, 3)


def test_another_processor():
    assert executed("cpu.md")["net"].target.built_for() == "aarch64"


def test_simulated_run(folder, capsys):
    executed("gap9.md", match=match, GAP9=GAP9, Path=Path)
    assert capsys.readouterr().out
    assert (folder / "trace.json").is_file()


def test_relay_modules(folder):
    weight = np.ones((3, 4), np.float32)
    (folder / "net.relay").write_text(RELAY)
    np.savez(folder / "net.npz", weight=weight)
    space = {"weight": weight, "params": {"weight": weight}}
    mod = SimpleNamespace(astext=lambda: RELAY)
    assert executed("relay.md", mod=mod, **space)["net"].outputs


def test_array():
    inputs = digits().images[:1]
    assert executed("versal.md", inputs=inputs)["result"].matches_reference


def test_ryzen(capsys):
    executed("xdna.md")
    assert "npu1" in capsys.readouterr().out
