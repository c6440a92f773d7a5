"""Operators that are a few others: sums, determinants, thresholds, optionals that hold a tensor."""

from __future__ import annotations

from functools import reduce

import numpy as np
from onnx import TensorProto

from match_aie.frontend.onnx_rewrite.graph import Builder, Node, Refusal

Values = tuple[str, ...]

#: The largest matrix whose determinant is written out.
LARGEST_DETERMINANT = 4


def det(node: Node, b: Builder) -> Values:
    """Determinants of small matrices, developed along the first row."""
    x = node.input(0)
    *_, rows, columns = b.graph.shape(x)
    if rows != columns or rows > LARGEST_DETERMINANT:
        raise Refusal(f"matrices larger than {LARGEST_DETERMINANT} by {LARGEST_DETERMINANT}")
    table = []
    for row in range(rows):
        line = b.op("Gather", x, b.const(row, np.int64), axis=-2)
        table.append([b.op("Gather", line, b.const(c, np.int64), axis=-1) for c in range(rows)])
    return (_determinant(b, table),)


def _determinant(b: Builder, table: list[list[str]]) -> str:
    """Of a table of values by name."""
    first, *rest = table
    total = ""
    for column, element in enumerate(first):
        term = element
        if rest:
            minor = [line[:column] + line[column + 1 :] for line in rest]
            term = b.op("Mul", element, _determinant(b, minor))
        total = b.op("Sub" if column % 2 else "Add", total, term) if total else term
    return total


def total(node: Node, b: Builder) -> Values:
    """Sum of any number of tensors, one after the other, as layers add: TVM stacks and reduces."""
    return (reduce(lambda left, right: b.op("Add", left, right), node.inputs),)


def binarizer(node: Node, b: Builder) -> Values:
    """ai.onnx.ml Binarizer: 1 where the element is above the threshold, else 0."""
    x = node.input(0)
    above = b.op("Greater", x, b.like(float(node.attr("threshold", 0.0)), x))
    return (b.op("Cast", above, to=b.graph.dtype(x)),)


def optional_has_element(node: Node, b: Builder) -> Values:
    """OptionalHasElement of a tensor, or of nothing."""
    name = node.input(0)
    if name and not b.graph.dtype(name):
        raise Refusal("optionals are not compiled")
    return (b.const(bool(name)),)


def optional_get_element(node: Node, b: Builder) -> Values:
    """OptionalGetElement of a tensor: the tensor."""
    b.graph.dtype(node.input(0))  # refuses what is no tensor
    return (node.input(0),)


def float_remainder(node: Node, b: Builder) -> Values | None:
    """Mod of floats: C's `fmod` is exact; with the divisor's sign one divisor may be added."""
    x, y = node.inputs
    kind = b.graph.dtype(x)
    if kind == TensorProto.BFLOAT16:
        raise Refusal("the remainder of bfloat16 is not compiled")
    if kind == TensorProto.FLOAT16:
        wide = [b.op("Cast", name, to=TensorProto.FLOAT) for name in (x, y)]
        result = b.op("Mod", *wide, **node.attributes)
        return (b.op("Cast", result, to=kind),)
    if kind not in (TensorProto.FLOAT, TensorProto.DOUBLE) or node.attr("fmod", 0):
        return None
    zero = b.like(0.0, x)
    r = b.op("Mod", x, y, fmod=1)
    signs = [b.op("Less", name, zero) for name in (r, y)]
    other = b.op("And", b.op("Xor", *signs), b.op("Not", b.op("Equal", r, zero)))
    return (b.op("Where", other, b.op("Add", r, y), r),)
