"""The same model, target and options give the same bytes, whatever else was compiled before."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.compiled_again import CASES

ROOT = Path(__file__).resolve().parents[2]


def emitted(seed, cases, *options):
    """What a process of its own emits for each of the cases, and for some of them again."""
    made = subprocess.run(
        [sys.executable, "-m", "tests.compiled_again", *options, "--", *cases],
        env={**os.environ, "PYTHONHASHSEED": seed},
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    return json.loads(made.stdout)


@pytest.fixture(scope="module")
def alone():
    """What is emitted without a cache, all in one process, by case."""
    return dict(emitted("1", CASES))


def test_behind_other_compilations_from_a_cache_and_with_searches_elsewhere(alone, tmp_path):
    """In another order and process, with workers and a cold cache; then again with a warm one."""
    order = list(CASES)[::-1]
    for case, files in emitted("2", [*order, *order[::2]], "--cache", tmp_path, "--workers", "2"):
        names = {*files, *alone[case]}
        assert not {name for name in names if files.get(name) != alone[case].get(name)}, case


def test_cases_are_of_every_target(alone):
    """What is compared is all of a project, and its report."""
    wanted = {"match_aie.json", "report.html", "summary"}
    assert all(wanted <= files.keys() for files in alone.values())
    targets = {target().name for _, target in CASES.values()}
    assert targets >= {"CPU", "Diana", "GAP9", "VersalAIEML", "XDNA"}
