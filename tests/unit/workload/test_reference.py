"""The reference against loops over the operands' own accesses, and against values by hand."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from workload_cases import arrays, workloads

from match_aie.errors import ModelError, OptionError
from match_aie.workload import (
    Quantized,
    Tail,
    Window,
    conv2d,
    dense,
    elementwise,
    full_range,
    permute,
    pool2d,
    reference,
    rowwise,
)
from match_aie.workload.reference import accumulator_bound

F = np.float32


def place(operand, index):
    """Where `operand` is read at loop indices `index`; None in the padding."""
    at = tuple(sum(c * index[d] for d, c in a.terms) + a.offset for a in operand.axes)
    inside = all(0 <= i < size for i, size in zip(at, operand.shape, strict=True))
    return at if inside else None


def clip_round(real, tail):
    if math.isnan(real):
        return tail.lo
    if math.isinf(real):
        return tail.hi if real > 0 else tail.lo
    return max(tail.lo, min(tail.hi, round(Fraction(float(real))) + tail.zero_point))


def real(operand, value):
    return F(F(int(value) - operand.zero_point) * F(operand.scale))


class Naive:
    """One output element at a time, in Python integers and float32 scalars."""

    def __init__(self, workload, inputs, constants):
        self.w = workload
        self.arrays = dict(constants)
        self.arrays.update(zip((o.name for o in workload.inputs), inputs, strict=True))
        self.y = np.empty(workload.output.shape, workload.output.dtype)

    def run(self):
        dims = dict(self.w.dims)
        outer = {d for a in self.w.output.axes for d, _ in a.terms}
        inner = [d for d in dims if d not in outer]
        rule = getattr(self, self.w.kind)
        for values in product(*(range(dims[d]) for d in dims if d in outer)):
            index = dict(zip((d for d in dims if d in outer), values, strict=True))
            inners = [
                index | dict(zip(inner, more, strict=True))
                for more in product(*(range(dims[d]) for d in inner))
            ]
            at = place(self.w.output, index)
            self.y[at] = rule(inners, at)
        return self.y

    def steps(self, name, index):
        """Operand less zero point at `index`, 0 in the padding."""
        operand = self.w.operand(name)
        at = place(operand, index)
        return 0 if at is None else int(self.arrays[name][at]) - operand.zero_point

    def product_sum(self, inners, at, second):
        acc = sum(self.steps("x", i) * self.steps(second, i) for i in inners)
        channel = at[-1]
        acc += int(self.arrays["bias"][channel]) if "bias" in self.arrays else 0
        if self.w.tail is None:
            return acc
        scales = self.arrays["scale"]
        return clip_round(F(F(acc) * scales[channel if scales.size > 1 else 0]), self.w.tail)

    def conv2d(self, inners, at):
        return self.product_sum(inners, at, "weight")

    dense = conv2d

    def matmul(self, inners, at):
        return self.product_sum(inners, at, "x1")

    def pair(self, index):
        return [real(o, self.arrays[o.name][place(o, index)]) for o in self.w.inputs]

    def add(self, inners, at):
        a, b = self.pair(inners[0])
        return clip_round(F(F(a + b) / F(self.w.output.scale)), self.w.tail)

    def mul(self, inners, at):
        a, b = self.pair(inners[0])
        return clip_round(F(F(a * b) / F(self.w.output.scale)), self.w.tail)

    def avg_pool2d(self, inners, at):
        x, tail = self.w.operand("x"), self.w.tail
        every = self.w.window.count_include_pad
        seen = [i for i in inners if every or place(x, i) is not None]
        acc = sum(self.steps("x", i) for i in seen)
        if tail.rounding == "half_even":
            image = set(np.ndindex(*x.shape[1:3]))
            one = self.y.shape[1:3] == (1, 1) and len(inners) == len(image)
            if one and {(p or (0,) * 4)[1:3] for p in (place(x, i) for i in inners)} == image:
                factor = F(F(x.scale) / F(F(self.w.output.scale) * F(len(seen))))
                return clip_round(F(F(acc) * factor), tail)
            total = F(0)
            for fx in sorted({i["FX"] for i in seen}):
                column = F(0)
                for index in sorted((i for i in seen if i["FX"] == fx), key=lambda i: i["FY"]):
                    column = F(column + F(F(self.steps("x", index)) * F(x.scale)))
                total = F(total + column)
            return clip_round(F(F(total / F(len(seen))) / F(self.w.output.scale)), tail)
        mean = Fraction(acc, len(seen))
        away = int(abs(mean) + Fraction(1, 2)) * (1 if mean > 0 else -1)
        return max(tail.lo, min(tail.hi, away + tail.zero_point))

    def max_pool2d(self, inners, at):
        x, tail = self.w.operand("x"), self.w.tail
        seen = [int(self.arrays["x"][p]) for i in inners if (p := place(x, i)) is not None]
        return max(tail.lo, min(tail.hi, max(seen)))

    def softmax(self, inners, at):
        row = [int(v) for v in self.arrays["x"][at[0]]]
        e = [self.arrays["table"][max(row) - v] for v in row]
        total = F(0)
        for value in e:
            total = F(total + value)
        return clip_round(F(F(e[at[1]] / total) / F(self.w.output.scale)), self.w.tail)

    def quantize(self, inners, at):
        with np.errstate(over="ignore"):
            return clip_round(F(self.arrays["x"][at] / F(self.w.output.scale)), self.w.tail)

    def dequantize(self, inners, at):
        return real(self.w.operand("x"), self.arrays["x"][at])


@settings(max_examples=250, deadline=None)
@given(workloads().filter(lambda w: w.steps <= 3000), st.integers(0, 2**32 - 1))
def test_equals_loops(workload, seed):
    inputs, constants = arrays(workload, seed)
    got = reference(workload, inputs, constants)
    assert got.dtype == workload.output.dtype
    np.testing.assert_array_equal(got, Naive(workload, inputs, constants).run())


def test_rounds_halves_to_even_and_saturates():
    w = rowwise(
        "quantize", Quantized("float32"), Quantized("int8", 0.5, 3), rows=1, columns=9,
        tail=full_range("int8", 3),
    )  # fmt: skip
    x = np.array([[0.25, 0.75, 1.25, -0.25, -0.75, 1e30, -np.inf, np.inf, np.nan]], np.float32)
    np.testing.assert_array_equal(reference(w, [x]), [[3, 5, 5, 3, 1, 127, -128, 127, -128]])


def test_integer_pool_rounds_halves_away_from_the_zero_point():
    def pooled(q, values):
        tail = full_range(q.dtype, q.zero_point, "half_away")
        w = pool2d("avg_pool2d", q, q, shape=(1, 1, 2, 4), filter_shape=(1, 2), tail=tail)
        x = np.array(values).reshape(1, 1, 2, 4).astype(q.dtype)
        return reference(w, [x]).ravel().tolist()

    values = np.array([[1, -1, 0, -128], [2, -2, 1, -128]])
    assert pooled(Quantized("int8"), values) == [2, -2, 1, -128]
    assert pooled(Quantized("uint8", None, 128), values + 128) == [130, 126, 129, 0]


def test_padding_means_the_zero_point():
    x, y = Quantized("uint8", 1.0, 7), Quantized("int32")
    w = conv2d(
        x, y, shape=(1, 1, 1, 1), weight_shape=(1, 3, 3, 1), window=Window(padding=(1, 1, 1, 1))
    )
    constants = {"weight": np.full((1, 3, 3, 1), 5, np.int8), "bias": np.array([2], np.int32)}
    assert reference(w, [np.array([[[[9]]]], np.uint8)], constants).item() == 2 * 5 + 2


def test_a_window_in_padding_alone():
    x = Quantized("int8", 1.0, 4)
    shape = {"shape": (1, 1, 1, 1), "filter_shape": (1, 1)}
    window = Window((1, 1), (1, 1), (0, 1, 0, 0))
    ones = np.full((1, 1, 1, 1), 9, np.int8)
    mean = pool2d("avg_pool2d", x, x, **shape, window=window, tail=full_range("int8", 4))
    most = pool2d("max_pool2d", x, x, **shape, window=window, tail=Tail(4, -5, 127))
    np.testing.assert_array_equal(reference(mean, [ones]).ravel(), [4, 9])
    np.testing.assert_array_equal(reference(most, [ones]).ravel(), [-5, 9])


def test_add_rounds_each_operation_once():
    """float32 arithmetic in the stated order, found to differ from exact arithmetic here."""
    a, b = Quantized("int8", 0.3, 0), Quantized("int8", 0.1, 0)
    y = Quantized("int8", 0.2, 0)
    shape = (1, 1, 1, 1)
    w = elementwise(
        "add", a, b, y, shape=shape, shape1=shape, out=shape, tail=full_range("int8", 0)
    )
    one, zero = np.ones(shape, np.int8), np.zeros(shape, np.int8)
    # 0.3f / 0.2f is a tie in float32 (1.5), not in exact arithmetic of the two float32 values.
    assert F(0.3) / F(0.2) == F(1.5)
    assert Fraction(float(F(0.3))) / Fraction(float(F(0.2))) > Fraction(3, 2)
    assert reference(w, [one, zero]).item() == 2


def test_sums_beyond_int32_are_refused():
    w = dense(Quantized("uint8"), Quantized("int32"), rows=1, inputs=1, outputs=1)
    constants = {"weight": np.array([[127]], np.int8), "bias": np.array([2**31 - 1], np.int32)}
    with pytest.raises(ModelError, match="int32"):
        reference(w, [np.array([[255]], np.uint8)], constants)
    assert accumulator_bound(w, constants) == 2**31 - 1 + 255 * 127


def test_accumulator_bound_holds_for_every_prefix():
    w = dense(Quantized("int8", 1.0, 5), Quantized("int32"), rows=1, inputs=2, outputs=1)
    constants = {"weight": np.array([[100, -100]], np.int8), "bias": np.array([-7], np.int32)}
    # Lowest: bias and x0 = -128 and x1 = 127 at once.
    assert accumulator_bound(w, constants) == 7 + 133 * 100 + 122 * 100


@pytest.mark.parametrize(
    "array", [np.zeros((1, 2), np.int8), np.zeros((1, 3), np.uint8), np.zeros(3, np.int8)]
)
def test_arrays_that_do_not_fit_are_refused(array):
    w = dense(Quantized("int8"), Quantized("int32"), rows=1, inputs=3, outputs=1)
    constants = {"weight": np.ones((1, 3), np.int8), "bias": np.ones(1, np.int32)}
    with pytest.raises(OptionError, match="'x' is int8"):
        reference(w, [array], constants)
    with pytest.raises(OptionError, match="'bias'"):
        reference(w, [np.zeros((1, 3), np.int8)], {"weight": constants["weight"]})
    with pytest.raises(OptionError, match="0 input arrays"):
        reference(w, [], constants)


@given(
    st.lists(st.integers(1, 5), min_size=4, max_size=4),
    st.permutations(range(4)),
    st.integers(0, 99),
)
def test_permute_is_numpys_transpose(shape, axes, seed):
    workload = permute(Quantized("int8"), shape=tuple(shape), axes=axes)
    x = np.random.default_rng(seed).integers(-128, 128, shape).astype(np.int8)
    np.testing.assert_array_equal(reference(workload, [x]), x.transpose(axes))
