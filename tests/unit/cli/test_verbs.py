"""What the verbs that start no process print and write."""

import json
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import match_aie
from match_aie import doctor
from match_aie.cli.guard import run
from match_aie.demo import digits_model
from match_aie.limits import Limits
from match_aie.toolchain.survey import FoundCompiler

Capture = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("model") / "digits.onnx"
    path.write_bytes(digits_model())
    return path


@pytest.fixture(scope="module")
def project(model: Path) -> Path:
    folder = model.parent / "project"
    assert run(["compile", str(model), "-o", str(folder), "--json"]) == 0
    return folder


def test_compile_json_has_the_promised_keys(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["compile", str(model), "-t", "cpu", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert {"layers", "fallback", "peak_bytes", "seconds"} <= shown.keys()
    assert {"name", "module", "pattern", "cycles"} <= shown["layers"][0].keys()
    assert all(isinstance(size, int) for size in shown["peak_bytes"].values())
    assert all(taken >= 0 for taken in shown["seconds"].values())
    assert shown.pop("folder") is None
    assert list(tmp_path.iterdir()) == []
    numbers = json.loads(json.dumps(match_aie.compile(model, target="CPU").numbers()))
    assert numbers.keys() == shown.keys()
    assert (numbers["layers"], numbers["cycles"]) == (shown["layers"], shown["cycles"])


def test_a_log_names_stages_and_searches_and_silence_is_kept(
    model: Path, tmp_path: Path, capsys: Capture
) -> None:
    words = ["compile", str(model), "--no-cache"]
    assert run([*words, "-vv", "--quiet"]) == 0
    shown = capsys.readouterr()
    assert shown.out == ""
    assert re.search(r"ms  plan: \d+\.\d+ s\n", shown.err)
    assert re.search(r"ms  searched down on \w+: \d+\.\d+ s\n", shown.err)
    assert run(["-q", *words, "-o", str(tmp_path / "net")]) == 0
    assert capsys.readouterr() == ("", "")
    assert run(["explain", str(tmp_path / "net"), "-q", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["layers"]
    assert run(["-q", "compile", "absent.onnx"]) == 1
    assert capsys.readouterr().err.startswith("error: ")


def test_progress_names_layers_and_counts_them() -> None:
    told: list[str] = []
    match_aie.compile(digits_model(), cache=False, progress=told.append)
    searches = [line for line in told if " of " in line]
    assert any(re.fullmatch(r"down on cpu \(\d+ of \d+.*\)", line) for line in searches)
    assert told.index("map") < told.index(searches[0]) < told.index("select")


def test_compile_writes_only_where_asked(model: Path, tmp_path: Path, capsys: Capture) -> None:
    folder = tmp_path / "a" / "b"
    assert run(["compile", str(model), "-o", str(folder)]) == 0
    assert f"match-aie run {folder}" in capsys.readouterr().out
    assert (folder / "match_aie.json").is_file()
    assert run(["compile", str(model), "-o", str(folder)]) == 1
    assert "there is a project already" in capsys.readouterr().err
    assert run(["compile", str(model), "-o", str(folder), "--overwrite"]) == 0


def test_every_option_arrives(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: dict[str, Any] = {}

    def compile_(model: Path, target: str, **options: object) -> SimpleNamespace:
        seen.update(options, model=model, target=target)
        return SimpleNamespace(summary=lambda: "a summary")

    monkeypatch.setattr(match_aie, "compile", compile_)
    words = ["compile", str(model), "-t", "chip", "--shape", "x=1,2", "--shape", "y=3"]
    words += ["--memory-limit", "64k", "--arithmetic", "model", "--integer-io", "--name", "net"]
    words += ["--selection", "match", "--no-cache", "--params", "p.npz", "--limit", "nodes=500"]
    words += ["--value", "sr=16000", "--value", "gain=0.5,1"]
    words += ["--objective", "edp", "--state", "h=h_next", "--pin", "a=b=ne16"]
    assert run(words) == 0
    assert seen == {
        "model": model,
        "target": "chip",
        "params": Path("p.npz"),
        "name": "net",
        "shapes": {"x": (1, 2), "y": (3,)},
        "values": {"sr": 16000, "gain": [0.5, 1]},
        "arithmetic": "model",
        "memory_limit": 65536,
        "integer_io": True,
        "selection": "match",
        "cache": False,
        "progress": None,
        "limits": Limits(nodes=500),
        "pins": {"a=b": "ne16"},
        "objective": "edp",
        "states": {"h": "h_next"},
    }


def test_a_limit_that_is_too_small_is_infeasible(
    model: Path, tmp_path: Path, capsys: Capture
) -> None:
    folder = tmp_path / "out"
    words = ["compile", str(model), "-o", str(folder), "--memory-limit", "100"]
    assert run(words) == 2
    assert "does not fit" in capsys.readouterr().err
    assert not folder.exists()


@pytest.mark.parametrize("objective", ["energy", "edp"])
def test_a_target_without_energy_is_named(model: Path, capsys: Capture, objective: str) -> None:
    assert run(["compile", str(model), "-t", "CPU", "--objective", objective]) == 1
    said = capsys.readouterr().err
    assert f"the objective '{objective}' needs energy, and target 'CPU' states none" in said


def test_an_unknown_objective_is_refused(model: Path, capsys: Capture) -> None:
    assert run(["compile", str(model), "--objective", "area"]) == 1
    assert "no objective called 'area'" in capsys.readouterr().err


def test_an_unknown_selection_is_refused(model: Path, capsys: Capture) -> None:
    assert run(["compile", str(model), "--selection", "best"]) == 1
    assert "selection" in capsys.readouterr().err


def test_an_unknown_arithmetic_is_refused(model: Path, capsys: Capture) -> None:
    assert run(["compile", str(model), "--arithmetic", "exact"]) == 1
    assert "exact" in capsys.readouterr().err


def test_explain_all_and_one(project: Path, capsys: Capture) -> None:
    assert run(["explain", str(project)]) == 0
    assert "residual" in capsys.readouterr().out
    assert run(["explain", str(project), "down"]) == 0
    assert "73,728 multiply-accumulates" in capsys.readouterr().out
    assert run(["explain", str(project), "--json"]) == 0
    whole = json.loads(capsys.readouterr().out)
    assert len(whole["steps"]) == len(whole["layers"]) + len(whole["fallback"])
    assert run(["explain", str(project), "down", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["name"] == "down"
    assert run(["explain", str(project), "dwn"]) == 1
    assert "down" in capsys.readouterr().err


def test_report_writes_the_page_or_a_figure(project: Path, tmp_path: Path, capsys: Capture) -> None:
    page = project / "report.html"
    before = page.read_bytes()
    page.unlink()
    assert run(["report", str(project)]) == 0
    assert page.read_bytes() == before
    drawing = tmp_path / "layers.svg"
    assert run(["report", str(project), "--figure", "layers", "-o", str(drawing)]) == 0
    assert drawing.read_text().startswith("<svg")
    capsys.readouterr()
    assert run(["report", str(project), "--figure", "leyers"]) == 1
    said = capsys.readouterr().err
    assert "one of graph, layers, " in said  # a roofline where the machine's peak is known
    assert "memory" in said
    assert run(["report", str(project), "--figure", "timeline"]) == 1
    assert "nothing was simulated" in capsys.readouterr().err
    capsys.readouterr()
    assert run(["report", str(project), "-o", str(tmp_path / "a.onnx")]) == 0
    assert "nodes say who runs them" in capsys.readouterr().out
    assert run(["report", str(project), "--figure", "graph", "-o", str(tmp_path / "a.pdf")]) == 1
    assert "a.pdf" in capsys.readouterr().err
    missing = tmp_path / "nowhere" / "page.html"
    assert run(["report", str(project), "-o", str(missing)]) == 1
    assert "cannot be written" in capsys.readouterr().err


def test_report_compares_two_projects(project: Path, capsys: Capture) -> None:
    assert run(["report", str(project), "--compare", str(project)]) == 0
    assert "0 differ" in capsys.readouterr().out
    assert run(["report", str(project), "--compare", str(project), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["differences"] == []


def test_explain_needs_a_project(tmp_path: Path, capsys: Capture) -> None:
    assert run(["explain", str(tmp_path)]) == 1
    assert "no match_aie project" in capsys.readouterr().err


def test_targets(capsys: Capture) -> None:
    assert run(["targets"]) == 0
    assert "CPU" in capsys.readouterr().out
    assert run(["targets", "--json"]) == 0
    names = [target["name"] for target in json.loads(capsys.readouterr().out)["targets"]]
    assert "CPU" in names
    assert run(["targets", "cpu", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["name"] == "CPU"
    assert run(["targets", "nothing"]) == 1


def diagnosis(**changes: Any) -> doctor.Diagnosis:
    found: dict[str, Any] = {
        "match_aie": "0",
        "python": "3.12.1",
        "python_supported": True,
        "platform": "Linux",
        "packages": (
            doctor.FoundPackage("numpy", "2.0", "everything", True),
            doctor.FoundPackage("onnxruntime", "", "comparison", False),
        ),
        "compilers": (FoundCompiler(("cc",), "/usr/bin/cc", "cc 12", True),),
        "cxx": FoundCompiler(("g++",), "/usr/bin/g++", "g++ 12", True),
        "targets": ("CPU",),
    }
    return doctor.Diagnosis(**{**found, **changes})


def test_doctor_says_what_is_skipped(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    monkeypatch.setattr("match_aie.cli.checking.diagnose", diagnosis)
    assert run(["doctor"]) == 0
    shown = capsys.readouterr().out
    assert "cc 12" in shown
    assert "skipped: comparison: not without onnxruntime" in shown
    assert "g++ 12" in shown
    assert "everything that is needed is there" in shown


def test_doctor_says_what_needs_cxx(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    monkeypatch.setattr("match_aie.cli.checking.diagnose", lambda: diagnosis(cxx=None))
    assert run(["doctor"]) == 0
    assert "not without a C++ compiler" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"compilers": ()}, "no C compiler"),
        ({"compilers": (FoundCompiler(("cc",), "/cc", "", True),)}, "no C compiler"),
        ({"python_supported": False}, "not supported"),
        ({"targets": ()}, "no target"),
        ({"packages": (doctor.FoundPackage("onnx", "", "reading", True),)}, "onnx is missing"),
    ],
)
def test_doctor_finds_what_is_wrong(
    changes: dict[str, Any],
    problem: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: Capture,
) -> None:
    monkeypatch.setattr("match_aie.cli.checking.diagnose", lambda: diagnosis(**changes))
    assert run(["doctor"]) == 3
    shown = capsys.readouterr().out
    assert f"problem: {problem}" in shown or problem in shown.split("problem: ")[1]
    assert "everything that is needed" not in shown
    assert run(["doctor", "--json"]) == 3
    assert problem in " ".join(json.loads(capsys.readouterr().out)["problems"])


def test_doctor_knows_this_machine(capsys: Capture) -> None:
    run(["doctor", "--json"])
    shown = json.loads(capsys.readouterr().out)
    versions = {package["name"]: package["version"] for package in shown["packages"]}
    assert versions["numpy"]
    assert {"CPU", "GAP9"} <= set(shown["targets"])


@pytest.mark.slow
def test_a_part_of_the_zoo(capsys: Capture) -> None:
    assert run(["check-target", "CPU", "--case", "dense int8", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["rows"]
    assert all("dense int8" in row["case"] for row in shown["rows"])
    assert run(["check-target", "CPU", "--case", "nonsense"]) == 1
    assert "no layer of the zoo is called like nonsense" in capsys.readouterr().err
