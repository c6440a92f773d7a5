"""Operators of classical models: scaled columns, forests of decision trees.

A forest is walked level by level, for all rows and trees at once: gathers of what the nodes read
and compare with, a comparison, a choice of the next node. Results are what onnxruntime's are; where
it and ONNX's text disagree, the node is refused.
"""

from __future__ import annotations

from math import prod

import numpy as np
from onnx import TensorProto

from match_aie.frontend.onnx_rewrite.forests import MODES, Forest, floats, listed, numbered
from match_aie.frontend.onnx_rewrite.graph import Builder, Node, Refusal
from match_aie.frontend.onnx_rewrite.reduced import reduced

Values = tuple[str, ...]

#: The operator that compares, in the order of `MODES`.
COMPARED = ("LessOrEqual", "Less", "GreaterOrEqual", "Greater", "Equal", "Equal")
#: By `TreeEnsemble`'s numbers.
AGGREGATES = ("AVERAGE", "SUM", "MIN", "MAX")


def scaler(node: Node, b: Builder) -> Values:
    """ai.onnx.ml Scaler: (x - offset) * scale by columns, in float32."""
    x = _floating(node, b, TensorProto.FLOAT)
    offset, scale = (b.const(node.attr(name), np.float32) for name in ("offset", "scale"))
    return (b.op("Mul", b.op("Sub", x, offset), scale),)


def regressor(node: Node, b: Builder) -> Values:
    """ai.onnx.ml TreeEnsembleRegressor."""
    results = int(node.attr("n_targets"))
    forest, base = numbered(node, "target", results), floats(node, "base_values")
    if results > 1 and len(base) and not forest.always():
        # There onnxruntime leaves the base value out.
        raise Refusal("base values where trees may say nothing of a result")
    total = _together(forest, node.attr("aggregate_function", "SUM"), node, b)
    total = _based(total, base, results, b)
    return (_transformed(total, node.attr("post_transform", "NONE"), results, b),)


def ensemble(node: Node, b: Builder) -> Values:
    """ai.onnx.ml TreeEnsemble."""
    how = AGGREGATES[int(node.attr("aggregate_function", 1))]
    total = _together(listed(node), how, node, b)
    transform = int(node.attr("post_transform", 0))
    if transform:
        # onnxruntime takes ONNX's number of a softmax for the logistic function, and the other way.
        raise Refusal(f"post_transform {transform}")
    return (total,)


def classifier(node: Node, b: Builder) -> Values:
    """ai.onnx.ml TreeEnsembleClassifier: a label of each row, and what all classes score."""
    labels = node.attr("classlabels_int64s") or node.attr("classlabels_strings") or []
    if len(labels) < 2:
        raise Refusal("fewer than two classes")
    ids = set(node.attr("class_ids"))
    if len(labels) == 2 and ids == {0}:
        return _binary(node, labels, b)
    forest = numbered(node, "class", len(labels))
    base = floats(node, "base_values")
    if not (forest.always() or len(base) == len(labels) > 2):
        raise Refusal("a class of which no tree says something wherever it ends")
    if len(labels) == 2 and len(base):
        raise Refusal("base values of two classes")
    total = _together(forest, "SUM", node, b)
    total = _based(total, base, len(labels), b)
    label = ""
    if len(labels) > 2:  # of two classes onnxruntime gives 1 where the second scores above 0
        label = _label(b.op("ArgMax", total, axis=1, keepdims=0), labels, node, b)
    elif _is_read(node, b):
        raise Refusal("the label of two classes that both have scores")
    transform = node.attr("post_transform", "NONE")
    return label, _transformed(total, transform, len(labels), b)


def _binary(node: Node, labels: list[int], b: Builder) -> Values:
    """Two classes of which the first alone has scores, which count for the second."""
    forest, base = numbered(node, "class", 1), floats(node, "base_values")
    transform = node.attr("post_transform", "NONE")
    if transform not in ("NONE", "LOGISTIC") or len(base) > 1:
        raise Refusal(f"base values or {transform} of one class of two")
    score = _based(_together(forest, "SUM", node, b), base, 1, b)
    positive = bool(floats(node, "class_weights").min() >= 0)
    above = b.op("Greater", score, b.const(0.5 if positive else 0.0, np.float32))
    place = b.op("Reshape", b.op("Cast", above, to=TensorProto.INT64), b.const([-1], np.int64))
    other = b.op("Neg", score)
    if transform == "LOGISTIC":
        score, other = (b.op("Sigmoid", value) for value in (score, other))
    elif positive:
        other = b.op("Sub", b.const(1.0, np.float32), score)
    return _label(place, labels, node, b), b.op("Concat", other, score, axis=1)


def _is_read(node: Node, b: Builder) -> bool:
    """Whether anything reads the first output."""
    name = node.outputs[0]
    return bool(name) and (
        any(name in other.input for other in b.graph.proto.node)
        or any(name == port.name for port in b.graph.proto.output)
    )


