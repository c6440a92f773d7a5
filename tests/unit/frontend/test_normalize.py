"""Normalisation keeps what a network computes, and reaches the canonical form."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from match_aie import tvm_api
from match_aie.frontend import load, normalize
from match_aie.frontend.model import Model
from tests.thinned import thinned

tvm = pytest.importorskip("tvm")

RNG = np.random.default_rng(0)


def model_of(nodes, inputs, outputs, constants):
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info(n, t, s) for n, t, s in inputs],
        [helper.make_tensor_value_info(n, t, [None] * rank) for n, t, rank in outputs],
        [numpy_helper.from_array(np.asarray(v), k) for k, v in constants.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def run(model: Model, *inputs: np.ndarray) -> list[np.ndarray]:
    """What the Relax module computes, through TVM's own LLVM back end."""
    from tvm import relax

    machine = relax.VirtualMachine(tvm.compile(model.module, target="llvm"), tvm.cpu())
    result = machine["main"](*[tvm.runtime.tensor(i) for i in inputs])
    return [
        r.numpy()
        for r in (
            result if hasattr(result, "__len__") and not hasattr(result, "numpy") else [result]
        )
    ]


def operators(model: Model) -> list[str]:
    return [
        tvm_api.operator_name(v) or tvm_api.composite_name(model.module, v)
        for _, v in tvm_api.bindings(model.module["main"])
        if isinstance(v, tvm_api.CallNode)
    ]


def dq(name, out):
    return helper.make_node("DequantizeLinear", [name, f"{name}_s", f"{name}_z"], [out])


def q(name, out):
    return helper.make_node("QuantizeLinear", [name, f"{out}_s", f"{out}_z"], [out])


def parameters(name, scale, zero, dtype=np.int8):
    return {f"{name}_s": np.float32(scale), f"{name}_z": dtype(zero)}


def float_net(*nodes, shape=(1, 4, 6, 5), constants=None, rank=4):
    return model_of(
        nodes,
        [("x", TensorProto.FLOAT, shape)],
        [("y", TensorProto.FLOAT, rank)],
        constants or {},
    )


W = RNG.standard_normal((6, 4, 3, 3)).astype(np.float32)
DEPTHWISE = RNG.standard_normal((4, 1, 3, 3)).astype(np.float32)
GROUPED = RNG.standard_normal((6, 2, 3, 3)).astype(np.float32)
BIAS = RNG.standard_normal(6).astype(np.float32)

FLOAT_NETS = {
    "conv_relu": float_net(
        helper.make_node("Conv", ["x", "w", "b"], ["c"], pads=[1, 0, 1, 2], strides=[2, 1]),
        helper.make_node("Relu", ["c"], ["y"]),
        constants={"w": W, "b": BIAS},
    ),
    "depthwise_then_flatten": float_net(
        helper.make_node("Conv", ["x", "w"], ["c"], group=4, pads=[1, 1, 1, 1]),
        helper.make_node("Flatten", ["c"], ["y"]),
        rank=2,
        constants={"w": DEPTHWISE},
    ),
    "flatten_into_dense": float_net(
        helper.make_node("Conv", ["x", "w"], ["c"]),
        helper.make_node("Flatten", ["c"], ["f"]),
        helper.make_node("Gemm", ["f", "d"], ["y"]),
        rank=2,
        constants={"w": W, "d": RNG.standard_normal((72, 7)).astype(np.float32)},
    ),
    "grouped": float_net(
        helper.make_node("Conv", ["x", "w"], ["y"], group=2), constants={"w": GROUPED}
    ),
    "conv_global_pool_reshape": float_net(
        helper.make_node("Conv", ["x", "w"], ["c"]),
        helper.make_node("GlobalAveragePool", ["c"], ["p"]),
        helper.make_node("Flatten", ["p"], ["y"]),
        rank=2,
        constants={"w": W},
    ),
    "residual_pool_concat": float_net(
        helper.make_node("Conv", ["x", "w"], ["c"], group=4, pads=[1, 1, 1, 1]),
        helper.make_node("Add", ["c", "x"], ["a"]),
        helper.make_node("Concat", ["a", "c"], ["k"], axis=1),
        helper.make_node("MaxPool", ["k"], ["m"], kernel_shape=[2, 2], strides=[2, 2]),
        helper.make_node("AveragePool", ["m"], ["y"], kernel_shape=[2, 2], pads=[1, 0, 0, 1]),
        constants={"w": DEPTHWISE},
    ),
    "transposes_meet": float_net(
        helper.make_node("Transpose", ["x"], ["t"], perm=[0, 3, 1, 2]),
        helper.make_node("Conv", ["t", "w"], ["c"]),
        helper.make_node("Transpose", ["c"], ["y"], perm=[0, 2, 3, 1]),
        shape=(1, 6, 5, 4),
        constants={"w": W},
    ),
    "broadcast_in_the_middle": float_net(
        helper.make_node("Conv", ["x", "w"], ["c"]),
        helper.make_node("Mul", ["c", "scale"], ["m"]),
        helper.make_node("Add", ["m", "row"], ["y"]),
        constants={
            "w": W,
            "scale": RNG.standard_normal((1, 6, 1, 1)).astype(np.float32),
            "row": RNG.standard_normal((3,)).astype(np.float32),
        },
    ),
    "mean_keepdims": float_net(
        helper.make_node("Conv", ["x", "w"], ["c"]),
        helper.make_node("ReduceMean", ["c"], ["y"], axes=[2, 3], keepdims=1),
        constants={"w": W},
    ),
}


