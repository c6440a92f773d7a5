"""A float network under construction: tensors with shapes and bounds, nodes, the model."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

#: Sizes of dimensions: around the widths of vectors and blocks, and none of them.
SIZES = (1, 1, 2, 3, 4, 5, 7, 8, 9, 12, 15, 16, 17, 20, 31, 33)
#: A tensor has at most so many elements: what goes wrong does so in small ones too.
MOST = 6000
#: Values stay below this: beyond, roundings of unlike magnitudes would be all that is compared.
TAME = 30.0
KINDS = {
    "float32": TensorProto.FLOAT,
    "int64": TensorProto.INT64,
    "int32": TensorProto.INT32,
    "bool": TensorProto.BOOL,
}


@dataclass(frozen=True)
class Tensor:
    """A tensor of the network: `big` bounds its absolute values, roughly."""

    name: str
    shape: tuple[int, ...]
    big: float = 4.0
    dtype: str = "float32"

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return prod(self.shape)


@dataclass
class Builder:
    """A network that grows operator by operator; all choices come from `rng`."""

    rng: np.random.Generator
    nodes: list[onnx.NodeProto] = field(default_factory=list)
    constants: list[onnx.TensorProto] = field(default_factory=list)
    inputs: list[onnx.ValueInfoProto] = field(default_factory=list)
    values: list[Tensor] = field(default_factory=list)
    count: int = 0

    # Choices.

    def chance(self, probability: float) -> bool:
        return bool(self.rng.random() < probability)

    def choose(self, *options):
        return options[int(self.rng.integers(len(options)))]

    def between(self, low: int, high: int) -> int:
        return int(self.rng.integers(low, high + 1))

    def sizes(self, rank: int) -> tuple[int, ...]:
        """A shape of at most MOST elements."""
        shape = [self.choose(*SIZES) for _ in range(rank)]
        while prod(shape) > MOST:
            largest = shape.index(max(shape))
            shape[largest] = -(-shape[largest] // 2)
        return tuple(shape)

    def pick(self, *ranks: int, least: int = 1) -> Tensor | None:
        """A float tensor of one of `ranks` (any where none is given), mostly a new one."""
        found = [
            v
            for v in self.values
            if v.dtype == "float32" and (not ranks or v.rank in ranks) and v.size >= least
        ]
        if not found:
            return None
        return found[-1] if self.chance(0.65) else found[self.between(0, len(found) - 1)]

    # Nodes.

    def fresh(self, hint: str) -> str:
        self.count += 1
        return f"{hint}{self.count}"

    def const(self, array: np.ndarray) -> str:
        name = self.fresh("c")
        self.constants.append(numpy_helper.from_array(array, name))
        return name

    def floats(self, shape: tuple[int, ...], scale: float = 1.0) -> str:
        return self.const((self.rng.standard_normal(shape) * scale).astype(np.float32))

    def ints(self, *values: int) -> str:
        return self.const(np.array(values, np.int64))

    def node(self, operator: str, inputs: list[str], outputs: int = 1, **attributes) -> list[str]:
        names = [self.fresh(operator.lower()) for _ in range(outputs)]
        self.nodes.append(helper.make_node(operator, inputs, names, f"n_{names[0]}", **attributes))
        return names

    def one(self, operator: str, inputs: list[str], **attributes) -> str:
        return self.node(operator, inputs, **attributes)[0]

    def put(self, name: str, shape, big: float, dtype: str = "float32") -> Tensor:
        """Register a result; one that has grown too large is scaled down first."""
        if dtype == "float32" and big > TAME:
            # What scales down is itself an operator to be tested.
            name = self.one("Mul", [name, self.const(np.float32(3.0 / big))])
            big = 3.0
        self.values.append(Tensor(name, tuple(int(n) for n in shape), float(big), dtype))
        return self.values[-1]

    def start(self, shape: tuple[int, ...]) -> Tensor:
        name = self.fresh("x")
        self.inputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, shape))
        self.values.append(Tensor(name, shape))
        return self.values[-1]

    def model(self, outputs: int) -> onnx.ModelProto:
        """Finish: the newest value and some others as outputs; what nothing reads is dropped."""
        ends = [self.values[-1]]
        for _ in range(outputs - 1):
            value = self.values[self.between(0, len(self.values) - 1)]
            if value not in ends:
                ends.append(value)
        feeds = {i.name for i in self.inputs}
        infos = []
        for end in ends:
            # An input that is an output too would be a network of no layer.
            name = end.name if end.name not in feeds else self.one("Abs", [end.name])
            infos.append(helper.make_tensor_value_info(name, KINDS[end.dtype], end.shape))
        used = {info.name for info in infos}
        kept = []
        for node in reversed(self.nodes):
            if used & set(node.output):
                used |= set(node.input)
                kept.append(node)
        inputs = [i for i in self.inputs if i.name in used]
        constants = [c for c in self.constants if c.name in used]
        graph = helper.make_graph(kept[::-1], "net", inputs, infos, constants)
        opsets = [helper.make_opsetid("", 19)]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=9)
        onnx.checker.check_model(model, full_check=True)
        return model
