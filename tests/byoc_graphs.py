"""Graphs of the shapes that TVM's own tests partition: built here, for the tests of `byoc`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import tvm
from tvm import relax, tirx

#: Runs an exported library where importing match_aie fails.
ELSEWHERE = """
import sys
sys.modules["match_aie"] = None
import numpy as np, tvm
from tvm import relax
library, given, result = sys.argv[1:]
machine = relax.VirtualMachine(tvm.runtime.load_module(library), tvm.cpu())
arrays = np.load(given)
out = machine["main"](*[tvm.runtime.tensor(arrays[name]) for name in arrays.files])
np.save(result, out.numpy())
assert not any(name.startswith("match_aie.") for name in sys.modules)
"""

Body = Callable[..., Any]
#: Name -> a function that builds the module.
GRAPHS: dict[str, Callable[[], Any]] = {}


def made(body: Body, *inputs: tuple[Sequence[Any], str]) -> Any:
    """A module whose `main` takes `inputs` and gives `body(emit, *inputs)`."""
    builder = relax.BlockBuilder()
    params = [relax.Var(f"in{i}", relax.TensorType(s, d)) for i, (s, d) in enumerate(inputs)]
    with builder.function("main", params):
        with builder.dataflow():
            result = builder.emit_output(body(builder.emit, *params))
        builder.emit_func_output(result)
    return builder.get()


def weights(*shape: int, dtype: str = "float32") -> Any:
    """A constant of small random numbers, the same for each shape."""
    random = np.random.default_rng(sum(shape))
    if dtype.startswith("float"):
        return relax.const(random.standard_normal(shape).astype(dtype) / 4, dtype)
    return relax.const(random.integers(-100, 100, shape).astype(dtype), dtype)


def quantize(x: Any, scale: float = 0.05, zero: int = 3) -> Any:
    """`x` as int8."""
    return relax.op.quantize(
        x, relax.const(scale, "float32"), relax.const(zero, "int8"), out_dtype="int8", axis=0
    )


def dequantize(x: Any, scale: float = 0.05, zero: int = 3, dtype: str = "int8") -> Any:
    """`x` as float32."""
    return relax.op.dequantize(
        x, relax.const(scale, "float32"), relax.const(zero, dtype), out_dtype="float32", axis=0
    )


def graph(*inputs: tuple[Sequence[Any], str]) -> Callable[[Body], Body]:
    """Register a body under its name."""

    def register(body: Body) -> Body:
        GRAPHS[body.__name__] = lambda: made(body, *inputs)
        return body

    return register


IMAGE = ((1, 8, 12, 12), "float32")
IMAGE8 = ((1, 8, 12, 12), "int8")
ROWS = ((1, 16, 32), "float32")
op = relax.op


@graph(IMAGE)
def conv2d(emit, x):
    return emit(op.nn.conv2d(x, weights(8, 8, 3, 3), padding=1))


@graph(IMAGE)
def conv2d_bias(emit, x):
    return emit(op.add(emit(op.nn.conv2d(x, weights(8, 8, 3, 3))), weights(1, 8, 1, 1)))


@graph(IMAGE)
def conv2d_relu(emit, x):
    return emit(op.nn.relu(emit(op.nn.conv2d(x, weights(8, 8, 3, 3)))))


@graph(IMAGE)
def conv2d_bias_relu(emit, x):
    y = emit(op.add(emit(op.nn.conv2d(x, weights(8, 8, 3, 3))), weights(1, 8, 1, 1)))
    return emit(op.nn.relu(y))


@graph(IMAGE)
def conv2d_bias_silu(emit, x):
    y = emit(op.add(emit(op.nn.conv2d(x, weights(8, 8, 3, 3))), weights(1, 8, 1, 1)))
    return emit(op.nn.silu(y))


@graph(IMAGE)
def conv2d_residual_relu(emit, x):
    y = emit(op.nn.conv2d(x, weights(8, 8, 3, 3), padding=1))
    y = emit(op.add(y, weights(1, 8, 1, 1)))
    return emit(op.nn.relu(emit(op.add(y, x))))


@graph(IMAGE)
def conv2d_depthwise(emit, x):
    return emit(op.nn.conv2d(x, weights(8, 1, 3, 3), groups=8, padding=1))


@graph(IMAGE)
def conv2d_strided_dilated(emit, x):
    return emit(op.nn.conv2d(x, weights(8, 8, 3, 3), strides=2, dilation=2))


@graph(((1, 12, 12, 8), "float32"))
def conv2d_nhwc_ohwi(emit, x):
    w = weights(8, 3, 3, 8)
    return emit(op.nn.conv2d(x, w, data_layout="NHWC", kernel_layout="OHWI"))


@graph(IMAGE)
def two_convs(emit, x):
    y = emit(op.nn.relu(emit(op.nn.conv2d(x, weights(8, 8, 3, 3)))))
    return emit(op.nn.relu(emit(op.nn.conv2d(y, weights(8, 8, 1, 1)))))


@graph(IMAGE, IMAGE)
def two_branches_added(emit, x, y):
    left = emit(op.nn.relu(emit(op.nn.conv2d(x, weights(8, 8, 3, 3)))))
    right = emit(op.nn.relu(emit(op.nn.conv2d(y, weights(8, 8, 3, 3)))))
    return emit(op.add(left, right))


@graph(IMAGE)
def diamond(emit, x):
    top = emit(op.nn.relu(emit(op.nn.conv2d(x, weights(8, 8, 1, 1)))))
    left = emit(op.nn.max_pool2d(top, (2, 2), strides=(2, 2)))
    right = emit(op.nn.avg_pool2d(top, (2, 2), strides=(2, 2)))
    return emit(op.add(left, right))


@graph(IMAGE)
def foreign_between(emit, x):
    y = emit(op.nn.conv2d(x, weights(8, 8, 1, 1)))
    y = emit(op.sin(y))
    return emit(op.nn.conv2d(y, weights(8, 8, 1, 1)))


@graph(IMAGE)
def foreign_beside(emit, x):
    """A layer, and a foreign operator of its result, meet again: one function would be a cycle."""
    y = emit(op.nn.conv2d(x, weights(8, 8, 1, 1)))
    z = emit(op.nn.conv2d(emit(op.sin(y)), weights(8, 8, 1, 1)))
    return emit(op.nn.conv2d(emit(op.add(y, z)), weights(8, 8, 1, 1)))


@graph(IMAGE)
def inner_value_returned(emit, x):
    y = emit(op.nn.conv2d(x, weights(8, 8, 3, 3)))
    return relax.Tuple([y, emit(op.nn.relu(y))])


@graph(IMAGE)
def tuple_of_layers(emit, x):
    y = emit(op.nn.conv2d(x, weights(8, 8, 3, 3)))
    return relax.Tuple(
        [emit(op.nn.max_pool2d(y, (2, 2))), emit(op.nn.conv2d(y, weights(8, 8, 1, 1)))]
    )


@graph(IMAGE)
def max_pool2d(emit, x):
    return emit(op.nn.max_pool2d(x, (2, 2), strides=(2, 2)))


@graph(IMAGE)
def split_convs(emit, x):
    parts = emit(op.split(x, 2, axis=1))
    left = emit(relax.TupleGetItem(parts, 0))
    return emit(op.nn.conv2d(left, weights(8, 4, 1, 1)))


@graph(ROWS)
def matmul(emit, x):
    return emit(op.matmul(x, weights(32, 24)))


@graph(ROWS)
def matmul_bias(emit, x):
    return emit(op.add(emit(op.matmul(x, weights(32, 24))), weights(24)))


@graph(ROWS)
def matmul_bias_relu(emit, x):
    y = emit(op.add(emit(op.matmul(x, weights(32, 24))), weights(24)))
    return emit(op.nn.relu(y))


@graph(ROWS)
def matmul_bias_gelu(emit, x):
    y = emit(op.add(emit(op.matmul(x, weights(32, 24))), weights(24)))
    return emit(op.nn.gelu(y))


@graph(ROWS)
def matmul_transposed_weight(emit, x):
    return emit(op.matmul(x, emit(op.permute_dims(weights(24, 32)))))


@graph(ROWS)
def matmul_bias_residual(emit, x):
    y = emit(op.add(emit(op.matmul(x, weights(32, 32))), weights(32)))
    return emit(op.add(y, x))


@graph(((4, 16, 8), "float32"), ((4, 8, 12), "float32"))
def batch_matmul(emit, x, y):
    return emit(op.matmul(x, y))


@graph(*[((1, 2, 16, 8), "float32")] * 3)
def attention_spelled_out(emit, q, k, v):
    scores = emit(op.matmul(q, emit(op.permute_dims(k, [0, 1, 3, 2]))))
    scores = emit(op.divide(scores, relax.const(2.5, "float32")))
    return emit(op.matmul(emit(op.nn.softmax(scores, axis=-1)), v))


@graph(*[((1, 16, 2, 8), "float32")] * 3)
def attention_operator(emit, q, k, v):
    return emit(op.nn.attention(q, k, v))


@graph(ROWS)
def layer_norm(emit, x):
    return emit(op.nn.layer_norm(x, weights(32), weights(32), axes=[-1]))


@graph(ROWS)
def rms_norm(emit, x):
    return emit(op.nn.rms_norm(x, weights(32), axes=[-1]))


@graph(ROWS)
def softmax(emit, x):
    return emit(op.nn.softmax(x, axis=-1))


@graph(((1, 16, 32), "float16"))
def matmul_float16(emit, x):
    return emit(op.matmul(x, weights(32, 24, dtype="float16")))


@graph(IMAGE8)
def qdq_conv2d_relu(emit, x):
    w = emit(dequantize(weights(8, 8, 3, 3, dtype="int8"), 0.01, 0))
    b = emit(dequantize(weights(8, dtype="int32"), 0.0005, 0, "int32"))
    y = emit(op.nn.conv2d(emit(dequantize(x)), w, padding=1))
    y = emit(op.add(y, emit(op.reshape(b, (1, 8, 1, 1)))))
    return emit(quantize(emit(op.nn.relu(y)), 0.1, -20))


@graph(IMAGE8)
def qdq_residual(emit, x):
    """A dequantize with two readers."""
    real = emit(dequantize(x))
    w = emit(dequantize(weights(8, 8, 3, 3, dtype="int8"), 0.01, 0))
    b = emit(dequantize(weights(8, dtype="int32"), 0.0005, 0, "int32"))
    y = emit(op.nn.conv2d(real, w, padding=1))
    y = emit(quantize(emit(op.add(y, emit(op.reshape(b, (1, 8, 1, 1)))))))
    return emit(quantize(emit(op.add(emit(dequantize(y)), real)), 0.1, 0))


@graph(((4, 32), "int8"))
def qdq_matmul(emit, x):
    w = emit(dequantize(weights(32, 24, dtype="int8"), 0.01, 0))
    b = emit(dequantize(weights(24, dtype="int32"), 0.0005, 0, "int32"))
    y = emit(op.add(emit(op.matmul(emit(dequantize(x)), w)), b))
    return emit(quantize(y, 0.1, 0))


@graph(((4, 32), "int8"))
def integer_matmul_requantised(emit, x):
    """The integer arithmetic of Relay's quantised graphs."""
    wide = emit(op.astype(x, "int32"))
    y = emit(op.matmul(wide, emit(op.astype(weights(32, 24, dtype="int8"), "int32"))))
    y = emit(op.right_shift(emit(op.add(y, weights(24, dtype="int32"))), relax.const(6, "int32")))
    return emit(op.astype(emit(op.clip(y, -128, 127)), "int8"))


