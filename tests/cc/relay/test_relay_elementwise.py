"""Relay's element-wise operators, compiled for the CPU, against numpy."""

import math

import numpy as np
from relay_harness import Sheet, needs_compiler

pytestmark = needs_compiler

RNG = np.random.default_rng(7)
X = RNG.uniform(-3, 3, (2, 3, 4)).astype(np.float32)
Y = RNG.uniform(-3, 3, (3, 1)).astype(np.float32)
TIES = np.array([-2.5, -1.5, -0.5, -0.49999997, 0.0, 0.49999997, 0.5, 1.5, 2.5, 3e9], np.float32)
INTS = RNG.integers(-1000, 1000, (2, 3, 4)).astype(np.int32)
J = RNG.integers(1, 30, (4,)).astype(np.int32) * np.array([1, -1, 1, -1], np.int32)
S = RNG.integers(0, 9, (4,)).astype(np.int32)
B = RNG.integers(-128, 128, (2, 3, 4)).astype(np.int8)


def half_away(x):
    whole = np.trunc(x)
    return whole + np.where(np.abs(x - whole) >= 0.5, np.sign(x), 0).astype(x.dtype)


def fixed_point(x, multiplier, left, right):
    wide = (x.astype(np.int64) << left) * multiplier
    total = right + 31
    return ((wide + (np.int64(1) << (total - 1))) >> total).astype(np.int32)


def test_floats(tmp_path):
    inputs = {"x": X, "y": Y, "ties": TIES, "u": np.abs(X) / 4, "v": np.abs(X) + 1}
    sheet = Sheet(inputs)
    u, v = inputs["u"], inputs["v"]
    exact = {
        "abs": np.abs,
        "ceil": np.ceil,
        "floor": np.floor,
        "negative": np.negative,
        "sign": np.sign,
        "trunc": np.trunc,
        "sqrt": np.sqrt,
    }
    for name, function in exact.items():
        sheet.check(
            f"{name}(%{'v' if name == 'sqrt' else 'x'})", function(v if name == "sqrt" else X)
        )
    near = {
        "atan": np.arctan,
        "cos": np.cos,
        "cosh": np.cosh,
        "exp": np.exp,
        "sin": np.sin,
        "sinh": np.sinh,
        "tan": np.tan,
        "tanh": np.tanh,
        "asinh": np.arcsinh,
        "fast_exp": np.exp,
        "fast_tanh": np.tanh,
    }
    for name, function in near.items():
        sheet.check(f"{name}(%x)", function(X), 2e-6 if name != "tan" else 1e-5)
    for name, function in {"acos": np.arccos, "asin": np.arcsin, "atanh": np.arctanh}.items():
        sheet.check(f"{name}(%u)", function(u), 2e-6)
    for name, function in {
        "log": np.log,
        "log2": np.log2,
        "log10": np.log10,
        "acosh": np.arccosh,
    }.items():
        sheet.check(f"{name}(%v)", function(v), 2e-6)
    sheet.check("rsqrt(%v)", 1 / np.sqrt(v), 1e-6)
    sheet.check("erf(%x)", np.vectorize(math.erf)(X).astype(np.float32), 2e-6)
    sheet.check("sigmoid(%x)", 1 / (1 + np.exp(-X)), 2e-6)
    sheet.check("round(%ties)", half_away(TIES))
    for name, function in {
        "add": np.add,
        "subtract": np.subtract,
        "multiply": np.multiply,
        "divide": np.divide,
        "maximum": np.maximum,
        "minimum": np.minimum,
        "equal": np.equal,
        "not_equal": np.not_equal,
        "less": np.less,
        "less_equal": np.less_equal,
        "greater": np.greater,
        "greater_equal": np.greater_equal,
    }.items():
        sheet.check(f"{name}(%x, %y)", function(X, Y))
    sheet.check("power(%v, %y)", np.power(v, Y), 1e-5)
    sheet.check("%x + %y * 2f - %y", (X + Y * np.float32(2)) - Y)
    sheet.check("nn.relu(%x)", np.maximum(X, 0))
    sheet.check("nn.leaky_relu(%x, alpha=0.1f)", np.where(X > 0, X, X * np.float32(0.1)))
    sheet.check("clip(%x, a_min=-1f, a_max=0.5f)", np.clip(X, -1, np.float32(0.5)))
    sheet.check("clip(%x, a_min=-inff, a_max=0.5f)", np.minimum(X, np.float32(0.5)))
    sheet.check('cast(%x, dtype="int32")', X.astype(np.int32))
    sheet.check('cast(%x, dtype="float64")', X.astype(np.float64))
    sheet.check("where(less(%x, %y), %x, multiply(%x, -1f))", np.where(X < Y, X, -X))
    sheet.check("isnan(%x)", np.isnan(X))
    sheet.check("nn.dropout(%x, rate=0.5f).0", X)
    sheet.check(
        "annotation.stop_fusion(on_device(add(%x, 1f), virtual_device=meta[VirtualDevice][0]))",
        X + 1,
    )
    sheet.verify(tmp_path)


