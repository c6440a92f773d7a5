"""Norms of bytes in float32: within float32's errors of the exact one, for every kind of row."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from match_aie.workload import Quantized, full_range, quantised_norm, reference, refuses_norm
from match_aie.workload.byte_norm import MOST_COLUMNS, norm_steps


def layer(x, *, rows, columns, kind="layer_norm", epsilon=1e-5):
    y = Quantized("int8", 0.03, -3)
    tail = full_range("int8", -3)
    return quantised_norm(x, y, rows=rows, columns=columns, epsilon=epsilon, tail=tail, kind=kind)


def numbers(rng, columns, kind):
    weight, bias = rng.normal(1, 0.3, columns), rng.normal(0, 0.5, columns)
    made = {"weight": weight.astype(np.float32), "bias": bias.astype(np.float32)}
    return made if kind == "layer_norm" else {"weight": made["weight"]}


def exact(workload, arrays):
    """In float64: steps of the output, and the size of what was added up for them."""
    x = workload.operand("x")
    real = (arrays["x"].astype(np.float64) - x.zero_point) * np.float64(np.float32(x.scale))
    if workload.kind == "layer_norm":
        real = real - real.mean(axis=-1, keepdims=True)
    power = np.square(real).mean(axis=-1, keepdims=True) + workload.parameter("epsilon")
    y = np.float64(np.float32(workload.output.scale))
    scaled = real / np.sqrt(power) * arrays["weight"] / y
    more = arrays.get("bias", 0.0) / y
    return scaled + more, np.abs(scaled) + np.abs(more)


@st.composite
def cases(draw):
    dtype = draw(st.sampled_from(["int8", "uint8"]))
    info = np.iinfo(dtype)
    x = Quantized(dtype, draw(st.floats(1e-4, 2.0)), draw(st.integers(info.min, info.max)))
    rows, columns = draw(st.integers(1, 6)), draw(st.sampled_from([1, 2, 3, 17, 64, 513, 4096]))
    kind = draw(st.sampled_from(["layer_norm", "rms_norm"]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    low, high = sorted(draw(st.tuples(*[st.integers(info.min, info.max)] * 2)))
    values = rng.integers(low, high + 1, (rows, columns)).astype(dtype)
    return layer(x, rows=rows, columns=columns, kind=kind), values, numbers(rng, columns, kind)


@given(cases())
@settings(max_examples=150, deadline=None)
def test_within_the_roundings_of_float32(case):
    """Seven: of the factor of a row, of weight and bias by the step, of four operations."""
    workload, x, constants = case
    arrays = {**constants, "x": x}
    wanted, size = exact(workload, arrays)
    found = norm_steps(workload, arrays)
    assert found.dtype == np.float32
    assert np.all(np.abs(found - wanted) <= 7 * 2.0**-24 * size + 1e-30)
    y = reference(workload, [x], constants).astype(int)
    clear = np.abs(wanted - np.floor(wanted) - 0.5) > 1e-4
    assert np.array_equal(y[clear], np.clip(np.rint(wanted) - 3, -128, 127)[clear])


def test_rows_of_one_value_are_the_bias():
    workload = layer(Quantized("uint8", 0.1, 200), rows=3, columns=65536)
    constants = numbers(np.random.default_rng(0), 65536, "layer_norm")
    x = np.repeat(np.array([[0], [255], [200]], np.uint8), 65536, axis=1)
    steps = np.rint(constants["bias"] / np.float32(0.03))
    assert (reference(workload, [x], constants) == np.clip(steps - 3, -128, 127)).all()


@pytest.mark.parametrize("kind", ["layer_norm", "rms_norm"])
def test_numbers_that_are_not_finite_give_the_least(kind):
    constants = numbers(np.random.default_rng(0), 8, kind)
    constants["weight"][:2] = np.nan, -np.inf
    x = np.array([[9, 9, 3, 4, 5, 6, 7, 8]], np.int8)
    found = reference(
        layer(Quantized("int8", 0.1, 3), rows=1, columns=8, kind=kind), [x], constants
    )
    assert found[0, :2].tolist() == [-128, -128]


def test_refuses_rows_whose_sums_are_not_exact_and_roots_of_nothing():
    x = Quantized("int8", 0.1, 0)
    assert refuses_norm(layer(x, rows=1, columns=MOST_COLUMNS)) is None
    assert "not exact" in refuses_norm(layer(x, rows=1, columns=MOST_COLUMNS + 1))
    assert "may be 0" in refuses_norm(layer(x, rows=1, columns=8, epsilon=0.0))


@given(
    scale=st.floats(2.0**-149, 2.0**127, width=32),
    epsilon=st.floats(0, 1e30),
    columns=st.sampled_from([1, 7, 4097, MOST_COLUMNS]),
    kind=st.sampled_from(["layer_norm", "rms_norm"]),
    zero=st.integers(0, 255),
)
@settings(max_examples=100, deadline=None)
def test_rows_that_are_taken_are_multiplied_by_normal_numbers(scale, epsilon, columns, kind, zero):
    """Rows of one value are 0 then; others have all of their bits."""
    x = Quantized("uint8", scale, zero)
    workload = layer(x, rows=3, columns=columns, kind=kind, epsilon=epsilon)
    if refuses_norm(workload):
        return
    values = np.full((3, columns), zero, np.uint8)
    values[1] = np.where(np.arange(columns) % 2, 0, 255)
    values[2, 0] = zero ^ 1
    arrays = {"x": values, "weight": np.ones(columns, np.float32)}
    if kind == "layer_norm":
        arrays["bias"] = np.zeros(columns, np.float32)
    found = norm_steps(workload, arrays)
    assert not found[0].any()
    wanted, size = exact(workload, arrays)
    assert np.all(np.abs(found - wanted) <= 7 * 2.0**-24 * size + 1e-30)


def test_refuses_rows_that_are_multiplied_by_no_normal_number():
    """A row of one value would be 0 times infinity."""
    most, least = Quantized("int8", 1e38, 0), Quantized("int8", 1e-40, 0)
    for kind in ("layer_norm", "rms_norm"):
        for x in (most, least):
            assert "no normal number" in refuses_norm(layer(x, rows=1, columns=8, kind=kind))
    assert refuses_norm(layer(most, rows=1, columns=8, epsilon=1e5)) is None
