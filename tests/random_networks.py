"""Random quantised ONNX networks: every layer kind, odd parameters, awkward graph ends."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod

import numpy as np
import onnx
from onnx import helper, numpy_helper

TYPES = {"uint8": onnx.TensorProto.UINT8, "int8": onnx.TensorProto.INT8}


@dataclass(frozen=True)
class Value:
    """A quantised tensor of the network under construction."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    scale: np.float32
    zero: int


@dataclass
class Network:
    """A network that grows operator by operator; all choices come from `rng`."""

    rng: np.random.Generator
    nodes: list[onnx.NodeProto] = field(default_factory=list)
    constants: list[onnx.TensorProto] = field(default_factory=list)
    inputs: list[onnx.ValueInfoProto] = field(default_factory=list)
    values: list[Value] = field(default_factory=list)
    dequantized: dict[str, str] = field(default_factory=dict)
    count: int = 0

    def fresh(self, hint: str = "t") -> str:
        self.count += 1
        return f"{hint}{self.count}"

    def chance(self, probability: float) -> bool:
        return bool(self.rng.random() < probability)

    def choose(self, *options):
        return options[int(self.rng.integers(len(options)))]

    def between(self, low: int, high: int) -> int:
        return int(self.rng.integers(low, high + 1))

    def const(self, array: np.ndarray) -> str:
        name = self.fresh("c")
        self.constants.append(numpy_helper.from_array(array, name))
        return name

    def node(self, operator: str, inputs: list[str], **attributes) -> str:
        output = self.fresh(operator.lower())
        self.nodes.append(
            helper.make_node(operator, inputs, [output], name=f"n_{output}", **attributes)
        )
        return output

    # Quantised boundaries.

    def parameters(self) -> tuple[str, np.float32, int]:
        dtype = self.choose("uint8", "int8")
        info = np.iinfo(dtype)
        zero = self.choose(0, 128 if dtype == "uint8" else 0, self.between(info.min, info.max))
        return dtype, np.float32(self.rng.uniform(0.008, 0.06)), zero

    def quantize(self, real: str, shape: tuple[int, ...], like: Value | None = None) -> Value:
        dtype, scale, zero = (like.dtype, like.scale, like.zero) if like else self.parameters()
        scalars = [self.const(np.float32(scale)), self.const(np.array(zero, dtype))]
        name = self.node("QuantizeLinear", [real, *scalars])
        self.values.append(Value(name, shape, dtype, scale, zero))
        return self.values[-1]

    def real(self, value: Value) -> str:
        """The dequantised value: one that exists already, or a new one."""
        if value.name in self.dequantized and self.chance(0.6):
            return self.dequantized[value.name]
        scalars = [
            self.const(np.float32(value.scale)),
            self.const(np.array(value.zero, value.dtype)),
        ]
        self.dequantized[value.name] = self.node("DequantizeLinear", [value.name, *scalars])
        return self.dequantized[value.name]

    def start(self, shape: tuple[int, ...]) -> None:
        name = self.fresh("x")
        if self.chance(0.2):
            dtype, scale, zero = self.parameters()
            self.inputs.append(helper.make_tensor_value_info(name, TYPES[dtype], shape))
            self.values.append(Value(name, shape, dtype, scale, zero))
            return
        self.inputs.append(helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, shape))
        self.quantize(name, shape)

    def pick(self, *ranks: int) -> Value | None:
        found = [v for v in self.values if len(v.shape) in ranks]
        if not found:
            return None
        # Mostly the newest: depth rather than breadth.
        return found[-1] if self.chance(0.7) else found[self.between(0, len(found) - 1)]

    def finish(self, real: str, shape: tuple[int, ...]) -> None:
        """Perhaps an activation, or two, then the boundary."""
        for _ in range(self.choose(0, 0, 1, 1, 2)):
            kind = self.choose("Relu", "Clip", "Clip6", "Max", "Min")
            if kind == "Relu":
                real = self.node("Relu", [real])
            elif kind == "Clip":
                low, high = sorted(self.rng.uniform(-2, 2, 2))
                bounds = [self.const(np.float32(low)), self.const(np.float32(high))]
                real = self.node("Clip", [real, *bounds])
            elif kind == "Clip6":
                real = self.node(
                    "Clip", [real, self.const(np.float32(0)), self.const(np.float32(6))]
                )
            else:
                real = self.node(kind, [real, self.const(np.float32(self.rng.uniform(-1, 1)))])
        self.quantize(real, shape)

    # Weights.

    def weights(self, shape: tuple[int, ...], axis: int, fan_in: int) -> tuple[str, np.ndarray]:
        """Dequantised weights, and their scale per tensor or channel."""
        dtype = self.choose("int8", "int8", "uint8")
        info = np.iinfo(dtype)
        channels = shape[axis] if self.chance(0.5) else 1
        wide = self.chance(0.5) or dtype == "uint8"
        raw = self.rng.integers(info.min, info.max + 1, shape).astype(dtype)
        scale = (self.rng.uniform(0.7, 1.4, channels) / (74 * np.sqrt(fan_in))).astype(np.float32)
        middle = 128 if dtype == "uint8" else 0
        zero = middle + (self.rng.integers(-20, 21, channels) if wide else np.zeros(channels))
        zero = zero.astype(dtype)
        if channels == 1 and self.chance(0.7):
            scale, zero = scale.reshape(()), zero.reshape(())
        names = [self.const(a) for a in (raw, scale, zero)]
        extra = {"axis": axis if self.chance(0.7) else axis - len(shape)} if scale.shape else {}
        return self.node("DequantizeLinear", names, **extra), scale

    def bias(self, x: Value, scale: np.ndarray, channels: int) -> str:
        step = (np.float32(x.scale) * scale).astype(np.float32)
        raw = (self.rng.normal(0, 0.3, channels) / step).astype(np.int32)
        names = [self.const(raw), self.const(step)]
        names.append(self.const(np.zeros(step.shape, np.int32)))
        extra = {"axis": 0} if step.shape else {}
        return self.node("DequantizeLinear", names, **extra)

    # Operators; each gives up silently where no value fits.

    def window(self, size: tuple[int, ...], pool: bool = False) -> dict | None:
        kernel = [self.between(1, 4) for _ in size]
        strides = [self.between(1, 3) for _ in size]
        dilations = [1 if pool else self.choose(1, 1, 2, 3) for _ in size]
        spans = [d * (k - 1) + 1 for k, d in zip(kernel, dilations, strict=True)]
        pads = [self.between(0, min(2, k - 1)) for k in kernel + kernel]
        room = [n + pads[i] + pads[i + 2] - spans[i] for i, n in enumerate(size)]
        out = [r // s + 1 for r, s in zip(room, strides, strict=True)]
        if min(out) < 1:
            return None
        found = {"kernel_shape": kernel, "strides": strides, "pads": pads, "out": tuple(out)}
        return found if pool else {**found, "dilations": dilations}

    def conv(self) -> None:
        x = self.pick(4)
        window = self.window(x.shape[2:]) if x else None
        if x is None or window is None:
            return
        batch, channels = x.shape[:2]
        divisors = [g for g in range(1, channels + 1) if channels % g == 0]
        groups = self.choose(1, 1, channels, self.choose(*divisors))
        outputs = groups * self.between(1, max(1, 6 // groups))
        out = window.pop("out")
        shape = (outputs, channels // groups, *window["kernel_shape"])
        weight, scale = self.weights(shape, 0, prod(shape[1:]))
        inputs = [self.real(x), weight]
        if self.chance(0.7):
            inputs.append(self.bias(x, scale, outputs))
        self.finish(self.node("Conv", inputs, group=groups, **window), (batch, outputs, *out))

    def pool(self) -> None:
        x = self.pick(4)
        window = self.window(x.shape[2:], pool=True) if x else None
        if x is None or window is None:
            return
        out = window.pop("out")
        shape = (*x.shape[:2], *out)
        if self.chance(0.5):
            if self.chance(0.3):
                self.values.append(
                    Value(self.node("MaxPool", [x.name], **window), shape, x.dtype, x.scale, x.zero)
                )
                return
            real = self.node("MaxPool", [self.real(x)], **window)
            self.quantize(real, shape, self.choose(x, None))
            return
        include = int(self.chance(0.5))
        real = self.node("AveragePool", [self.real(x)], count_include_pad=include, **window)
        self.finish(real, shape)

    def ceil_pool(self) -> None:
        """A pool with ceil_mode, where no window starts in the padding after the image.

        onnx 1.23 counts such windows for opset 19 and onnxruntime does not.
        """
        x = self.pick(4)
        window = self.window(x.shape[2:], pool=True) if x else None
        if x is None or window is None:
            return
        window.pop("out")
        kernel, strides, pads = (window[k] for k in ("kernel_shape", "strides", "pads"))
        out = []
        for i, size in enumerate(x.shape[2:]):
            out.append(-(-(size + pads[i] + pads[i + 2] - kernel[i]) // strides[i]) + 1)
            if (out[i] - 1) * strides[i] >= size + pads[i]:
                return
        operator = self.choose("MaxPool", "AveragePool")
        real = self.node(operator, [self.real(x)], ceil_mode=1, **window)
        self.finish(real, (*x.shape[:2], *out))

    def whole_pool(self) -> None:
        x = self.pick(4)
        if x is None:
            return
        kind = self.choose("GlobalAveragePool", "GlobalMaxPool", "ReduceMean")
        shape = (*x.shape[:2], 1, 1)
        if kind != "ReduceMean":
            self.finish(self.node(kind, [self.real(x)]), shape)
            return
        keep = self.chance(0.5)
        axes = self.const(np.array(self.choose([2, 3], [-1, -2]), np.int64))
        real = self.node(kind, [self.real(x), axes], keepdims=int(keep))
        self.finish(real, shape if keep else shape[:2])

    def binary(self) -> None:
        a = self.pick(2, 3, 4)
        assert a is not None
        operator = self.choose("Add", "Add", "Mul")
        others = [v for v in self.values if v.shape == a.shape]
        b = others[self.between(0, len(others) - 1)]
        if self.chance(0.3):
            shape = tuple(self.choose(1, n) for n in a.shape[self.choose(0, len(a.shape) - 1) :])
            dtype, scale, zero = self.parameters()
            info = np.iinfo(dtype)
            raw = self.rng.integers(info.min, info.max + 1, shape).astype(dtype)
            b = Value(self.const(raw), shape, dtype, scale, zero)
        pair = [self.real(a), self.real(b)]
        if self.chance(0.5):
            pair.reverse()
        self.finish(self.node(operator, pair), a.shape)

    def concat(self) -> None:
        a = self.pick(2, 3, 4)
        assert a is not None
        axis = self.between(0 if len(a.shape) < 4 else 1, len(a.shape) - 1)
        fitting = [
            v
            for v in self.values
            if len(v.shape) == len(a.shape)
            and all(
                n == m for i, (n, m) in enumerate(zip(v.shape, a.shape, strict=True)) if i != axis
            )
        ]
        parts = [a] + [
            fitting[self.between(0, len(fitting) - 1)] for _ in range(self.between(1, 2))
        ]
        size = sum(p.shape[axis] for p in parts)
        if size > 40:
            return
        real = self.node("Concat", [self.real(p) for p in parts], axis=axis)
        self.quantize(real, (*a.shape[:axis], size, *a.shape[axis + 1 :]), self.choose(a, None))

    def move(self) -> None:
        x = self.pick(2, 3, 4)
        assert x is not None
        kind = self.choose("Flatten", "Reshape", "Transpose", "Squeeze")
        n = len(x.shape)
        inside = self.chance(0.4)
        source = x.name if inside else self.real(x)
        if kind == "Flatten":
            shape: tuple[int, ...] = (x.shape[0], prod(x.shape[1:]))
            name = self.node("Flatten", [source], axis=1)
        elif kind == "Transpose":
            axes = [int(a) for a in self.rng.permutation(n)]
            shape = tuple(x.shape[a] for a in axes)
            name = self.node("Transpose", [source], perm=axes)
        else:
            size = prod(x.shape[1:])
            divisor = self.choose(*[d for d in range(1, size + 1) if size % d == 0])
            shape = (x.shape[0], divisor, size // divisor)
            name = self.node("Reshape", [source, self.const(np.array(shape, np.int64))])
        if inside:
            self.values.append(Value(name, shape, x.dtype, x.scale, x.zero))
        else:
            self.quantize(name, shape, self.choose(x, x, None))

    def dense(self) -> None:
        x = self.pick(2, 3)
        if x is None:
            return
        inner, outputs = x.shape[-1], self.between(1, 6)
        transposed = len(x.shape) == 2 and self.chance(0.5)
        shape = (outputs, inner) if transposed else (inner, outputs)
        weight, scale = self.weights(shape, 0 if transposed else 1, inner)
        out = (*x.shape[:-1], outputs)
        if len(x.shape) == 2 and (transposed or self.chance(0.3)):
            inputs = [self.real(x), weight]
            if self.chance(0.7):
                inputs.append(self.bias(x, scale, outputs))
            self.finish(self.node("Gemm", inputs, transB=int(transposed)), out)
            return
        real = self.node("MatMul", [self.real(x), weight])
        if self.chance(0.6):
            pair = [real, self.bias(x, scale, outputs)]
            real = self.node("Add", pair[:: self.choose(1, -1)])
        self.finish(real, out)

    def matmul(self) -> None:
        """Product of two activations: x times its own transpose."""
        x = self.pick(2, 3, 4)
        if x is None or x.shape[-1] > 64:
            return
        axes = [*range(len(x.shape) - 2), len(x.shape) - 1, len(x.shape) - 2]
        moved = self.node("Transpose", [self.real(x)], perm=axes)
        shape = (*x.shape[:-1], x.shape[-2])
        self.finish(self.node("MatMul", [self.real(x), moved]), shape)

    def known_matmul(self) -> None:
        """Product of a batch of matrices and as many constant ones, on either side."""
        x = self.pick(3, 4)
        if x is None:
            return
        columns, left = self.between(1, 6), self.chance(0.3)
        matrix = (columns, x.shape[-2]) if left else (x.shape[-1], columns)
        shape = (*x.shape[:-2], *matrix)
        dtype, scale, zero = self.parameters()
        info = np.iinfo(dtype)
        raw = self.rng.integers(info.min, info.max + 1, shape).astype(dtype)
        known = self.real(Value(self.const(raw), shape, dtype, scale, zero))
        pair = [known, self.real(x)] if left else [self.real(x), known]
        out = (*shape[:-1], x.shape[-1]) if left else (*x.shape[:-1], columns)
        self.finish(self.node("MatMul", pair), out)

    def softmax(self) -> None:
        x = self.pick(2, 3, 4)
        assert x is not None
        axis = self.choose(-1, -1, len(x.shape) - 1, 1)
        self.quantize(self.node("Softmax", [self.real(x)], axis=axis), x.shape)

    def model(self, outputs: int) -> onnx.ModelProto:
        """Finish: the newest value and some older ones, as floats or integers."""
        ends = [self.values[-1]]
        for _ in range(outputs - 1):
            value = self.values[self.between(0, len(self.values) - 1)]
            if value not in ends:
                ends.append(value)
        inputs = {i.name for i in self.inputs}
        infos = []
        for value in ends:
            if value.name not in inputs and self.chance(0.3):
                infos.append(
                    helper.make_tensor_value_info(value.name, TYPES[value.dtype], value.shape)
                )
                continue
            name = self.real(value)
            if name not in {i.name for i in infos}:
                infos.append(
                    helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, value.shape)
                )
        graph = helper.make_graph(self.nodes, "net", self.inputs, infos, self.constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=9)
        onnx.checker.check_model(model, full_check=True)
        return model


OPERATORS = (
    "conv", "conv", "conv", "pool", "pool", "ceil_pool", "whole_pool", "binary", "binary",
    "concat", "move", "move", "dense", "dense", "matmul", "softmax",
)  # fmt: skip


def random_network(seed: int, depth: int, operators: Sequence[str] = OPERATORS) -> onnx.ModelProto:
    """The network of `seed`, of at most `depth` layers, each by one of `operators`."""
    net = Network(np.random.default_rng(seed))
    batch = net.choose(1, 1, 2, 3)
    for _ in range(net.choose(1, 1, 2)):
        image = (batch, net.between(1, 5), net.between(1, 8), net.between(1, 8))
        net.start(image if net.chance(0.7) else (batch, net.between(1, 20)))
    for _ in range(depth):
        before = len(net.values)
        for _ in range(8):
            getattr(net, net.choose(*operators))()
            if len(net.values) > before:
                break
    return net.model(net.choose(1, 1, 1, 2, 3))
