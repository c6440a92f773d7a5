"""Float TFLite files as converters write them: shape arithmetic, 16-bit weights, spectra."""

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
