"""Elementwise arithmetic of the emitted C against numpy, special values included."""

import math

import numpy as np
import onnx
import pytest
from harness import evaluate
from onnx import helper
from tvm import relax
from tvm.relax import op

import match_aie as match
from tests.needs import needs

SPECIAL = np.array(
    [0.0, -0.0, 0.5, -0.5, 1.5, 2.5, -2.5, 3.4e38, -3.4e38, 1e-40, np.inf, -np.inf, np.nan, 7.25],
    np.float32,
)
FLOATS = np.random.default_rng(0).uniform(-0.95, 0.95, 64).astype(np.float32)
INTEGERS = {
    "int8": np.array([-128, -127, -3, -1, 0, 1, 2, 7, 127], np.int8),
    "uint8": np.array([0, 1, 2, 7, 127, 128, 200, 254, 255], np.uint8),
    "int32": np.array([-(2**31), -7, -1, 0, 1, 5, 46341, 2**30, 2**31 - 1], np.int32),
    "int64": np.array([-(2**63), -7, -1, 0, 1, 5, 3037000500, 2**62, 2**63 - 1], np.int64),
}

SANITISED = ("-O1", "-fsanitize=undefined", "-fno-sanitize-recover")

UNARY = {
    "abs": np.abs, "acos": np.arccos, "asin": np.arcsin, "asinh": np.arcsinh, "atan": np.arctan,
    "atanh": np.arctanh, "ceil": np.ceil, "cos": np.cos, "cosh": np.cosh, "exp": np.exp,
    "floor": np.floor, "negative": np.negative, "round": np.rint, "sign": np.sign, "sin": np.sin,
    "sinh": np.sinh, "square": np.square, "tan": np.tan, "tanh": np.tanh, "trunc": np.trunc,
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
}  # fmt: skip


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_unary_functions(dtype):
    x = FLOATS.astype(dtype)
    got = evaluate(lambda emit, v: [emit(getattr(op, name)(v)) for name in UNARY], x)
    for (name, reference), value in zip(UNARY.items(), got, strict=True):
        tolerance = 2e-6 if dtype == "float32" else 1e-13
        np.testing.assert_allclose(value, reference(x), tolerance, tolerance, err_msg=name)


def test_functions_of_positive_numbers():
    x = np.abs(FLOATS) + np.float32(0.01)
    got = evaluate(
        lambda emit, v: [emit(f(v)) for f in (op.log, op.sqrt, op.rsqrt, op.erf, op.acosh)], x + 1
    )
    x64 = (x + 1).astype(np.float64)
    wanted = [np.log(x64), np.sqrt(x64), 1 / np.sqrt(x64)]
    wanted += [np.vectorize(math.erf)(x64), np.arccosh(x64)]
    for value, reference in zip(got, wanted, strict=True):
        np.testing.assert_allclose(value, reference, rtol=1e-6)


def test_what_is_chosen_to_be_zero_divides(tmp_path):
    """TVM's analyzer refuses 0 / 0, which is what is left where the choice is decided."""
    x = np.random.default_rng(2).standard_normal((5, 7)).astype(np.float32)
    nodes = [
        helper.make_node("Trilu", ["x"], ["upper"], upper=1),
        helper.make_node("Div", ["upper", "upper"], ["y"]),
        helper.make_node("Div", ["x", "upper"], ["z"]),
    ]
    ports = [helper.make_tensor_value_info(n, onnx.TensorProto.FLOAT, x.shape) for n in "xyz"]
    graph = helper.make_graph(nodes, "net", ports[:1], ports[1:])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    given = match.compile(model, cache=False).write(tmp_path / "net").run(x).outputs
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(given["y"], np.triu(x) / np.triu(x))
        np.testing.assert_array_equal(given["z"], x / np.triu(x))


def test_rounding_is_half_to_even():
    x = np.array([0.5, 1.5, 2.5, -0.5, -1.5, -2.5, 0.49999997, 8388609.0, np.inf], np.float32)
    (got,) = evaluate(lambda emit, v: emit(op.round(v)), x)
    np.testing.assert_array_equal(got, np.rint(x))


def test_special_values_of_unary_functions():
    functions = (op.isnan, op.isinf, op.isfinite, op.abs, op.negative, op.floor, op.ceil)
    got = evaluate(lambda emit, v: [emit(f(v)) for f in functions], SPECIAL)
    wanted = (np.isnan, np.isinf, np.isfinite, np.abs, np.negative, np.floor, np.ceil)
    for value, reference in zip(got, wanted, strict=True):
        np.testing.assert_array_equal(value, reference(SPECIAL))


