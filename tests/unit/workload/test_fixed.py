"""Fixed-point requantisation against loops in Python integers and exact fractions."""

from fractions import Fraction
from itertools import product
from math import floor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from workload_cases import ROUNDINGS, arrays, fixed_points

from match_aie.errors import ModelError
from match_aie.workload import (
    Quantized,
    Tail,
    dense,
    elementwise,
    reference,
    rowwise,
    shift_round,
    with_fixed_tail,
)
from match_aie.workload.codec import from_json, to_json


def rounded(real, rounding):
    """A fraction to an integer."""
    if rounding == "floor":
        return floor(real)
    if rounding == "half_up":
        return floor(real + Fraction(1, 2))
    if rounding == "half_even":
        return round(real)
    return floor(abs(real) + Fraction(1, 2)) * (1 if real > 0 else -1)


class Loops:
    """One output element at a time, through the operands' own accesses."""

    def __init__(self, workload, inputs, constants):
        self.w = workload
        self.arrays = dict(constants)
        self.arrays.update(zip((o.name for o in workload.inputs), inputs, strict=True))
        self.wide = False

    def run(self):
        outer = [d for d, _ in self.w.dims if d not in self.w.reductions]
        y = np.empty(self.w.output.shape, self.w.output.dtype)
        for values in product(*(range(self.w.sizes[d]) for d in outer)):
            index = dict(zip(outer, values, strict=True))
            y[self.place("y", index)] = self.element(index)
        return y

    def element(self, index):
        tail = self.w.tail
        inner = [
            index | dict(zip(self.w.reductions, more, strict=True))
            for more in product(*(range(self.w.sizes[d]) for d in self.w.reductions))
        ]
        if self.w.kind == "add":
            factors = [self.parameter("multiplier", index, 1, k) for k in (0, 1)]
            products = [self.steps(n, index) * f for n, f in zip(("x", "x1"), factors, strict=True)]
            t = self.fit(self.fit(products[0]) + self.fit(products[1]))
        else:
            second = {"mul": "x1", "matmul": "x1", "avg_pool2d": None}.get(self.w.kind, "weight")
            acc = sum(self.steps("x", i) * (self.steps(second, i) if second else 1) for i in inner)
            acc += int(self.arrays["bias"][self.place("y", index)[-1]]) if self.has("bias") else 0
            t = self.fit(acc * self.parameter("multiplier", index, 1))
        t = self.fit(t + self.parameter("offset", index, 0))
        steps = rounded(Fraction(t, 2**tail.shift), tail.rounding) + tail.zero_point
        return max(tail.lo, min(tail.hi, steps))

    def fit(self, t):
        self.wide |= not -(2 ** (self.w.tail.bits - 1)) <= t < 2 ** (self.w.tail.bits - 1)
        return t

    def has(self, name):
        return any(o.name == name for o in self.w.operands)

    def parameter(self, name, index, default, at=None):
        if not self.has(name):
            return default
        value = self.arrays[name]
        if at is None:
            at = self.place("y", index)[-1] if value.size > 1 else 0
        return int(value[at])

    def place(self, name, index):
        axes = self.w.operand(name).axes
        return tuple(sum(c * index[d] for d, c in axis.terms) + axis.offset for axis in axes)

    def steps(self, name, index):
        operand, at = self.w.operand(name), self.place(name, index)
        if not all(0 <= i < size for i, size in zip(at, operand.shape, strict=True)):
            return 0
        return int(self.arrays[name][at]) - operand.zero_point


@settings(max_examples=120, deadline=None)
@given(fixed_points().filter(lambda w: w.steps <= 2000), st.integers(0, 2**32 - 1))
def test_equals_loops_and_refuses_what_leaves_the_register(workload, seed):
    inputs, constants = arrays(workload, seed)
    loops = Loops(workload, inputs, constants)
    expected = loops.run()
    if loops.wide:
        with pytest.raises(ModelError, match="leaves"):
            reference(workload, inputs, constants)
        return
    got = reference(workload, inputs, constants)
    assert got.dtype == workload.output.dtype
    np.testing.assert_array_equal(got, expected)


@settings(max_examples=40, deadline=None)
@given(fixed_points())
def test_survives_json(workload):
    assert from_json(to_json(workload)) == workload


@given(st.integers(-(2**40), 2**40), st.integers(0, 40), ROUNDINGS)
def test_shifts_round_as_fractions_do(t, shift, rounding):
    expected = rounded(Fraction(t, 2**shift), rounding)
    assert shift_round(np.array([t]), shift, rounding)[0] == expected


def simple(**tail):
    base = dense(Quantized("uint8", 0.1, 3), Quantized("int8", 0.1), rows=1, inputs=2, outputs=2)
    return with_fixed_tail(base, Tail(0, -128, 127, **tail), multiplier=2, offset=1, raw=True)


def test_folds_input_zero_point_and_bias_into_the_offset():
    w = simple(rounding="floor", shift=4)
    assert (w.operand("x").zero_point, w.operand("x").scale) == (0, None)
    constants = {
        "weight": np.array([[1, 2], [-3, 1]], np.int8),
        "bias": np.zeros(2, np.int32),
        "multiplier": np.array([5, 7], np.int32),
        "offset": np.array([8], np.int32),
    }
    x = np.array([[10, 20]], np.uint8)
    # (10 + 40) * 5 + 8 = 258, (-30 + 20) * 7 + 8 = -62
    np.testing.assert_array_equal(reference(w, [x], constants), [[16, -4]])


@pytest.mark.parametrize(
    ("tail", "message"),
    [
        ({"rounding": "floor"}, "fixed point only"),
        ({"shift": 32}, "shift by 32"),
        ({"shift": -1}, "shift by -1"),
        ({"rounding": "up", "shift": 3}, "unknown rounding"),
    ],
)
def test_tails_that_no_hardware_has_are_refused(tail, message):
    with pytest.raises(ValueError, match=message):
        Tail(0, 0, 1, **tail)


def test_operands_that_do_not_go_with_the_arithmetic_are_refused():
    fixed = Tail(0, -128, 127, "half_up", 7)
    q = Quantized("int8", 0.1)
    base = dense(q, q, rows=1, inputs=2, outputs=3, tail=Tail(0, -128, 127), scales=1)
    with pytest.raises(ValueError, match="multiplier has 2 elements"):
        with_fixed_tail(base, fixed, multiplier=2)
    with pytest.raises(ValueError, match="fixed-point tails only"):
        with_fixed_tail(base, Tail(0, -128, 127), multiplier=1)
    flat = (1, 1, 1, 3)
    add = elementwise("add", q, q, q, shape=flat, shape1=flat, out=flat, tail=Tail(0, -128, 127))
    with pytest.raises(ValueError, match="multiplier has 3 elements"):
        with_fixed_tail(add, fixed, multiplier=3)
    real = Quantized("float32")
    rounded = rowwise("quantize", real, q, rows=1, columns=3, tail=Tail(0, -128, 127))
    with pytest.raises(ValueError, match="a quantize has no fixed-point meaning"):
        with_fixed_tail(rounded, fixed)
