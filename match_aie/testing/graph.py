"""Small quantised and float networks in ONNX, built a layer at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np
import onnx
from onnx import helper, numpy_helper

#: Standard deviation of a uniformly distributed byte.
BYTE = 74.0


@dataclass(frozen=True)
class Value:
    """A tensor of the graph: as integers where it has a scale, else as float32.

    Attributes:
        name: of the tensor.
        shape: elements per axis, images as NCHW.
        dtype: numpy name of the element type.
        scale: real value of an integer step.
        zero_point: the integer that means real 0.
        spread: standard deviation of the real values, about.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str = "float32"
    scale: float | None = None
    zero_point: int = 0
    spread: float = 1.0


class GraphBuilder:
    """Adds layers to one ONNX graph; names of a layer begin with `prefix`."""

    def __init__(self) -> None:
        """Start empty."""
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []
        self.inputs: list[onnx.ValueInfoProto] = []
        self.outputs: list[onnx.ValueInfoProto] = []
        self.prefix = ""
        self.rng = np.random.default_rng(0)
        self._count = 0

    def begin(self, prefix: str, seed: int) -> None:
        """What follows belongs to `prefix` and has constants of its own, whatever came before."""
        self.prefix = prefix
        self.rng = np.random.default_rng(seed)
        self._count = 0

    def _name(self, what: str) -> str:
        self._count += 1
        return f"{self.prefix}/{what}_{self._count}"

    def constant(self, what: str, value: np.ndarray) -> str:
        """Name of a constant tensor."""
        name = self._name(what)
        self.constants.append(numpy_helper.from_array(value, name))
        return name

    def node(self, operator: str, inputs: Sequence[str], **attributes: object) -> str:
        """Name of the one output of a new node."""
        name = self._name(operator)
        made = helper.make_node(operator, list(inputs), [name], name=name, **attributes)
        self.nodes.append(made)
        return name

    def input(self, value: Value) -> Value:
        """`value` as an input of the network; its name gets the prefix."""
        named = Value(
            f"{self.prefix}/{value.name}",
            value.shape,
            value.dtype,
            value.scale,
            value.zero_point,
            value.spread if value.scale is None else BYTE * value.scale,
        )
        self.inputs.append(_info(named))
        return named

    def output(self, value: Value) -> None:
        """Make `value` an output of the network."""
        self.outputs.append(_info(value))

    def real(self, value: Value) -> str:
        """Name of the real tensor that `value` means."""
        if value.scale is None:
            return value.name
        return self.node("DequantizeLinear", [value.name, *self.scale(value)])

    def scale(self, value: Value) -> list[str]:
        """Names of constants with `value`'s scale and zero point."""
        scale = self.constant("scale", np.array(value.scale, np.float32))
        return [scale, self.constant("zero", np.array(value.zero_point, value.dtype))]

    def store(self, real: str, like: Value, shape: Sequence[int], spread: float) -> Value:
        """`real` as integers of `like`'s type, or as it is where `like` is a float tensor.

        `spread` is its standard deviation; the scale of integers follows from it, and is a power
        of two where `like`'s is.

        Args:
            real: name of a real tensor.
            like: whose type the result has.
            shape: of the result.
            spread: standard deviation of its elements.
        """
        if like.scale is None:
            return Value(real, tuple(shape), spread=spread)
        scale = float(np.float32(spread * 3 / 127))
        if is_power_of_two(like.scale):
            scale = 2.0 ** round(np.log2(scale))
        made = Value("", tuple(shape), like.dtype, scale, like.zero_point, spread)
        name = self.node("QuantizeLinear", [real, *self.scale(made)])
        return Value(name, made.shape, made.dtype, scale, made.zero_point, spread)

    def weight(self, shape: tuple[int, ...], like: Value, axis: int, per_channel: bool) -> str:
        """Name of a constant real tensor; int8 below it where `like` is quantised.

        Args:
            shape: of the constant.
            like: the activation that it meets.
            axis: of the output channels.
            per_channel: a scale for each of them.
        """
        if like.scale is None:
            return self.constant("weight", self.rng.standard_normal(shape).astype(np.float32))
        values = self.rng.integers(-127, 128, shape).astype(np.int8)
        scale = np.array(WEIGHT_SCALE, np.float32)
        if per_channel:
            scale = scale * self.rng.uniform(0.5, 1, shape[axis]).astype(np.float32)
        names = [
            self.constant("weight", values),
            self.constant("scale", scale),
            self.constant("zero", np.zeros(scale.shape, np.int8)),
        ]
        return self.node("DequantizeLinear", names, **({"axis": axis} if per_channel else {}))

    def bias(self, size: int, like: Value) -> str:
        """Name of a constant real vector; int32 below it where `like` is quantised."""
        if like.scale is None:
            return self.constant("bias", self.rng.standard_normal(size).astype(np.float32))
        values = self.rng.integers(-9000, 9000, size).astype(np.int32)
        scale = np.array(np.float32(like.scale) * np.float32(WEIGHT_SCALE), np.float32)
        names = [self.constant("bias", values), self.constant("scale", scale)]
        return self.node("DequantizeLinear", [*names, self.constant("zero", np.array(0, np.int32))])

    def weighted_spread(self, like: Value, products: int) -> float:
        """Standard deviation of a sum of so many products with `weight`."""
        weight = 1.0 if like.scale is None else BYTE * WEIGHT_SCALE
        return like.spread * weight * sqrt(products)

    def model(self, name: str) -> onnx.ModelProto:
        """The network so far."""
        graph = helper.make_graph(self.nodes, name, self.inputs, self.outputs, self.constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=9)


#: Of int8 weights: a power of two, so that layers with power-of-two activations have exact shifts.
WEIGHT_SCALE = 2.0**-7


def is_power_of_two(value: float) -> bool:
    """Whether `value` is one, negative exponents included."""
    mantissa, _ = np.frexp(value)
    return bool(mantissa == 0.5)


def _info(value: Value) -> onnx.ValueInfoProto:
    kind = helper.np_dtype_to_tensor_dtype(np.dtype(value.dtype))
    return helper.make_tensor_value_info(value.name, kind, value.shape)
