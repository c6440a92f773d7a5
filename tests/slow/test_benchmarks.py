"""`make bench QUICK=1` in a copy without anything beside it: scripts run, results can be read."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests import riscv

pytestmark = pytest.mark.slow
DRIVER = Path(__file__).resolve().parents[2] / "benchmarks" / "run_all.py"
#: Cheap ones of each kind; the others differ in what they measure, not in how they are run.
JOBS = ("gap9_timing", "diana", "versal", "compile_time", "cpu")
#: Those that cut constants out of emitted C.
CROSS = ("diana_walk",) if riscv.missing() is None else ()


def test_a_quick_run(tmp_path):
    command = [sys.executable, DRIVER, "--quick", "--out", tmp_path, "--only", *JOBS, *CROSS]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    for job in (*JOBS, *CROSS):
        assert job in done.stdout
        rows = json.loads((tmp_path / f"{job}.json").read_text())
        assert any(row["case"] == "machine" for row in rows)
        assert len(rows) > 3
