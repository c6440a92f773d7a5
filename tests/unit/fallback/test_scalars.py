import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from match_aie.fallback.scalars import BINARY, Helpers, literal


def _parse(text: str) -> float:
    return float.fromhex(text.removesuffix("f").replace("p", "p"))


@given(st.floats(width=32, allow_nan=False, allow_infinity=False))
def test_float_literals_are_exact(value):
    assert np.float32(_parse(literal(value, "float32"))) == np.float32(value)
    assert math.copysign(1, _parse(literal(value, "float32"))) == math.copysign(1, value)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_double_literals_are_exact(value):
    text = literal(value, "float64")
    assert not text.endswith("f")
    assert float.fromhex(text) == value


def test_a_float_literal_is_rounded_as_the_type_rounds():
    assert literal(0.1, "float32") == "0x1.99999ap-4f"
    assert literal(1e39, "float32") == "INFINITY"
    assert literal(float("nan"), "float64") == "((double)NAN)"
    assert literal(0.5, "float16") == "((_Float16)0x1p-1f)"


@pytest.mark.parametrize(
    ("value", "dtype", "text"),
    [
        (-(2**31), "int32", "INT32_MIN"),
        (-(2**63), "int64", "INT64_MIN"),
        (2**64 - 1, "uint64", "UINT64_C(18446744073709551615)"),
        (-7, "int8", "-7"),
        (1, "bool", "true"),
    ],
)
def test_integer_literals(value, dtype, text):
    assert literal(value, dtype) == text


def test_helpers_are_made_once_and_named_by_type():
    helpers = Helpers("net")
    names = {helpers.binary(kind, "int32") for kind in BINARY}
    assert len(names) == len(BINARY)
    assert {helpers.binary(kind, "int32") for kind in BINARY} == names
    assert set(helpers.sources) == names
    assert all(name.startswith("net_") for name in names)
    assert helpers.to_integer("float32", "int8") == "net_f32_to_i8"
