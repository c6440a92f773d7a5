"""Emitted layers equal the reference bit for bit, for any shape and quantisation."""

import tempfile
from pathlib import Path

import pytest
from harness import COMPILERS, Case, check
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from workload_cases import (
    arrays,
    conv2ds,
    converts,
    denses,
    elementwises,
    matmuls,
    pools,
    softmaxes,
)

from match_aie.targets.cpu.patterns import refuses

pytestmark = pytest.mark.skipif(not COMPILERS, reason="no gcc and no clang")

KINDS = {
    "conv2d": conv2ds(),
    "sums": st.one_of(denses(), matmuls()),
    "pool": pools(),
    "pointwise": st.one_of(elementwises(), softmaxes(), converts()),
}
#: One compilation tests many layers, so a failure is not shrunk: it names its workload.
MANY = settings(max_examples=2, deadline=None, derandomize=True, phases=[Phase.generate])


def cases(strategy, size):
    """Lists of `size` cases that the module accepts."""
    seeded = st.tuples(strategy.filter(lambda w: refuses(w) is None), st.integers(0, 2**32 - 1))
    return st.lists(seeded.map(lambda ws: Case(ws[0], *arrays(*ws))), min_size=size, max_size=size)


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("kind", KINDS)
def test_equals_reference(kind, compiler):
    @MANY
    @given(cases(KINDS[kind], 25))
    def holds(batch):
        with tempfile.TemporaryDirectory() as folder:
            check(batch, Path(folder), compiler)

    holds()