def test_integers(tmp_path):
    per_axis = {
        "m": np.array([1 << 30, 1518500250, 2147483647, 1288490189], np.int32),
        "l": np.array([0, 0, 2, 0], np.int32),
        "r": np.array([1, 7, 0, 4], np.int32),
        "vector": np.array([3, -4, 5], np.int32),
    }
    sheet = Sheet({"i": INTS, "j": J, "s": S, "b": B}, per_axis)
    for name, function in {
        "add": np.add,
        "subtract": np.subtract,
        "multiply": np.multiply,
        "floor_divide": np.floor_divide,
        "floor_mod": np.mod,
        "maximum": np.maximum,
        "minimum": np.minimum,
        "bitwise_and": np.bitwise_and,
        "bitwise_or": np.bitwise_or,
        "bitwise_xor": np.bitwise_xor,
        "less": np.less,
        "greater_equal": np.greater_equal,
        "equal": np.equal,
    }.items():
        sheet.check(f"{name}(%i, %j)", function(INTS, J))
    truncated = np.trunc(INTS.astype(np.float64) / J).astype(np.int32)
    sheet.check("divide(%i, %j)", truncated)
    sheet.check("mod(%i, %j)", INTS - truncated * J)
    sheet.check("right_shift(%i, %s)", INTS >> S)
    sheet.check("left_shift(%i, %s)", INTS << S)
    sheet.check("right_shift(%b, 2i8)", B >> 2)
    sheet.check("add(%b, 100i8)", B + np.int8(100))
    sheet.check("bitwise_not(%i)", ~INTS)
    sheet.check("logical_not(less(%i, %j))", ~(INTS < J))
    sheet.check("logical_and(less(%i, %j), True)", INTS < J)
    sheet.check("logical_or(less(%i, %j), False)", INTS < J)
    sheet.check("logical_xor(less(%i, %j), True)", INTS >= J)
    sheet.check("clip(%i, a_min=-7.9f, a_max=128f)", np.clip(INTS, -7, 128))
    sheet.check("clip(%b, a_min=-300f, a_max=5f)", np.clip(B, -128, 5))
    sheet.check('cast(%i, dtype="int8")', INTS.astype(np.int8))
    sheet.check('cast(%i, dtype="uint8")', INTS.astype(np.uint8))
    sheet.check('cast(%i, dtype="bool")', INTS.astype(bool))
    sheet.check("abs(%i)", np.abs(INTS))
    sheet.check("negative(%b)", -B)
    sheet.check("round(%i)", INTS)
    sheet.check("cast_like(%b, %i)", B.astype(np.int32))
    sheet.check("nn.bias_add(%i, %vector)", INTS + per_axis["vector"].reshape(3, 1))
    sheet.check("nn.bias_add(%i, %j, axis=-1)", INTS + J)
    for multiplier, shift in ((1 << 30, 0), (1518500250, -5), (1288490189, 3), (2147483647, 0)):
        text = f"fixed_point_multiply(%i, multiplier={multiplier}, shift={shift})"
        sheet.check(text, fixed_point(INTS, multiplier, max(shift, 0), max(-shift, 0)))
    sheet.check(
        "fixed_point_multiply_per_axis(%i, %m, %l, %r, is_lshift_required=1, "
        "is_rshift_required=True, axes=[2])",
        fixed_point(INTS, per_axis["m"].astype(np.int64), per_axis["l"], per_axis["r"]),
    )
    sheet.verify(tmp_path)
