"""Bombs of numbers: scales, zero points, attributes and stored bytes that make no sense."""

from __future__ import annotations

import random
from collections.abc import Iterator

import numpy as np
import onnx

from tests.hostile.building import FLOAT, INT8, INT64, UINT8, case, ints, model, node, value
from tests.hostile.case import Case, of_bytes

BAD = {
    "nan": float("nan"),
    "inf": float("inf"),
    "minus_inf": float("-inf"),
    "zero": 0.0,
    "negative": -0.1,
    "denormal": 1e-45,
    "largest": 3.4e38,
}


def scales(_rng: random.Random) -> Iterator[Case]:
    """Quantisation parameters that quantise nothing."""
    for label, bad in BAD.items():
        scale = np.float32(bad)
        pair = [
            node("QuantizeLinear", ["x", "s", "z"], ["q"]),
            node("DequantizeLinear", ["q", "s", "z"], ["y"]),
        ]
        yield case(f"scale_{label}", pair, {"s": scale, "z": np.int8(0)})
        rng = np.random.default_rng(0)
        good = {
            "s": np.float32(0.1),
            "z": np.uint8(3),
            "w": rng.integers(-9, 9, (4, 4)).astype(np.int8),
            "wz": np.int8(0),
        }
        dense = [
            node("QuantizeLinear", ["x", "s", "z"], ["q"]),
            node("DequantizeLinear", ["q", "s", "z"], ["f"]),
            node("DequantizeLinear", ["w", "ws", "wz"], ["g"]),
            node("MatMul", ["f", "g"], ["m"]),
            node("QuantizeLinear", ["m", "t", "z"], ["p"]),
            node("DequantizeLinear", ["p", "t", "z"], ["y"]),
        ]
        yield case(f"weight_scale_{label}", dense, good | {"ws": scale, "t": np.float32(0.2)})
        yield case(f"output_scale_{label}", dense, good | {"ws": np.float32(0.1), "t": scale})
        inner = node("QLinearMatMul", ["q", "s", "z", "w", "ws", "wz", "t", "z"], ["p"])
        fixed = [dense[0], inner, dense[5]]
        yield case(f"qlinear_{label}", fixed, good | {"ws": scale, "t": np.float32(0.2)})
        columns = np.array([0.1, bad, 0.1, 0.1], np.float32)
        per = [*dense[:2], node("DequantizeLinear", ["w", "ws", "wz"], ["g"], axis=1), *dense[3:]]
        each = {"ws": columns, "wz": np.zeros(4, np.int8), "t": np.float32(0.2)}
        yield case(f"channel_scale_{label}", per, good | each)
    pair = [
        node("QuantizeLinear", ["x", "s", "z"], ["q"]),
        node("DequantizeLinear", ["q", "s", "z"], ["y"]),
    ]
    zeros = {
        "int32": np.int32(9999),
        "float": np.float32(0.5),
        "int64": np.int64(3),
        "wrong_length": np.zeros(3, np.int8),
        "int16": np.int16(5),
        "bool": np.array(True),
    }
    for label, zero in zeros.items():
        yield case(f"zero_point_{label}", pair, {"s": np.float32(0.1), "z": zero})
    lengths = {"s": np.ones(3, np.float32), "z": np.zeros(2, np.int8)}
    yield case("scale_of_three", pair, lengths)
    beyond = onnx.TensorProto(name="z", data_type=INT8, int32_data=[9999])
    yield case("zero_point_out_of_range", pair, {"s": np.float32(0.1), "z": beyond})
    integers = {"x": np.ones((1, 4), np.int32), "s": np.float32(0.1), "z": np.int32(2**31 - 1)}
    alone = [node("DequantizeLinear", ["k", "s", "z"], ["d"]), node("Add", ["x", "d"], ["y"])]
    yield case("zero_point_largest", alone, {"k": integers["x"], **integers})


