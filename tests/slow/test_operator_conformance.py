"""ONNX's own node tests through the whole compiler: nothing wrong, nothing crashes."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.thinned import thinned

pytestmark = pytest.mark.slow
SCRIPT = Path(__file__).resolve().parents[2] / "benchmarks" / "operators.py"
PARTS = 16


@pytest.mark.parametrize("part", thinned(range(PARTS), PARTS, mark="long"))
def test_node_tests_pass_or_are_refused_by_name(tmp_path, part):
    report = tmp_path / "operators.json"
    # In one process, beside those of the other tests; three of four are built unoptimised.
    options = ["--quick", "--jobs", "1", "--part", f"{part}/{PARTS}"]
    done = subprocess.run(
        [sys.executable, str(SCRIPT), *options, "--json", str(report)],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]
    rows = {(r["case"], r["metric"]): r["value"] for r in json.loads(report.read_text())}
    assert rows.get(("all", "wrong"), 0) == rows.get(("all", "crash"), 0) == 0
    passed, refused = rows["float32", "pass"], rows["float32", "unsupported"]
    assert passed + refused > 900 / PARTS
    assert passed / (passed + refused) >= 0.8
