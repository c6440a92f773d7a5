"""Cases of the zoo in which a layer combines a tensor with a constant, or with itself.

Quantisers emit constants of element-wise operators as quantised tensors, so that a layer of "two
activations" has one operand that no one passes at run time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from match_aie.testing.case import Build, Case
from match_aie.testing.graph import BYTE, GraphBuilder, Value

#: How a constant is written: integers and DequantizeLinear, reals and QuantizeLinear before it,
#: integers without a zero point, one scale for each channel, or reals alone.
Form = Literal["integers", "quantized", "no zero point", "per channel", "real"]


@dataclass(frozen=True)
class Known:
    """A layer of an activation and a constant.

    Attributes:
        operator: of ONNX.
        x: the activation.
        constant: its shape, type, scale and zero point; integers of it are random.
        shape: of the result.
        spread: standard deviation of the result, about.
        first: whether the constant is the first operand.
        form: how the constant is written.
        level: all of the constant's integers; None for random ones.
        relu: whether a ReLU follows.
        axis: of a Concat.
    """

    operator: str
    x: Value
    constant: Value
    shape: tuple[int, ...]
    spread: float
    first: bool = False
    form: Form = "integers"
    level: int | None = None
    relu: bool = False
    axis: int | None = None

    def __call__(self, graph: GraphBuilder) -> Value:
        """Add it, with an input of its own."""
        return self.on(graph, graph.input(self.x))

    def on(self, graph: GraphBuilder, x: Value) -> Value:
        """Add it to what `x` is."""
        pair = [graph.real(x), self._known(graph)]
        attributes = {} if self.axis is None else {"axis": self.axis}
        real = graph.node(self.operator, pair[::-1] if self.first else pair, **attributes)
        real = graph.node("Relu", [real]) if self.relu else real
        if self.operator == "Concat":
            stored = graph.node("QuantizeLinear", [real, *graph.scale(x)])
            return replace(x, name=stored, shape=self.shape)
        return graph.store(real, x, self.shape, self.spread)

    def _known(self, graph: GraphBuilder) -> str:
        """Name of the constant as a real tensor."""
        known = self.constant
        limits = np.iinfo(known.dtype)
        drawn = graph.rng.integers(limits.min, limits.max + 1, known.shape)
        values = np.full(known.shape, self.level) if self.level is not None else drawn
        steps = (values - known.zero_point).astype(np.float32) * np.float32(known.scale)
        scales = graph.scale(known)
        if self.form == "real":
            return graph.constant("known", steps)
        if self.form == "quantized":
            name = graph.node("QuantizeLinear", [graph.constant("known", steps), *scales])
            return graph.node("DequantizeLinear", [name, *scales])
        name = graph.constant("known", values.astype(known.dtype))
        if self.form == "no zero point":
            return graph.node("DequantizeLinear", [name, scales[0]])
        if self.form == "integers":
            return graph.node("DequantizeLinear", [name, *scales])
        each = graph.rng.uniform(0.5, 1, known.shape[1]).astype(np.float32)
        parameters = [
            graph.constant("scale", each * np.float32(known.scale)),
            graph.constant("zero", np.full(known.shape[1], known.zero_point, known.dtype)),
        ]
        return graph.node("DequantizeLinear", [name, *parameters], axis=1)


def twice(operator: str, x: Value, shape: tuple[int, ...], spread: float, **more: object) -> Build:
    """A layer both of whose operands are one tensor.

    Args:
        operator: of ONNX.
        x: the tensor.
        shape: of the result.
        spread: standard deviation of its elements.
        more: attributes of the node.
    """

    def build(graph: GraphBuilder) -> Value:
        data = graph.input(x)
        real = graph.real(data)
        return graph.store(graph.node(operator, [real, real], **more), data, shape, spread)

    return build


#: Scales are powers of two, so that modules which only shift run them as well; zero points differ.
STEP = 2.0**-5
ACTIVATIONS = {
    "int8": Value("x", (1, 16, 5, 3), "int8", STEP, -5),
    "uint8": Value("x", (1, 16, 5, 3), "uint8", STEP, 131),
}
ZERO_POINTS = {"int8": 7, "uint8": 100}
SPREAD = BYTE * STEP
#: (shape of x, shape of the constant, shape of the result) of Add, Mul and Sub.
Shapes = tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]
IMAGE = (1, 16, 5, 3)
ELEMENTS: Mapping[str, Shapes] = {
    "full": (IMAGE, IMAGE, IMAGE),
    "1xCx1x1": (IMAGE, (1, 16, 1, 1), IMAGE),
    "scalar": (IMAGE, (), IMAGE),
}
#: The same where the constant is the right, and where it is the left matrix.
RIGHT: Mapping[str, Shapes] = {
    "one for each batch": ((2, 6, 16), (2, 16, 5), (2, 6, 5)),
    "matrix": ((2, 6, 16), (16, 5), (2, 6, 5)),
    "vector": ((2, 6, 16), (16,), (2, 6)),
}
LEFT: Mapping[str, Shapes] = {
    "one for each batch": ((2, 6, 16), (2, 5, 6), (2, 5, 16)),
    "matrix": ((2, 6, 16), (5, 6), (2, 5, 16)),
    "vector": ((2, 6, 16), (6,), (2, 16)),
}
#: Shapes and axis of concatenations.
JOINED: Mapping[str, tuple[Shapes, int]] = {
    "full": ((IMAGE, IMAGE, (1, 32, 5, 3)), 1),
    "1xCx1x1": (((1, 16, 1, 3), (1, 16, 1, 1), (1, 16, 1, 4)), 3),
    "scalar": (((1, 16), (1, 1), (1, 17)), 1),
}
#: How much a result spreads, of the spread of an activation.
GROWTH = {"Add": 1.4, "Sub": 1.4, "Mul": SPREAD, "MatMul": SPREAD * 3, "Concat": 1.0}


def known(
    operator: str, shapes: Shapes, dtype: str, first: bool = False, axis: int | None = None
) -> Known:
    """The layer of an activation and a constant of one type.

    Args:
        operator: of ONNX.
        shapes: of x, of the constant, of the result.
        dtype: "int8" or "uint8".
        first: the constant is the first operand.
        axis: of a concatenation.
    """
    x = replace(ACTIVATIONS[dtype], shape=shapes[0])
    constant = replace(x, name="known", shape=shapes[1], zero_point=ZERO_POINTS[dtype])
    if operator == "Concat":
        constant = replace(constant, zero_point=x.zero_point)
    spread = SPREAD * GROWTH[operator]
    return Known(operator, x, constant, shapes[2], spread, first, axis=axis)


def _grid() -> Iterator[Case]:
    """Every operator, side, shape and type."""
    for operator in GROWTH:
        for side in ("second", "first"):
            first = side == "first"
            shapes: Mapping[str, Shapes] = ELEMENTS
            axes: Mapping[str, int] = {}
            if operator == "MatMul":
                shapes = LEFT if first else RIGHT
            elif operator == "Concat":
                shapes = {name: found for name, (found, _) in JOINED.items()}
                axes = {name: axis for name, (_, axis) in JOINED.items()}
            for name, found in shapes.items():
                for dtype in ACTIVATIONS:
                    yield Case(
                        f"{operator.lower()} {dtype}, constant {side}, {name}",
                        known(operator, found, dtype, first, axes.get(name)),
                    )


PLAIN = known("Add", ELEMENTS["full"], "int8")
PER_CHANNEL = known("Add", ELEMENTS["1xCx1x1"], "uint8")


def _constant(layer: Known, **changes: object) -> Known:
    return replace(layer, constant=replace(layer.constant, **changes))  # type: ignore[arg-type]


def _scales() -> Iterator[Case]:
    """Constants whose steps are not those of the activation, and those that mean nothing."""
    apart: Mapping[str, Callable[[Known], Known]] = {
        "scales apart": lambda layer: _constant(layer, scale=0.0193),
        "steps 4096 times smaller": lambda layer: _constant(layer, scale=STEP / 4096),
        "steps 300 times larger": lambda layer: _constant(layer, scale=STEP * 300),
        "lowest zero point": lambda layer: _constant(
            layer, zero_point=int(np.iinfo(layer.constant.dtype).min)
        ),
        "highest zero point": lambda layer: _constant(
            layer, zero_point=int(np.iinfo(layer.constant.dtype).max)
        ),
        "equal to its zero point": lambda layer: replace(layer, level=layer.constant.zero_point),
    }
    for name, change in apart.items():
        for layer in (PLAIN, PER_CHANNEL, known("Mul", ELEMENTS["1xCx1x1"], "int8", True)):
            kind = f"{layer.operator.lower()} {layer.x.dtype}"
            yield Case(f"{kind}, constant {name}", change(layer))
    other = replace(PLAIN.constant, dtype="uint8", zero_point=90)
    yield Case("add int8, constant uint8", replace(PLAIN, constant=other))
    joined = known("Concat", JOINED["full"][0], "int8", axis=1)
    yield Case("concat int8, constant scales apart", _constant(joined, scale=0.07, zero_point=3))


def _forms() -> Iterator[Case]:
    """Other ways of writing a constant, other shapes, and what may follow."""
    forms: tuple[Form, ...] = ("quantized", "no zero point", "per channel", "real")
    for form in forms:
        for layer in (PLAIN, known("Mul", ELEMENTS["1xCx1x1"], "uint8")):
            zero = 0 if form == "no zero point" and layer.x.dtype == "int8" else None
            changed = replace(layer, form=form)
            if form == "no zero point":
                # Without a zero point the integers are uint8 by ONNX's default, or their own type.
                changed = _constant(changed, zero_point=zero or 0)
            yield Case(f"{layer.operator.lower()} {layer.x.dtype}, constant {form}", changed)
    for shape in ((1,), (1, 1, 1, 1), (16, 1, 1), (3,), (5, 1), (1, 1, 5, 3)):
        text = "x".join(map(str, shape))
        yield Case(f"add int8, constant of shape {text}", _constant(PLAIN, shape=shape))
    for layer in (PLAIN, PER_CHANNEL, known("Sub", ELEMENTS["1xCx1x1"], "int8", True)):
        kind = f"{layer.operator.lower()} {layer.x.dtype}"
        yield Case(f"{kind}, constant, relu", replace(layer, relu=True))


def _same() -> Iterator[Case]:
    """One tensor as both operands."""
    for dtype, x in ACTIVATIONS.items():
        for operator, spread in (("Add", 2 * SPREAD), ("Mul", SPREAD**2), ("Sub", SPREAD)):
            layer = twice(operator, x, IMAGE, spread)
            yield Case(f"{operator.lower()} {dtype} with itself", layer)
        square = replace(x, shape=(2, 6, 6))
        build = twice("MatMul", square, (2, 6, 6), SPREAD**2 * 3)
        yield Case(f"matmul {dtype} with itself", build)
        yield Case(f"concat {dtype} with itself", twice("Concat", x, (1, 32, 5, 3), SPREAD, axis=1))


#: All of them.
OPERANDS: tuple[Case, ...] = (*_grid(), *_scales(), *_forms(), *_same())