@pytest.mark.parametrize("name", thinned(FLOAT_NETS, 2))
def test_float_networks_compute_the_same(name):
    loaded = load(FLOAT_NETS[name].SerializeToString())
    x = RNG.standard_normal(loaded.inputs[0].shape).astype(np.float32)
    before, after = run(loaded, x), run(normalize(loaded), x)
    assert before[0].shape == after[0].shape
    np.testing.assert_allclose(after[0], before[0], rtol=1e-5, atol=1e-5)


def test_transposes_that_meet_are_gone():
    assert operators(normalize(load(FLOAT_NETS["transposes_meet"].SerializeToString()))) == [
        "nn.conv2d"
    ]


def test_a_flattened_image_moves_the_weights_instead():
    found = operators(normalize(load(FLOAT_NETS["flatten_into_dense"].SerializeToString())))
    # One transpose, of the network's own input.
    assert found == ["permute_dims", "nn.conv2d", "reshape", "matmul"]


def quantized_conv(activation: list, shape=(1, 4, 6, 5)) -> onnx.ModelProto:
    constants = {
        **parameters("xq", 0.1, 3),
        "w": RNG.integers(-127, 128, (6, 4, 3, 3)).astype(np.int8),
        "w_s": (RNG.random(6) * 0.01 + 0.001).astype(np.float32),
        "w_z": np.zeros(6, np.int8),
        **parameters("yq", 0.05, -7),
        "lo": np.float32(0.5),
        "six": np.float32(6.0),
    }
    constants["b"] = RNG.integers(-500, 500, 6).astype(np.int32)
    constants["b_s"] = (np.float32(0.1) * constants["w_s"]).astype(np.float32)
    constants["b_z"] = np.zeros(6, np.int32)
    axis0 = {"axis": 0}
    nodes = [
        dq("xq", "xd"),
        helper.make_node("DequantizeLinear", ["w", "w_s", "w_z"], ["wd"], **axis0),
        helper.make_node("DequantizeLinear", ["b", "b_s", "b_z"], ["bd"], **axis0),
        helper.make_node("Conv", ["xd", "wd", "bd"], ["c"]),
        *activation,
        q("a", "yq"),
    ]
    return model_of(
        nodes, [("xq", TensorProto.INT8, shape)], [("yq", TensorProto.INT8, 4)], constants
    )


ACTIVATIONS = {
    "none": ([helper.make_node("Identity", ["c"], ["a"])], []),
    "relu": ([helper.make_node("Relu", ["c"], ["a"])], ["clip"]),
    "relu6": (
        [helper.make_node("Clip", ["c", "", "six"], ["r"]), helper.make_node("Relu", ["r"], ["a"])],
        ["clip"],
    ),
    "clip": ([helper.make_node("Clip", ["c", "lo", "six"], ["a"])], ["clip"]),
}


@pytest.mark.parametrize("name", thinned(ACTIVATIONS, 2, 1))
def test_activations_become_integer_clips(name):
    nodes, tail = ACTIVATIONS[name]
    loaded = load(quantized_conv(nodes).SerializeToString())
    model = normalize(loaded)
    found = [o for o in operators(model) if o not in ("reshape", "permute_dims")]
    assert [o for o in found if o != "dequantize"] == ["nn.conv2d", "add", "quantize", *tail]
    x = RNG.integers(-128, 128, loaded.inputs[0].shape).astype(np.int8)
    before, after = run(loaded, x)[0], run(model, x)[0]
    # Float sums in another order may move a tie by one step; nothing else may change.
    assert np.abs(before.astype(int) - after.astype(int)).max() <= 1
    assert (before != after).mean() < 0.01


def test_movement_between_equal_quantisations_is_done_on_integers():
    nodes = [dq("xq", "d"), helper.make_node("Flatten", ["d"], ["f"]), q("f", "yq")]
    same = {**parameters("xq", 0.5, 1), **parameters("yq", 0.5, 1)}
    other = {**parameters("xq", 0.5, 1), **parameters("yq", 0.25, 1)}
    ports = [("xq", TensorProto.INT8, (1, 4, 3, 2))], [("yq", TensorProto.INT8, 2)]
    assert operators(normalize(load(model_of(nodes, *ports, same).SerializeToString()))) == [
        "reshape"
    ]
    kept = operators(normalize(load(model_of(nodes, *ports, other).SerializeToString())))
    assert kept == ["reshape", "dequantize", "quantize"]


