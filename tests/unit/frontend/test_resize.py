"""Bilinear resizes of floats as sums of two weighted rows and columns each."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper

from match_aie.frontend import load, normalize
from match_aie.frontend.canonical.resize import places
from tests.unit.frontend.test_normalize import model_of, operators, run

runtime = pytest.importorskip("onnxruntime")

MODES = ("half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel")


@settings(max_examples=300, deadline=None)
@given(st.integers(1, 600), st.integers(1, 600), st.sampled_from(MODES))
def test_places_equal_a_matrix_in_float64(have, want, how):
    """Product with unit vectors; float32 moves a place by half a last bit of `have`, twice."""
    at = np.arange(want, dtype=np.float64)
    if how == "align_corners":
        at = at * (have - 1) / max(want - 1, 1)
    elif how == "asymmetric":
        at = at * have / want
    else:
        at = (at + 0.5) * have / want - 0.5
        if how == "pytorch_half_pixel" and want == 1:
            at = np.zeros(1)
    at = np.clip(at, 0, have - 1)
    near, far, weight = places(have, want, how)
    assert 0 <= near.min() <= far.max() < have
    assert 0 <= weight.min() <= weight.max() <= 1
    found = near * (1 - weight.astype(np.float64)) + far * weight.astype(np.float64)
    np.testing.assert_allclose(found, at, rtol=0, atol=have * 2.0**-22)


def resizing(kind, how, sizes, before, mode="linear"):
    """Relu or a 1x1 convolution of [2, 3, H, W], its result in other sizes."""
    known = {"sizes": np.array([2, 3, *sizes], np.int64), "none": np.zeros(0, np.float32)}
    first = helper.make_node("Relu", ["x"], ["a"])
    if kind == "conv":
        rng = np.random.default_rng(1)
        known["w"] = rng.standard_normal((3, 3, 1, 1)).astype(np.float32)
        first = helper.make_node("Conv", ["x", "w"], ["a"])
    last = helper.make_node(
        *("Resize", ["a", "none", "none", "sizes"], ["y"]),
        mode=mode,
        coordinate_transformation_mode=how,
        **({"nearest_mode": "floor"} if mode == "nearest" else {}),
    )
    ports = [("x", TensorProto.FLOAT, (2, 3, *before))], [("y", TensorProto.FLOAT, 4)]
    return model_of([first, last], *ports, known)


@pytest.mark.parametrize("kind", ["conv", "relu"])
@pytest.mark.parametrize("how", MODES)
@pytest.mark.parametrize(
    ("before", "sizes"),
    [((4, 6), (8, 12)), ((5, 7), (10, 7)), ((8, 6), (2, 3)), ((3, 4), (7, 9)), ((1, 2), (4, 2))],
)
def test_equals_onnxruntime(kind, how, before, sizes):
    model = resizing(kind, how, sizes, before)
    normalised = normalize(load(model))
    assert "image.resize2d" not in operators(normalised)
    x = np.random.default_rng(2).standard_normal((2, 3, *before)).astype(np.float32)
    session = runtime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    (want,) = session.run(None, {"x": x})
    (got,) = run(normalised, x)
    np.testing.assert_allclose(got, want, rtol=0, atol=3e-6)


def test_nearest_elements_stay_channel_last_behind_a_convolution():
    normalised = normalize(load(resizing("conv", "asymmetric", (8, 8), (4, 4), "nearest")))
    assert operators(normalised).count("permute_dims") == 2
    x = np.random.default_rng(2).standard_normal((2, 3, 4, 4)).astype(np.float32)
    (got,) = run(normalised, x)
    np.testing.assert_array_equal(got[:, :, ::2, ::2], got[:, :, 1::2, 1::2])
