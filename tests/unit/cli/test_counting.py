"""`compare-cycles`: tables of cycles that a chip's program printed, whole and broken."""

import hashlib
import json
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import match_aie as match
from match_aie.cli.counting import Counted, compared
from match_aie.cli.guard import run
from match_aie.demo import digits_model
from match_aie.errors import ProjectError
from match_aie.targets.gap9 import GAP9

Capture = pytest.CaptureFixture[str]
#: What each of the nine steps of the digits network took, in a log of ours: not measured.
TAKEN = (1500, 3400, 2800, 2600, 1900, 1800, 1900, 1300, 200)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        net = match.compile(digits_model(), GAP9(beside=False))
    return net.write(tmp_path_factory.mktemp("counted") / "net").folder


def table(project: Path, run_number: int = 1, **changed: str) -> list[str]:
    code = hashlib.sha256((project / "src" / "digits.c").read_bytes()).hexdigest()
    head = {"network": "digits", "code": code, "where": "a test", "unit": "cycles", **changed}
    return [
        "ma_cycles 1",
        *(f"{word} {text}" for word, text in head.items()),
        f"run {run_number}",
        *(f"step {step} {taken + 10 * run_number}" for step, taken in enumerate(TAKEN)),
        "all 20000",
        "ma_end",
    ]


def shown(project: Path, lines: list[str], tmp_path: Path, capsys: Capture, *words: str) -> str:
    log = tmp_path / "log.txt"
    log.write_text("\n".join(lines) + "\n")
    status = run(["compare-cycles", str(project), str(log), *words])
    said = capsys.readouterr()
    assert status == (1 if said.err else 0)
    return said.err or said.out


def test_every_step_stands_beside_its_simulation(
    project: Path, tmp_path: Path, capsys: Capture
) -> None:
    lines = ["booting", *table(project), "", *table(project, 2), "ma_output 0 40 x y"]
    said = json.loads(shown(project, lines, tmp_path, capsys, "--json"))
    assert run(["simulate", str(project), "--json"]) == 0
    simulated = json.loads(capsys.readouterr().out)
    assert [s["simulated"] for s in said["steps"]] == [s["cycles"] for s in simulated["layers"]]
    assert [s["predicted"] for s in said["steps"]] == [s["predicted"] for s in simulated["layers"]]
    assert [s["counted"] for s in said["steps"]] == [taken + 20 for taken in TAKEN]
    assert (said["run"], said["runs"], said["where"], said["whole"]) == (2, [1, 2], "a test", 20000)
    first = said["steps"][0]
    wanted = 100 * (first["simulated"] / first["counted"] - 1)
    assert abs(first["simulated_error_percent"] - wanted) < 0.05
    errors = [abs(step["simulated_error_percent"]) for step in said["steps"]]
    assert said["mean_error_percent"] == pytest.approx(sum(errors) / 9)
    assert said["worst_error_percent"] == max(errors)
    text = shown(project, lines, tmp_path, capsys, "--run", "1")
    assert "run 1, cycles, by a test" in text
    assert f"{sum(TAKEN) + 90:,} counted" in text
    assert "* modelled" in text  # the last step is the core's


def test_two_steps_at_the_same_time_are_one_row(tmp_path: Path) -> None:
    def step(label: str, module: str, cycles: float) -> SimpleNamespace:
        return SimpleNamespace(
            label=label, module=module, cycles=cycles, predicted=5.0, simulated=True
        )

    record: Any = SimpleNamespace(everything={"beside": [{"step": 1, "order": [0, 1]}]})
    simulated: Any = SimpleNamespace(
        steps=(step("a", "ne16", 10.0), step("b", "ne16", 20.0), step("c", "cluster", 3.0))
    )
    found = Counted("net", "", "", "cycles", 1, {0: 11, 1: 25}, 40)
    rows = compared(record, simulated, found, tmp_path)
    assert [(row.step, row.label, row.simulated) for row in rows] == [
        (0, "a", 10.0),
        (1, "b beside c", 23.0),
    ]
    assert [row.predicted for row in rows] == [5.0, None]
    with pytest.raises(ProjectError, match="has a step 2"):
        compared(record, simulated, replace(found, steps={0: 1, 1: 1, 2: 1}), tmp_path)


def test_lines_of_a_serial_terminal_are_read(
    project: Path, tmp_path: Path, capsys: Capture
) -> None:
    lines = [f"[12:00:{at:02}] {line}\r" for at, line in enumerate(table(project))]
    assert "by a test" in shown(project, lines, tmp_path, capsys)


def test_other_units_give_no_errors(project: Path, tmp_path: Path, capsys: Capture) -> None:
    lines = table(project, unit="calls of the stand-in")
    said = json.loads(shown(project, lines, tmp_path, capsys, "--json"))
    assert said["mean_error_percent"] is None
    assert all(step["simulated_error_percent"] is None for step in said["steps"])
    text = shown(project, lines, tmp_path, capsys)
    assert "no errors are shown: calls of the stand-in are no cycles" in text


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda t: ["nothing"], "has no table of cycles"),
        (lambda t: [t[0].replace("1", "2"), *t[1:]], "of form 2"),
        (lambda t: t[:9], "cut off after 3 steps"),
        (lambda t: [*t[:7], *t[8:]], "the log has no step 1, of 9"),
        (lambda t: [*t[:8], "step 40 1", *t[8:]], "the log has a step 40, of 9"),
        (lambda t: [*t[:8], t[7], *t[8:]], "damaged: it holds 'step 1 3410'"),
        (lambda t: [*t[:8], "step 2 -5", *t[9:]], "damaged: it holds 'step 2 -5'"),
        (lambda t: [*t[:8], "panic!", *t[8:]], "damaged: it holds 'panic!'"),
        (lambda t: [*t[:3], *t[4:]], "does not say `where`"),
        (lambda t: [*t[:5], "run soon", *t[6:]], "no numbers"),
        (lambda t: [t[0], "network other", *t[2:]], "of network other, the project of digits"),
        (lambda t: [*t[:2], "code 00ff", *t[3:]], "of other code than the project's src/digits.c"),
    ],
)
def test_broken_logs_are_errors_with_a_sentence(
    project: Path,
    tmp_path: Path,
    capsys: Capture,
    change: Callable[[list[str]], list[str]],
    says: str,
) -> None:
    assert says in shown(project, change(table(project)), tmp_path, capsys)


def test_runs_and_files_that_are_not_there(project: Path, tmp_path: Path, capsys: Capture) -> None:
    text = shown(project, table(project, 3), tmp_path, capsys, "--run", "2")
    assert "the log has no run 2" in text
    assert "it has 3" in text
    assert run(["compare-cycles", str(project), str(tmp_path / "none")]) == 1
    assert "cannot be read" in capsys.readouterr().err
