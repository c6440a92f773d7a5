"""The source distribution holds what proves the package: tests, documents, benchmarks."""

import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow
ROOT = Path(__file__).resolve().parents[2]
FOLDERS = (".ci", "benchmarks", "docs", "tests", "targets", "cost_models", "templates", "match_aie")
FILES = (
    "README.md",
    "CONTRIBUTING.md",
    "mkdocs.yml",
    "LICENSE",
    "Makefile",
    "constraints.txt",
    "pyproject.toml",
    "setup.py",
)
#: What runs leave behind.
LEFT = shutil.ignore_patterns(
    *(".git", ".venv", "build", "dist", "__pycache__", "*.egg-info", ".hypothesis", ".*_cache")
)
BUILD = "import setuptools.build_meta as backend; backend.build_sdist('dist')"


def test_everything_is_in_it(tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(ROOT, copy, symlinks=True, ignore=LEFT)
    wanted = {
        path.relative_to(copy).as_posix()
        for folder in FOLDERS
        for path in (copy / folder).rglob("*")
        if path.is_file()
    }
    done = subprocess.run(
        [sys.executable, "-c", BUILD], cwd=copy, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    (archive,) = (copy / "dist").glob("*.tar.gz")
    with tarfile.open(archive) as opened:
        held = {name.partition("/")[2] for name in opened.getnames()}
    assert {*wanted, *FILES} - held == set()
    assert any(name.startswith("tests/data/") for name in wanted)
