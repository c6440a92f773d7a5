"""RV64GCV under QEMU: float32 layers at three vector lengths, and instructions per MAC.

Needs what Debian calls qemu-user, gcc-riscv64-linux-gnu and a clang with the vector extension
(clang-22 or clang-19). Counts are of executed instructions, not of cycles.
"""

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from real_cases import BLOCKED, KINDS
from real_harness import INCLUDE, Case, case, compare_all, module_of, whole_program

from match_aie.codegen.layer import render_layer
from match_aie.hardware import Cost
from match_aie.lowering import LayerProgram
from match_aie.mapping import search
from match_aie.targets.cpu.float_patterns import refuses
from match_aie.targets.cpu.machine import machine
from match_aie.targets.cpu.module import Int8Module
from match_aie.workload import Quantized, dense, full_range, real_dense, reference

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
    plugin = folder / "count.so"
    source = Path(__file__).with_name("count.c")
    subprocess.run([HOST, "-shared", "-fPIC", "-O2", source, "-o", plugin], check=True)
    return "-plugin", str(plugin), "-d", "plugin"


def executed(said, workload):
    """Instructions in the layer's functions per multiply-accumulate."""
    return int(said.split()[-1]) / workload.macs


@pytest.mark.skipif(CLANG != "clang-22", reason="not installed: clang-22")
def test_instructions_per_mac_int8(tmp_path):
    """At most 0.13 for the same product of 8-bit integers, equal to the reference.

    Clang 19 makes 0.31 of the same C.
    """
    facts = machine(LENGTHS[512])
    module, y = Int8Module(facts), Quantized("int8", 0.9, 2)
    shape = {"rows": 8, "inputs": 768, "outputs": 768}
    tail = full_range("int8", 2)
    workload = dense(Quantized("int8", 0.5, 3), y, **shape, tail=tail, scales=1)
    rng = np.random.default_rng(1)
    x = rng.integers(-128, 128, (8, 768)).astype(np.int8)
    constants = {
        "weight": rng.integers(-127, 128, (768, 768)).astype(np.int8),
        "bias": rng.integers(-9999, 9999, 768).astype(np.int32),
        "scale": np.array([0.0004], np.float32),
    }
    best = search(workload, module)[0]
    packed = module.pack(workload, constants)
    given = [x, *(np.ascontiguousarray(packed[o.name]) for o in workload.constants)]
    text = int8_program(workload, module, best.mapping, [a.nbytes for a in given])
    blob = b"".join(a.tobytes() for a in given)
    written, said = emulate(program(text, tmp_path, facts), 512, blob, *counter(tmp_path))
    expected = reference(workload, [x], constants)
    np.testing.assert_array_equal(np.frombuffer(written, np.int8).reshape(8, 768), expected)
    assert 0 < executed(said, workload) <= 0.13, executed(said, workload)


def int8_program(workload, module, mapping, sizes):
    """A program that runs one layer on operands from stdin; the output to stdout."""
    template = module.template(workload)
    layer = LayerProgram("t_layer0", module.name, "", template, workload, mapping, Cost(1.0), ())
    scratch = module.scratch_bytes(workload)
    places = [*sizes, workload.output.nbytes, *([scratch] if scratch else [])]
    body = [f"p[{i}] = aligned_alloc(64, {-(-size // 64) * 64});" for i, size in enumerate(places)]
    body += [
        f"if (fread(p[{i}], 1, {size}, stdin) != {size}) exit(9);" for i, size in enumerate(sizes)
    ]
    passed = ", ".join(f"p[{i}]" for i in range(len(places)))
    body += [
        "run0(p);",
        f"fwrite(p[{len(sizes)}], 1, {workload.output.nbytes}, stdout);",
    ]
    names = ("math.h", "stdint.h", "string.h", "stdio.h", "stdlib.h", "ma_cpu.h")
    heads = [f"#include <{name}>" for name in names]
    head = "__attribute__((noinline)) void run0(void **p)"
    heads_and_layer = [
        *heads,
        render_layer(layer, module),
        f"{head};\n{head} {{ t_layer0({passed}); }}",
    ]
    main = ["int main(void)", "{", f"void *p[{len(places)}];", *body, "return 0;", "}", ""]
    return "\n".join([*heads_and_layer, *main])


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
    assert 0 < executed(said, workload) <= 0.15, executed(said, workload)
