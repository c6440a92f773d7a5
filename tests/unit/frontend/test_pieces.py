"""Slices of images and moves of their channels stay on images whose channels are last."""

import numpy as np
import pytest
from onnx import helper

from tests.unit.frontend.test_float_forms import RNG, compared

pytest.importorskip("onnxruntime")


def convolved(x, w, y):
    return helper.make_node("Conv", [x, w], [y])


def weights(outputs, inputs):
    return RNG.standard_normal((outputs, inputs, 1, 1)).astype(np.float32)


def moves(found):
    """Moves of elements between the first and the last convolution."""
    at = [i for i, name in enumerate(found) if name == "nn.conv2d"]
    return found[at[0] : at[-1]].count("permute_dims")


def test_a_shuffle_of_groups_is_one_move(onnx_tools) -> None:
    """As of ShuffleNet: halves of the channels, joined, their groups turned, and parted again."""
    shape = (2, 6, 5, 4)
    constants = {
        **{"w": weights(6, 6), "v": weights(3, 3), "u": weights(3, 3)},
        "apart": np.array([2, 2, 3, 5, 4]),
        "whole": np.array([2, 6, 5, 4]),
        "halves": np.array([3, 3]),
    }
    nodes = [
        convolved("x", "w", "a"),
        helper.make_node("Reshape", ["a", "apart"], ["s"]),
        helper.make_node("Transpose", ["s"], ["t"], perm=[0, 2, 1, 3, 4]),
        helper.make_node("Reshape", ["t", "whole"], ["b"]),
        helper.make_node("Split", ["b", "halves"], ["l", "r"], axis=1),
        convolved("l", "v", "m"),
        helper.make_node("Concat", ["m", "r"], ["j"], axis=1),
        helper.make_node("Slice", ["j", "begin", "end", "axes"], ["k"]),
        convolved("k", "u", "y"),
    ]
    constants |= {"begin": np.array([1, 1]), "end": np.array([4, 4]), "axes": np.array([1, -2])}
    assert moves(compared(onnx_tools, nodes, shape, constants)) == 1


@pytest.mark.parametrize("mode", ["CRD", "DCR"])
def test_a_pixel_shuffle_is_one_move(onnx_tools, mode) -> None:
    constants = {"w": weights(12, 4), "v": weights(2, 3)}
    nodes = [
        convolved("x", "w", "a"),
        helper.make_node("DepthToSpace", ["a"], ["b"], blocksize=2, mode=mode),
        convolved("b", "v", "y"),
    ]
    assert moves(compared(onnx_tools, nodes, (1, 4, 3, 5), constants)) == 1


@pytest.mark.parametrize(
    ("apart", "perm", "whole"),
    [
        ((1, 2, 6, 15), (0, 2, 1, 3), (1, 6, 6, 5)),  # rows and columns are one axis
        ((1, 6, 2, 3, 5), (0, 1, 3, 2, 4), (1, 6, 6, 5)),  # rows are torn
        ((1, 2, 6, 3, 5), (0, 3, 1, 2, 4), (1, 3, 12, 5)),  # rows become channels
        ((1, 3, 4, 3, 5), (0, 2, 4, 1, 3), (1, 20, 3, 3)),
    ],
)
def test_what_else_is_reshaped_means_the_same(onnx_tools, apart, perm, whole) -> None:
    image = (1, 12, 6, 5) if apart[1:3] == (6, 2) else (1, 12, 3, 5)
    if np.prod(apart) != np.prod(image):
        image = (1, 12, 3, 5)
    constants = {
        "w": weights(12, 2),
        "v": weights(2, whole[1]),
        "apart": np.array(apart),
        "whole": np.array(whole),
    }
    nodes = [
        convolved("x", "w", "a"),
        helper.make_node("Reshape", ["a", "apart"], ["s"]),
        helper.make_node("Transpose", ["s"], ["t"], perm=perm),
        helper.make_node("Reshape", ["t", "whole"], ["b"]),
        convolved("b", "v", "y"),
    ]
    compared(onnx_tools, nodes, (1, 2, *image[2:]), constants)
