"""Small TensorFlow Lite networks of what its converter writes: sparse, sliced, mixed types."""

from __future__ import annotations

import numpy as np

from tests.networks.tflite_file import NONE, SAME, Step, Stored, flatbuffer

RELU, TANH = 1, 4


def _integers(name: str, values: object) -> Stored:
    content = np.array(values, np.int32)
    return Stored(name, content.shape, "int32", content=content)


def sparse() -> bytes:
    """A dense layer whose weights, three in four of them 0, are made dense on every call."""
    rng = np.random.default_rng(91)
    weight = rng.standard_normal((32, 64)).astype(np.float32) / 4
    weight *= rng.random(weight.shape) < 0.25
    bias = rng.standard_normal(32).astype(np.float32)
    tensors = [
        Stored("x", (4, 64), "float32"),
        Stored("stored", weight.shape, "float32", content=weight, sparse=True),
        Stored("weight", weight.shape, "float32"),
        Stored("bias", (32,), "float32", content=bias),
        Stored("y", (4, 32), "float32"),
    ]
    dense: dict[str, object] = {"FusedActivationFunction": RELU}
    steps = [
        Step("DENSIFY", ("stored",), "weight", "DensifyOptions"),
        Step("FULLY_CONNECTED", ("x", "weight", "bias"), "y", "FullyConnectedOptions", dense),
    ]
    return flatbuffer(tensors, steps, "x", "y")


def sliced() -> bytes:
    """int8 [1, 12, 16]: eight rows, a dimension more, a shape that is computed, a dense layer."""
    rng = np.random.default_rng(92)
    step, fine = np.array([0.05], np.float32), np.array([0.01], np.float32)
    weight = rng.integers(-127, 128, (10, 128)).astype(np.int8)
    bias = rng.integers(-2000, 2000, 10).astype(np.int32)
    tensors = [
        *(Stored(name, shape, "int8", step) for name, shape in _SLICED.items()),
        *(_integers(name, values) for name, values in _CUTS.items()),
        Stored("shape", (4,), "int32"),
        Stored("rows", (), "int32"),
        Stored("wanted", (2,), "int32"),
        Stored("weight", weight.shape, "int8", fine, content=weight),
        Stored("bias", (10,), "int32", step * fine, content=bias),
        Stored("y", (1, 10), "int8", np.array([0.1], np.float32), 3),
    ]
    dense: dict[str, object] = {"FusedActivationFunction": NONE}
    steps = [
        Step("STRIDED_SLICE", ("x", "begin", "end", "one"), "part", "StridedSliceOptions"),
        Step("EXPAND_DIMS", ("part", "axis"), "image", "ExpandDimsOptions"),
        Step("SHAPE", ("image",), "shape", "ShapeOptions", {"OutType": 2}),
        Step("STRIDED_SLICE", ("shape", "from", "to", "single"), "rows", "StridedSliceOptions",
             {"ShrinkAxisMask": 1}),
        Step("PACK", ("rows", "width"), "wanted", "PackOptions", {"ValuesCount": 2}),
        Step("RESHAPE", ("image", "wanted"), "flat", "ReshapeOptions"),
        Step("FULLY_CONNECTED", ("flat", "weight", "bias"), "y", "FullyConnectedOptions", dense),
    ]  # fmt: skip
    return flatbuffer(tensors, steps, "x", "y")


_SLICED = {"x": (1, 12, 16), "part": (1, 8, 16), "image": (1, 1, 8, 16), "flat": (1, 128)}
_CUTS = {
    **{"begin": (0, 2, 0), "end": (1, 10, 16), "one": (1, 1, 1), "axis": 1},
    **{"from": (0,), "to": (1,), "single": (1,), "width": 128},
}


