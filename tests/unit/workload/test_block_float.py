"""Block floating point: blocks and sums as others measured them, and how far they are off."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from match_aie.workload import RealTail, real_dense, reference, within_bound
from match_aie.workload.bfloat16 import to_bfloat16
from match_aie.workload.block_float import (
    blocks_of,
    grown,
    summed_blocks,
    values_of_blocks,
)

#: Floats of a block, its mantissas and its exponent with halves to even. Floats, and exponents of
#: the first three, are those of the probes P0 to P3 of MicroPerceptron/virtio-accel, which ran on
#: a processor of XDNA2 (docs/research/amdxdna-bfp16ebs8-characterization.md); those of the second
#: are its mantissas of `rnd_conv_even`.
MEASURED = (
    ([1.0, -1.0, 0.5, -0.5, 1.5, -1.5, 126 / 64, -2.0], [32, -32, 16, -16, 48, -48, 63, -64], 128),
    (
        [127.5 / 64, -127.5 / 64, 1.0, -1.0, 127 / 64, -127 / 64, 0.5, -0.5],
        [64, -64, 32, -32, 64, -64, 16, -16],
        128,
    ),
    ([-1.0, -0.5, -0.25, -0.75, -1.25, -1.75, -1.984375, -0.125], None, 127),
    ([2.0**-127, 2.0**-149, 0, 0, 0, 0, 0, -0.0], [0] * 8, 0),
    ([np.inf, -np.inf, np.nan, 1.0, -1.0, 0.0, -0.0, 0.0], [64, -64, 96, 0, 0, 0, 0, 0], 255),
)


@pytest.mark.parametrize(("values", "mantissas", "exponent"), MEASURED)
def test_blocks_are_those_that_were_measured(values, mantissas, exponent):
    found, at = blocks_of(np.array(values, np.float32))
    assert at.tolist() == [exponent]
    if mantissas is not None:
        assert found.tolist() == mantissas
    else:
        assert found.tolist() == [-64, -32, -16, -48, -80, -112, -127, -8]


def test_a_mantissa_of_minus_128_keeps_the_exponent():
    """Both models of what was measured say so; 128 has no place."""
    found, at = blocks_of(np.array([-127.5 / 64, 1.0, *[0] * 6], np.float32))
    assert (found[0], found[1], at[0]) == (-128, 64, 127)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.floats(-(2.0**99), 2.0**99, width=32), min_size=1, max_size=40))
def test_blocks_are_within_half_a_step(values):
    whole = np.array(values, np.float32)
    mantissas, exponents = blocks_of(whole)
    assert mantissas.size == 8 * exponents.size >= whole.size
    meant = values_of_blocks(mantissas, exponents)[: whole.size]
    step = np.ldexp(1.0, exponents.astype(int) - 133).repeat(8)[: whole.size]
    off = np.abs(meant - np.where(np.abs(whole) < 2.0**-126, 0, whole))
    assert np.all(off <= step / 2)


def nearest(value: Fraction, step: Fraction) -> Fraction:
    """`value` rounded to a multiple of `step`, halves to even."""
    return round(value / step) * step


@settings(max_examples=300, deadline=None)
@given(
    st.floats(-(2.0**20), 2.0**20, width=32),
    st.lists(st.integers(-128, 127), min_size=16, max_size=16),
    st.integers(-40, 40),
)
def test_sums_grow_on_a_grid(start, mantissas, exponent):
    """The rule of atassis' model, in whole numbers."""
    products = sum(a * b for a, b in zip(mantissas[:8], mantissas[8:], strict=True))
    exact = Fraction(products) * Fraction(2) ** (exponent - 12)
    own = math.frexp(start)[1] - 1 if abs(start) >= 2.0**-126 else -127
    step = Fraction(2) ** (max(own, exponent) - 23)
    wanted = nearest(Fraction(start), step) + nearest(exact, step)
    got = grown(np.array([start], np.float32), np.array([float(exact)]), np.array([exponent]))
    assert got[0] == np.float32(float(wanted))


