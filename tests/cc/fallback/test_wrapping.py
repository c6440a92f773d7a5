"""Integers of a network wrap around and compare as numpy's do, at the ends of their range, too.

TVM's analyzer takes integers for indices, which never overflow: it would decide most of these.
"""

import numpy as np
import pytest
from harness import evaluate
from tvm import relax
from tvm.relax import op

DTYPES = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
COMPARISONS = {
    "equal": np.equal, "not_equal": np.not_equal, "less": np.less, "greater": np.greater,
    "less_equal": np.less_equal, "greater_equal": np.greater_equal,
}  # fmt: skip
FLAGS = ("-O1", "-fsanitize=undefined", "-fno-sanitize-recover")


def numbers(dtype):
    """The ends of the range, their neighbours and some others."""
    low, high = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
    return np.array([low, high, low + 1, high - 1, 0, 1, 2, 7, high // 2, high // 2 + 1], dtype)


def sums(add, subtract, multiply, of):
    """Expressions of x and y that are other ones where nothing overflows.

    Args:
        add: of two values.
        subtract: of two values.
        multiply: of two values.
        of: (x, y, a number as a constant of their type).
    """
    x, y, constant = of
    one, two, three, five = (constant(n) for n in (1, 2, 3, 5))
    return {
        "x + 1 > x": ("greater", add(x, one), x),
        "x + 1 <= 5": ("less_equal", add(x, one), five),
        "x * 2 > 5": ("greater", multiply(x, two), five),
        "x - y > 1": ("greater", subtract(x, y), one),
        "x - y + y == x": ("equal", add(subtract(x, y), y), x),
        "5 x - 3 x > 5": ("greater", subtract(multiply(x, five), multiply(x, three)), five),
        "y - x < y": ("less", subtract(y, x), y),
    }


@pytest.mark.parametrize("dtype", DTYPES)
def test_sums_and_products_wrap(dtype):
    x = numbers(dtype)
    y = x[::-1].copy()

    def network(emit, a, b):
        operations = [lambda *p, f=f: emit(f(*p)) for f in (op.add, op.subtract, op.multiply)]
        of = (a, b, lambda n: relax.const(n, dtype))
        made = sums(*operations, of).values()
        return [emit(getattr(op, kind)(left, right)) for kind, left, right in made]

    got = evaluate(network, x, y, flags=FLAGS)
    with np.errstate(over="ignore"):
        wanted = sums(np.add, np.subtract, np.multiply, (x, y, np.dtype(dtype).type))
    for (name, (kind, left, right)), value in zip(wanted.items(), got, strict=True):
        np.testing.assert_array_equal(value, COMPARISONS[kind](left, right), err_msg=name)


@pytest.mark.parametrize("dtype", ["int32", "int64", "uint32"])
def test_quotients_of_what_wraps(dtype):
    x = numbers(dtype)
    three = np.array(3, dtype)

    def network(emit, a):
        times, plus = (emit(f(a, relax.const(3, dtype))) for f in (op.multiply, op.add))
        return [
            emit(f(value, relax.const(3, dtype)))
            for value in (times, plus)
            for f in (op.floor_divide, op.floor_mod)
        ]

    got = evaluate(network, x, flags=FLAGS)
    with np.errstate(over="ignore"):
        values = (x * three, x + three)
    wanted = [f(value, three) for value in values for f in (np.floor_divide, np.mod)]
    for value, reference in zip(got, wanted, strict=True):
        np.testing.assert_array_equal(value, reference)


@pytest.mark.parametrize("dtype", DTYPES)
def test_comparisons_with_the_ends_of_a_range(dtype):
    x = numbers(dtype)
    ends = [np.array(end, dtype) for end in (x[0], x[1])]
    cases = [(kind, end, turned) for kind in COMPARISONS for end in ends for turned in (0, 1)]
    if dtype == "uint64":  # TVM's immediates hold 63 bits
        cases = [case for case in cases if not case[1]]

    def network(emit, a):
        made = []
        for kind, end, turned in cases:
            pair = (a, relax.const(end, dtype))[:: 1 - 2 * turned]
            chosen = emit(getattr(op, kind)(*pair))
            made += [chosen, emit(op.where(chosen, a, emit(op.bitwise_not(a))))]
        return made

    got = evaluate(network, x, flags=FLAGS)
    for at, (kind, end, turned) in enumerate(cases):
        chosen = COMPARISONS[kind](*(x, end)[:: 1 - 2 * turned])
        np.testing.assert_array_equal(got[2 * at], chosen, err_msg=f"{kind} {end} {turned}")
        np.testing.assert_array_equal(got[2 * at + 1], np.where(chosen, x, ~x))


@pytest.mark.parametrize("dtype", ["uint8", "uint32", "int32"])
def test_signs(dtype):
    x = numbers(dtype)
    (got,) = evaluate(lambda emit, v: [emit(op.sign(v))], x)
    np.testing.assert_array_equal(got, np.sign(x))


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_what_only_numbers_have_is_not_taken_for_granted(dtype):
    """Of NaN and infinities: x == x, !(x < 1), x * 0, 0 / x, x - x."""
    x = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 0.5, 2.0], dtype)
    one, zero = relax.const(1.0, dtype), relax.const(0.0, dtype)

    def network(emit, a):
        asked = [emit(f(a, a)) for f in (op.equal, op.not_equal, op.less_equal, op.greater_equal)]
        below = emit(op.logical_not(emit(op.less(a, one))))
        products = [emit(op.multiply(a, zero)), emit(op.multiply(zero, emit(op.abs(a))))]
        others = [emit(op.divide(zero, a)), emit(op.subtract(a, a)), emit(op.where(below, a, one))]
        return [*asked, below, *products, *others]

    got = evaluate(network, x)
    with np.errstate(all="ignore"):
        zeros = np.zeros(1, dtype)
        wanted = [x == x, x != x, x <= x, x >= x, ~(x < 1)]
        wanted += [x * zeros, zeros * np.abs(x), zeros / x, x - x, np.where(~(x < 1), x, 1)]
    for value, reference in zip(got, wanted, strict=True):
        np.testing.assert_array_equal(value, reference)
