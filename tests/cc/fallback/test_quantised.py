"""Quantisation of the emitted C equals onnxruntime's, bit for bit."""

import numpy as np
import onnx
import pytest
from harness import evaluate, run
from onnx import TensorProto, helper, numpy_helper
from tvm import relax
from tvm.relax import op

from match_aie.fallback import lower

RNG = np.random.default_rng(0)
ort = pytest.importorskip("onnxruntime")

TYPES = {"int8": TensorProto.INT8, "uint8": TensorProto.UINT8, "int16": TensorProto.INT16}


def _quantise_with_onnxruntime(x, scale, zero, axis):
    kind = TYPES[str(zero.dtype)]
    node = helper.make_node("QuantizeLinear", ["x", "s", "z"], ["y"], axis=axis)
    graph = helper.make_graph(
        [node], "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, x.shape)],
        [helper.make_tensor_value_info("y", kind, x.shape)],
        [numpy_helper.from_array(scale, "s"), numpy_helper.from_array(zero, "z")],
    )  # fmt: skip
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    onnx.checker.check_model(model)
    session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, {"x": x})[0]


@pytest.mark.parametrize("flags", [("-O0",), ("-O3",), ("-O1", "-fsanitize=undefined")])
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("channels", [1, 4])
def test_quantize(dtype, channels, flags):
    info = np.iinfo(dtype)
    scale = RNG.uniform(0.001, 0.2, channels).astype(np.float32)
    scale[0] = 0.5
    zero = RNG.integers(max(info.min, -100), min(info.max, 100), channels).astype(dtype)
    x = (RNG.standard_normal((3, channels, 50)) * 20).astype(np.float32)
    ties = np.arange(-150, 150, dtype=np.float32)[: 3 * 50].reshape(3, 50)
    x[:, 0] = ties * 0.25  # every other one lies between two integers
    x[0, 0, :4] = [np.inf, -np.inf, 3e38, -3e38]
    if channels == 1:
        scale, zero = scale.reshape(()), zero.reshape(())

    def body(emit, v):
        return emit(op.quantize(v, relax.const(scale), relax.const(zero, dtype), 1, dtype))

    (got,) = evaluate(body, x, flags=flags)
    np.testing.assert_array_equal(got, _quantise_with_onnxruntime(x, scale, zero, 1))


def test_quantize_of_what_is_no_number_is_defined():
    x = np.array([np.nan, 1.0], np.float32)
    constants = relax.const(0.5), relax.const(np.int8(3), "int8")
    (got,) = evaluate(
        lambda emit, v: emit(op.quantize(v, *constants, 0, "int8")), x,
        flags=("-O1", "-fsanitize=undefined", "-fno-sanitize-recover"),
    )  # fmt: skip
    np.testing.assert_array_equal(got, [-128, 5])


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32"])
def test_dequantize(dtype):
    scale = RNG.uniform(0.001, 0.2, 4).astype(np.float32)
    zero = (RNG.integers(-5, 100, 4) * (dtype != "int32") % 128).astype(dtype)
    x = RNG.integers(-128 if dtype != "uint8" else 0, 127, (4, 60)).astype(dtype)

    def body(emit, v):
        return emit(op.dequantize(v, relax.const(scale), relax.const(zero, dtype), 0, "float32"))

    (got,) = evaluate(body, x)
    whole = x.astype(np.int32) - zero.astype(np.int32)[:, None]
    np.testing.assert_array_equal(got, whole.astype(np.float32) * scale[:, None])


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_constants_fold_to_what_would_run(dtype):
    """Quantised weights are dequantised at compile time, with the same bits."""
    weights = RNG.integers(0, 127, (6, 5)).astype(dtype)
    scale = RNG.uniform(0.001, 0.2, 6).astype(np.float32)
    zero = np.arange(6).astype(dtype)

    def body(emit, v, q):
        constants = relax.const(scale), relax.const(zero, dtype)
        folded = emit(op.dequantize(relax.const(weights, dtype), *constants, 0, "float32"))
        running = emit(op.dequantize(q, *constants, 0, "float32"))
        back = emit(op.quantize(folded, *constants, 0, dtype))
        again = emit(op.quantize(running, *constants, 0, dtype))
        return [emit(op.add(folded, v)), emit(op.add(running, v)), back, again]

    nothing = np.zeros((1, 1), np.float32)
    folded, running, back, again = evaluate(body, nothing, weights)
    np.testing.assert_array_equal(folded, running)
    np.testing.assert_array_equal(back, weights)
    np.testing.assert_array_equal(again, weights)


def test_folding_takes_place():
    def body(emit, v):
        weights = relax.const(np.ones((4, 4), np.int8), "int8")
        scale = relax.const(np.float32(0.5)), relax.const(np.int8(0), "int8")
        return emit(op.matmul(v, emit(op.dequantize(weights, *scale, 0, "float32"))))

    from harness import module_of

    remainder = lower(module_of(body, ((2, 4), "float32")), prefix="n", labels={})
    assert len(remainder.calls) == 1
    assert [str(c.value.dtype) for c in remainder.constants] == ["float32"]
    (got,) = run(remainder, [np.ones((2, 4), np.float32)])
    np.testing.assert_array_equal(got, np.full((2, 4), 2.0))