def test_zeros_behind_change_nothing():
    """What fills a reduction up are zeros of both operands."""
    rng = np.random.default_rng(3)
    x, w = (to_bfloat16(rng.standard_normal(s).astype(np.float32)) for s in ((5, 21), (21, 6)))
    start = rng.standard_normal(6).astype(np.float32)
    more = np.pad(x, ((0, 0), (0, 19))), np.pad(w, ((0, 19), (0, 0)))
    np.testing.assert_array_equal(summed_blocks(start, x, w), summed_blocks(start, *more))


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 9), st.integers(1, 70), st.integers(1, 9), st.integers(0, 99))
def test_sums_are_near_the_exact_ones(rows, depth, columns, seed):
    """Half a step for each operand of each product; additions are off by far less."""
    rng = np.random.default_rng(seed)
    x, w = (
        to_bfloat16(rng.standard_normal(s).astype(np.float32))
        for s in ((rows, depth), (depth, columns))
    )
    exact = x.astype(np.float64) @ w
    off = np.abs(summed_blocks(np.zeros(columns, np.float32), x, w) - exact)
    top = np.abs(x).max(initial=0), np.abs(w).max(initial=0)
    assert np.all(off <= depth * (2 * top[0] * top[1] / 64 * 1.01))


def test_a_layer_of_its_precision():
    """Bias first, results bfloat16, ReLU last; the same floats as exact products from afar."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((9, 100)).astype(np.float32)
    constants = {
        "weight": (rng.standard_normal((7, 100)) / 10).astype(np.float32),
        "bias": rng.standard_normal(7).astype(np.float32),
    }

    def made(precision):
        tail = RealTail("relu", precision=precision)
        layer = real_dense(rows=9, inputs=100, outputs=7, bias=True, tail=tail)
        return reference(layer, [x], constants)

    got, exact = made("bfp16"), made("bfloat16")
    assert got.min() == 0
    np.testing.assert_array_equal(got, to_bfloat16(got))
    assert 0 < np.abs(got - exact).mean() < 0.02


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 70), st.integers(0, 99), st.sampled_from((1.0, 2.0**20, 2.0**-30)))
def test_a_layer_is_within_the_bound_of_float32(depth, seed, wide):
    """Elements of all sizes in a block: small ones beside large ones vanish."""
    rng = np.random.default_rng(seed)
    spread = np.exp2(rng.integers(-12, 12, (6, depth)))
    x = (wide * rng.standard_normal((6, depth)) * spread).astype(np.float32)
    constants = {"weight": rng.standard_normal((5, depth)).astype(np.float32)}
    tail = RealTail(precision="bfp16")
    layer = real_dense(rows=6, inputs=depth, outputs=5, bias=False, tail=tail)
    got = reference(layer, [x], constants)
    assert within_bound(layer, [x], constants, got).all()
    assert not within_bound(layer, [x], constants, got + np.abs(got).max() + 1e9 * wide).any()


@pytest.mark.parametrize(("drawn", "lost"), [("standard_normal", 0.0095), ("uniform", 0.0065)])
def test_what_blocks_lose_and_sums_do_not(drawn, lost):
    """Of numbers of like size sums are exact, in whatever order; operands have lost bits before."""
    rng = np.random.default_rng(5)
    own = {"standard_normal": rng.standard_normal, "uniform": lambda s: rng.uniform(-1, 1, s)}[
        drawn
    ]
    x, w = (to_bfloat16(own(s).astype(np.float32)) for s in ((96, 1024), (1024, 96)))
    got = summed_blocks(np.zeros(96, np.float32), x, w)
    ours, theirs = (values_of_blocks(*blocks_of(side)) for side in (x, np.ascontiguousarray(w.T)))
    np.testing.assert_array_equal(got, (ours @ theirs.T).astype(np.float32))
    exact = x.astype(np.float64) @ w
    assert abs(np.linalg.norm(got - exact) / np.linalg.norm(exact) - lost) < 0.0003