def hybrid() -> bytes:
    """A dense layer of int8 weights on float activations, as dynamic-range quantisation gives."""
    rng = np.random.default_rng(93)
    weight = rng.integers(-127, 128, (32, 64)).astype(np.int8)
    bias = rng.standard_normal(32).astype(np.float32)
    tensors = [
        Stored("x", (4, 64), "float32"),
        Stored("weight", weight.shape, "int8", np.array([0.004], np.float32), content=weight),
        Stored("bias", (32,), "float32", content=bias),
        Stored("y", (4, 32), "float32"),
    ]
    dense: dict[str, object] = {"FusedActivationFunction": RELU}
    operands = ("x", "weight", "bias")
    steps = [Step("FULLY_CONNECTED", operands, "y", "FullyConnectedOptions", dense)]
    return flatbuffer(tensors, steps, "x", "y")


def image() -> bytes:
    """Floats [1, 16, 16, 8]: a convolution, a depthwise one, twice as large, a mean."""
    rng = np.random.default_rng(94)

    def weight(name: str, *shape: int) -> Stored:
        content = rng.standard_normal(shape).astype(np.float32) / 8
        return Stored(name, shape, "float32", content=content)

    tensors = [
        *(Stored(name, shape, "float32") for name, shape in _IMAGES.items()),
        *(weight("w1", 16, 3, 3, 8), weight("b1", 16), weight("w2", 1, 3, 3, 16), weight("b2", 16)),
        *(_integers("size", (32, 32)), _integers("axes", (1, 2))),
    ]
    sliding: dict[str, object] = {"Padding": SAME, "StrideH": 1, "StrideW": 1}
    sliding["FusedActivationFunction"] = RELU
    steps = [
        Step("CONV_2D", ("x", "w1", "b1"), "a", "Conv2DOptions", sliding),
        Step("DEPTHWISE_CONV_2D", ("a", "w2", "b2"), "b", "DepthwiseConv2DOptions",
             sliding | {"DepthMultiplier": 1}),
        Step("RESIZE_BILINEAR", ("b", "size"), "c", "ResizeBilinearOptions",
             {"HalfPixelCenters": True}),
        Step("HARD_SWISH", ("c",), "d", "HardSwishOptions"),
        Step("MEAN", ("d", "axes"), "y", "ReducerOptions", {"KeepDims": False}),
    ]  # fmt: skip
    return flatbuffer(tensors, steps, "x", "y")


_IMAGES = {
    **{"x": (1, 16, 16, 8), "a": (1, 16, 16, 16), "b": (1, 16, 16, 16)},
    **{"c": (1, 32, 32, 16), "d": (1, 32, 32, 16), "y": (1, 16)},
}


def lstm(steps: int = 5, width: int = 16, hidden: int = 24) -> bytes:
    """An LSTM over the steps of a sequence [1, steps, width], its states kept by the file."""
    rng = np.random.default_rng(95)

    def weight(name: str, *shape: int) -> Stored:
        content = (rng.standard_normal(shape) * shape[-1] ** -0.5).astype(np.float32)
        return Stored(name, shape, "float32", content=content)

    gates = "ifgo"
    tensors = [
        *(Stored("x", (1, steps, width), "float32"), Stored("y", (1, steps, hidden), "float32")),
        *(weight(f"w{gate}", hidden, width) for gate in gates),
        *(weight(f"r{gate}", hidden, hidden) for gate in gates),
        *(weight(f"b{gate}", hidden) for gate in gates),
        *(Stored(name, (1, hidden), "float32", variable=True) for name in ("h", "c")),
    ]
    named = [f"{kind}{gate}" for kind in "wr" for gate in gates]
    biases = [f"b{gate}" for gate in gates]
    operands = ("x", *named, "", "", "", *biases, "", "", "h", "c", "", "", "", "")
    fields: dict[str, object] = {"FusedActivationFunction": TANH, "TimeMajor": False}
    name = "UnidirectionalSequenceLSTM"
    made = [Step("UNIDIRECTIONAL_SEQUENCE_LSTM", operands, "y", f"{name}Options", fields)]
    return flatbuffer(tensors, made, "x", "y")
