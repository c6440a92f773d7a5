"""RV64GCV under QEMU: float32 layers at three vector lengths, and instructions per MAC.

Needs what Debian calls qemu-user, gcc-riscv64-linux-gnu and a clang with the vector extension
(clang-22 or clang-19). Counts are of executed instructions, not of cycles.
"""

import shutil
import subprocess

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from real_cases import BLOCKED, KINDS
from real_harness import INCLUDE, Case, case, compare_all, module_of, whole_program

from match_aie.mapping import search
from match_aie.targets.cpu.float_patterns import refuses
from match_aie.targets.cpu.machine import machine
from match_aie.workload import real_dense

CLANG = next((name for name in ("clang-22", "clang-19") if shutil.which(name)), None)
QEMU, LINKER, HOST = "qemu-riscv64", "riscv64-linux-gnu-gcc", "gcc"
MISSING = [name for name in (QEMU, LINKER, HOST) if not shutil.which(name)]
MISSING += [] if CLANG else ["clang-22"]
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}"),
]
SYSROOT = "/usr/riscv64-linux-gnu"
LENGTHS = {128: "rv64gcv", 256: "rv64gcv_zvl256b", 512: "rv64gcv_zvl512b"}
TWICE = settings(max_examples=2, deadline=None, derandomize=True, phases=[Phase.generate])


def program(text, folder, facts):
    """clang compiles, Debian's cross gcc links: clang alone finds no start files there."""
    source, compiled, linked = (folder / name for name in ("l.c", "l.o", "l"))
    source.write_text(text)
    head = [CLANG, "--target=riscv64-linux-gnu", f"--sysroot={SYSROOT}", f"-I{INCLUDE}"]
    flags = ["-std=c11", "-O3", "-ffp-contract=off", "-fno-strict-aliasing", "-Wall", "-Werror"]
    words = [*head, f"-isystem{SYSROOT}/include", *flags, *facts.flags, "-c", source]
    subprocess.run([*words, "-o", compiled], check=True)
    subprocess.run([LINKER, "-static", compiled, "-o", linked, "-lm"], check=True)
    return linked


def emulate(linked, length, blob, *plugin):
    """What the program writes, and what the plugin says."""
    processor = f"rv64,v=true,vlen={length},elen=64,vext_spec=v1.0"
    done = subprocess.run(
        [QEMU, "-cpu", processor, *plugin, linked], input=blob, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr.decode()[:2000]
    return done.stdout, done.stderr.decode()


@st.composite
def layers(draw):
    kind = draw(st.sampled_from(sorted(KINDS)))
    workload = draw(KINDS[kind].filter(lambda w: refuses(w) is None))
    dims = draw(st.permutations(BLOCKED.get(kind, ())))
    steps = [(dim, draw(st.integers(1, workload.sizes[dim]))) for dim in dims]
    return case(workload, draw(st.integers(0, 2**32 - 1)), *steps)


@pytest.mark.parametrize("length", LENGTHS)
def test_close_to_reference(length, tmp_path):
    facts = machine(LENGTHS[length])

    @TWICE
    @given(st.lists(layers(), min_size=20, max_size=20))
    def holds(cases):
        text, blob = whole_program(cases, facts)
        compare_all(cases, emulate(program(text, tmp_path, facts), length, blob)[0])

    holds()


def counter(folder):
    from pathlib import Path

    plugin = folder / "count.so"
    source = Path(__file__).with_name("count.c")
    subprocess.run([HOST, "-shared", "-fPIC", "-O2", source, "-o", plugin], check=True)
    return "-plugin", str(plugin), "-d", "plugin"


def test_instructions_per_mac_float32(tmp_path):
    """At most 0.15 for a product of 8x768 by 768x768 at 512 bits."""
    facts = machine(LENGTHS[512])
    workload = real_dense(rows=8, inputs=768, outputs=768, bias=True)
    best = search(workload, module_of(workload, facts))[0]
    made = case(workload, 3)
    one = Case(workload, made.inputs, made.constants, best.mapping)
    text, blob = whole_program([one], facts)
    written, said = emulate(program(text, tmp_path, facts), 512, blob, *counter(tmp_path))
    compare_all([one], written)
    per_mac = int(said.split()[-1]) / workload.macs
    assert 0 < per_mac <= 0.15, per_mac
    assert np.isfinite(per_mac)
