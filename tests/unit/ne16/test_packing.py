"""Packed weights: the recorded bytes, and back."""

import csv

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from match_aie.errors import ModelError
from match_aie.targets.gap9.ne16.packing import pack_weights, packed_bytes, unpack_weights
from tests.shared import DATA


def test_recorded_weights():
    golden = np.load(DATA / "ne16_golden.npz")
    rows = list(csv.DictReader((DATA / "ne16_cycles.csv").open()))
    assert len(rows) == 11
    for row in rows:
        weight = golden[f"{row['name']}.w"].transpose(0, 2, 3, 1)
        packed = pack_weights(weight, int(row["weight_bits"]), row["depthwise"] == "1")
        np.testing.assert_array_equal(packed, golden[f"{row['name']}.packed_w"])


@given(
    st.integers(2, 8),
    st.integers(1, 40),
    st.sampled_from([1, 3]),
    st.integers(1, 40),
    st.booleans(),
    st.integers(0, 99),
)
def test_round_trip(bits, outputs, size, inputs, depthwise, seed):
    shape = (outputs, size, size, 1 if depthwise else inputs)
    half = 1 << bits - 1
    weight = np.random.default_rng(seed).integers(-half, half, shape).astype(np.int8)
    packed = pack_weights(weight, bits, depthwise)
    assert packed.size == packed_bytes(outputs, shape[3], size * size, bits, depthwise)
    np.testing.assert_array_equal(unpack_weights(packed, shape, bits, depthwise), weight)


@pytest.mark.parametrize("value", [8, -9])
def test_weights_that_do_not_fit(value):
    with pytest.raises(ModelError, match="do not fit 4 bits"):
        pack_weights(np.full((1, 1, 1, 1), value, np.int8), 4)


def test_packed_weights_of_another_length():
    with pytest.raises(ModelError, match="9216 for shape"):
        unpack_weights(np.zeros(9215, np.uint8), (32, 3, 3, 20), 8)
