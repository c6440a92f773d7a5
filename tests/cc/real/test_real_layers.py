"""Emitted float32 layers are as close to the reference as they must be, for any shape."""

import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from real_cases import BLOCKED, KINDS
from real_harness import COMPILERS, MACHINES, case, check, module_of, sanitize

from match_aie.targets.cpu.float_depthwise import DepthwiseKernel
from match_aie.targets.cpu.float_patterns import refuses
from match_aie.targets.cpu.machine import machine
from match_aie.workload import RealTail, Window, layer_norm, real_conv2d, reference, rms_norm

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


@st.composite
def wide(draw, facts):
    """A convolution of more channels than a small cache keeps the weights of."""
    c, lanes = draw(st.integers(1, 7)), facts.lanes
    k = draw(st.sampled_from([3 * lanes, 8 * lanes, 9 * lanes + 1, 13 * lanes - 2]))
    groups = draw(st.sampled_from([1, 2]))
    pad = draw(st.integers(0, 1))
    workload = real_conv2d(
        shape=(1, draw(st.integers(4, 6)), draw(st.integers(3, 6)), groups * c),
        weight_shape=(groups * k, 3, draw(st.integers(1, 3)), c),
        groups=groups,
        window=Window((1, 1), (1, 1), (pad, pad, 1, 1)),
        bias=draw(st.booleans()),
        residual=draw(st.booleans()),
        tail=RealTail(activation="relu"),
    )
    return case(workload, draw(st.integers(0, 2**32 - 1)))


def test_all_lines_of_some_channels_after_the_others():
    facts = machine()
    small = replace(facts.caches[0], bytes=6_000)
    facts = replace(facts, caches=(small, small))
    blocks = set()

    @TWICE
    @given(st.lists(wide(facts), min_size=8, max_size=8))
    def holds(cases):
        for one in cases:
            kernel = module_of(one.workload, facts).kernel(one.workload, one.mapping)
            blocks.add(-(-kernel.product.columns // kernel.block))
        with tempfile.TemporaryDirectory() as folder:
            check(cases, Path(folder), COMPILERS[0], facts)

    holds()
    assert min(blocks) == 1 < 2 < max(blocks)


@st.composite
def depthwise(draw):
    """Channels around a vector, windows over both sides, over one, or over neither."""
    channels = draw(st.sampled_from([1, 2, 4, 8, 16, 3, 20]))
    workload = real_conv2d(
        shape=(
            draw(st.integers(1, 2)),
            draw(st.integers(3, 6)),
            draw(st.integers(4, 23)),
            channels,
        ),
        weight_shape=(channels, draw(st.integers(1, 3)), draw(st.integers(1, 4)), 1),
        groups=channels,
        window=Window(
            (draw(st.integers(1, 2)), draw(st.sampled_from([1, 1, 2]))),
            (1, draw(st.sampled_from([1, 1, 2]))),
            draw(st.tuples(*[st.integers(0, 3)] * 4)),
        ),
        bias=draw(st.booleans()),
        residual=draw(st.booleans()),
        tail=RealTail(activation=draw(st.sampled_from(["identity", "relu", "silu"]))),
    )
    return case(workload, draw(st.integers(0, 2**32 - 1)))


def test_depthwise_pixels_side_by_side():
    """Several at a time, and of few channels several in a vector."""
    facts, kernels = machine(), set()

    @settings(TWICE, max_examples=3)
    @given(
        st.lists(
            depthwise().filter(lambda c: refuses(c.workload) is None), min_size=25, max_size=25
        )
    )
    def holds(cases):
        for one in cases:
            kernel = module_of(one.workload, facts).kernel(one.workload, one.mapping)
            if isinstance(kernel, DepthwiseKernel):
                kernels.add((kernel.together > 1, kernel.sums > 1))
        with tempfile.TemporaryDirectory() as folder:
            check(cases, Path(folder), COMPILERS[0], facts)

    holds()
    if facts.lanes > 1:
        assert {(True, True), (False, True), (False, False)} <= kernels


def test_windows_that_see_padding_only(tmp_path):
    """They are so far apart that the frame is smaller than the padding before the image."""
    shapes = [
        ((1, 1, 7, 4), (5, 1), (4, 0, 0, 0)),
        ((1, 7, 1, 4), (1, 5), (0, 4, 0, 0)),
        ((2, 1, 1, 4), (6, 7), (5, 6, 0, 0)),
    ]
    layers = [
        real_conv2d(
            shape=shape,
            weight_shape=(8, 1, 1, 4),
            groups=1,
            window=Window(stride, (1, 1), pads),
            bias=True,
            residual=False,
            tail=RealTail(),
        )
        for shape, stride, pads in shapes
    ]
    check([case(each, 1) for each in layers], tmp_path, COMPILERS[0], machine("portable"))


@pytest.mark.parametrize("columns", [5, 16, 37])
def test_norms_of_rows_whose_squares_pass_float32(columns, tmp_path):
    """They become 0, or the bias, as ONNX computes them; other rows as always."""
    cases = []
    for make in (rms_norm, layer_norm):
        one = case(make(rows=3, columns=columns, epsilon=1e-5), columns)
        one.inputs[0][0] *= np.float32(1e25)
        one.inputs[0][1, 0] = np.float32(1e21)
        cases.append(one)
        wanted = reference(one.workload, one.inputs, one.constants)[:2]
        assert (wanted == one.constants.get("bias", 0.0)).all()
    check(cases, tmp_path, COMPILERS[0], next(iter(MACHINES.values())))


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
