"""Dense layers in bfloat16: what they mean to the bit, and how far that is from float32."""

from dataclasses import replace

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from match_aie.errors import ModelError
from match_aie.workload import RealTail, real_dense, reference, refuses_bfloat16, within_bound
from match_aie.workload.bfloat16 import dense_bfloat16, summed, to_bfloat16

BF16 = RealTail(precision="bfloat16")


@settings(max_examples=200, deadline=None)
@given(st.lists(st.integers(0, 2**32 - 1), min_size=1, max_size=64))
def test_rounding_is_that_of_ml_dtypes(bits):
    values = np.array(bits, np.uint32).view(np.float32)
    wanted = values.astype(ml_dtypes.bfloat16).astype(np.float32)
    got = to_bfloat16(values)
    assert np.array_equal(np.isnan(got), np.isnan(wanted))
    known = ~np.isnan(wanted)
    np.testing.assert_array_equal(got.view(np.uint32)[known], wanted.view(np.uint32)[known])


def test_halves_go_to_even():
    halves = np.array([0x3F808000, 0x3F818000, 0xBF808000, 0x3F808001], np.uint32)
    kept = to_bfloat16(halves.view(np.float32)).view(np.uint32) >> 16
    np.testing.assert_array_equal(kept, [0x3F80, 0x3F82, 0xBF80, 0x3F81])


def dense_of(x, weight, bias=None, tail=BF16):
    x, weight = np.array(x, np.float32), np.array(weight, np.float32)
    workload = real_dense(
        rows=len(x), inputs=x.shape[1], outputs=len(weight), bias=bias is not None, tail=tail
    )
    constants = {"weight": weight}
    if bias is not None:
        constants["bias"] = np.array(bias, np.float32)
    return reference(workload, [x], constants)


def test_products_are_added_one_after_the_other():
    """In ascending order: 2**24 swallows the 1 that comes behind it, not the one before."""
    large, one = 2.0**12, 1.0
    assert dense_of([[large, one, large]], [[large, one, -large]]) == 0.0
    assert dense_of([[large, large, one]], [[large, -large, one]]) == 1.0
    assert dense_of([[large, one]], [[-large, one]], [2.0**24]) == 1.0


def test_operands_and_result_are_rounded():
    third = 1 / 3
    close = np.float32(np.float32(0.333984375) * np.float32(3.0))  # bfloat16(1/3) * 3
    assert close == 1.001953125
    assert dense_of([[third]], [[3.0]]) == 1.0  # 1.00195 rounds to 1
    assert dense_of([[third]], [[3.0]], [256.0]) == 258.0  # 257.00195
    assert dense_of([[third]], [[96.0]]) == 32.0


def test_relu_comes_last_and_no_zero_is_negative():
    relu = replace(BF16, activation="relu")
    assert dense_of([[1.0]], [[-2.0]], [1.0], relu) == 0.0
    assert dense_of([[1.0]], [[-2.0]], [1.0]) == -1.0
    assert not np.signbit(dense_of([[0.0]], [[-2.0]], [-0.0]))


@settings(max_examples=60, deadline=None)
@given(
    st.integers(1, 5),
    st.integers(1, 90),
    st.integers(1, 7),
    st.sampled_from([-40, -12, 0, 12]),
    st.integers(0, 2**32 - 1),
)
def test_results_are_within_their_bound_of_the_float32_layer(rows, inputs, outputs, power, seed):
    rng = np.random.default_rng(seed)
    workload = real_dense(rows=rows, inputs=inputs, outputs=outputs, bias=True, tail=BF16)
    x = np.ldexp(rng.standard_normal((rows, inputs)), power).astype(np.float32)
    constants = {
        "weight": np.ldexp(rng.standard_normal((outputs, inputs)), -power).astype(np.float32),
        "bias": rng.standard_normal(outputs).astype(np.float32),
    }
    got = reference(workload, [x], constants)
    assert within_bound(workload, [x], constants, got).all()
    off = got + np.float32(0.05) * (np.abs(x) @ np.abs(constants["weight"]).T + 9)
    assert not within_bound(workload, [x], constants, off).any()


def test_the_bound_of_float32_is_narrower():
    rng = np.random.default_rng(0)
    workload = real_dense(rows=3, inputs=40, outputs=5, tail=BF16)
    x = rng.standard_normal((3, 40)).astype(np.float32)
    constants = {"weight": rng.standard_normal((5, 40)).astype(np.float32)}
    got = reference(workload, [x], constants)
    assert not within_bound(replace(workload, real=RealTail()), [x], constants, got).any()


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"tail": RealTail("gelu")}, "behind a ReLU, not gelu"),
        ({"tail": RealTail(factor=2.0)}, "sums are stored as they are"),
        ({"residual": True}, "residual"),
        ({"x_axes": ("C", "B")}, "transposed"),
        ({"y_axes": ("K", "B")}, "transposed"),
    ],
)
def test_other_layers_are_refused(changes, why):
    workload = real_dense(rows=2, inputs=3, outputs=4, **changes)
    assert why in refuses_bfloat16(workload)
    with pytest.raises(ModelError):
        dense_bfloat16(workload, {})


def test_sums_begin_with_what_is_given():
    x, w = np.ones((2, 3), np.float32), np.ones((3, 4), np.float32)
    np.testing.assert_array_equal(summed(np.full(4, 2.0, np.float32), x, w), np.full((2, 4), 5.0))
