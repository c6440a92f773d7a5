"""The fuzzer as users call it, on a few models of every case."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("onnxruntime")
ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "benchmarks" / "fuzz.py"
pytestmark = pytest.mark.slow


def fuzz(*arguments: object, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(SCRIPT), *map(str, arguments)],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_few_models_of_every_case(tmp_path):
    counts = {
        "cpu_float": 25, "cpu_quantised": 20, "gap9": 4, "diana": 6, "versal": 6,
        "mutations": 60, "bombs": 3,
    }  # fmt: skip
    for case, count in counts.items():
        done = fuzz(
            *("--case", case, "--count", count, "--seed", 2001, "--no-reduce"),
            *("--json", tmp_path / "rows.json"),
            folder=tmp_path,
        )
        assert done.returncode == 0, done.stdout + done.stderr
    rows = json.loads((tmp_path / "rows.json").read_text())
    assert rows[0]["case"] == "machine"
    values = {(row["case"], row["metric"]): row["value"] for row in rows[1:]}
    for case, count in counts.items():
        assert values[case, "tried"] == count
        assert values[case, "passed"] + values[case, "refused"] == count
        assert [values[case, m] for m in ("wrong", "crashed", "hung")] == [0, 0, 0]
    again = fuzz(
        *("--case", "diana", "--count", 6, "--seed", 2001, "--json", tmp_path / "rows.json"),
        folder=tmp_path,
    )
    assert "already" in again.stderr
