"""Attention in bfloat16: its weights, its distance from the float layer, what it refuses."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from match_aie.errors import ModelError
from match_aie.workload import reference
from match_aie.workload.attention_bfloat16 import (
    FARTHEST_STEPS,
    STEPS,
    attention_bfloat16,
    powers,
    steps_of,
    total_of,
    unshifted_powers,
    weights_added,
)
from match_aie.workload.attention_bound import WEIGHT_ERROR
from match_aie.workload.bfloat16 import to_bfloat16
from match_aie.workload.real import attention
from match_aie.workload.real_bound import real_expected, within_bound
from tests.aie_attention import drawn_floats, float_attention

POLYNOMIAL = WEIGHT_ERROR - 0.0028


def test_weights_are_powers_of_two() -> None:
    """Of every distance that counts: near the power, bfloat16, the largest one exactly."""
    below = np.arange(FARTHEST_STEPS + 1)
    found = powers(-below[None, :], np.zeros((1, 1), np.int32))[0]
    wanted = 2.0 ** (-below / STEPS)
    assert np.abs(found / wanted - 1).max() < POLYNOMIAL
    assert found[0] == 1.0
    np.testing.assert_array_equal(found, to_bfloat16(found))
    assert (np.diff(found) <= 0).all()


@pytest.mark.parametrize("most", [32767, 0, -20000, -30000, -32768])
def test_weights_depend_on_distances_alone(most) -> None:
    """Wherever scores stand; exactly so where 64 powers of two are below the largest one."""
    steps = np.maximum(most - np.array([[0, 1, 700, 8000, 20000]]), -32768).astype(np.int32)
    found = powers(steps, np.array([[most]], np.int32))
    assert np.isfinite(found).all()
    assert (found > 0).all()
    shifted = powers(steps - most, np.zeros((1, 1), np.int32))
    ratio = (found / shifted)[0]
    close = 0.0 if most >= FARTHEST_STEPS - 32768 else 2 * POLYNOMIAL
    np.testing.assert_allclose(ratio, ratio[0], rtol=close)
    assert ratio[0] == 1.0 or close


def test_scores_are_rounded_to_steps_and_saturate() -> None:
    sums = np.array([0, 1, -1, 0.5 / STEPS, 1.5 / STEPS, 300, -300, 1e5, -9e4], np.float32)
    wanted = [0, STEPS, -STEPS, 0, 2, 32767, -32768, 32767, -32768]
    np.testing.assert_array_equal(steps_of(sums), wanted)


def test_lifted_scores_are_the_same_but_where_they_wrap() -> None:
    """Those of weights that count, and of none; 32 bits wrap 64 powers of two later."""
    sums = np.array([0, 1, -63.9, 63.9, -300, 1e5, -9e4, -98305, -196500, -196700], np.float32)
    plain, lifted = steps_of(sums), steps_of(sums, FARTHEST_STEPS)
    np.testing.assert_array_equal(unshifted_powers(plain), unshifted_powers(lifted))
    wraps = np.array([-196608 + 32], np.float32)
    assert steps_of(wraps) == 32767
    assert steps_of(wraps, FARTHEST_STEPS) == -32768 - FARTHEST_STEPS


@settings(max_examples=20, deadline=None)
@given(st.integers(1, 9), st.integers(1, 150), st.integers(0, 100))
def test_sums_of_weights_do_not_depend_on_parts(rows, keys, seed) -> None:
    weights = np.random.default_rng(seed).uniform(0, 1, (rows, keys)).astype(np.float32)
    zero = np.zeros((rows, 4), np.float32)
    whole, parted = weights_added(zero, weights), zero
    for at in range(0, keys, 32):
        parted = weights_added(parted, weights[:, at : at + 32])
    np.testing.assert_array_equal(whole, parted)
    np.testing.assert_allclose(total_of(whole)[:, 0], weights.sum(axis=1), rtol=1e-5)


def test_unshifted_weights_are_powers_of_scores_within_what_counts() -> None:
    steps = np.arange(-FARTHEST_STEPS, FARTHEST_STEPS)
    found = unshifted_powers(steps[None, :])[0]
    assert np.abs(found / 2.0 ** (steps / STEPS) - 1).max() < POLYNOMIAL
    beyond = np.array([[-32768, -FARTHEST_STEPS, FARTHEST_STEPS - 1, FARTHEST_STEPS, 32767]])
    least, same, most, more, largest = unshifted_powers(beyond)[0]
    assert least == same
    assert most == more == largest
    np.testing.assert_array_equal(found, to_bfloat16(found))


@pytest.mark.parametrize("spread", [0.05, 1.0, 1.8])
def test_an_unshifted_softmax_is_as_near_to_the_layer(spread) -> None:
    """Of scores within 63 powers of two of 0; both forms have the same bound then."""
    rng, found = np.random.default_rng(7), {}
    for unshifted in (False, True):
        workload, constants = float_attention(3, heads=2, sizes=(9, 150, 64), unshifted=unshifted)
        inputs = [spread * rng.standard_normal(o.shape).astype(np.float32) for o in workload.inputs]
        rng = np.random.default_rng(7)
        got = reference(workload, inputs, constants)
        expected = real_expected(workload, inputs, constants, got)
        assert np.isfinite(expected.error).any()
        assert within_bound(workload, inputs, constants, got).all()
        found[unshifted] = np.abs(got - expected.value).mean()
    assert found[True] < 1.5 * found[False]


def test_scores_beyond_what_an_unshifted_softmax_counts_have_no_bound() -> None:
    workload, constants = float_attention(3, heads=1, sizes=(4, 40, 16), unshifted=True)
    inputs = [np.full(o.shape, 6.0, np.float32) for o in workload.inputs]
    got = reference(workload, inputs, constants)
    assert np.isinf(real_expected(workload, inputs, constants, got).error).all()


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**6))
def test_results_are_within_their_bound(seed) -> None:
    workload, constants = float_attention(seed, unshifted=seed % 2 == 1)
    inputs = drawn_floats(workload, np.random.default_rng(seed))
    tensors = [inputs[o.name] for o in workload.inputs]
    got = reference(workload, tensors, constants)
    assert within_bound(workload, tensors, constants, got).all()
    np.testing.assert_array_equal(got, to_bfloat16(got))


def test_the_bound_finds_a_key_that_is_left_out() -> None:
    workload, constants = float_attention(0, heads=1, sizes=(8, 40, 16))
    inputs = drawn_floats(workload, np.random.default_rng(2))
    inputs = {name: np.abs(x) * np.float32(0.1) for name, x in inputs.items()}
    tensors = [inputs[o.name] for o in workload.inputs]
    less, _ = float_attention(0, heads=1, sizes=(8, 39, 16))
    tensors[2][:, -1] = 50
    got = reference(less, [tensors[0], tensors[1][:, :-1], tensors[2][:, :-1]], constants)
    assert not within_bound(workload, tensors, constants, got).any()


def test_scores_that_saturate_have_no_bound() -> None:
    workload, constants = float_attention(0, heads=1, sizes=(4, 40, 16))
    tensors = [np.full(o.shape, 40, np.float32) for o in workload.inputs]
    got = reference(workload, tensors, constants)
    assert np.isinf(real_expected(workload, tensors, constants, got).error).all()
    np.testing.assert_array_equal(got, 40)


def test_rows_of_equal_scores_are_means() -> None:
    workload, constants = float_attention(1, heads=2, sizes=(5, 64, 8))
    rng = np.random.default_rng(0)
    x, x1, x2 = (rng.standard_normal(o.shape).astype(np.float32) for o in workload.inputs)
    got = reference(workload, [np.zeros_like(x), x1, x2], constants)
    means = np.broadcast_to(to_bfloat16(x2).mean(axis=1, keepdims=True), got.shape)
    np.testing.assert_allclose(got, means, rtol=2**-8, atol=2**-10)


def test_a_mask_has_no_meaning() -> None:
    workload = attention(
        batch=1, heads=1, queries=2, keys=40, size=8, value_size=8, factor=1.0, mask=("OX",)
    )
    with pytest.raises(ModelError, match="added to its scores"):
        attention_bfloat16(workload, {})


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**6))
def test_results_in_blocks_are_within_their_bound(seed) -> None:
    workload, constants = float_attention(seed, unshifted=True, blocks=True)
    assert workload.real.precision == "bfp16"
    inputs = drawn_floats(workload, np.random.default_rng(seed))
    tensors = [inputs[o.name] for o in workload.inputs]
    got = reference(workload, tensors, constants)
    assert within_bound(workload, tensors, constants, got).all()
    np.testing.assert_array_equal(got, to_bfloat16(got))


def test_the_bound_of_blocks_finds_a_key_that_is_left_out() -> None:
    """Products of blocks may be off by more, but not by a value that is large."""
    how = {"heads": 1, "unshifted": True, "blocks": True}
    workload, constants = float_attention(0, sizes=(8, 40, 16), **how)
    inputs = drawn_floats(workload, np.random.default_rng(2))
    tensors = [np.abs(inputs[o.name]) * np.float32(0.1) for o in workload.inputs]
    less, _ = float_attention(0, sizes=(8, 39, 16), **how)
    tensors[2][:, -1] = 50
    got = reference(less, [tensors[0], tensors[1][:, :-1], tensors[2][:, :-1]], constants)
    assert not within_bound(workload, tensors, constants, got).any()


@settings(max_examples=20, deadline=None)
@given(st.integers(1, 9), st.integers(1, 150), st.integers(0, 100))
def test_sums_of_weights_of_blocks_do_not_depend_on_parts(rows, keys, seed) -> None:
    """Eight sums, each of every eighth key."""
    weights = np.random.default_rng(seed).uniform(0, 1, (rows, keys)).astype(np.float32)
    zero = np.zeros((rows, 8), np.float32)
    whole, parted = weights_added(zero, weights, 1), zero
    for at in range(0, keys, 16):
        parted = weights_added(parted, weights[:, at : at + 16], 1)
    np.testing.assert_array_equal(whole, parted)
    wanted = [weights[:, at::8].sum(axis=1) for at in range(8)]
    np.testing.assert_allclose(whole, np.array(wanted).T, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("spread", [0.3, 1.0])
def test_what_blocks_lose(spread) -> None:
    """By the norm, beside products of bfloat16; normal numbers, 300 keys."""
    off = {}
    for blocks in (False, True):
        how = {"heads": 2, "sizes": (40, 300, 64), "unshifted": True, "blocks": blocks}
        workload, constants = float_attention(3, **how)
        rng = np.random.default_rng(7)
        inputs = [spread * rng.standard_normal(o.shape).astype(np.float32) for o in workload.inputs]
        got = reference(workload, inputs, constants)
        wanted = real_expected(workload, inputs, constants, got).value
        off[blocks] = np.linalg.norm(got - wanted) / np.linalg.norm(wanted)
    assert off[False] < 0.006
    assert off[False] < off[True] < 0.02
