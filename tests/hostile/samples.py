"""Small sound models, generated, to be damaged."""

from __future__ import annotations

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from tests.hostile.flatbuffer import Op, Tensor, flatbuffer

FLOAT, INT8, UINT8, INT64 = (
    TensorProto.FLOAT,
    TensorProto.INT8,
    TensorProto.UINT8,
    TensorProto.INT64,
)


def samples() -> dict[str, bytes]:
    """Models by file name."""
    made = {
        "quantised.onnx": _quantised(),
        "floats.onnx": _floats(),
        "recurrent.onnx": _recurrent(),
        "shapes.onnx": _shapes(),
        "branches.onnx": _branches(),
    }
    files = {name: model.SerializeToString(deterministic=True) for name, model in made.items()}
    return files | {"net.tflite": _tflite(), "floats.tflite": _tflite_floats()}


def _value(name: str, kind: int, *shape: int | str) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, kind, shape)


def _model(
    nodes: list[onnx.NodeProto],
    inputs: list[onnx.ValueInfoProto],
    outputs: list[onnx.ValueInfoProto],
    **constants: np.ndarray,
) -> onnx.ModelProto:
    stored = [numpy_helper.from_array(value, name) for name, value in constants.items()]
    graph = helper.make_graph(nodes, "sample", inputs, outputs, stored)
    for index, node in enumerate(graph.node):
        node.name = f"node{index}"
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model)
    return model


def _quantised() -> onnx.ModelProto:
    rng = np.random.default_rng(0)
    make = helper.make_node
    return _model(
        [
            make("QuantizeLinear", ["x", "s", "z"], ["xq"]),
            make("DequantizeLinear", ["xq", "s", "z"], ["xf"]),
            make("DequantizeLinear", ["w", "ws", "wz"], ["wf"], axis=0),
            make("DequantizeLinear", ["b", "bs", "bz"], ["bf"], axis=0),
            make("Conv", ["xf", "wf", "bf"], ["c"], pads=[1, 1, 1, 1], strides=[2, 2]),
            make("Relu", ["c"], ["r"]),
            make("QuantizeLinear", ["r", "s", "z"], ["rq"]),
            make("DequantizeLinear", ["rq", "s", "z"], ["rf"]),
            make("GlobalAveragePool", ["rf"], ["g"]),
            make("QuantizeLinear", ["g", "s", "z"], ["y"]),
        ],
        [_value("x", FLOAT, 1, 3, 6, 6)],
        [_value("y", UINT8, 1, 4, 1, 1)],
        s=np.float32(0.05),
        z=np.uint8(120),
        w=rng.integers(-128, 128, (4, 3, 3, 3)).astype(np.int8),
        ws=np.full(4, 0.01, np.float32),
        wz=np.zeros(4, np.int8),
        b=rng.integers(-999, 999, 4).astype(np.int32),
        bs=np.full(4, 0.0005, np.float32),
        bz=np.zeros(4, np.int32),
    )


def _floats() -> onnx.ModelProto:
    rng = np.random.default_rng(1)
    make = helper.make_node
    return _model(
        [
            make("Conv", ["x", "w"], ["c"], kernel_shape=[3, 3], group=1),
            make("LeakyRelu", ["c"], ["l"], alpha=0.1),
            make("MaxPool", ["l"], ["m"], kernel_shape=[2, 2], strides=[2, 2]),
            make("Flatten", ["m"], ["f"], axis=1),
            make("Gemm", ["f", "v", "b"], ["g"], transB=1),
            make("Softmax", ["g"], ["y"], axis=-1),
        ],
        [_value("x", FLOAT, 1, 2, 6, 6)],
        [_value("y", FLOAT, 1, 5)],
        w=rng.standard_normal((3, 2, 3, 3)).astype(np.float32),
        v=rng.standard_normal((5, 12)).astype(np.float32),
        b=rng.standard_normal(5).astype(np.float32),
    )


def _recurrent() -> onnx.ModelProto:
    rng = np.random.default_rng(2)
    return _model(
        [
            helper.make_node("LSTM", ["x", "w", "r"], ["", "h"], hidden_size=3),
            helper.make_node("Squeeze", ["h", "axes"], ["y"]),
        ],
        [_value("x", FLOAT, 4, 1, 2)],
        [_value("y", FLOAT, 1, 3)],
        w=rng.standard_normal((1, 12, 2)).astype(np.float32),
        r=rng.standard_normal((1, 12, 3)).astype(np.float32),
        axes=np.array([0], np.int64),
    )


