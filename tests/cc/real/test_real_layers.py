"""Emitted float32 layers are as close to the reference as they must be, for any shape."""

import tempfile
from pathlib import Path

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from real_cases import BLOCKED, KINDS
from real_harness import COMPILERS, MACHINES, case, check, sanitize

from match_aie.targets.cpu.float_patterns import refuses

pytestmark = pytest.mark.skipif(not COMPILERS, reason="no gcc and no clang")

#: One compilation tests many layers, so a failure is not shrunk: it names its workload. The first
#: example is the simplest one.
TWICE = settings(max_examples=2, deadline=None, derandomize=True, phases=[Phase.generate])


@st.composite
def blocked(draw, strategy):
    """A workload with operands, in random blocks where it is a product."""
    workload = draw(strategy.filter(lambda w: refuses(w) is None))
    dims = draw(st.permutations(BLOCKED.get(workload.kind, ())))
    steps = [(dim, draw(st.integers(1, workload.sizes[dim]))) for dim in dims]
    return case(workload, draw(st.integers(0, 2**32 - 1)), *steps)


@pytest.mark.parametrize("kind", KINDS)
def test_close_to_reference(kind):
    """This processor, the first compiler."""
    compared(COMPILERS[0], next(iter(MACHINES)), kind)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", MACHINES)
@pytest.mark.parametrize("compiler", COMPILERS)
def test_close_to_reference_anywhere(compiler, name, kind):
    compared(compiler, name, kind)


def compared(compiler, name, kind):
    @TWICE
    @given(st.lists(blocked(KINDS[kind]), min_size=8, max_size=8))
    def holds(cases):
        with tempfile.TemporaryDirectory() as folder:
            check(cases, Path(folder), compiler, MACHINES[name])

    holds()


@pytest.mark.slow
@pytest.mark.parametrize("name", MACHINES)
def test_no_undefined_behaviour(name):
    """Under the sanitizers of the first compiler, all kinds in one program."""

    @TWICE
    @given(st.tuples(*(st.lists(blocked(k), min_size=5, max_size=5) for k in KINDS.values())))
    def holds(groups):
        with tempfile.TemporaryDirectory() as folder:
            cases = [one for group in groups for one in group]
            sanitize(cases, Path(folder), COMPILERS[0], MACHINES[name])

    holds()
