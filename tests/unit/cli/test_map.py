"""`match-aie map` shows how the loops of a layer run."""

import json
from pathlib import Path

import onnx
import pytest

from match_aie import pipeline, priced
from match_aie.cli.guard import run
from match_aie.demo import digits_model
from match_aie.hardware import Memory
from match_aie.mapping import Evaluation, SearchOptions, overfull, search
from match_aie.mapping.traffic import traffic
from tests.tiled_target import Chip

Capture = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("model") / "digits.onnx"
    made = digits_model()
    path.write_bytes(made if isinstance(made, bytes) else onnx.load(made).SerializeToString())
    return path


@pytest.fixture
def chip(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipeline, "resolve", lambda _: Chip(kilobytes=4))


@pytest.mark.usefixtures("chip")
def test_a_tiled_layer_as_text(model: Path, capsys: Capture) -> None:
    assert run(["map", str(model), "down", "-t", "chip"]) == 0
    text = capsys.readouterr().out
    assert "down: conv2d B=1" in text
    assert "on cluster as conv2d_bias" in text
    lines = text.splitlines()
    kernel = next(i for i, line in enumerate(lines) if line.strip() == "kernel:")
    loops = [line for line in lines if line.strip().startswith("for ")]
    indents = [len(line) - len(line.lstrip()) for line in loops]
    assert indents == sorted(set(indents))
    assert any(" in L1: " in line for line in lines[:kernel])
    assert "at once: " in text
    assert "bytes moved" in text
    assert "compute" in text
    assert " % " in text.split("worse")[1]


@pytest.mark.usefixtures("chip")
def test_the_same_as_json(model: Path, capsys: Capture) -> None:
    assert run(["map", str(model), "down", "-t", "chip", "--engine", "exact", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["module"] == "cluster"
    assert shown["macs"] == 73_728
    assert shown["cycles"] == pytest.approx(sum(part["cycles"] for part in shown["parts"]))
    assert len(shown["next"]) == 3
    worse = [row["worse_percent"] for row in shown["next"]]
    assert worse == sorted(worse)
    assert worse[0] >= 0
    inner = [row for row in shown["memories"] if row["memory"] == "L1"]
    assert sum(row["nbytes"] for row in inner) <= 4096
    assert all(row["reuse"] >= 1 for row in inner)


@pytest.mark.usefixtures("chip")
def test_how_a_module_that_was_not_chosen_would_do(model: Path, capsys: Capture) -> None:
    assert run(["map", str(model), "down", "--module", "cpu"]) == 0
    assert "on cpu as conv2d_bias (not chosen)" in capsys.readouterr().out
    assert run(["map", str(model), "down", "--module", "npu"]) == 1
    assert "modules with a pattern for it: cluster, cpu" in capsys.readouterr().err


def test_an_unknown_layer_gets_near_names(model: Path, capsys: Capture) -> None:
    assert run(["map", str(model), "dwon"]) == 1
    assert "down" in capsys.readouterr().err


def test_a_layer_that_fits_nowhere_says_why(
    model: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    tiny = Chip()
    cluster = tiny.units[0]
    cluster.memories = (Memory("L1", 64, 64.0), Memory("L2", None, 8.0))
    tiny.units = (cluster,)
    monkeypatch.setattr(pipeline, "resolve", lambda _: tiny)
    assert run(["map", str(model), "down"]) == 2
    error = capsys.readouterr().err
    assert "L1 does not fit" in error
    assert "a larger L1" in error


@pytest.mark.parametrize("kilobytes", [1, 4, 64])
def test_traffic_adds_up(model: Path, kilobytes: int) -> None:
    """Bytes kept are those that the search counts; every element moves at least once."""
    target = Chip(kilobytes)
    decision = pipeline.decide(model, target, pipeline.CompileOptions(), priced.Resources())
    modules = {module.name: module for module in target.modules()}
    seen = 0
    for option in decision.assignment.considered:
        candidate = option.candidate
        if candidate.module.name != "cluster" or candidate.layer is None or option.mapping is None:
            continue
        seen += 1
        work, module = candidate.layer.workload, modules["cluster"]
        assert not overfull(work, module, module.cost_model(work), option.mapping)
        rows = traffic(work, module, option.mapping)
        inner = [row for row in rows if row.memory == "L1"]
        assert {row.operand for row in inner} == {o.name for o in work.operands}
        uses = Evaluation(work, module, module.cost_model(work), option.mapping).uses()
        kept = {use.user: use.nbytes for use in uses if use.memory == "L1"}
        assert {row.operand: row.nbytes for row in inner}.items() <= kept.items()
        for row in inner:
            # Of the input, a strided window may skip elements; all else moves at least once.
            assert row.operand == "x" or row.moved_bytes >= work.operand(row.operand).nbytes
        found = search(work, module, SearchOptions())
        assert isinstance(found, list)
        assert found[0].mapping == option.mapping
    assert seen


@pytest.mark.usefixtures("chip")
@pytest.mark.parametrize("objective", ["energy", "edp"])
def test_an_objective_that_the_target_cannot_price(
    model: Path, capsys: Capture, objective: str
) -> None:
    assert run(["map", str(model), "down", "-t", "chip", "--objective", objective]) == 1
    said = capsys.readouterr().err
    assert f"the objective '{objective}' needs energy, and target '" in said
    assert "states none" in said


@pytest.mark.usefixtures("chip")
def test_an_unknown_objective(model: Path, capsys: Capture) -> None:
    assert run(["map", str(model), "down", "-t", "chip", "--objective", "area"]) == 1
    assert "objective 'area' is unknown" in capsys.readouterr().err
