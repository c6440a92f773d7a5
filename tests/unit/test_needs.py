"""The end of a run names the optional tools that were absent."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FILE = """
import pytest

from tests.needs import needs, needs_one_of

@needs("no-such-tool", "nor-this")
def test_skipped():
    pytest.fail("it ran")

@needs("sh")
@needs_one_of("no-such-tool", "sh")
def test_runs():
    pytest.importorskip("no_such_module")
"""


@pytest.mark.slow
def test_what_was_absent_stands_in_the_last_lines(tmp_path):
    (tmp_path / "test_sample.py").write_text(FILE)
    words = [sys.executable, "-m", "pytest", "-q", "-c", str(ROOT / "pyproject.toml")]
    words += ["-p", "tests.conftest", "-p", "no:cacheprovider", "-n", "1", str(tmp_path)]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True)
    said = "so skipped: no-such-tool (1 test), no_such_module (Python) (1 test), nor-this (1 test)"
    assert said in done.stdout
    assert "2 skipped" in done.stdout