def _shapes() -> onnx.ModelProto:
    make = helper.make_node
    return _model(
        [
            make("Shape", ["x"], ["s"]),
            make("Gather", ["s", "first"], ["n"], axis=0),
            make("Concat", ["n", "rest"], ["t"], axis=0),
            make("Reshape", ["x", "t"], ["r"]),
            make(
                "ConstantOfShape",
                ["t"],
                ["ones"],
                value=numpy_helper.from_array(np.ones(1, np.float32)),
            ),
            make("Add", ["r", "ones"], ["a"]),
            make("Tile", ["a", "repeats"], ["u"]),
            make("Slice", ["u", "from", "to", "along", "step"], ["v"]),
            make("Transpose", ["v"], ["w"], perm=[1, 0]),
            make("Concat", ["w", "w"], ["y"], axis=1),
        ],
        [_value("x", FLOAT, 2, 3, 4)],
        [_value("y", FLOAT, 12, 4)],
        first=np.array([0], np.int64),
        rest=np.array([12], np.int64),
        repeats=np.array([2, 1], np.int64),
        to=np.array([3], np.int64),
        along=np.array([0], np.int64),
        step=np.array([2], np.int64),
        **{"from": np.array([0], np.int64)},
    )


def _branches() -> onnx.ModelProto:
    make = helper.make_node
    yes = helper.make_graph([make("Relu", ["x"], ["p"])], "yes", [], [_value("p", FLOAT, 1, 4)])
    no = helper.make_graph([make("Neg", ["x"], ["q"])], "no", [], [_value("q", FLOAT, 1, 4)])
    return _model(
        [
            make("If", ["c"], ["i"], then_branch=yes, else_branch=no),
            make("Clip", ["i", "low", "high"], ["k"]),
            make("MatMul", ["k", "m"], ["y"]),
        ],
        [_value("x", FLOAT, 1, 4)],
        [_value("y", FLOAT, 1, 2)],
        c=np.array(True),
        low=np.float32(-1),
        high=np.float32(6),
        m=np.arange(8, dtype=np.float32).reshape(4, 2),
    )


def _tflite() -> bytes:
    """A quantised convolution, a dense layer and a softmax."""
    rng = np.random.default_rng(3)
    weights = rng.integers(-127, 128, (4, 3, 3, 2)).astype(np.int8)
    dense = rng.integers(-127, 128, (5, 64)).astype(np.int8)
    tensors = [
        Tensor("x", (1, 4, 4, 2), "int8", scale=(0.05,), zero=(3,)),
        Tensor("w", weights.shape, "int8", weights.tobytes(), (0.01,) * 4, (0,) * 4),
        Tensor("b", (4,), "int32", np.arange(4, dtype=np.int32).tobytes(), (0.0005,) * 4, (0,) * 4),
        Tensor("c", (1, 4, 4, 4), "int8", scale=(0.1,), zero=(-5,)),
        Tensor("shape", (2,), "int32", np.array([1, 64], np.int32).tobytes()),
        Tensor("f", (1, 64), "int8", scale=(0.1,), zero=(-5,)),
        Tensor("v", dense.shape, "int8", dense.tobytes(), (0.02,), (0,)),
        Tensor("d", (1, 5), "int8", scale=(0.3,), zero=(1,)),
        Tensor("y", (1, 5), "int8", scale=(1 / 256,), zero=(-128,)),
    ]
    ops = [
        Op("CONV_2D", (0, 1, 2), (3,)),
        Op("RESHAPE", (3, 4), (5,)),
        Op("FULLY_CONNECTED", (5, 6, -1), (7,)),
        Op("SOFTMAX", (7,), (8,)),
    ]
    return flatbuffer(tensors, ops, (0,), (8,))


def _tflite_floats() -> bytes:
    one = np.ones(8, np.float32).tobytes()
    tensors = [
        Tensor("x", (1, 2, 2, 2), "float32"),
        Tensor("k", (1, 2, 2, 2), "float32", one),
        Tensor("a", (1, 2, 2, 2), "float32"),
        Tensor("p", (1, 1, 1, 2), "float32"),
        Tensor("times", (4,), "int32", np.array([1, 2, 2, 1], np.int32).tobytes()),
        Tensor("y", (1, 2, 2, 2), "float32"),
    ]
    ops = [
        Op("ADD", (0, 1), (2,)),
        Op("MAX_POOL_2D", (2,), (3,)),
        Op("TILE", (3, 4), (5,)),
    ]
    return flatbuffer(tensors, ops, (0,), (5,))
