"""Float TFLite files as converters write them: shape arithmetic, 16-bit weights, spectra."""

import struct

import numpy as np
import pytest

import match_aie as match
from match_aie.errors import UnsupportedOperatorError
from match_aie.frontend import load
from tests.networks.tflite_file import Step, Stored, flatbuffer

RNG = np.random.default_rng(7)
FRAMES, LENGTH = 6, 16


def known(name, values, dtype="int32"):
    values = np.asarray(values, dtype)
    return Stored(name, values.shape, dtype, content=values)


def tensor(name, *shape, dtype="float32"):
    return Stored(name, shape, dtype)


def spectra():
    """Rows of a signal, cut by a computed shape, as magnitudes' real parts, and a dense layer.

    Sizes behind the reshape are 1 in the file, as converters write them when they do not know.
    """
    weights = RNG.standard_normal((5, LENGTH // 2 + 1)).astype(np.float16)
    tensors = [
        tensor("x", 1, FRAMES * LENGTH),
        tensor("shape", 2, dtype="int32"),
        *(tensor(name, dtype="int32") for name in ("batch", "samples", "frames")),
        known("sizes", [1, -1]),
        known("axis", 0),
        tensor("one", 1, dtype="int32"),
        tensor("all", 1, dtype="int32"),
        known("none", np.zeros(0)),
        known("length", LENGTH),
        tensor("wanted", 3, dtype="int32"),
        tensor("rows", 1, 1, 1),
        known("two", 2),
        tensor("apart", 1, 1, 1, 1),
        known("of", [1, LENGTH]),
        tensor("pairs", 1, 1, 1, 1, dtype="complex64"),
        tensor("flat", 1, 1, 1, dtype="complex64"),
        tensor("real", 1, 1, 1),
        known("stored", weights, "float16"),
        tensor("w", *weights.shape),
        tensor("y", FRAMES, 5),
    ]
    steps = [
        Step("SHAPE", ("x",), "shape", "ShapeOptions", {"OutType": 2}),
        Step(
            *("SPLIT_V", ("shape", "sizes", "axis"), "one", "SplitVOptions"),
            *({"NumSplits": 2}, ("all",)),
        ),
        Step("RESHAPE", ("one", "none"), "batch", "ReshapeOptions", {}),
        Step("RESHAPE", ("all", "none"), "samples", "ReshapeOptions", {}),
        Step("FLOOR_DIV", ("samples", "length"), "frames", "FloorDivOptions", {}),
        Step(
            *("PACK", ("batch", "frames", "length"), "wanted", "PackOptions"),
            {"ValuesCount": 3, "Axis": 0},
        ),
        Step("RESHAPE", ("x", "wanted"), "rows", "ReshapeOptions", {}),
        Step("EXPAND_DIMS", ("rows", "two"), "apart", "ExpandDimsOptions", {}),
        Step("RFFT2D", ("apart", "of"), "pairs", "Rfft2dOptions", {}),
        Step("SQUEEZE", ("pairs",), "flat", "SqueezeOptions", {"SqueezeDims": (-2,)}),
        Step("CAST", ("flat",), "real"),
        Step("DEQUANTIZE", ("stored",), "w", "DequantizeOptions", {}),
        Step("FULLY_CONNECTED", ("real", "w"), "y", "FullyConnectedOptions", {}),
    ]
    return flatbuffer(tensors, steps, "x", "y"), weights.astype(np.float32)


def test_shapes_weights_and_spectra_are_computed(tmp_path):
    data, weights = spectra()
    net = match.compile(data, target="CPU")
    assert "float16" not in str(load(data).module)
    x = RNG.standard_normal((1, FRAMES * LENGTH)).astype(np.float32)
    (y,) = net.write(tmp_path / "net").run({"x": x}).outputs.values()
    wanted = np.fft.rfft(x.reshape(FRAMES, LENGTH)).real @ weights.T
    np.testing.assert_allclose(y.reshape(FRAMES, 5), wanted, rtol=1e-5, atol=1e-5)


def test_products_of_complex_numbers_are_refused():
    tensors = [
        tensor("x", 1, LENGTH),
        known("of", [1, LENGTH]),
        tensor("pairs", 1, LENGTH // 2 + 1, dtype="complex64"),
        tensor("product", 1, LENGTH // 2 + 1, dtype="complex64"),
        tensor("y", 1, LENGTH // 2 + 1),
    ]
    steps = [
        Step("RFFT2D", ("x", "of"), "pairs", "Rfft2dOptions", {}),
        Step("MUL", ("pairs", "pairs"), "product", "MulOptions", {}),
        Step("CAST", ("product",), "y"),
    ]
    with pytest.raises(UnsupportedOperatorError, match=r"MUL.*complex numbers"):
        load(flatbuffer(tensors, steps, "x", "y"))


def added(x, weight, strides, before, sizes):
    """Every pixel of x [1, H, W, C] adds its window of the weights [K, FY, FX, C] to the result."""
    _, high, wide, _ = x.shape
    filters, fy, fx, _ = weight.shape
    whole = np.zeros((strides[0] * high + fy + 9, strides[1] * wide + fx + 9, filters))
    for row in range(high):
        for column in range(wide):
            window = np.moveaxis(weight.astype(np.float64) @ x[0, row, column], 0, -1)
            top, left = row * strides[0], column * strides[1]
            whole[top : top + fy, left : left + fx] += window
    return whole[before[0] :, before[1] :][: sizes[0], : sizes[1]][None]


def agrees(tmp_path, data, x, wanted):
    net = match.compile(data, "CPU")
    result = net.write(tmp_path / "net").run({"x": x})
    assert result.matches_reference is not False
    (y,) = result.outputs.values()
    assert y.shape == wanted.shape
    np.testing.assert_allclose(y, wanted, rtol=0, atol=1e-5)


@pytest.mark.parametrize(
    ("window", "strides", "sizes", "padding", "before"),
    [
        ((3, 2), (2, 2), (8, 10), 0, (0, 0)),  # SAME
        ((3, 3), (2, 2), (7, 9), 0, (1, 1)),  # SAME, one less than the stride makes
        ((4, 5), (2, 3), (8, 15), 0, (1, 1)),
        ((1, 2), (3, 2), (12, 10), 0, (0, 0)),  # SAME, windows apart from each other
        ((3, 4), (2, 3), (9, 16), 1, (0, 0)),  # VALID
    ],
)
def test_transposed_convolutions_with_an_activation(
    tmp_path, window, strides, sizes, padding, before
):
    x = RNG.standard_normal((1, 4, 5, 3)).astype(np.float32)
    weight = RNG.standard_normal((2, *window, 3)).astype(np.float32)
    bias = RNG.standard_normal(2).astype(np.float32)
    tensors = [
        *(tensor("x", *x.shape), known("sizes", [1, *sizes, 2]), known("w", weight, "float32")),
        *(known("b", bias, "float32"), tensor("y", 1, *sizes, 2)),
    ]
    fields = {"Padding": padding, "StrideH": strides[0], "StrideW": strides[1]}
    fields |= {"FusedActivationFunction": 1}
    step = Step("TRANSPOSE_CONV", ("sizes", "w", "x", "b"), "y", "TransposeConvOptions", fields)
    wanted = np.maximum(added(x, weight, strides, before, sizes) + bias, 0)
    agrees(tmp_path, flatbuffer(tensors, [step], "x", "y"), x, wanted)


@pytest.mark.parametrize(
    ("window", "strides", "same", "before"),
    [
        ((2, 2), (2, 2), True, (0, 0)),
        ((4, 3), (2, 1), True, (1, 1)),
        ((3, 2), (1, 2), False, (0, 0)),
    ],
)
def test_the_transposed_convolution_of_mediapipe(tmp_path, window, strides, same, before):
    x = RNG.standard_normal((1, 4, 5, 3)).astype(np.float32)
    weight = RNG.standard_normal((2, *window, 3)).astype(np.float32)
    bias = RNG.standard_normal(2).astype(np.float32)
    pairs = zip((4, 5), window, strides, strict=True)
    sizes = [s * n if same else s * (n - 1) + w for n, w, s in pairs]
    tensors = [
        *(tensor("x", *x.shape), known("w", weight, "float32"), known("b", bias, "float32")),
        tensor("y", 1, *sizes, 2),
    ]
    custom = struct.pack("<3i", 1 if same else 2, strides[1], strides[0])
    step = Step("Convolution2DTransposeBias", ("x", "w", "b"), "y", "", {"Custom": custom})
    wanted = added(x, weight, strides, before, sizes) + bias
    agrees(tmp_path, flatbuffer(tensors, [step], "x", "y"), x, wanted)
