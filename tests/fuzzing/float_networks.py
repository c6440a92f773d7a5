"""Random float ONNX networks of many operators, valid by construction, their values tame."""

from __future__ import annotations

from math import prod

import numpy as np
import onnx

from tests.fuzzing.float_base import MOST, Builder, Tensor
from tests.fuzzing.float_layers import Layers

#: operator -> (bound of its argument, bound of its result) where that is not the argument's own.
SMOOTH = {
    "Tanh": (None, 1.0),
    "Sigmoid": (None, 1.0),
    "Relu": (None, None),
    "Neg": (None, None),
    "Abs": (None, None),
    "Erf": (None, 1.0),
    "Softplus": (None, None),
    "Softsign": (None, 1.0),
    "Sin": (None, 1.0),
    "Cos": (None, 1.0),
    "Atan": (None, 1.6),
    "Exp": (3.0, 20.0),
    "Sinh": (3.0, 10.0),
    "Cosh": (3.0, 10.0),
    "Identity": (None, None),
    "Floor": (None, None),
    "Ceil": (None, None),
    "Round": (None, None),
    "Sign": (None, 1.0),
    "HardSwish": (None, None),
    "Mish": (None, None),
}
POSITIVE = ("Sqrt", "Log", "Reciprocal")
PARAMETRIC = {
    "Elu": {"alpha": 0.7},
    "LeakyRelu": {"alpha": 0.1},
    "Selu": {},
    "Celu": {"alpha": 1.3},
    "HardSigmoid": {"alpha": 0.3, "beta": 0.4},
    "ThresholdedRelu": {"alpha": 0.5},
    "Gelu": {},
}


