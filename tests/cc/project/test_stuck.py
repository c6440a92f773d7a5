"""Kernels that never end, crash, or end the process: an error that names the layer."""

import json
import os
import shutil
import subprocess
import sys
import time

import numpy as np
import pytest
from small_network import example, expected, layer_texts, program, schedule

from match_aie.cli.guard import run as command_line
from match_aie.codegen.sources import render
from match_aie.errors import OptionError, RunError, ToolchainError
from match_aie.toolchain import process, write
from tests.thinned import thinned

pytestmark = pytest.mark.skipif(
    not any(map(shutil.which, ("cc", "gcc", "clang"))), reason="no C compiler"
)
IMAGE = np.ones((3, 5), np.int8)

#: Statements, and what is said of them. A kernel that waits takes no processor time from others.
ENDLESS = "for (;;) { pause(); }"
CRASHES = {
    "segfault": ("volatile int *volatile p = 0; *p = 1;", "crashed: SIGSEGV"),
    "abort": ("abort();", "crashed: SIGABRT"),
    "exit": ("exit(0);", "ended the process with status 0"),
    "exit 7": ("exit(7);", "ended the process with status 7"),
    "killed": ("raise(9);", "crashed: SIGKILL"),
    "stack": (
        "volatile char deep[1 << 28]; deep[0] = 1; deep[(1 << 28) - 1] = deep[0];",
        "SIGSEGV",
    ),
}


def project(folder, statement, symbol="net_fc2"):
    """The small network whose layer `symbol` begins with `statement`."""
    made = schedule()
    texts = layer_texts(made)
    head, rest = texts[symbol].split("{", 1)
    declared = "#include <signal.h>\n#include <stdlib.h>\nint pause(void);\n"
    texts[symbol] = f"{declared}{head}{{ {statement} {rest}"
    return write(render(program(made), texts, {}), folder)


@pytest.mark.parametrize("check", [True, False])
@pytest.mark.parametrize("name", CRASHES)
def test_a_crash_names_the_layer(tmp_path, name, check):
    statement, said = CRASHES[name]
    with pytest.raises(RunError, match=said) as caught:
        project(tmp_path / "net", statement).run(IMAGE, check=check)
    assert caught.value.step == "fc 2"
    assert caught.value.what.startswith("layer 'fc 2' (net_fc2) ")
    assert caught.value.exit_code == ToolchainError.exit_code == 3


@pytest.mark.parametrize("symbol", thinned(["net_fc1", "net_fc2"], 2))
def test_an_endless_layer_ends_with_its_name(tmp_path, symbol):
    made = project(tmp_path / "net", ENDLESS, symbol)
    start = time.monotonic()
    with pytest.raises(RunError, match=rf"\({symbol}\) did not end within 4 s"):
        made.run(IMAGE, timeout=4)
    assert time.monotonic() - start < 60  # far from the default of ten minutes


def test_an_endless_layer_under_sanitizers(tmp_path):
    with pytest.raises(RunError, match=r"layer 'fc 2' \(net_fc2\) did not end within 4 s"):
        project(tmp_path / "net", ENDLESS).run_sanitized(IMAGE, quick=True, timeout=4)


@pytest.mark.parametrize("name", ["segfault", "abort", "exit"])
def test_a_crash_under_sanitizers_names_the_layer(tmp_path, name):
    with pytest.raises(RunError, match="'fc 2'") as caught:
        project(tmp_path / "net", CRASHES[name][0]).run_sanitized(IMAGE, quick=True)
    assert caught.value.step == "fc 2"


def test_the_command_line(tmp_path, capsys):
    project(tmp_path / "net", ENDLESS)
    assert command_line(["run", str(tmp_path / "net"), "--timeout", "4"]) == 3
    said = capsys.readouterr().err
    assert "layer 'fc 2' (net_fc2) did not end within 4 s" in said
    assert "--timeout" in said
    assert "Traceback" not in said
    assert command_line(["run", str(tmp_path / "net"), "--timeout", "-1"]) == 1


