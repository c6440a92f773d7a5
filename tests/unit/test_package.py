"""The package as a whole: what importing costs, what it ships, what it says of itself."""

import json
import subprocess
import sys
import tomllib
from importlib.metadata import distribution, entry_points, requires
from pathlib import Path

import pytest

import match_aie
from match_aie.doctor import OPTIONAL, REQUIRED

ROOT = Path(__file__).resolve().parents[2]
HEAVY = ("tvm", "tvm_ffi", "onnx", "ortools", "onnxruntime", "mako", "tflite", "numpy", "typer")


def imported_by(statement: str) -> set[str]:
    """Top-level modules in a fresh interpreter after `statement`."""
    script = f"{statement}\nimport sys, json\nprint(json.dumps(sorted(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    return {name.split(".")[0] for name in json.loads(done.stdout)}


def test_import_loads_nothing_heavy() -> None:
    assert imported_by("import match_aie").isdisjoint(HEAVY)


def test_names_of_the_package_come_when_they_are_asked_for() -> None:
    assert all(getattr(match_aie, name) is not None for name in match_aie.__all__)
    assert set(match_aie.__all__) <= set(dir(match_aie))
    assert "pipeline" not in vars(match_aie) or match_aie.pipeline.compile is match_aie.compile
    with pytest.raises(AttributeError, match="no attribute 'complie'"):
        match_aie.complie  # noqa: B018


def test_the_command_line_starts_without_the_compiler() -> None:
    quietly = """
import contextlib, io
from match_aie.cli.guard import run
with contextlib.redirect_stdout(io.StringIO()):
    run(["--version"])
"""
    loaded = imported_by(quietly)
    assert "typer" in loaded
    assert loaded.isdisjoint(set(HEAVY) - {"typer"})


def test_reading_targets_loads_no_front_end() -> None:
    loaded = imported_by("from match_aie.hardware import load_target\nload_target('CPU')")
    assert loaded.isdisjoint(set(HEAVY) - {"numpy"})


def test_version_is_the_metadata_version() -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert match_aie.__version__ == distribution("match-aie").version == declared


def test_entry_points_are_there() -> None:
    assert "CPU" in entry_points(group="match_aie.targets").names
    (script,) = entry_points(group="console_scripts", name="match-aie")
    assert callable(script.load())


def test_doctor_knows_every_dependency() -> None:
    needed = {
        text.split(";")[0].strip() for text in requires("match-aie") or () if "extra ==" not in text
    }
    names = {text.translate(str.maketrans("<>=!,", "     ")).split()[0] for text in needed}
    assert names == set(REQUIRED)
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    optional = extras["optional-dependencies"]
    assert {text.split(">")[0] for text in (*optional["ort"], *optional["zig"])} == set(OPTIONAL)


def test_every_dependency_is_pinned_for_make() -> None:
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pins = [line for line in lines if line and not line.startswith("#")]
    assert all(line.count("==") == 1 for line in pins)
    pinned = {line.split("==")[0].lower().replace("_", "-") for line in pins}
    assert set(REQUIRED) | {"pytest", "ruff", "mypy", "hypothesis", "setuptools"} <= pinned
    assert pins == sorted(pins, key=str.lower)