class FloatNetwork(Layers):
    """Elementwise operators, reductions, and what moves elements; layers are in `Layers`."""

    def unary(self) -> None:
        x = self.pick()
        if x is None:
            return
        kind = self.choose("smooth", "smooth", "positive", "parametric", "clip")
        if kind == "smooth":
            operator = self.choose(*SMOOTH)
            limit, big = SMOOTH[operator]
            name = x.name
            if limit is not None and x.big > limit:
                name = self.one("Mul", [name, self.const(np.float32(limit / x.big))])
            self.put(self.one(operator, [name]), x.shape, big or x.big + 1)
        elif kind == "positive":
            operator = self.choose(*POSITIVE)
            some = self.one("Add", [self.one("Abs", [x.name]), self.const(np.float32(0.3))])
            self.put(self.one(operator, [some]), x.shape, max(4.0, x.big))
        elif kind == "clip":
            low, high = sorted(self.rng.uniform(-2, 2, 2).astype(np.float32))
            bounds = [self.const(np.float32(v)) for v in (low, high)]
            bounds = self.choose(bounds, bounds[:1], ["", bounds[1]])
            self.put(self.one("Clip", [x.name, *bounds]), x.shape, x.big)
        else:
            operator = self.choose(*(o for o in PARAMETRIC if o != "Gelu"))
            self.put(self.one(operator, [x.name], **PARAMETRIC[operator]), x.shape, 1.8 * x.big)

    def prelu(self) -> None:
        x = self.pick(2, 3, 4)
        if x is None:
            return
        slope = tuple(self.choose(1, n) for n in x.shape[self.between(0, x.rank - 1) :])
        self.put(self.one("PRelu", [x.name, self.floats(slope)]), x.shape, 3 * x.big)

    def partner(self, x: Tensor) -> tuple[str, tuple[int, ...], float]:
        """Something that broadcasts with `x`: a tensor, a constant, a rank-0 value at run time."""
        fitting = [
            v
            for v in self.values
            if v.dtype == "float32" and v is not x and broadcasts(v.shape, x.shape)
        ]
        if fitting and self.chance(0.6):
            other = fitting[self.between(0, len(fitting) - 1)]
            return other.name, other.shape, other.big
        if self.chance(0.12):
            # A rank-0 tensor that is known only at run time.
            name = self.one("ReduceMean", [x.name], keepdims=0)
            return name, (), x.big
        shape = tuple(self.choose(1, n, n) for n in x.shape[self.between(0, x.rank) :])
        if self.chance(0.15):
            shape = (self.choose(1, 2, 3), *(self.choose(1, n) for n in x.shape))
        if prod(np.broadcast_shapes(shape, x.shape)) > MOST:
            shape = ()
        return self.floats(shape), shape, 3.0

    def binary(self) -> None:
        x = self.pick()
        if x is None:
            return
        other, shape, big = self.partner(x)
        operator = self.choose("Add", "Add", "Sub", "Mul", "Mul", "Div", "Max", "Min", "Pow")
        result = np.broadcast_shapes(shape, x.shape)
        if operator == "Div":
            raised = self.one("Add", [self.one("Abs", [other]), self.const(np.float32(0.5))])
            self.put(self.one(operator, [x.name, raised]), result, 2 * x.big)
        elif operator == "Pow":
            base = self.one("Add", [self.one("Abs", [x.name]), self.const(np.float32(0.3))])
            exponent = self.const(np.float32(self.choose(0.5, 1.5, 2.0, 3.0)))
            small = self.one("Mul", [base, self.const(np.float32(2.0 / (x.big + 1)))])
            self.put(self.one("Pow", [small, exponent]), x.shape, 10)
        else:
            pair = [x.name, other][:: self.choose(1, -1)]
            grown = {"Mul": x.big * big}.get(operator, x.big + big)
            self.put(self.one(operator, pair), result, grown)

    def several(self) -> None:
        """Sum, Mean, Max or Min of three."""
        x = self.pick()
        if x is None:
            return
        a, first, one = self.partner(x)
        b, second, two = self.partner(x)
        try:
            shape = np.broadcast_shapes(x.shape, first, second)
        except ValueError:
            return
        if prod(shape) <= MOST:
            operator = self.choose("Sum", "Mean", "Max", "Min")
            self.put(self.one(operator, [x.name, a, b]), shape, x.big + one + two)

    def where(self) -> None:
        x = self.pick()
        if x is None:
            return
        other, shape, big = self.partner(x)
        asked = self.choose("Greater", "Less", "GreaterOrEqual", "LessOrEqual", "Equal")
        edge = self.const(np.float32(0.1))
        found = self.one(asked, [x.name, edge])
        if self.chance(0.3):
            second = self.one("Less", [x.name, self.const(np.float32(0.9))])
            found = self.one(self.choose("And", "Or", "Xor"), [found, second])
        if self.chance(0.3):
            found = self.one("Not", [found])
        if self.chance(0.15):
            self.put(found, x.shape, 1, "bool")
        result = np.broadcast_shapes(shape, x.shape)
        pair = [x.name, other][:: self.choose(1, -1)]
        self.put(self.one("Where", [found, *pair]), result, max(x.big, big))

    def cast(self) -> None:
        x = self.pick()
        if x is None:
            return
        kind = self.choose(6, 7, 9, 1)
        there = self.one("Cast", [x.name], to=kind)
        if kind in (6, 7) and self.chance(0.3):
            self.put(there, x.shape, x.big, {6: "int32", 7: "int64"}[kind])
        self.put(self.one("Cast", [there], to=1), x.shape, max(1.0, x.big))

    def reduce(self) -> None:
        x = self.pick(1, 2, 3, 4)
        if x is None:
            return
        operator = self.choose(
            "ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceL1", "ReduceL2",
            "ReduceSumSquare", "ReduceLogSumExp", "ReduceProd",
        )  # fmt: skip
        axes = sorted({self.between(0, x.rank - 1) for _ in range(self.between(1, 2))})
        if operator == "ReduceProd" and prod(x.shape[a] for a in axes) > 6:
            return
        keep = self.between(0, 1)
        given = [a - x.rank if self.chance(0.3) else a for a in axes]
        inputs = [x.name, self.ints(*given)]
        if self.chance(0.1):
            inputs, axes = inputs[:1], list(range(x.rank))
        count = prod(x.shape[a] for a in axes)
        grown = {"ReduceMean": x.big, "ReduceMax": x.big, "ReduceMin": x.big}
        big = grown.get(operator, x.big * (1 + count**0.5))
        if operator == "ReduceSumSquare":
            big = x.big**2 * count
        if operator == "ReduceProd":
            big = 1.0
        if operator in ("ReduceSumSquare", "ReduceProd") or big > 30:
            # Before, since powers grow fast.
            inputs[0] = self.one("Tanh", [x.name])
            big = count + 1.0
        name = self.one(operator, inputs, keepdims=keep)
        shape = [1 if a in axes else n for a, n in enumerate(x.shape) if keep or a not in axes]
        self.put(name, shape, big)

    def arg(self) -> None:
        x = self.pick(1, 2, 3, 4)
        if x is None:
            return
        axis, keep = self.between(0, x.rank - 1), self.between(0, 1)
        name = self.one(self.choose("ArgMax", "ArgMin"), [x.name], axis=axis, keepdims=keep)
        shape = [1 if a == axis else n for a, n in enumerate(x.shape) if keep or a != axis]
        if self.chance(0.5):
            self.put(name, shape, x.shape[axis], "int64")
        self.put(self.one("Cast", [name], to=1), shape, x.shape[axis])

    def topk(self) -> None:
        x = self.pick(1, 2, 3)
        if x is None:
            return
        axis = self.between(0, x.rank - 1)
        k = self.between(1, x.shape[axis])
        values, places = self.node(
            "TopK", [x.name, self.ints(k)], 2, axis=axis, largest=self.between(0, 1)
        )
        shape = (*x.shape[:axis], k, *x.shape[axis + 1 :])
        if self.chance(0.3):
            self.put(places, shape, x.shape[axis], "int64")
        self.put(values, shape, x.big)

    def cumsum(self) -> None:
        x = self.pick(1, 2, 3, 4)
        if x is None:
            return
        axis = self.between(0, x.rank - 1)
        name = self.one(
            "CumSum",
            [x.name, self.const(np.array(axis, np.int64))],
            exclusive=self.between(0, 1),
            reverse=self.between(0, 1),
        )
        self.put(name, x.shape, x.big * (1 + x.shape[axis] ** 0.5))


