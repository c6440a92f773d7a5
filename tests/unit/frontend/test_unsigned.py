"""Unsigned activations: not a bit of any output changes, and int8 is gone inside."""

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from match_aie import tvm_api
from match_aie.frontend import load, normalize
from tests.random_networks import random_network
from tests.shared import model_file, random_inputs
from tests.thinned import thinned

pytest.importorskip("tvm")
RNG = np.random.default_rng(0)


def dq(name, out):
    return helper.make_node("DequantizeLinear", [name, f"{name}_s", f"{name}_z"], [out])


def q(name, out):
    return helper.make_node("QuantizeLinear", [name, f"{out}_s", f"{out}_z"], [out])


def parameters(name, scale, zero):
    return {f"{name}_s": np.float32(scale), f"{name}_z": np.int8(zero)}


def loaded(nodes, inputs, outputs, constants):
    """A model; ports as (name, ONNX type, shape)."""
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info(*port) for port in inputs],
        [helper.make_tensor_value_info(*port) for port in outputs],
        [numpy_helper.from_array(np.asarray(v), k) for k, v in constants.items()],
    )
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    return load(made.SerializeToString())


def signed_inside(model):
    """Operators that read or give an int8 tensor, without those of the conversions."""
    main = model.module["main"]
    found = []
    for var, value in tvm_api.bindings(main):
        if not isinstance(value, tvm_api.CallNode) or not tvm_api.is_tensor(var):
            continue
        operator = tvm_api.operator_name(value) or tvm_api.composite_name(model.module, value)
        read = [a for a in value.args if hasattr(a, "ty") and tvm_api.is_tensor(a)]
        types = [tvm_api.dtype_of(a) for a in read if not tvm_api.is_constant(a)]
        if operator != "astype" and "int8" in (*types, tvm_api.dtype_of(var)):
            found.append(operator)
    return found


def check(model, onnx_tools, seed, left=()):
    """Both forms give the same bits; only the operators `left` still see int8."""
    before, after = normalize(model), normalize(model, unsigned=True)
    assert sorted(signed_inside(after)) == sorted(left)
    assert [(p.name, p.dtype) for p in (*after.inputs, *after.outputs)] == [
        (p.name, p.dtype) for p in (*before.inputs, *before.outputs)
    ]
    feeds = random_inputs(before.inputs, np.random.default_rng(seed))
    expected, got = (onnx_tools.run_tvm(m, feeds) for m in (before, after))
    for ours, theirs in zip(got, expected, strict=True):
        assert ours.dtype == theirs.dtype
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("seed", thinned(range(4), 2))
def test_random_networks_compute_the_same(seed, onnx_tools):
    model = load(random_network(seed + 50, 4).SerializeToString())
    after = normalize(model, unsigned=True)
    # Splits and the like get int8 back; what they read and give is not counted here.
    check(model, onnx_tools, seed, left=signed_inside(after))
    assert not {"quantize", "dequantize", "clip", "nn.max_pool2d"} & set(signed_inside(after))


QUANT = {**parameters("x", 0.05, -3), **parameters("a", 0.04, 7), **parameters("y", 0.03, -120)}
WEIGHT = {
    **parameters("w", 0.02, 0),
    "w": RNG.integers(-128, 128, (4, 3, 3, 3)).astype(np.int8),
}


def test_a_convolution_a_pool_and_a_residual(onnx_tools):
    nodes = [
        dq("x", "xd"), dq("w", "wd"),
        helper.make_node("Conv", ["xd", "wd"], ["c"], pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["c"], ["r"]), q("r", "a"), dq("a", "ad"),
        helper.make_node(
            "MaxPool", ["ad"], ["p"], kernel_shape=[3, 3], pads=[1, 1, 1, 1]
        ),
        helper.make_node("Add", ["ad", "p"], ["s"]), q("s", "y"),
    ]  # fmt: skip
    ports = [("x", TensorProto.INT8, (1, 3, 5, 6))], [("y", TensorProto.INT8, (1, 4, 5, 6))]
    check(loaded(nodes, *ports, {**QUANT, **WEIGHT}), onnx_tools, 1, left=["permute_dims"])


