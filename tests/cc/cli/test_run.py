"""`match-aie run` and `match-aie demo`: what needs a C compiler."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from match_aie.cli.guard import run
from match_aie.demo import digits, digits_model
from match_aie.errors import ToolchainError
from match_aie.toolchain import LayerMismatch, Project, RunResult, find_compiler

Capture = pytest.CaptureFixture[str]

try:
    find_compiler()
except ToolchainError as missing:
    pytest.skip(str(missing), allow_module_level=True)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("cli")
    model = folder / "digits.onnx"
    model.write_bytes(digits_model())
    assert run(["compile", str(model), "-o", str(folder / "project"), "--json"]) == 0
    return folder / "project"


def test_random_inputs_run_and_match(project: Path, capsys: Capture) -> None:
    assert run(["run", str(project), "--seed", "3", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["matches_reference"] is True
    assert shown["outputs"] == {"logits": [1, 10]}
    assert shown["inputs"] == "random, seed 3"
    assert shown["max_lsb_vs_model"].get("logits", 0) == 0
    assert run(["run", str(project)]) == 0
    text = capsys.readouterr().out
    assert "random, seed 0" in text
    assert "bit for bit" in text


def test_files_go_in_and_out(project: Path, tmp_path: Path, capsys: Capture) -> None:
    data = digits()
    inputs, outputs = tmp_path / "x.npz", tmp_path / "y.npz"
    np.savez(inputs, image=data.images[:1])
    words = ["run", str(project), "--inputs", str(inputs), "--outputs", str(outputs)]
    assert run(words) == 0
    assert str(outputs) in capsys.readouterr().out
    with np.load(outputs) as arrays:
        assert arrays["logits"].argmax() == data.labels[0]
    np.savez(inputs, image=data.images[:2])
    assert run(words) == 1
    assert "[1, 1, 8, 8]" in capsys.readouterr().err
    np.savez(inputs, picture=data.images[:1], other=data.images[:1])
    assert run(words) == 1
    assert "'image'" in capsys.readouterr().err


def test_a_missing_compiler_is_a_toolchain_error(project: Path, capsys: Capture) -> None:
    assert run(["run", str(project), "--compiler", "no-such-cc"]) == 3
    assert "no-such-cc" in capsys.readouterr().err


def test_a_mismatch_is_shown_and_has_its_code(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    true_run = Project.run
    wrong = LayerMismatch("down", "digits_layer2", 3, 512, (0, 1, 2, 3), 7.0, 8.0)

    def lying(self: Project, *arguments: object, **options: object) -> RunResult:
        result = true_run(self, *arguments, **options)  # type: ignore[arg-type]
        return replace(result, matches_reference=False, mismatches=(wrong,))

    monkeypatch.setattr(Project, "run", lying)
    assert run(["run", str(project)]) == 4
    shown = capsys.readouterr()
    assert "1 of 8 layers DIFFER" in shown.out
    assert "3 of 512 elements differ, first [0, 1, 2, 3]: 7 instead of 8" in shown.out
    assert "a defect in match_aie" in shown.err


@pytest.mark.slow  # the README's lines, in the default tests, compile and run the same network
def test_the_demo_recognises_digits(tmp_path: Path, capsys: Capture) -> None:
    folder = tmp_path / "demo"
    assert run(["demo", "-o", str(folder), "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["images"] == 100
    assert shown["matches_reference"] is True
    # onnxruntime without optimisations adds in float32: one of 1,000 logits is a tie to it.
    assert shown["max_lsb_vs_model"] in (0, 1, None)
    assert shown["accuracy"] >= 0.97
    assert shown["float_accuracy"] >= 0.97
    assert "array" in {row["module"] for row in shown["layers"]}
    assert {row["kind"] for row in shown["layers"]} >= {"conv2d", "dense", "add", "avg_pool2d"}
    assert run(["demo", "-o", str(folder), "-t", "CPU"]) == 0  # its own project may be replaced
    text = capsys.readouterr().out
    assert "100 images" in text
    assert f"match-aie explain {folder} down" in text
    assert run(["explain", str(folder), "down"]) == 0


def test_the_demo_touches_no_foreign_folder(tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    assert run(["demo", "-o", str(tmp_path)]) == 1
    assert "no match_aie project" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]