@pytest.mark.parametrize("compiler", [pytest.param(c, marks=needs(c)) for c in ("gcc", "clang")])
def test_binary_functions_on_special_values(compiler):
    a, b = (x.reshape(-1).copy() for x in np.meshgrid(SPECIAL, SPECIAL))
    names = "add subtract multiply divide maximum minimum equal less less_equal greater_equal"
    functions = {name: getattr(np, name) for name in names.split()}
    got = evaluate(
        lambda emit, x, y: [emit(getattr(op, name)(x, y)) for name in functions],
        a, b, compiler=compiler, flags=("-O3",),
    )  # fmt: skip
    with np.errstate(all="ignore"):
        for (name, reference), value in zip(functions.items(), got, strict=True):
            np.testing.assert_array_equal(value, reference(a, b), err_msg=name)


def test_not_a_number_stays():
    functions = (op.nn.relu, op.sign, op.max, op.nn.selu, lambda v: op.clip(v, -1, 1))
    x = np.array([np.nan, 1.0, -2.0], np.float32)
    got = evaluate(lambda emit, v: [emit(f(v)) for f in functions], x, flags=("-O3",))
    assert np.isnan(got[2])
    for value in (got[0], got[1], got[3], got[4]):
        np.testing.assert_array_equal(np.isnan(value), np.isnan(x))


def test_power_and_modulo_of_floats():
    a = np.array([2.0, -2.5, 7.5, -7.5, 5.0, 0.3, 1e6], np.float32)
    b = np.array([3.0, 2.0, 2.0, 2.0, -3.0, -0.7, 0.3], np.float32)
    power, modulo, truncated = evaluate(
        lambda emit, x, y: [emit(op.power(x, y)), emit(op.floor_mod(x, y)), emit(op.mod(x, y))],
        np.abs(a), b,
    )  # fmt: skip
    np.testing.assert_allclose(power, np.abs(a) ** b, rtol=1e-6)
    np.testing.assert_array_equal(modulo, np.mod(np.abs(a), b))
    np.testing.assert_array_equal(truncated, np.fmod(np.abs(a), b))
    (modulo,) = evaluate(lambda emit, x, y: emit(op.floor_mod(x, y)), a, b)
    np.testing.assert_array_equal(modulo, np.mod(a, b))


def test_lowering_says_nothing(capfd):
    """TVM warns about constant exponents of 3 and more, and about unchecked indices."""
    x, index = np.array([1.5, -2.0], np.float32), np.array([1, 0], np.int64)
    cubes, taken = evaluate(
        lambda emit, v, i: [
            emit(op.power(v, relax.const(3.0))), emit(op.take(v, i, axis=0)),
        ],
        x, index,
    )  # fmt: skip
    np.testing.assert_array_equal(cubes, x**3)
    np.testing.assert_array_equal(taken, x[index])
    assert capfd.readouterr() == ("", "")


def _trunc_divide(a, b):
    wide_a, wide_b = a.astype(object), b.astype(object)
    quotient = [0 if y == 0 else abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)
                for x, y in zip(wide_a, wide_b, strict=True)]  # fmt: skip
    return np.array([_wrap(q, a.dtype) for q in quotient], a.dtype)


def _wrap(value, dtype):
    bits = np.dtype(dtype).itemsize * 8
    value %= 1 << bits
    signed = np.dtype(dtype).kind == "i" and value >= 1 << (bits - 1)
    return value - (1 << bits) if signed else value


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize(
    "flags", [("-O3",), ("-O1", "-fsanitize=undefined", "-fno-sanitize-recover")]
)
def test_integer_arithmetic_wraps(dtype, flags):
    a, b = (x.reshape(-1).copy() for x in np.meshgrid(INTEGERS[dtype], INTEGERS[dtype]))
    names = ("add", "subtract", "multiply", "maximum", "minimum")
    got = evaluate(
        lambda emit, x, y: [
            *(emit(getattr(op, name)(x, y)) for name in names),
            emit(op.divide(x, y)),
            emit(op.floor_mod(x, y)),
            emit(op.floor_divide(x, y)),
        ],
        a, b, flags=flags,
    )  # fmt: skip
    with np.errstate(all="ignore"):
        for name, value in zip(names, got, strict=False):
            np.testing.assert_array_equal(value, getattr(np, name)(a, b), err_msg=name)
        np.testing.assert_array_equal(got[5], _trunc_divide(a, b))
        np.testing.assert_array_equal(got[6], np.mod(a, b))
        np.testing.assert_array_equal(got[7], np.floor_divide(a, b))


