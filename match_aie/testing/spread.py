"""How far two evaluations of a quantised network may be apart, proven a node at a time.

Every stored integer may be a step off where it is rounded, and by what a module's own arithmetic
is proven to differ. What follows passes a difference on, never more than by the magnitudes of what
it is multiplied with; so a layer that computes something else stands out, however deep it lies.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import onnx
from onnx import numpy_helper
from onnx.reference import ReferenceEvaluator

#: Of a step: more than float32 roundings move what is stored as 8 bits.
ROUNDING = 1e-3


@dataclass(frozen=True, eq=False)
class Approximate:
    """A tensor, and how far another evaluation's may be from it, element by element."""

    value: np.ndarray
    error: np.ndarray

    @property
    def exact(self) -> bool:
        """Whether both evaluations have the same."""
        return not np.any(self.error)


def spread_of(
    model: onnx.ModelProto, feeds: Mapping[str, np.ndarray], extra: int
) -> np.ndarray | None:
    """How far the model's one output may be off, in its own units; None where no rule says.

    Args:
        model: of one output.
        feeds: its inputs.
        extra: steps that a stored integer may be off beside its rounding.
    """
    known = {
        tensor.name: _exact(numpy_helper.to_array(tensor)) for tensor in model.graph.initializer
    }
    known |= {port.name: _exact(feeds[port.name]) for port in model.graph.input}
    moving = set(feeds)
    for node in model.graph.node:
        operands = [known[name] for name in node.input]
        value = _run(node, [operand.value for operand in operands])
        error: np.ndarray | None = np.zeros(value.shape)
        if not moving.isdisjoint(node.input):
            moving.add(node.output[0])
            if node.op_type == "QuantizeLinear":
                error = _stored(operands, extra)
            elif not all(operand.exact for operand in operands):
                rule = _RULES.get(node.op_type)
                error = rule(node, operands) if rule else None
        if error is None:
            return None
        known[node.output[0]] = Approximate(value, np.broadcast_to(error, value.shape))
    return known[model.graph.output[0].name].error


def _exact(value: np.ndarray) -> Approximate:
    return Approximate(value, np.zeros(value.shape))


def _run(node: onnx.NodeProto, operands: Sequence[np.ndarray]) -> np.ndarray:
    """The node on other operands, those behind them left out."""
    fewer = onnx.NodeProto()
    fewer.CopyFrom(node)
    del fewer.input[len(operands) :]
    feeds = dict(zip(fewer.input, operands, strict=True))
    (result,) = ReferenceEvaluator(fewer).run(None, feeds)
    return np.asarray(result)


def _stored(operands: Sequence[Approximate], extra: int) -> np.ndarray | None:
    x, scale = operands[0].error, operands[1].value
    if scale.size != 1:
        return None
    return np.asarray(np.floor(x / float(scale.reshape(-1)[0]) + ROUNDING) + 1 + extra)


def _real(node: onnx.NodeProto, operands: Sequence[Approximate]) -> np.ndarray | None:
    del node
    scale = operands[1].value
    return operands[0].error * float(scale.reshape(-1)[0]) if scale.size == 1 else None


def _same(node: onnx.NodeProto, operands: Sequence[Approximate]) -> np.ndarray:
    """Of operators that move elements, choose the largest, or average."""
    errors = [operand.error for operand in operands]
    if node.op_type not in _ALL_MOVE:
        errors = [errors[0], *(operand.value for operand in operands[1:])]
    return _run(node, errors)


def _unchanged(node: onnx.NodeProto, operands: Sequence[Approximate]) -> np.ndarray:
    """Of element-wise functions whose slope is at most 1."""
    del node
    return operands[0].error


def _sum(node: onnx.NodeProto, operands: Sequence[Approximate]) -> np.ndarray:
    del node
    return np.asarray(operands[0].error + operands[1].error)


def _product(node: onnx.NodeProto, operands: Sequence[Approximate]) -> np.ndarray | None:
    """Of products of two operands, and sums of these: what one brings, times the other."""
    (a, da), (b, db) = ((np.abs(o.value, dtype=np.float64), o.error) for o in operands[:2])
    if node.op_type == "Conv":
        return _run(node, [da, b]) if operands[1].exact else None
    combine = np.matmul if node.op_type == "MatMul" else np.multiply
    return np.asarray(combine(da, b) + combine(a, db) + combine(da, db))


def _softmax(node: onnx.NodeProto, operands: Sequence[Approximate]) -> np.ndarray:
    """By the norm of its derivative, whose rows add up to 2 p (1 - p) at most."""
    del node
    return np.asarray(operands[0].error.max(initial=0.0) / 2)


#: Operators all of whose operands are moved.
_ALL_MOVE = frozenset({"Concat"})

_Rule = Callable[[onnx.NodeProto, Sequence[Approximate]], np.ndarray | None]

_MOVES = "MaxPool AveragePool GlobalAveragePool Flatten Reshape Transpose Squeeze Unsqueeze Concat"
_RULES: Mapping[str, _Rule] = {
    **dict.fromkeys(_MOVES.split(), _same),
    **dict.fromkeys(("Relu", "Clip", "Identity", "Sigmoid", "Tanh"), _unchanged),
    **dict.fromkeys(("Add", "Sub"), _sum),
    **dict.fromkeys(("Conv", "MatMul", "Mul"), _product),
    "DequantizeLinear": _real,
    "Softmax": _softmax,
}
