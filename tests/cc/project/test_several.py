"""Several processes that compile, write, build and run into one folder."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from small_network import example

from match_aie.demo import digits_model
from match_aie.errors import ProjectError
from match_aie.toolchain import folder as project_folder
from match_aie.toolchain import load, ours, write
from match_aie.toolchain.locks import exclusive

pytestmark = pytest.mark.skipif(
    not any(map(shutil.which, ("cc", "gcc", "clang"))), reason="no C compiler"
)
IMAGE = np.ones((3, 5), np.int8)

#: Writes, builds and runs again and again; prints what happened each time.
WORKER = """
import sys
sys.path.insert(0, sys.argv[1])
import numpy as np
from small_network import example, expected
from match_aie.errors import ProjectError
from match_aie.toolchain import write
image = np.ones((3, 5), np.int8)
for turn in range(2):
    for name in sys.argv[3].split(","):
        try:
            project = write(example(name), sys.argv[2], overwrite=True)
            project.build(quick=True)
            result = project.run(image)
        except ProjectError as error:
            print(error.what)
        else:
            right = np.array_equal(result.outputs["y"], expected(image))
            print("right" if right and result.matches_reference else "WRONG")
"""


def at_once(folder, names):
    """What three processes print that work in one folder, and their exit codes."""
    helpers = str(Path(__file__).parents[2] / "unit" / "codegen")
    workers = [
        subprocess.Popen(
            [sys.executable, "-c", WORKER, helpers, str(folder), name],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )
        for name in names
    ]  # fmt: skip
    said = [worker.communicate() for worker in workers]
    assert [worker.returncode for worker in workers] == [0, 0, 0], said
    return [line for out, _ in said for line in out.splitlines()]


def test_the_same_network_from_three_processes(tmp_path):
    assert set(at_once(tmp_path / "net", ["net"] * 3)) == {"right"}
    assert os.listdir(tmp_path) == ["net"]
    assert load(tmp_path / "net").run(IMAGE).matches_reference


@pytest.mark.slow
def test_other_networks_from_three_processes(tmp_path):
    """Each either runs its own network, or is told that it is gone; nobody runs half of another."""
    another = "another project was written to this folder since this one was loaded"
    lines = at_once(tmp_path / "net", ["net,other", "other,third", "third,net"])
    assert len(lines) == 12
    assert set(lines) <= {"right", another}
    assert os.listdir(tmp_path) == ["net"]
    assert load(tmp_path / "net").run(IMAGE).matches_reference


def test_what_is_removed_is_removed_by_one(tmp_path, monkeypatch):
    """The same project again is thrown away under its lock: who looks for leftovers stays away."""
    write(example(), tmp_path / "net")
    free = []

    def clear(folder, *names):
        with exclusive(folder, wait=False) as held:
            free.append(held)
        ours.clear(folder, *names)

    monkeypatch.setattr(project_folder, "clear", clear)
    write(example(), tmp_path / "net", overwrite=True)
    assert free == [False]
    assert os.listdir(tmp_path) == ["net"]


def test_a_project_that_was_replaced_says_so(tmp_path):
    project = write(example(), tmp_path / "net")
    write(example("other"), tmp_path / "net", overwrite=True)
    for edited in (project, load(tmp_path / "net", edited=True)):
        stale = type(project)(project.folder, project.record, edited.edited)
        with pytest.raises(ProjectError, match="another project was written"):
            stale.run(IMAGE)
    assert load(tmp_path / "net").run(IMAGE).matches_reference


@pytest.mark.slow
def test_three_command_lines(tmp_path):
    """As users do it: compile with --overwrite, then run, all into one folder at once."""
    model = tmp_path / "digits.onnx"
    model.write_bytes(digits_model())
    folder = tmp_path / "net"
    program = f"{sys.executable} -m match_aie"
    line = f"{program} compile {model} -o {folder} --overwrite && {program} run {folder}"
    workers = [
        subprocess.Popen(line, shell=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        for _ in range(3)
    ]
    said = [worker.communicate()[0] for worker in workers]
    assert [worker.returncode for worker in workers] == [0, 0, 0], said
    assert sorted(os.listdir(tmp_path)) == ["digits.onnx", "net"]