@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_integer_power(dtype):
    a = np.array([2, 3, -3, 0, 1, -1, -1, 7, 10, 2], dtype)
    b = np.array([10, 5, 3, 0, -5, 7, -2, 2, 9, -1], dtype)
    (got,) = evaluate(lambda emit, x, y: emit(op.power(x, y)), a, b)
    pairs = zip(a, b, strict=True)
    wanted = [int(x) ** int(y) if y >= 0 else int(float(x) ** float(y)) for x, y in pairs]
    np.testing.assert_array_equal(got, np.array(wanted, dtype))


@pytest.mark.parametrize("dtype", ["uint8", "uint32", "int32"])
def test_shifts_and_bits(dtype):
    x = INTEGERS.get(dtype, INTEGERS["int32"].astype("uint32"))
    by = np.array([0, 1, 3, 7, 0, 1, 3, 7, 2], dtype)
    got = evaluate(
        lambda emit, v, s: [
            emit(op.left_shift(v, s)), emit(op.right_shift(v, s)), emit(op.bitwise_and(v, s)),
            emit(op.bitwise_or(v, s)), emit(op.bitwise_xor(v, s)), emit(op.bitwise_not(v)),
        ],
        x, by, flags=SANITISED,
    )  # fmt: skip
    wanted = (x << by, x >> by, x & by, x | by, x ^ by, ~x)
    for value, reference in zip(got, wanted, strict=True):
        np.testing.assert_array_equal(value, reference)


@pytest.mark.parametrize("source", ["float32", "float64"])
@pytest.mark.parametrize(
    "dtype", ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]
)
def test_float_to_integer_saturates(source, dtype):
    info = np.iinfo(dtype)
    edges = [info.min, info.max, info.min - 1.0, info.max + 1.0, 2.0 * info.max]
    x = np.array([*SPECIAL, *edges, -1.9, 1.9, 127.5, -128.5, 255.9], source)
    (got,) = evaluate(
        lambda emit, v: emit(op.astype(v, dtype)), x,
        flags=SANITISED,
    )  # fmt: skip
    for value, given in zip(got, x, strict=True):
        wanted = info.min if np.isnan(given) else (
            info.max if given >= info.max else info.min if given <= info.min else int(given)
        )  # fmt: skip
        assert int(value) == wanted, given


def test_integer_casts_and_truth_values():
    x = np.array([-129, -1, 0, 1, 127, 128, 255, 256, 70000], np.int32)
    types = ("int8", "uint8", "int16", "int64", "float32", "bool")
    got = evaluate(lambda emit, v: [emit(op.astype(v, dtype)) for dtype in types], x)
    for value, dtype in zip(got, types, strict=True):
        np.testing.assert_array_equal(value, x.astype(dtype))


def test_logic():
    a, b = np.array([0, 0, 1, 1], bool), np.array([0, 1, 0, 1], bool)
    x = np.array([1.5, 2.5, 3.5, 4.5], np.float32)
    got = evaluate(
        lambda emit, p, q, v: [
            emit(op.logical_and(p, q)), emit(op.logical_or(p, q)), emit(op.logical_xor(p, q)),
            emit(op.logical_not(p)), emit(op.where(p, v, emit(op.negative(v)))),
        ],
        a, b, x,
    )  # fmt: skip
    for value, wanted in zip(got, (a & b, a | b, a ^ b, ~a, np.where(a, x, -x)), strict=True):
        np.testing.assert_array_equal(value, wanted)


def test_literals_are_exact():
    constants = np.random.default_rng(3).standard_normal(20).astype(np.float32)
    x = np.zeros(1, np.float32)
    got = evaluate(lambda emit, v: [emit(op.add(v, relax.const(c))) for c in constants], x)
    np.testing.assert_array_equal(np.array(got).ravel(), constants)


def test_half_precision_is_rounded_once():
    x = np.random.default_rng(1).standard_normal(100).astype(np.float16)
    names = ("exp", "tanh", "sigmoid", "negative")
    got = evaluate(lambda emit, v: [emit(getattr(op, n)(v)) for n in names], x)
    wide = x.astype(np.float32)
    wanted = (np.exp(wide), np.tanh(wide), 1 / (1 + np.exp(-wide)), -wide)
    for value, reference in zip(got, wanted, strict=True):
        assert value.dtype == np.float16
        np.testing.assert_allclose(value, reference.astype(np.float16), rtol=1e-3)


def test_half_precision_is_rounded_after_every_operation():
    """With gcc only: clang knows _Float16 on x86 from release 15 on."""
    x, y = np.random.default_rng(1).standard_normal((2, 500)).astype(np.float16)
    fused = evaluate(
        lambda emit, a, b: emit(op.add(emit(op.multiply(a, b)), emit(op.divide(a, b)))),
        x, y, flags=("-O2",),
    )  # fmt: skip
    np.testing.assert_array_equal(fused[0], x * y + x / y)
