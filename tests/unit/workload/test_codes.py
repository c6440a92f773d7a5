"""Rows as they are once they were stored in 8 bits, beside onnxruntime and by hand."""

import numpy as np
import onnxruntime as ort
import pytest
from onnx import TensorProto, helper

from match_aie.workload import CODES
from match_aie.workload.codes import ROWS_OFF, coded, integer_rows

RNG = np.random.default_rng(5)
ROWS = RNG.standard_normal((20, 37)).astype(np.float32)


def test_onnx_runtime_codes_likewise():
    node = helper.make_node("DynamicQuantizeLinear", ["x"], ["q", "s", "z"])
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, (37,))
    kinds = {"q": TensorProto.UINT8, "s": TensorProto.FLOAT, "z": TensorProto.UINT8}
    results = [helper.make_tensor_value_info(name, kind, None) for name, kind in kinds.items()]
    graph = helper.make_graph([node], "codes", [x], results)
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    session = ort.InferenceSession(made.SerializeToString())
    for row in (*ROWS, np.abs(ROWS[0]), -np.abs(ROWS[1])):
        q, s, z = session.run(None, {"x": row})
        expected = (q.astype(np.float32) - np.float32(z)) * s
        np.testing.assert_array_equal(coded(row[None], "uint8")[0], expected)


@pytest.mark.parametrize("how", CODES[1:])
def test_no_more_than_256_values_half_a_step_away(how):
    for row, found in zip(ROWS, coded(ROWS, how), strict=True):
        step = (row.max() - row.min()) / 255
        step = 2 * np.abs(row).max() / 254 if how == "symmetric" else step
        assert np.abs(found - row).max() <= 1.01 * step
        assert len(np.unique(found)) <= 256
        assert np.abs(found / step - np.rint(found / step)).max() < 1e-3


@pytest.mark.parametrize("how", CODES[1:])
def test_zeros_stay_zeros(how):
    assert not coded(np.zeros((2, 3), np.float32), how).any()


def test_halves_go_away_from_zero_or_to_even():
    row = np.array([[127.0, 0.5, 1.5, -0.5, -2.5, 126.5]], np.float32)
    np.testing.assert_array_equal(coded(row, "symmetric"), [[127, 1, 2, -1, -3, 127]])
    row = np.array([[255.0, 0.5, 1.5, 2.5, 0.0]], np.float32)
    np.testing.assert_array_equal(coded(row, "uint8"), [[255, 0, 2, 2, 0]])
    # From 0 to 255 the zero point is -128: -127.5 and the like are rounded.
    np.testing.assert_array_equal(coded(row, "asymmetric"), [[255, 0, 1, 2, 0]])


@pytest.mark.parametrize("lowest", [-128, -127, -40])
def test_integers_are_found_again(lowest):
    """Codes times a float32 scale for each row; a row of zeros, and one of a single code."""
    codes = RNG.integers(lowest, 128, (40, 33)).astype(np.int8)
    codes[3], codes[4] = 0, -7
    scales = RNG.uniform(1e-4, 3e2, (40, 1)).astype(np.float32)
    weight = codes.astype(np.float32) * scales
    found = integer_rows(weight)
    wide = found.codes * found.scales.astype(np.float64)[:, None]
    assert found.codes.dtype == np.int8
    assert (np.abs(wide - weight) <= ROWS_OFF * np.abs(weight)).all()


@pytest.mark.parametrize("at", [0, 39])
def test_floats_are_no_integers(at):
    """One row of numbers that are none, or one of 9 bits, or one that is not finite."""
    codes = RNG.integers(-127, 128, (40, 33)).astype(np.float32)
    for row in (RNG.standard_normal(33), np.arange(33) * 8 - 1, np.full(33, np.inf)):
        weight = codes.copy()
        weight[at] = row
        assert integer_rows(weight) is None