@pytest.mark.parametrize("timeout", [0, -1, float("nan")])
def test_times_that_are_none(tmp_path, timeout):
    with pytest.raises(OptionError, match="timeout"):
        write(example(), tmp_path / "net").run(IMAGE, timeout=timeout)


@pytest.mark.parametrize("timeout", [None, float("inf"), 1e9, 60])
def test_times_that_are_some(tmp_path, timeout):
    result = write(example(), tmp_path / "net").run(IMAGE, timeout=timeout)
    assert np.array_equal(result.outputs["y"], expected(IMAGE))


def test_what_a_kernel_prints_is_neither_ours_nor_without_end(tmp_path, capfd):
    noisy = 'for (int n = 0; n < 300000; ++n) { puts("{}"); fputs("loud ", stderr); } abort();'
    made = project(tmp_path / "net", noisy)
    source = made.folder / "src" / "net.c"
    source.write_text("#include <stdio.h>\n" + source.read_text())
    made = process_edited(made)
    with pytest.raises(RunError, match="SIGABRT") as caught:
        made.run(IMAGE)
    assert len(str(caught.value)) < 1000
    assert capfd.readouterr() == ("", "")


def process_edited(made):
    from match_aie.toolchain import load

    return load(made.folder, edited=True)


@pytest.mark.parametrize("pause", [0, 0.2], ids=["at_once", "after_a_pause"])
def test_long_speech_keeps_its_beginning_and_its_end(pause):
    """Also where the first words are read alone."""
    script = (
        f"import os, time; os.write(2, b'000000 '); time.sleep({pause})\n"
        "for i in range(1, 20000): os.write(2, b'%06d ' % i)"
    )
    ended = process.supervise([sys.executable, "-c", script], 60)
    assert ended.status == 0
    assert ended.said.startswith("000000 000001 ")
    assert ended.said.endswith("019999 ")
    assert len(ended.said) == 2 * 16384


def test_no_core_file_and_no_files_are_left(tmp_path, monkeypatch):
    made = project(tmp_path / "net", CRASHES["abort"][0])
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    with pytest.raises(RunError):
        made.run(IMAGE)
    assert os.listdir(tmp_path / "here") == []


def test_whoever_dies_takes_the_run_along(tmp_path):
    """An endless kernel does not outlive a process that was killed while it waited."""
    made = project(tmp_path / "net", f'FILE *f = fopen("{tmp_path}/pid", "w"); '
                   'fprintf(f, "%d\\n", (int)getpid()); fclose(f); ' + ENDLESS)  # fmt: skip
    source = made.folder / "src" / "net.c"
    source.write_text("#include <stdio.h>\nint getpid(void);\n" + source.read_text())
    script = (
        "import sys, numpy as np; from match_aie.toolchain import load\n"
        "load(sys.argv[1], edited=True).run(np.ones((3, 5), np.int8), timeout=300)\n"
    )
    waiting = subprocess.Popen([sys.executable, "-c", script, str(made.folder)])
    try:
        pid = int(eventually(lambda: (tmp_path / "pid").read_text().strip() or None))
    finally:
        waiting.kill()
        waiting.wait()
    eventually(lambda: True if gone(pid) else None)


def eventually(look):
    """What `look` gives once it is not None; within a minute."""
    for _ in range(600):
        try:
            found = look()
        except OSError:
            found = None
        if found is not None:
            return found
        time.sleep(0.1)
    raise AssertionError("nothing after a minute")


def gone(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0] == "Z"
    except FileNotFoundError:
        return True


def test_a_status_is_no_crash(tmp_path):
    """A manifest of other sizes, and a library that does not load, are said as before."""
    made = write(example(), tmp_path / "net")
    built = made.build()
    document = json.loads((made.folder / "match_aie.json").read_text())
    assert document["inputs"][0]["shape"] == [3, 5]
    once = process.run_once(
        made._build(None, trace=True).path, made.record, {"x": IMAGE}, trace=True
    )
    assert len({item.step for item in once.trace}) == len(made.record.steps)
    with pytest.raises(ToolchainError, match="does not load"):
        process.run_once(built.path.with_name("none.so"), made.record, {"x": IMAGE}, trace=True)
