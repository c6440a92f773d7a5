"""Projects built for one processor: compilers that do not know it, machines that lack it."""

import json
import shutil
import subprocess

import numpy as np
import pytest
from onnx import helper
from small_network import example

import match_aie
from match_aie.errors import ToolchainError
from match_aie.hardware import BuildProfile, Runtime
from match_aie.targets.cpu import CPU
from match_aie.toolchain import write

pytestmark = pytest.mark.skipif(
    not any(map(shutil.which, ("cc", "gcc", "clang"))), reason="no C compiler"
)
IMAGE = np.zeros((3, 5), np.int8)
GUARD = b'static inline const char *no_such_chip(void) { return "needs a chip of tomorrow"; }\n'


def project(folder, **options):
    return write(example(**options), folder)


def compiler(folder, script):
    path = folder / "cc"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return str(path)


def test_flags_that_the_compiler_rejects(tmp_path):
    """A typed error that names them, before a build folder is made."""
    made = project(tmp_path / "net", profile=BuildProfile(flags=("-O3", "-march=z80")))
    with pytest.raises(ToolchainError, match=r"does not take -march=z80") as caught:
        made.run(IMAGE)
    assert "another arch" in caught.value.hint
    assert not (made.folder / "build").exists()


def test_the_targets_own_compiler_is_tried(tmp_path, monkeypatch):
    """Where the default compiler lacks the flags and nobody asked for one."""
    monkeypatch.delenv("CC", raising=False)
    real = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    own = compiler(tmp_path, f'exec {real} $(echo "$@" | sed "s/-march=z80//")')
    profile = BuildProfile(flags=("-O1", "-march=z80"), compilers=("no-such-compiler", own))
    made = project(tmp_path / "net", profile=profile)
    assert made.run(IMAGE).matches_reference is True
    with pytest.raises(ToolchainError, match="does not take"):
        made.run(IMAGE, compiler=real)


def test_a_machine_that_lacks_what_the_code_needs(tmp_path):
    """A sentence from Python and from the program, not a signal."""
    runtime = Runtime({"include/chip.h": GUARD}, ("chip.h",), guard="no_such_chip")
    made = project(tmp_path / "net", runtime=runtime)
    with pytest.raises(ToolchainError, match="needs a chip of tomorrow"):
        made.run(IMAGE)
    built = made.build(sanitize=True)
    done = subprocess.run([built.path], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (3, "needs a chip of tomorrow\n")


def test_this_machine_runs_what_it_was_compiled_for(tmp_path):
    runtime, profile = CPU().runtime(), CPU().build_profile()
    made = project(tmp_path / "net", runtime=runtime, profile=profile)
    assert made.run(IMAGE).matches_reference is True
    manifest = json.loads((made.folder / "match_aie.json").read_text())
    assert manifest["build"]["flags"] == list(profile.flags)


@pytest.mark.parametrize(("nodes", "vectors"), [(("Sin",), False), (("Sin", "Softmax"), True)])
def test_vectors_are_included_where_a_layer_uses_them(nodes, vectors):
    """Compilers take longer to read intrinsics than to compile a small network."""
    shape = [("x", 1, [4, 64]), ("y", 1, [4, 64])]
    names = ["x", *(f"t{i}" for i in range(1, len(nodes))), "y"]
    made = [helper.make_node(n, [a], [b]) for n, a, b in zip(nodes, names, names[1:], strict=False)]
    x, y = (helper.make_tensor_value_info(*value) for value in shape)
    model = helper.make_model(helper.make_graph(made, "g", [x], [y]), ir_version=8)
    compiled = match_aie.compile(model, CPU("x86-64-v3"), name="net", cache=False)
    text = compiled.sources()["src/net.c"].decode()
    assert bool(compiled.program.schedule.layers) is vectors
    assert '"ma_cpu_guard.h"' in text
    assert ('"ma_cpu.h"' in text) is vectors