def test_an_inner_tensor_that_is_an_output_too(onnx_tools):
    nodes = [
        q("f", "x"), dq("x", "xd"), dq("w", "wd"),
        helper.make_node("Conv", ["xd", "wd"], ["c"]), q("c", "y"),
        helper.make_node("Identity", ["y"], ["z"]),
    ]  # fmt: skip
    ports = (
        [("f", TensorProto.FLOAT, (1, 3, 5, 6))],
        [
            ("x", TensorProto.INT8, (1, 3, 5, 6)),
            ("y", TensorProto.INT8, (1, 4, 3, 4)),
            ("z", TensorProto.INT8, (1, 4, 3, 4)),
        ],
    )
    before = loaded(nodes, *ports, {**QUANT, **WEIGHT})
    assert {p.dtype for p in normalize(before, unsigned=True).outputs} == {"int8"}
    check(before, onnx_tools, 2, left=signed_inside(normalize(before, unsigned=True)))


def relax_module(body):
    """A Relax network of int8 [1, 4, 5, 2], quantised tensors made by `body`."""
    import tvm
    from tvm import relax

    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType((1, 4, 5, 2), "int8"))
    with builder.function("main", [x]):
        with builder.dataflow():
            given = builder.emit_output(body(builder, relax.op, x))
        builder.emit_func_output(given)
    assert isinstance(builder.get(), tvm.IRModule)
    return load(builder.get())


def scaled(builder, op, x, zero):
    from tvm import relax

    real = op.dequantize(x, relax.const(0.05), relax.const(zero, "int8"), out_dtype="float32")
    real = builder.emit(op.multiply(builder.emit(real), relax.const(0.7)))
    return builder.emit(op.quantize(real, relax.const(0.03), relax.const(zero, "int8")))


def test_movement_padding_and_joining_are_done_on_the_unsigned_form(onnx_tools):
    def body(builder, op, x):
        from tvm import relax

        inner = scaled(builder, op, x, 11)
        padded = builder.emit(op.nn.pad(inner, [0, 0, 1, 0, 0, 2, 0, 0], pad_value=-7))
        low = builder.emit(op.strided_slice(padded, [1], [1], [4]))
        known = relax.const(np.arange(-21, 21, dtype=np.int8).reshape(1, 3, 7, 2))
        joined = builder.emit(op.concat([low, known], axis=3))
        most = builder.emit(op.max(joined, axis=[2]))
        return scaled(builder, op, builder.emit(op.tile(most, [1, 2, 1])), -3)

    check(relax_module(body), onnx_tools, 3)


def test_other_operators_get_int8_back(onnx_tools):
    def body(builder, op, x):
        inner = scaled(builder, op, x, 11)
        wide = builder.emit(op.astype(builder.emit(op.negative(inner)), "float32"))
        return builder.emit(op.add(wide, builder.emit(op.astype(inner, "float32"))))

    check(relax_module(body), onnx_tools, 5, left=["negative"])


def test_layers_of_integer_graphs_keep_their_form(onnx_tools):
    """Cut to 0 and above a tensor keeps its values, else it moves up; sums read the difference."""
    from tests import integer_graphs as ig

    def body(builder, given):
        emit = builder.emit
        weight = RNG.integers(-128, 128, (4, 2, 3, 3)).astype(np.int8)
        first = ig.convolution(builder, given[0], weight, padding=[1, 1, 1, 1])
        a = ig.requantised(builder, first, "NCHW", shift=9, clip=(0, 127))
        pooled = emit(ig.op.nn.max_pool2d(a, pool_size=(2, 2), padding=[0, 0, 1, 1]))
        deep = ig.convolution(builder, pooled, weight[:, :1], padding=[1, 1, 1, 1], groups=4)
        b = ig.requantised(builder, deep, "NCHW", bias=np.arange(4) * 99, shift=7)
        c = ig.residual(builder, a, b, shift=1)
        joined = emit(ig.op.concat([a, c], axis=1))
        flat = emit(ig.op.reshape(emit(ig.op.clip(joined, -100, 90)), (1, 8 * 20)))
        dense = ig.dense(builder, flat, np.ones((160, 3), np.int8), shift=5)
        return emit(ig.op.negative(dense))

    model = load(ig.module(body, ((1, 2, 4, 5), "int8")))
    check(model, onnx_tools, 6, left=["negative", "permute_dims"])
    after = normalize(model, unsigned=True)
    read = [
        tvm_api.dtype_of(value.args[0])
        for _, value in tvm_api.bindings(after.module["main"])
        if tvm_api.operator_name(value) in ("nn.conv2d", "matmul")
    ]
    assert read == ["int32"] * 3


@pytest.mark.slow
def test_tensorflow_lites_integer_pool_rounds_around_its_own_zero(onnx_tools):
    model = load(model_file("dscnn_i8.tflite"))
    check(model, onnx_tools, 4)