def broadcasts(a: tuple[int, ...], b: tuple[int, ...]) -> bool:
    """Whether the two broadcast to something that is small enough."""
    try:
        return prod(np.broadcast_shapes(a, b)) <= MOST
    except ValueError:
        return False


OPERATORS = (
    "unary", "unary", "unary", "prelu", "binary", "binary", "binary", "several", "where", "cast",
    "reduce", "reduce", "arg", "topk", "cumsum",
    "concat", "concat", "split", "slice", "slice", "pad", "pad", "transpose", "transpose",
    "reshape", "reshape", "gather", "expand", "tile", "resize", "depth_to_space",
    "conv", "conv", "conv", "conv_transpose", "pool", "pool", "whole_pool",
    "matmul", "matmul", "dense", "gemm", "norm", "norm", "softmax", "recurrent", "einsum",
)  # fmt: skip


def float_network(seed: int, depth: int = 6) -> onnx.ModelProto:
    """The float network of `seed`: `depth` operators, one to three inputs and outputs."""
    net = FloatNetwork(np.random.default_rng([seed, 77]))
    for _ in range(net.choose(1, 1, 2, 3)):
        net.start(net.sizes(net.choose(0, 1, 2, 2, 3, 3, 4, 4, 4)))
    if all(v.rank == 0 for v in net.values):
        net.start(net.sizes(net.choose(2, 3, 4)))
    for _ in range(depth):
        before = len(net.values)
        for _ in range(8):
            getattr(net, net.choose(*OPERATORS))()
            if len(net.values) > before:
                break
    return net.model(net.choose(1, 1, 2, 3))


__all__ = ["OPERATORS", "Builder", "FloatNetwork", "float_network"]
