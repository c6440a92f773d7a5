"""Random quantised networks, wider than `tests.random_networks`: constants as operands."""

from __future__ import annotations

from math import prod

import numpy as np
import onnx

from tests.random_networks import OPERATORS, Network, Value


class Wider(Network):
    """Adds constants as either operand, residuals, batched products and odd shapes."""

    def held(self, shape: tuple[int, ...], axis: int | None = None) -> str:
        """A dequantised constant of any type, zero point and scale."""
        dtype, scale, zero = self.parameters()
        info = np.iinfo(dtype)
        raw = self.rng.integers(info.min, info.max + 1, shape).astype(dtype)
        if axis is None:
            parts = [raw, np.float32(scale), np.array(zero, dtype)]
            return self.node("DequantizeLinear", [self.const(np.asarray(p)) for p in parts])
        scales = (self.rng.uniform(0.7, 1.4, shape[axis]) * scale).astype(np.float32)
        zeros = np.full(shape[axis], zero, dtype)
        names = [self.const(p) for p in (raw, scales, zeros)]
        return self.node("DequantizeLinear", names, axis=axis)

    def constant_operand(self) -> None:
        """Add, Sub, Mul, or Div by a scalar: the constant first or second, whole or broadcast."""
        x = self.pick(2, 3, 4)
        assert x is not None
        kind = self.choose("whole", "channels", "scalar", "row", "some")
        shape = {
            "whole": x.shape,
            "channels": (1, x.shape[1], *[1] * (len(x.shape) - 2)),
            "scalar": self.choose((), (1,)),
            "row": x.shape[-1:],
            "some": tuple(self.choose(1, n) for n in x.shape),
        }[kind]
        axis = None
        if shape and self.chance(0.15):
            axis = int(np.argmax(shape))
        pair = [self.real(x), self.held(shape, axis)][:: self.choose(1, -1)]
        self.finish(self.node(self.choose("Add", "Sub", "Mul", "Add"), pair), x.shape)

    def constant_concat(self) -> None:
        x = self.pick(2, 3, 4)
        assert x is not None
        axis = self.between(0, len(x.shape) - 1)
        extra = (*x.shape[:axis], self.between(1, 4), *x.shape[axis + 1 :])
        if prod(extra) > 600:
            return
        parts = [self.real(x), self.held(extra)][:: self.choose(1, -1)]
        shape = (*x.shape[:axis], x.shape[axis] + extra[axis], *x.shape[axis + 1 :])
        self.quantize(self.node("Concat", parts, axis=axis), shape, self.choose(x, None))

    def constant_matmul(self) -> None:
        """A batched product with a constant, on either side."""
        x = self.pick(3, 4)
        if x is None:
            return
        batch = self.choose(x.shape[:-2], (1,) * (len(x.shape) - 2), ())
        rows, inner = x.shape[-2:]
        outputs = self.between(1, 9)
        if self.chance(0.3):
            shape = (*batch, outputs, rows)
            weight, _ = self.weights(shape, len(shape) - 2, rows)
            out = (*x.shape[:-2], outputs, inner)
            self.finish(self.node("MatMul", [weight, self.real(x)]), out)
            return
        shape = (*batch, inner, outputs)
        weight, _ = self.weights(shape, len(shape) - 1, inner)
        self.finish(self.node("MatMul", [self.real(x), weight]), (*x.shape[:-1], outputs))

    def residual(self) -> None:
        """x + f(x), with f a pointwise convolution or a dense layer."""
        x = self.pick(2, 4)
        if x is None:
            return
        if len(x.shape) == 4:
            weight, scale = self.weights((x.shape[1], x.shape[1], 1, 1), 0, x.shape[1])
            inputs = [self.real(x), weight, self.bias(x, scale, x.shape[1])]
            inner = self.quantize(self.node("Conv", inputs), x.shape)
        else:
            weight, _ = self.weights((x.shape[1], x.shape[1]), 1, x.shape[1])
            inner = self.quantize(self.node("MatMul", [self.real(x), weight]), x.shape)
        pair = [self.real(x), self.real(inner)][:: self.choose(1, -1)]
        self.finish(self.node("Add", pair), x.shape)

    def subtract(self) -> None:
        a = self.pick(2, 3, 4)
        assert a is not None
        others = [v for v in self.values if v.shape == a.shape]
        b = others[self.between(0, len(others) - 1)]
        self.finish(self.node("Sub", [self.real(a), self.real(b)]), a.shape)

    def wide(self) -> None:
        """A dense layer of more columns than a vector has lanes."""
        x = self.pick(2, 3)
        if x is None or x.shape[-1] > 80:
            return
        outputs = self.choose(15, 16, 17, 31, 32, 33, 64)
        weight, scale = self.weights((x.shape[-1], outputs), 1, x.shape[-1])
        name = self.node("MatMul", [self.real(x), weight])
        if self.chance(0.5):
            name = self.node("Add", [name, self.bias(x, scale, outputs)])
        self.finish(name, (*x.shape[:-1], outputs))


ALL = (
    *OPERATORS, "constant_operand", "constant_operand", "constant_operand", "constant_concat",
    "constant_matmul", "constant_matmul", "residual", "subtract", "wide",
)  # fmt: skip


def quantised_network(seed: int, depth: int = 4) -> onnx.ModelProto:
    """The quantised network of `seed`, of at most `depth` layers."""
    net = Wider(np.random.default_rng([seed, 13]))
    batch = net.choose(1, 1, 1, 2, 3)
    for _ in range(net.choose(1, 1, 2)):
        kind = net.choose("image", "image", "image", "rows", "batches")
        if kind == "image":
            net.start((batch, net.between(1, 9), net.between(1, 9), net.between(1, 9)))
        elif kind == "rows":
            net.start((batch, net.between(1, 40)))
        else:
            net.start((batch, net.between(1, 9), net.between(1, 20)))
    for _ in range(depth):
        before = len(net.values)
        for _ in range(8):
            getattr(net, net.choose(*ALL))()
            if len(net.values) > before:
                break
    return net.model(net.choose(1, 1, 1, 2, 3))


__all__ = ["ALL", "Value", "Wider", "quantised_network"]