def stored(_rng: random.Random) -> Iterator[Case]:
    """Tensors whose bytes do not fit what is said of them."""
    add = [node("Add", ["x", "w"], ["y"])]

    def tensor(**fields: object) -> onnx.TensorProto:
        return onnx.TensorProto(**{"name": "w", "dims": [4], "data_type": FLOAT, **fields})

    bad = {
        "raw_short": tensor(raw_data=bytes(15)),
        "raw_long": tensor(raw_data=bytes(17)),
        "raw_none": tensor(raw_data=b""),
        "raw_much": tensor(raw_data=bytes(1 << 20)),
        "floats_short": tensor(float_data=[1.0]),
        "floats_long": tensor(float_data=[1.0] * 9),
        "both": tensor(float_data=[1.0] * 4, raw_data=bytes(16)),
        "strings": tensor(string_data=[b"a"] * 4),
        "strings_typed": tensor(string_data=[b"a"] * 4, data_type=8),
        "wrong_field": tensor(int64_data=[1] * 4),
        "out_of_range": tensor(int32_data=[70000] * 4, data_type=INT8),
        "kind_0": tensor(raw_data=bytes(16), data_type=0),
        "kind_99": tensor(raw_data=bytes(16), data_type=99),
        "kind_complex": tensor(raw_data=bytes(64), data_type=15),
        "kind_int4": tensor(raw_data=bytes(2), data_type=22),
        "kind_float8": tensor(raw_data=bytes(4), data_type=17),
        "dims_zero": tensor(dims=[0]),
        "dims_overflow": tensor(dims=[2**32, 2**32], raw_data=b""),
        "dims_overflow_to_4": tensor(dims=[2**62 + 1, 4], raw_data=bytes(16)),
        "dims_negative": tensor(dims=[-1], raw_data=bytes(16)),
        "dims_two_negative": tensor(dims=[-2, -2], raw_data=bytes(16)),
        "rank_70": tensor(dims=[1] * 70, raw_data=bytes(4)),
        "nan": tensor(raw_data=b"\xff" * 16),
        "segment": tensor(raw_data=bytes(16)),
    }
    bad["segment"].segment.begin = 2**40
    for label, held in bad.items():
        yield case(f"stored_{label}", add, {"w": held})
        node_held = node("Constant", [], ["w"], value=held)
        yield case(f"constant_{label}", [node_held, *add])


