"""Convolutions whose results are cropped compute only what stays."""

import numpy as np
import pytest
from onnx import helper

from tests.unit.frontend.quantised_net import Net
from tests.unit.frontend.test_float_forms import RNG, compared

pytest.importorskip("onnxruntime")


def slice_of(data, result):
    return helper.make_node("Slice", [data, "begin", "end", "axes"], [result])


def bounds(axes, begin, end):
    return {"axes": np.array(axes), "begin": np.array(begin), "end": np.array(end)}


def weights(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


@pytest.mark.parametrize(
    ("pads", "stride", "begin", "end", "stays"),
    [
        ([4, 4], 1, 0, -4, False),
        ([4, 4], 1, 3, 2**62, False),
        ([4, 4], 2, 1, -2, False),
        ([4, 4], 2, 0, -3, True),
        ([4, 3], 1, 0, -4, True),
        ([5, 5], 3, 1, -1, False),
        ([0, 0], 1, 1, 5, True),
    ],
)
def test_a_line_cropped_behind_its_convolution(onnx_tools, pads, stride, begin, end, stays) -> None:
    """As of a causal one; what padding cannot say stays a slice."""
    nodes = [
        helper.make_node("Conv", ["x", "w", "b"], ["a"], pads=pads, strides=[stride]),
        helper.make_node("Sigmoid", ["a"], ["s"]),
        slice_of("s", "y"),
    ]
    constants = {"w": weights(3, 2, 5), "b": weights(3), **bounds([2], [begin], [end])}
    found = compared(onnx_tools, nodes, (2, 2, 17), constants)
    assert ("strided_slice" in found) == stays


@pytest.mark.parametrize("operator", ["Conv", "ConvTranspose"])
def test_an_image_cropped_on_both_axes(onnx_tools, operator) -> None:
    """In front of one axis, behind the other, with dilated taps."""
    dilated = {"pads": [2, 2, 2, 2], "dilations": [2, 2]}
    given = dilated if operator == "Conv" else {"strides": [2, 2]}
    nodes = [
        helper.make_node(operator, ["x", "w", "b"], ["a"], **given),
        helper.make_node("Relu", ["a"], ["s"]),
        slice_of("s", "y"),
    ]
    constants = {"w": weights(2, 2, 3, 3), "b": weights(2), **bounds([3, -2], [0, 1], [-2, 100])}
    found = compared(onnx_tools, nodes, (1, 2, 9, 7), constants)
    # A transposed one is a convolution here, and a move of its channels that is cropped once.
    assert found.count("strided_slice") == (operator == "ConvTranspose")


def test_a_result_that_is_read_whole_too_is_no_crop(onnx_tools) -> None:
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["a"], pads=[2, 2]),
        slice_of("a", "s"),
        helper.make_node("ReduceMax", ["a"], ["m"], axes=[2]),
        helper.make_node("Mul", ["s", "m"], ["y"]),
    ]
    constants = {"w": weights(2, 2, 3), **bounds([2], [0], [-2])}
    assert "strided_slice" in compared(onnx_tools, nodes, (1, 2, 9), constants)


def test_quantised_causal_convolutions_stay_on_images() -> None:
    """Two, the second one dilated, as of a TCN: only input and output are moved."""
    net = Net((1, 4, 20))
    value = net.real("x")
    for dilation in (1, 2):
        weight, pad = net.weight(4, 4, 3, per_channel=True), 2 * dilation
        inputs = [value, weight, net.bias(weight, 4)]
        conv = net.node("Conv", inputs, pads=[pad, pad], dilations=[dilation])
        names = [f"{name}{dilation}" for name in ("begin", "end", "axes")]
        net.known |= dict(zip(names, map(np.array, ([0], [-pad], [2])), strict=True))
        cut = net.node("Slice", [net.real(net.stored(conv)), *names])
        value = net.real(net.stored(net.node("Relu", [cut])))
    net.stored(value)
    found = net.compared()
    assert "strided_slice" not in found
    assert found.count("permute_dims") == 2
