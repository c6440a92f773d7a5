"""Inputs' products of steps to come, made beside the state's: the same bits, for any shape."""

import ctypes
import subprocess
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import Phase, assume, given, settings
from hypothesis import strategies as st
from real_cases import CODES
from real_harness import (
    COMPILERS,
    build,
    c_text,
    case,
    check,
    compare_all,
    module_of,
    operands,
    sanitize,
    whole_program,
)

from match_aie.targets.cpu.float_ahead import ahead
from match_aie.targets.cpu.float_recurrent import gates_of
from match_aie.targets.cpu.machine import machine
from match_aie.workload import recurrent
from tests.needs import needs

WIDE = machine("x86-64-v4")


def caches(facts, nbytes):
    """`facts` with a first cache of so many bytes."""
    return replace(facts, caches=(replace(facts.caches[0], bytes=nbytes), *facts.caches[1:]))


NEAR, FAR = caches(machine(), 1 << 30), caches(machine(), 64)
LANES = machine().lanes
pytestmark = pytest.mark.skipif(
    not COMPILERS or machine().vector_registers < WIDE.vector_registers,
    reason="no gcc and no clang, or no processor with 32 vector registers",
)
FEW = settings(max_examples=2, deadline=None, derandomize=True, phases=[Phase.generate])


@st.composite
def layers(draw):
    """Layers that are made so with a first cache that holds no weights."""
    kind, flags = draw(st.sampled_from(["gru", "lstm"])), st.booleans()
    workload = recurrent(
        kind,
        steps=draw(st.integers(4, 37)),
        batch=1,
        inputs=draw(st.sampled_from([1, 2, 7, 16, 31, 64, 83])),
        hidden=draw(st.integers(LANES, 5 * LANES)),
        initial=draw(flags),
        cell=kind == "lstm" and draw(flags),
        last_cell=kind == "lstm" and draw(flags),
        cell_clip=draw(st.sampled_from([0.0, 0.4])) if kind == "lstm" else 0.0,
        state_codes=draw(st.sampled_from(CODES)) if kind == "lstm" else "",
        input_codes=draw(st.sampled_from(CODES)) if kind == "lstm" else "",
    )
    assume(ahead(workload, FAR, gates_of(workload)))
    return case(workload, draw(st.integers(0, 2**32 - 1)))


def results(cases, facts, folder):
    """What the layers write."""
    library = build(c_text(cases, facts), folder, COMPILERS[0], facts, "-O2", "-shared", "-fPIC")
    functions = ctypes.CDLL(library)
    found = []
    for number, one in enumerate(cases):
        arrays = operands(one, facts)
        functions[f"run{number}"](*_addresses(arrays))
        found.append(arrays[len(one.workload.operands) - 1])
    return found


def _addresses(arrays):
    return [(ctypes.c_void_p * len(arrays))(*(array.ctypes.data for array in arrays))]


#: kind, steps, inputs, hidden units: blocks that end evenly or not, panels with rests or none, a
#: last slice that is shorter, more inputs than units, fewer.
SHAPES = [
    ("gru", 20, 2 * LANES, 2 * LANES, {}),
    ("gru", 23, 83, 3 * LANES + 5, {"initial": True}),
    ("gru", 9, 1, LANES + 1, {}),
    ("lstm", 29, 31, 2 * LANES, {"cell": True, "last_cell": True, "cell_clip": 0.4}),
    ("lstm", 16, 7, 3 * LANES - 1, {"state_codes": CODES[1], "input_codes": CODES[2]}),
]


def test_near_the_reference_and_the_same_bits(tmp_path):
    cases = [
        case(recurrent(kind, steps=t, batch=1, inputs=c, hidden=k, **more), seed)
        for seed, (kind, t, c, k, more) in enumerate(SHAPES)
    ]
    kernels = [module_of(one.workload, FAR).kernel(one.workload, one.mapping) for one in cases]
    assert {k.ahead.columns < k.product.columns for k in kernels} == {False, True}
    assert {len(k.units) for k in kernels} == {1, 2}
    for name in ("checked", "beside", "before"):
        (tmp_path / name).mkdir()
    check(cases, tmp_path / "checked", COMPILERS[0], FAR)
    beside, before = (
        results(cases, facts, tmp_path / name)
        for facts, name in ((FAR, "beside"), (NEAR, "before"))
    )
    for got, wanted in zip(beside, before, strict=True):
        np.testing.assert_array_equal(got, wanted)


@pytest.mark.slow
@pytest.mark.parametrize("compiler", COMPILERS)
def test_no_undefined_behaviour(compiler):
    @FEW
    @given(st.lists(layers(), min_size=6, max_size=6))
    def holds(cases):
        with tempfile.TemporaryDirectory() as folder:
            sanitize(cases, Path(folder), compiler, FAR)

    holds()


@needs("aarch64-linux-gnu-gcc", "qemu-aarch64")
@pytest.mark.slow
def test_vectors_of_another_processor(tmp_path):
    """Of AArch64, under an emulator."""
    facts = caches(machine("aarch64"), 64)
    slow = replace(facts.caches[1], bytes_per_cycle=4.0)
    facts = replace(facts, caches=(facts.caches[0], slow, *facts.caches[2:]))
    shapes = [("gru", 20, 8, 12), ("gru", 23, 19, 22), ("lstm", 29, 5, 11), ("lstm", 40, 16, 16)]
    cases = [
        case(recurrent(kind, steps=t, batch=1, inputs=c, hidden=k), seed)
        for seed, (kind, t, c, k) in enumerate(shapes)
    ]
    assert all(module_of(c.workload, facts).kernel(c.workload, c.mapping).ahead for c in cases)
    text, blob = whole_program(cases, facts)
    program = build(text, tmp_path, "aarch64-linux-gnu-gcc", facts, "-O2", "-static")
    words = ["qemu-aarch64", "-cpu", "max", str(program)]
    done = subprocess.run(words, input=blob, capture_output=True, check=True)
    compare_all(cases, done.stdout)
