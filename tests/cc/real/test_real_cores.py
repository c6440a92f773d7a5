"""Float32 layers divided over cores give the bits of one core: sums are in the same order."""

import ctypes
import os
import subprocess
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from real_cases import KINDS
from real_harness import (
    COMPILERS,
    SANITIZERS,
    build,
    c_text,
    case,
    module_of,
    operands,
    whole_program,
)
from test_real_layers import blocked

from match_aie.targets.cpu import cores, float_module
from match_aie.targets.cpu.machine import machine
from match_aie.workload import recurrent

pytestmark = pytest.mark.skipif(not COMPILERS, reason="no gcc and no clang")

EXAMPLES = settings(max_examples=2, deadline=None, derandomize=True, phases=[Phase.generate])
THREADS = ("-pthread", "-D_POSIX_C_SOURCE=200809L")
HEADER = '#include "ma_cores.h"\n'


#: What compiles fastest; gcc folds the constants of its intrinsics only where it optimises.
FASTEST, UNOPTIMISED = COMPILERS[-1:], "-O0" if COMPILERS[-1:] == ["clang"] else "-Og"


@pytest.fixture(autouse=True)
def free_hand_over(monkeypatch):
    """So that even the smallest layers are divided."""
    monkeypatch.setattr(cores, "fork_join", lambda _: 0.0)
    monkeypatch.setattr(float_module, "meeting", lambda _: 0.0)


def results(cases, folder, facts):
    """Outputs of all of `cases` as bytes."""
    threads = (*THREADS, f"-DMA_CORES={facts.cores}")
    folder.mkdir()
    text = HEADER + c_text(cases, facts)
    built = build(text, folder, FASTEST[0], facts, UNOPTIMISED, "-shared", "-fPIC", *threads)
    library = ctypes.CDLL(built)
    found = []
    for number, one in enumerate(cases):
        arrays = operands(one, facts)
        pointers = (ctypes.c_void_p * len(arrays))(*(array.ctypes.data for array in arrays))
        library[f"run{number}"](pointers)
        found.append(arrays[len(one.workload.operands) - 1].tobytes())
    return found


def share_of_divided(cases, facts):
    splits = [module_of(one.workload, facts).split(one.workload) for one in cases]
    return sum(split is not None for split in splits) / len(cases)


#: What makes an LSTM multiply bytes.
STORED = {"state_codes": "uint8", "input_codes": "uint8", "integer_rows": True}

#: Those that are drawn may all fit one panel of hidden units, the widest of which AVX-512 has.
SURE = {
    "recurrent": [
        case(recurrent(kind, steps=3, batch=2, inputs=7, hidden=201, initial=True), 1)
        for kind in ("gru", "lstm")
    ],
    "bytes": [
        case(recurrent("lstm", steps=steps, batch=1, inputs=9, hidden=hidden, **STORED), 1)
        for steps, hidden in ((3, 201), (50, 150))
    ],
}
#: The others are slow tests: what compiles takes seconds.
QUICK = ("dense",)
ALL = [kind if kind in QUICK else pytest.param(kind, marks=pytest.mark.slow) for kind in KINDS]


@pytest.mark.parametrize("kind", ALL)
def test_the_bits_of_one_core(kind):
    shares = []

    @EXAMPLES
    @given(st.lists(blocked(KINDS[kind]), min_size=9, max_size=9), st.integers(2, 4))
    def holds(cases, count):
        cases = [*cases, *SURE.get(kind, ())]
        one, many = (replace(machine(), cores=c) for c in (1, count))
        shares.append(share_of_divided(cases, many))
        with tempfile.TemporaryDirectory() as folder:
            expected = results(cases, Path(folder, "one"), one)
            assert results(cases, Path(folder, "many"), many) == expected

    holds()
    assert max(shares) > 0.1


def sanitized(cases, flags, environment):
    facts = replace(machine(), cores=3)
    with tempfile.TemporaryDirectory() as folder:
        text, blob = whole_program(cases, facts)
        threads = (*THREADS, "-DMA_CORES=3")
        program = build(HEADER + text, Path(folder), COMPILERS[0], facts, *flags, *threads)
        given = {**os.environ, **environment}
        done = subprocess.run([program], input=blob, capture_output=True, env=given, check=False)
        assert done.returncode == 0, done.stderr.decode()[:3000]


EVERY_KIND = st.tuples(*(st.lists(blocked(k), min_size=5, max_size=5) for k in KINDS.values()))


@pytest.mark.slow
def test_no_undefined_behaviour():
    @EXAMPLES
    @given(EVERY_KIND)
    def holds(kinds):
        cases = [one for each in kinds for one in each]
        sanitized(cases, SANITIZERS, {"ASAN_OPTIONS": "detect_leaks=0"})

    holds()


@pytest.mark.slow
def test_no_data_race():
    @EXAMPLES
    @given(EVERY_KIND)
    def holds(kinds):
        cases = [one for each in kinds for one in each]
        sanitized(cases, ("-g", "-O1", "-fsanitize=thread"), {})

    holds()