def _label(place: str, labels: list[int], node: Node, b: Builder) -> str:
    """Class labels by their places; "" where they are text that nobody reads."""
    if not isinstance(labels[0], str):
        return b.op("Gather", b.const(labels, np.int64), place)
    if _is_read(node, b):
        raise Refusal("its labels are text")
    return ""


def _based(total: str, base: np.ndarray, results: int, b: Builder) -> str:
    """Scores in float32, with a number added to each result."""
    total = b.op("Cast", total, to=TensorProto.FLOAT)
    if not len(base):
        return total
    if len(base) != results:
        raise Refusal(f"{len(base)} base values for {results} results")
    return b.op("Add", total, b.const(base, np.float32))


def _transformed(total: str, how: str, results: int, b: Builder) -> str:
    """Scores as the node gives them out."""
    if how == "NONE":
        return total
    if how not in ("LOGISTIC", "SOFTMAX") or results < 2:
        raise Refusal(f"post_transform {how} of {results} results")
    return b.op("Sigmoid", total) if how == "LOGISTIC" else b.op("Softmax", total, axis=1)


def _floating(node: Node, b: Builder, kind: int) -> str:
    """The input as [rows, columns] of an element type; a vector is a row."""
    x, shape = node.input(0), b.graph.shape(node.input(0))
    if b.graph.dtype(x) != kind:
        x = b.op("Cast", x, to=kind)
    if len(shape) == 2 or node.proto.op_type == "Scaler":
        return x
    rows = shape[0] if len(shape) > 1 else 1
    return b.op("Reshape", x, b.const([rows, -1], np.int64))


def _together(forest: Forest, how: str, node: Node, b: Builder) -> str:
    """What all trees say of each row, [rows, results].

    Args:
        forest: the trees.
        how: one of `AGGREGATES`.
        node: that is rewritten.
        b: takes the operators.
    """
    if how not in AGGREGATES:
        raise Refusal(f"aggregate_function {how}")
    if how in ("MIN", "MAX") and not forest.throughout():
        raise Refusal(f"{how} over trees that do not all say something of every result")
    shape = b.graph.shape(node.input(0))
    rows, columns = (shape[0], prod(shape[1:])) if len(shape) > 1 else (1, shape[0])
    if forest.features.max() >= columns:
        raise Refusal("a tree reads a column behind the last")
    wide = b.graph.dtype(node.input(0)) == TensorProto.DOUBLE
    x = _floating(node, b, TensorProto.DOUBLE if wide else TensorProto.FLOAT)
    at = _ends(forest, x, rows, np.dtype(np.float64 if wide else np.float32), b)
    kind = np.float64 if wide else forest.weights.dtype
    said = b.op("Gather", b.const(forest.weights, kind), at, axis=0)
    if how in ("MIN", "MAX"):
        return reduced(b, f"Reduce{how.title()}", said, [1], 0)
    total = reduced(b, "ReduceSum", said, [1], 0)
    if how == "AVERAGE":
        total = b.op("Div", total, b.const(len(forest.roots), kind))
    return total


def _ends(forest: Forest, x: str, rows: int, kind: np.dtype, b: Builder) -> str:
    """Leaves at which rows end, [rows, trees].

    Args:
        forest: the trees.
        x: the input, [rows, columns].
        rows: how many.
        kind: of the input's elements.
        b: takes the operators.
    """
    at = b.const(np.broadcast_to(forest.roots, (rows, len(forest.roots))), np.int64)
    features, trues, falses = (
        b.const(a, np.int64) for a in (forest.features, forest.trues, forest.falses)
    )
    splits = b.const(forest.splits, kind)
    for inner in forest.steps():
        value = b.op("GatherElements", x, b.op("Gather", features, at), axis=1)
        holds = _holds(forest, inner, value, b.op("Gather", splits, at), at, b)
        ways = (b.op("Gather", way, at) for way in (trues, falses))
        at = b.op("Where", holds, *ways)
    return at


def _holds(forest: Forest, inner: np.ndarray, value: str, split: str, at: str, b: Builder) -> str:
    """Whether comparisons hold, [rows, trees].

    Args:
        forest: the trees.
        inner: nodes that may be reached here, leaves left out.
        value: what nodes read.
        split: what they compare with.
        at: the nodes.
        b: takes the operators.
    """
    holds = ""
    for mode in np.unique(forest.modes[inner]):
        found = b.op(COMPARED[mode], value, split)
        if MODES[mode] == "BRANCH_NEQ":
            found = b.op("Not", found)
        if holds:
            chosen = b.op("Gather", b.const(forest.modes == mode), at)
            found = b.op("Where", chosen, found, holds)
        holds = found
    if forest.missing[inner].any():
        flags = b.op("Gather", b.const(forest.missing), at)
        holds = b.op("Or", holds, b.op("And", flags, b.op("IsNaN", value)))
    return holds
