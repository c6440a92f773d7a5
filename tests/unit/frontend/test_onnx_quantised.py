"""Quantised operators of ONNX and ONNX Runtime against their expansions, in onnxruntime."""

import numpy as np
import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import helper, numpy_helper

from match_aie.errors import UnsupportedOperatorError

RNG = np.random.default_rng(1)
F32 = np.float32
FLOAT = onnx.TensorProto.FLOAT

#: How near to a half, in steps of the output, an element must lie for its rounding to be a tie of
#: float32: both sides round a few times before the last one, and their steps are below 256.
TIE = 1e-4
#: The most elements that may differ at all: an output full of ties would test nothing.
TIES = 0.02


def integers(dtype, *shape):
    info = np.iinfo(dtype)
    return RNG.integers(info.min, info.max + 1, shape).astype(dtype)


def weights(dtype, *shape):
    """Seven bits: onnxruntime's products of unsigned and signed bytes saturate without VNNI."""
    return (integers(dtype, *shape) // 2).astype(dtype)


def unrounded(tools, expanded, inputs):
    """The expansion's result in steps of its output, before its last node rounds it."""
    [last] = [n for n in expanded.graph.node if "y" in n.output]
    assert last.op_type == "QuantizeLinear"
    model = onnx.ModelProto()
    model.CopyFrom(expanded)
    del model.graph.output[:]
    model.graph.output.append(helper.make_tensor_value_info(last.input[0], FLOAT, None))
    (real,) = tools.run_onnxruntime(model, inputs)
    scale = {i.name: numpy_helper.to_array(i) for i in model.graph.initializer}[last.input[1]]
    return real.astype(np.float64) / scale.astype(np.float64)


def check(tools, node, inputs, constants, output, *, ties=TIES):
    """The node and its expansion give the same integers but for ties, each proved to be one."""
    shapes = {name: (array.dtype, array.shape) for name, array in inputs.items()}
    model = tools.build([node], shapes, {"y": output}, constants)
    expanded = tools.prepass(model)
    assert node.op_type not in {n.op_type for n in expanded.graph.node if n.domain == node.domain}
    assert {n.domain for n in expanded.graph.node} <= {""}
    (want,) = tools.run_onnxruntime(model, inputs)
    (got,) = tools.run_onnxruntime(expanded, inputs)
    assert got.dtype == want.dtype
    assert got.shape == want.shape
    apart = np.abs(got.astype(np.int64) - want.astype(np.int64))
    assert apart.max() <= 1
    if apart.any():
        real = unrounded(tools, expanded, inputs)[apart != 0]
        assert np.abs(real - np.floor(real) - 0.5).max() <= TIE
    # One of a few elements may be a tie: one in 500 sums is where a scale is 0.002.
    assert np.count_nonzero(apart) <= max(1, ties * apart.size)
    return want


@settings(max_examples=12, deadline=None)
@given(
    dtype=st.sampled_from([np.uint8, np.int8]),
    per_channel=st.booleans(),
    bias=st.booleans(),
    groups=st.sampled_from([1, 2]),
    stride=st.integers(1, 2),
    pads=st.sampled_from([[0, 0, 0, 0], [1, 0, 1, 2]]),
)
def test_qlinear_conv(onnx_tools, dtype, per_channel, bias, groups, stride, pads):
    x, w = integers(dtype, 1, 4, 9, 8), weights(np.int8, 6, 4 // groups, 3, 3)
    count = 6 if per_channel else 1
    scale = RNG.uniform(0.005, 0.02, count).astype(F32)
    constants = {
        **{"xs": F32(0.03), "xz": dtype(7), "w": w, "ys": F32(0.9), "yz": dtype(100)},
        "ws": scale if per_channel else scale[0],
        "wz": np.zeros(6, np.int8) if per_channel else np.int8(0),
    }
    names = ["x", "xs", "xz", "w", "ws", "wz", "ys", "yz"]
    if bias:
        constants["b"] = RNG.integers(-3000, 3000, 6).astype(np.int32)
        names.append("b")
    node = helper.make_node(
        "QLinearConv", names, ["y"], group=groups, strides=[stride] * 2, pads=pads
    )
    check(onnx_tools, node, {"x": x}, constants, (dtype, None))


@pytest.mark.parametrize("shapes", [((4, 5), (5, 3)), ((2, 4, 5), (5, 3)), ((2, 4, 5), (2, 5, 3))])
@pytest.mark.parametrize("dtype", [np.uint8, np.int8])
def test_qlinear_matmul(onnx_tools, shapes, dtype):
    a, b = integers(dtype, *shapes[0]), integers(dtype, *shapes[1])
    names = ["a", "as", "az", "b", "bs", "bz", "ys", "yz"]
    constants = {
        **{"as": F32(0.02), "az": dtype(3), "b": b, "bs": F32(0.01), "bz": dtype(9)},
        **{"ys": F32(0.1), "yz": dtype(60)},
    }
    node = helper.make_node("QLinearMatMul", names, ["y"])
    check(onnx_tools, node, {"a": a}, constants, (dtype, None))


@pytest.mark.parametrize("op", ["QLinearAdd", "QLinearMul"])
@pytest.mark.parametrize("dtype", [np.uint8, np.int8])
@pytest.mark.parametrize("shape", [(2, 5, 8), (8,), (1,)])
def test_qlinear_binary(onnx_tools, op, dtype, shape):
    a, b = integers(dtype, 2, 5, 8), integers(dtype, *shape)
    names = ["a", "as", "az", "b", "bs", "bz", "ys", "yz"]
    constants = {
        **{"as": F32(0.021), "az": dtype(11), "bs": F32(0.034), "bz": dtype(90)},
        **{"ys": F32(0.053), "yz": dtype(30)},
    }
    node = helper.make_node(op, names, ["y"], domain="com.microsoft")
    check(onnx_tools, node, {"a": a, "b": b}, constants, (dtype, None))


@pytest.mark.parametrize("last", [0, 1])
@pytest.mark.parametrize("op", ["QLinearAveragePool", "QLinearGlobalAveragePool"])
def test_qlinear_pool(onnx_tools, op, last):
    x = integers(np.uint8, 1, 6, 6, 3) if last else integers(np.uint8, 1, 3, 6, 6)
    constants = {"xs": F32(0.03), "xz": np.uint8(5), "ys": F32(0.021), "yz": np.uint8(17)}
    attributes = {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1], "strides": [2, 2]}
    node = helper.make_node(
        op,
        ["x", "xs", "xz", "ys", "yz"],
        ["y"],
        domain="com.microsoft",
        channels_last=last,
        **(attributes if op == "QLinearAveragePool" else {}),
    )
    check(onnx_tools, node, {"x": x}, constants, (np.uint8, None))


@pytest.mark.parametrize("trans_b", [0, 1])
@pytest.mark.parametrize("per_channel", [False, True])
@pytest.mark.parametrize("quantised", [False, True])
def test_qgemm(onnx_tools, trans_b, per_channel, quantised):
    a = integers(np.uint8, 3, 12)
    b = weights(np.int8, *((5, 12) if trans_b else (12, 5)))
    scale = RNG.uniform(0.004, 0.02, 5).astype(F32)
    constants = {
        **{"as": F32(0.02), "az": np.uint8(128), "b": b},
        "bs": scale if per_channel else scale[0],
        "bz": np.zeros(5, np.int8) if per_channel else np.int8(0),
        "c": RNG.integers(-2000, 2000, 5).astype(np.int32),
    }
    names = ["a", "as", "az", "b", "bs", "bz", "c"]
    if quantised:
        constants |= {"ys": F32(0.05), "yz": np.uint8(120)}
        names += ["ys", "yz"]
    node = helper.make_node("QGemm", names, ["y"], domain="com.microsoft", transB=trans_b)
    if quantised:
        check(onnx_tools, node, {"a": a}, constants, (np.uint8, None))
        return
    ports = {"a": (a.dtype, a.shape)}
    model = onnx_tools.build([node], ports, {"y": (F32, None)}, constants)
    (want,) = onnx_tools.run_onnxruntime(model, {"a": a})
    (got,) = onnx_tools.run_onnxruntime(onnx_tools.prepass(model), {"a": a})
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("op", ["QLinearSigmoid", "QLinearLeakyRelu", "QLinearSoftmax"])
def test_qlinear_unary(onnx_tools, op):
    x = integers(np.uint8, 4, 10)
    constants = {"xs": F32(0.04), "xz": np.uint8(120), "ys": F32(1 / 256), "yz": np.uint8(0)}
    attributes = {"axis": -1, "opset": 13} if op == "QLinearSoftmax" else {}
    if op == "QLinearLeakyRelu":
        attributes = {"alpha": 0.1}
        constants |= {"ys": F32(0.03), "yz": np.uint8(40)}
    node = helper.make_node(
        op, ["x", "xs", "xz", "ys", "yz"], ["y"], domain="com.microsoft", **attributes
    )
    # onnxruntime computes these through tables of its own: ties are not where ours are.
    want = check(onnx_tools, node, {"x": x}, constants, (np.uint8, None), ties=0.25)
    assert len(np.unique(want)) > 3


def test_qlinear_concat(onnx_tools):
    a, b = integers(np.uint8, 2, 3), integers(np.uint8, 2, 4)
    constants = {
        **{"ys": F32(0.03), "yz": np.uint8(9), "as": F32(0.03), "az": np.uint8(9)},
        **{"bs": F32(0.011), "bz": np.uint8(100)},
    }
    node = helper.make_node(
        "QLinearConcat",
        ["ys", "yz", "a", "as", "az", "b", "bs", "bz"],
        ["y"],
        domain="com.microsoft",
        axis=1,
    )
    check(onnx_tools, node, {"a": a, "b": b}, constants, (np.uint8, None))


@pytest.mark.parametrize(
    ("x_type", "w_type"), [(np.uint8, np.uint8), (np.uint8, np.int8), (np.int8, np.int8)]
)
@pytest.mark.parametrize("per_channel", [False, True])
def test_conv_integer_imports_exactly(onnx_tools, x_type, w_type, per_channel):
    from match_aie.frontend import load

    x, w = integers(x_type, 1, 3, 7, 6), integers(w_type, 4, 3, 3, 2)
    zero = integers(w_type, 4) if per_channel else w_type(3)
    constants = {"w": w, "xz": x_type(77), "wz": zero}
    node = helper.make_node(
        "ConvInteger", ["x", "w", "xz", "wz"], ["y"], pads=[1, 1, 0, 1], strides=[2, 1]
    )
    model = onnx_tools.build(
        [node], {"x": (x_type, x.shape)}, {"y": (np.int32, [None] * 4)}, constants
    )
    (got,) = onnx_tools.run_tvm(load(model), {"x": x})
    wide = np.pad(x.astype(np.int64) - 77, ((0, 0), (0, 0), (1, 0), (1, 1)))
    taps = w.astype(np.int64) - np.asarray(zero, np.int64).reshape(-1, 1, 1, 1)
    want = np.array(
        [
            [(wide[0, :, i : i + 3, j : j + 2] * tap).sum() for j in range(7)]
            for tap in taps
            for i in range(0, 6, 2)
        ]
    ).reshape(1, 4, 3, 7)
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize(("a_type", "b_type"), [(np.uint8, np.int8), (np.int8, np.uint8)])
def test_matmul_integer_imports_exactly(onnx_tools, a_type, b_type):
    from match_aie.frontend import load

    a, b = integers(a_type, 3, 40), integers(b_type, 40, 5)
    constants = {"b": b, "az": a_type(100), "bz": b_type(5)}
    node = helper.make_node("MatMulInteger", ["a", "b", "az", "bz"], ["y"])
    model = onnx_tools.build(
        [node], {"a": (a_type, a.shape)}, {"y": (np.int32, [None] * 2)}, constants
    )
    (got,) = onnx_tools.run_tvm(load(model), {"a": a})
    np.testing.assert_array_equal(got, (a.astype(np.int64) - 100) @ (b.astype(np.int64) - 5))


def test_scales_per_row_and_column_where_one_is_wanted_are_refused(onnx_tools):
    names = ["a", "as", "az", "b", "bs", "bz", "ys", "yz"]
    constants = {
        **{"as": np.full(2, 0.1, F32), "az": np.zeros(2, np.uint8)},
        **{"b": integers(np.uint8, 2, 3), "bs": F32(0.1), "bz": np.uint8(0)},
        **{"ys": F32(0.1), "yz": np.uint8(0)},
    }
    node = helper.make_node("QLinearAdd", names, ["y"], "sum", domain="com.microsoft")
    model = onnx_tools.build(
        [node], {"a": (np.uint8, (2, 3))}, {"y": (np.uint8, (2, 3))}, constants
    )
    with pytest.raises(UnsupportedOperatorError, match="per channel") as caught:
        onnx_tools.prepass(model)
    assert caught.value.operators[0][0] == "com.microsoft.QLinearAdd"


@pytest.mark.parametrize(
    ("bits", "block", "wide", "points"),
    [
        *((4, 32, 96, points) for points in ("none", "packed", "floats")),
        *((4, 16, 40, "packed"), (8, 32, 64, "none"), (8, 32, 64, "packed")),
    ],
)
def test_weights_in_blocks_become_floats(onnx_tools, bits, block, wide, points):
    """`MatMulNBits`: onnxruntime's kernel adds in another order."""
    high, count = 5, -(-wide // block)
    constants = {
        "w": RNG.integers(0, 256, (high, count, block * bits // 8)).astype(np.uint8),
        "s": RNG.uniform(0.01, 0.05, high * count).astype(F32),
    }
    names = ["x", "w", "s"]
    if points != "none":
        packed = RNG.integers(0, 256, high * -(-count * bits // 8)).astype(np.uint8)
        floats = RNG.uniform(0, 2**bits, (high, count)).astype(F32)
        constants["z"] = packed if points == "packed" else floats
        names.append("z")
    node = helper.make_node("MatMulNBits", names, ["y"], domain="com.microsoft", K=wide, N=high,
                            bits=bits, block_size=block)  # fmt: skip
    x = RNG.standard_normal((2, 3, wide)).astype(F32)
    ports = {"x": (x.dtype, x.shape)}
    model = onnx_tools.build([node], ports, {"y": (F32, (2, 3, high))}, constants)
    (want,) = onnx_tools.run_onnxruntime(model, {"x": x})
    rewritten = onnx_tools.prepass(model)
    assert [n.op_type for n in rewritten.graph.node] == ["MatMul"]
    (got,) = onnx_tools.run_onnxruntime(rewritten, {"x": x})
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5 * np.abs(want).max())


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"bits": 3}, "3 bits"),
        ({"K": 0}, "below 1"),
        ({"K": 1 << 40}, "do not fit"),
        ({"N": 7}, "do not fit"),
        ({"block_size": 16}, "do not fit"),
    ],
)
def test_blocks_that_contradict_themselves_are_refused(onnx_tools, changed, why):
    given = {"K": 64, "N": 5, "bits": 4, "block_size": 32} | changed
    node = helper.make_node("MatMulNBits", ["x", "w", "s"], ["y"], domain="com.microsoft", **given)
    constants = {"w": np.zeros((5, 2, 16), np.uint8), "s": np.ones(10, F32)}
    model = onnx_tools.build([node], {"x": (F32, (2, 64))}, {"y": (F32, None)}, constants)
    with pytest.raises(UnsupportedOperatorError, match=why):
        onnx_tools.prepass(model)