def attributes(_rng: random.Random) -> Iterator[Case]:
    """Attributes out of any range."""
    image = [value("x", [1, 2, 8, 8])]
    weights = {"w": np.ones((2, 2, 3, 3), np.float32)}
    for label, options in {
        "stride_0": {"strides": [0, 0]},
        "stride_minus": {"strides": [-1, -1]},
        "stride_huge": {"strides": [2**62, 2**62]},
        "dilation_0": {"dilations": [0, 0]},
        "dilation_huge": {"dilations": [2**62, 1]},
        "pads_huge": {"pads": [2**40] * 4},
        "pads_minus": {"pads": [-9] * 4},
        "pads_few": {"pads": [1]},
        "pads_many": {"pads": [0] * 10**6},
        "group_0": {"group": 0},
        "group_minus": {"group": -2},
        "group_huge": {"group": 2**62},
        "kernel_0": {"kernel_shape": [0, 0]},
        "kernel_other": {"kernel_shape": [5, 5]},
        "auto_pad": {"auto_pad": "SIDEWAYS"},
    }.items():
        conv = [node("Conv", ["x", "w"], ["y"], **options)]
        yield case(f"conv_{label}", conv, weights, inputs=image)
        upsampling = [node("ConvTranspose", ["x", "w"], ["y"], **options)]
        yield case(f"conv_transpose_{label}", upsampling, weights, inputs=image)
        if label != "group_0":
            kernel = {"kernel_shape": [3, 3]} | options
            yield case(f"pool_{label}", [node("MaxPool", ["x"], ["y"], **kernel)], inputs=image)
    big = [value("x", [1, 1, 2000, 2000])]
    window = {"kernel_shape": [1999, 1999], "pads": [0] * 4}
    yield case("pool_window", [node("AveragePool", ["x"], ["y"], **window)], inputs=big)
    singles = {
        "transpose_long": node("Transpose", ["x"], ["y"], perm=list(range(10**5))),
        "transpose_same": node("Transpose", ["x"], ["y"], perm=[0, 0, 0, 0]),
        "softmax_axis": node("Softmax", ["x"], ["y"], axis=2**40),
        "concat_axis": node("Concat", ["x", "x"], ["y"], axis=-(2**40)),
        "flatten_axis": node("Flatten", ["x"], ["y"], axis=99),
        "lrn_huge": node("LRN", ["x"], ["y"], size=2**40),
        "lrn_zero": node("LRN", ["x"], ["y"], size=0),
        "leaky_nan": node("LeakyRelu", ["x"], ["y"], alpha=float("nan")),
        "elu_inf": node("Elu", ["x"], ["y"], alpha=float("inf")),
        "cast_nowhere": node("Cast", ["x"], ["y"], to=99),
        "cast_string": node("Cast", ["x"], ["y"], to=8),
        "blocks_zero": node("DepthToSpace", ["x"], ["y"], blocksize=0),
        "blocks_minus": node("SpaceToDepth", ["x"], ["y"], blocksize=-2),
        "einsum_open": node("Einsum", ["x"], ["y"], equation="abcd->"),
        "einsum_odd": node("Einsum", ["x"], ["y"], equation="...->->,"),
        "einsum_long": node("Einsum", ["x"], ["y"], equation="a" * 10**5),
        "split_odd": node("Split", ["x"], ["y", "z", "w", "v", "u"], axis=1),
        "topk_none": node("TopK", ["x"], ["y", "i"]),
        "wrong_type": node("Softmax", ["x"], ["y"], axis="one"),
        "many": node("Relu", ["x"], ["y"], **{f"a{i}": i for i in range(10**5)}),
        "layer_norm_axis": node("LayerNormalization", ["x", "x"], ["y"], axis=77),
        "instance_eps": node("InstanceNormalization", ["x", "x", "x"], ["y"], epsilon=-1.0),
        "lp_0": node("LpPool", ["x"], ["y"], kernel_shape=[2, 2], p=0),
        "lp_huge": node("LpPool", ["x"], ["y"], kernel_shape=[2, 2], p=2**40),
        "reduce_l2": node("ReduceL2", ["x"], ["y"], axes=list(range(10**5))),
        "trilu": node("Trilu", ["x", "k"], ["y"]),
        "topk": node("TopK", ["x", "k"], ["y", "i"]),
        "cumsum": node("CumSum", ["x", "k"], ["y"]),
        "squeeze": node("Squeeze", ["x", "k"], ["y"]),
        "slice": node("Slice", ["x", "k", "k"], ["y"]),
        "gather": node("Gather", ["x", "k"], ["y"]),
        "one_hot": node("OneHot", ["k", "k", "x"], ["y"]),
        "unsqueeze": node("Unsqueeze", ["x", "k"], ["y"]),
        "reduce_sum": node("ReduceSum", ["x", "k"], ["y"]),
    }
    for label, made in singles.items():
        yield case(f"attribute_{label}", [made], {"k": ints(2**62)}, inputs=image)
    step = {"a": ints(0), "b": ints(9), "c": ints(0), "d": ints(0)}
    yield case("slice_step_0", [node("Slice", ["x", "a", "b", "c", "d"], ["y"])], step)
    far = {"a": ints(2**62), "b": ints(-(2**63)), "c": ints(1), "d": ints(-(2**62))}
    yield case("slice_far", [node("Slice", ["x", "a", "b", "c", "d"], ["y"])], far)
    shift = [node("BitShift", ["x", "k"], ["y"], direction="LEFT")]
    unsigned = [value("x", [4], UINT8)]
    yield case("shift_200", shift, {"k": np.uint8([200] * 4)}, inputs=unsigned)
    integers = [value("x", [4], INT64)]
    for op in ("Div", "Mod", "Pow"):
        held = {"k": ints(0, -1, 2**62, -(2**63))}
        yield case(f"integers_{op}", [node(op, ["x", "k"], ["y"])], held, inputs=integers)
    half = model(
        [node("Clip", ["x", "a", "b"], ["y"])],
        {
            "a": np.float32("nan"),
            "b": np.float32("-inf"),
        },
    )
    yield of_bytes("clip_nan", half.SerializeToString())
