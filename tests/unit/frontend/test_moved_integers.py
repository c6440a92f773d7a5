"""What takes elements of a quantised tensor takes integers, exactly."""

import numpy as np
import pytest
from onnx import helper

from match_aie.frontend import load, normalize
from tests.unit.frontend.test_normalize import dq, model_of, operators, parameters, q, run

pytest.importorskip("onnxruntime")

SHAPE = (1, 4, 3, 2)
STEP = ("x", 0.02, 5)


def taken(nodes, known, outputs, dtype=np.int8):
    """What operators are left of `nodes` between `r` and each of `outputs` (name, scale, zero)."""
    from onnxruntime import InferenceSession

    constants = parameters(*STEP, dtype) | known
    tail = []
    for name, scale, zero in outputs:
        constants |= parameters(f"{name}_q", scale, zero, dtype)
        tail.append(q(name, f"{name}_q"))
    integer = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    ports = [(f"{name}_q", integer, 4) for name, _, _ in outputs]
    model = model_of([dq("x", "r"), *nodes, *tail], [("x", integer, SHAPE)], ports, constants)
    found = normalize(load(model))
    x = np.arange(np.prod(SHAPE), dtype=dtype).reshape(SHAPE) * 5
    expected = InferenceSession(model.SerializeToString()).run(None, {"x": x})
    for ours, theirs in zip(run(found, x), expected, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    return operators(found)


def resized(**how):
    return helper.make_node("Resize", ["r", "", "factors"], ["y"], mode="nearest", **how)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8])
def test_parts_of_a_split_are_slices_of_integers(dtype) -> None:
    node = helper.make_node("Split", ["r", "sizes"], ["a", "b"], axis=1)
    known = {"sizes": np.array([1, 3])}
    left = taken([node], known, [("a", 0.02, 5), ("b", 0.02, 5)], dtype)
    assert left == ["strided_slice", "strided_slice"]


def test_a_split_by_a_number_of_parts_is_slices_of_integers() -> None:
    node = helper.make_node("Split", ["r"], ["a", "b"], axis=1)
    left = taken([node], {}, [("a", 0.02, 5), ("b", 0.02, 5)])
    assert left == ["strided_slice", "strided_slice"]


def test_a_slice_of_another_step_is_one_of_integers() -> None:
    node = helper.make_node("Slice", ["r", "begin", "end", "axes"], ["y"])
    known = {"begin": np.array([1]), "end": np.array([3]), "axes": np.array([1])}
    assert taken([node], known, [("y", 0.04, -3)]) == ["strided_slice", "dequantize", "quantize"]


@pytest.mark.parametrize("axis", [1, 3])
def test_a_gather_takes_integers(axis) -> None:
    node = helper.make_node("Gather", ["r", "places"], ["y"], axis=axis)
    left = taken([node], {"places": np.array([1, 0, 1])}, [("y", 0.02, 5)])
    assert left[-1] == "take"
    assert "quantize" not in left


@pytest.mark.parametrize(
    ("how", "left"),
    [
        ({"coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}, "repeat"),
        ({"coordinate_transformation_mode": "half_pixel"}, "repeat"),
        (
            {"coordinate_transformation_mode": "asymmetric", "nearest_mode": "ceil"},
            "image.resize2d",
        ),
    ],
)
def test_a_nearest_resize_of_integers_repeats_them(how, left) -> None:
    known = {"factors": np.array([1, 1, 3, 2], np.float32)}
    found = taken([resized(**how)], known, [("y", 0.02, 5)])
    assert "quantize" not in found
    assert "dequantize" not in found
    assert left in found
    assert ("image.resize2d" in found) == (left == "image.resize2d")


def test_a_resize_to_parts_of_pixels_stays_one() -> None:
    known = {"factors": np.array([1, 1, 1, 1.5], np.float32)}
    node = resized(coordinate_transformation_mode="asymmetric", nearest_mode="floor")
    assert "image.resize2d" in taken([node], known, [("y", 0.02, 5)])


def test_tensors_of_other_steps_are_joined_as_integers() -> None:
    constants = parameters("v", 0.03, -2)
    nodes = [
        helper.make_node("Relu", ["r"], ["p"]),
        q("p", "v"),
        dq("v", "w"),
        helper.make_node("Concat", ["r", "w"], ["y"], axis=1),
    ]
    left = taken(nodes, constants, [("y", 0.05, 1)])
    assert left[-1] == "concat"