@pytest.mark.parametrize("coarse", [0.5, 0.25])
def test_quantised_operands_are_joined_as_integers(coarse):
    nodes = [
        dq("xq", "x"),
        dq("zq", "z"),
        helper.make_node("Concat", ["x", "z"], ["c"], axis=1),
        q("c", "yq"),
    ]
    constants = {
        **parameters("xq", 0.25, 1),
        **parameters("zq", coarse, -3),
        **parameters("yq", 0.25, 1),
    }
    ports = [("xq", TensorProto.INT8, (1, 4)), ("zq", TensorProto.INT8, (1, 3))]
    outputs = [("yq", TensorProto.INT8, 2)]
    loaded = load(model_of(nodes, ports, outputs, constants).SerializeToString())
    model = normalize(loaded)
    # The other operand is requantised; one that differs in its zero point only too.
    assert operators(model) == ["dequantize", "quantize", "concat"]
    x, z = (RNG.integers(-128, 128, shape).astype(np.int8) for shape in ((1, 4), (1, 3)))
    np.testing.assert_array_equal(run(model, x, z)[0], run(loaded, x, z)[0])
    apart = constants | parameters("yq", 0.125, 1)
    loaded = load(model_of(nodes, ports, outputs, apart).SerializeToString())
    model = normalize(loaded)
    assert operators(model) == ["dequantize"] * 2 + ["quantize"] * 2 + ["concat"]
    np.testing.assert_array_equal(run(model, x, z)[0], run(loaded, x, z)[0])


def test_integer_io_moves_the_ends():
    nodes = [
        q("x", "xq"),
        dq("xq", "d"),
        helper.make_node("Relu", ["d"], ["r"]),
        q("r", "yq"),
        dq("yq", "y"),
    ]
    constants = {**parameters("xq", 0.5, 1), **parameters("yq", 0.25, -3)}
    data = model_of(
        nodes, [("x", TensorProto.FLOAT, (1, 8))], [("y", TensorProto.FLOAT, 2)], constants
    ).SerializeToString()
    plain, integer = normalize(load(data)), normalize(load(data), integer_io=True)
    assert plain.inputs[0].dtype == "float32"
    port_in, port_out = integer.inputs[0], integer.outputs[0]
    assert (port_in.name, port_in.dtype, port_in.scale, port_in.zero_point) == ("x", "int8", 0.5, 1)
    assert (port_out.name, port_out.dtype, port_out.scale, port_out.zero_point) == (
        "y",
        "int8",
        0.25,
        -3,
    )
    x = RNG.integers(-128, 128, (1, 8)).astype(np.int8)
    expected = run(plain, ((x.astype(np.float32) - 1) * np.float32(0.5)).astype(np.float32))[0]
    got = (run(integer, x)[0].astype(np.float32) + 3) * np.float32(0.25)
    np.testing.assert_array_equal(got, expected)


def test_integer_io_reaches_an_image_at_the_end():
    """The output is channel-first, the convolution channel-last: integers are transposed."""
    nodes = [
        q("x", "xq"),
        dq("xq", "d"),
        dq("wq", "w"),
        helper.make_node("Conv", ["d", "w"], ["c"], pads=[1, 1, 1, 1]),
        q("c", "yq"),
        dq("yq", "y"),
    ]
    weight = RNG.integers(-128, 128, (5, 3, 3, 3)).astype(np.int8)
    constants = {
        **parameters("xq", 0.5, 1),
        **parameters("wq", 0.01, 0),
        **parameters("yq", 0.25, -3),
        "wq": weight,
    }
    data = model_of(
        nodes, [("x", TensorProto.FLOAT, (2, 3, 4, 6))], [("y", TensorProto.FLOAT, 4)], constants
    ).SerializeToString()
    plain, integer = normalize(load(data)), normalize(load(data), integer_io=True)
    assert operators(plain)[-2:] == ["permute_dims", "dequantize"]
    assert operators(integer)[-1] == "permute_dims"
    assert integer.outputs[0].dtype == "int8"


@pytest.mark.parametrize("dtype", ["int16", "uint16"])
def test_activations_of_16_bits_become_clips_too(dtype):
    from tvm import relax

    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType((2, 6), dtype))
    zero, (fine, coarse) = relax.const(5, "int32"), (relax.const(s) for s in (0.25, 0.5))
    with builder.function("main", [x]):
        with builder.dataflow():
            real = builder.emit(relax.op.dequantize(x, fine, zero, out_dtype="float32"))
            cut = builder.emit(relax.op.nn.relu6(real))
            given = builder.emit_output(relax.op.quantize(cut, coarse, zero, out_dtype=dtype))
        builder.emit_func_output(given)
    loaded = load(builder.get())
    model = normalize(loaded)
    assert operators(model) == ["dequantize", "quantize", "clip"]
    value = np.arange(-3, 57, 5, dtype=np.int32).reshape(2, 6).astype(dtype)
    np.testing.assert_array_equal(run(model, value)[0], run(loaded, value)[0])