@graph(IMAGE, ((8, 8, 3, 3), "float32"))
def conv2d_weight_parameter(emit, x, w):
    return emit(op.nn.conv2d(x, w))


@graph(ROWS, ROWS)
def elementwise_only(emit, x, y):
    return emit(op.multiply(emit(op.add(x, y)), emit(op.sin(x))))


@graph(ROWS, ROWS)
def elementwise_function(emit, x, y):
    return emit(op.multiply(emit(op.add(x, y)), emit(op.tanh(x))))


def dynamic_batch():
    batch = tirx.Var("n", "int64")
    return made(lambda emit, x: emit(op.matmul(x, weights(32, 24))), ((batch, 32), "float32"))


def branch():
    """A network that chooses at run time."""
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType((4, 4), "float32"))
    which = relax.Var("which", relax.TensorType((), "bool"))
    with builder.function("main", [x, which]):
        chosen = builder.emit(relax.If(which, op.add(x, x), op.multiply(x, x)))
        builder.emit_func_output(chosen)
    return builder.get()


def of_modules(methods: Sequence[str] = ("forward",)):
    """What TVM's own `nn.Module` exports: functions called after methods, weights as parameters."""
    from tvm.relax.frontend import nn

    class Network(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv = nn.Conv2D(3, 8, 3, bias=True)

        def forward(self, x: nn.Tensor):
            return nn.op.relu(self.conv(x))

        def plain(self, x: nn.Tensor):
            return self.conv(x)

    spec = {name: {"x": nn.spec.Tensor((1, 3, 8, 8), "float32")} for name in methods}
    module, weights = Network().export_tvm(spec)
    random = np.random.default_rng(3)
    names = [name for name, _ in weights]
    shapes = [tuple(int(size) for size in value.shape) for _, value in weights]
    values = [random.standard_normal(shape).astype(np.float32) / 4 for shape in shapes]
    return module, dict(zip(names, values, strict=True))


def with_relax_function():
    """A layer before and after a Relax function that `main` calls."""
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType((1, 8, 12, 12), "float32"))
    with builder.function("helper", [x], private=True):
        with builder.dataflow():
            wave = builder.emit(op.sin(x))
            result = builder.emit_output(op.multiply(wave, x))
        builder.emit_func_output(result)
    helper = builder.get().get_global_var("helper")
    x = relax.Var("x", relax.TensorType((1, 8, 12, 12), "float32"))
    with builder.function("main", [x]):
        with builder.dataflow():
            y = builder.emit(op.nn.conv2d(x, weights(8, 8, 1, 1)))
            y = builder.emit(relax.Call(helper, [y]))
            result = builder.emit_output(op.nn.conv2d(y, weights(8, 8, 1, 1)))
        builder.emit_func_output(result)
    return builder.get()


def with_tir_function():
    """A layer after a function that the user scheduled by hand."""
    from tvm import te

    source = te.placeholder((1, 16, 32), "float32", name="source")
    doubled = te.compute((1, 16, 32), lambda *i: source[i] * 2.0, name="doubled")
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType((1, 16, 32), "float32"))
    with builder.function("main", [x]):
        with builder.dataflow():
            function = te.create_prim_func([source, doubled])
            double = builder.add_func(function, "double")
            y = builder.emit(relax.call_tir(double, (x,), relax.TensorType((1, 16, 32), "float32")))
            result = builder.emit_output(op.matmul(y, weights(32, 24)))
        builder.emit_func_output(result)
    return builder.get()


def inputs_of(module: Any) -> list[np.ndarray]:
    """Random inputs of a module's `main`."""
    random = np.random.default_rng(7)
    found = []
    for param in module["main"].params:
        shape, dtype = [int(size) for size in param.ty.shape], str(param.ty.dtype)
        values = random.standard_normal(shape) * (1 if dtype.startswith("float") else 50)
        found.append(values.astype(dtype))
    return found


def tensors(arrays: Sequence[np.ndarray]) -> list[Any]:
    """The same as TVM's."""
    return [tvm.runtime.tensor(array) for array in arrays]
