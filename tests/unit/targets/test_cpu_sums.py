"""Sums that products take along: factors that round the same as the two layers would."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from match_aie.targets.cpu.machine import machine
from match_aie.targets.cpu.sums import fuses, rounded_sum, sum_kernels
from match_aie.workload import Quantized, Tail, dense, full_range, with_sum

SMALL = st.floats(2.0**-12, 8.0, width=32)


def nearest(exact: Fraction) -> np.float32:
    """The float32 that is nearest to an exact number, halves to even."""
    first = np.float32(float(exact))
    near = [np.nextafter(first, np.float32(to)) for to in (-np.inf, np.inf)]
    found = [first, *near]
    even = [int(value.view(np.int32)) & 1 for value in found]
    pairs = zip(found, even, strict=True)
    return min(pairs, key=lambda pair: (abs(Fraction(float(pair[0])) - exact), pair[1]))[0]


@given(SMALL, SMALL, st.integers(-255, 255))
def test_a_fused_sum_is_rounded_once_or_not_known(factor, more, step):
    made = rounded_sum(
        np.array([step], np.float32), np.float32(factor), np.float32(more), once=True
    )
    if made is not None:
        exact = Fraction(step) * Fraction(float(factor)) + Fraction(float(more))
        assert made[0] == nearest(exact)


def test_what_float64_cannot_hold_is_not_known():
    assert (
        rounded_sum(np.ones(1, np.float32), np.float32(1), np.float32(2.0**-80), once=True) is None
    )


@pytest.mark.parametrize(
    ("arch", "fused"),
    [
        ("x86-64-v3", True),
        ("x86-64-v4+avx512vnni", True),
        ("aarch64", True),
        ("rv64gcv", False),
        ("portable", False),
    ],
)
def test_sums_are_fused_where_every_compiler_can(arch, fused):
    facts = machine(arch)
    assert fuses(facts) == fused
    x, y = Quantized("uint8", 0.02, 9), Quantized("uint8", 0.071, 5)
    first = dense(x, y, rows=4, inputs=8, outputs=16, tail=full_range("uint8", 5), scales=16)
    w = with_sum(first, Quantized("int8", 0.05, -3), y, tail=Tail(5, 5, 201))
    (one,) = sum_kernels(facts, w)
    assert one.factors is not None
    assert one.factors.fused == fused
    assert ("ma_fused" in one.added("steps", 0, "place")) == fused
