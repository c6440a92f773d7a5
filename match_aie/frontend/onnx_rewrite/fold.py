"""Constant folding with ONNX's own reference evaluator."""

from __future__ import annotations

import warnings
from math import inf, prod
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from match_aie.frontend.onnx_rewrite.graph import Graph, Node
from match_aie.frontend.onnx_rewrite.recurrent_weights import (
    QUANTISING,
    quantised_value,
    read_otherwise,
)
from match_aie.frontend.onnx_shapes import GROWS
from match_aie.limits import Limits

#: Larger results are folded only by operators that move elements.
MOST_ELEMENTS = 1 << 16

#: What is filled with one value may have more, as nothing is computed.
MOST_FILLED = 1 << 20

#: Cheap at any size, as they compute nothing.
MOVES = frozenset(
    """Transpose Reshape Squeeze Unsqueeze Flatten Identity Constant Cast Slice Split Concat Gather
    """.split()
)

#: Not folded: quantised weights stay quantised (but for recurrent layers and what a Pad fills with,
#: which are floats), and the rest is random or not numeric.
KEPT = frozenset(
    """QuantizeLinear DequantizeLinear DynamicQuantizeLinear RandomNormal RandomUniform Bernoulli
    RandomNormalLike RandomUniformLike Multinomial If Loop Scan SequenceConstruct SequenceEmpty
    SequenceAt SequenceInsert SequenceErase SequenceLength SplitToSequence ConcatFromSequence
    Optional OptionalHasElement OptionalGetElement SequenceMap ImageDecoder""".split()
)


def fold_constants(model: onnx.ModelProto, limits: Limits = Limits()) -> bool:
    """Compute nodes whose inputs are all known, and read off shapes; in place.

    Returns:
        Whether anything was computed.

    Raises:
        LimitError: what is computed takes more than constants may.
    """
    graph = Graph(model)
    kept, made, read = [], 0, read_otherwise(model.graph)
    for proto in model.graph.node:
        node = Node(proto, graph.opset)
        values = _value(node, graph)
        if node.op in QUANTISING and read.isdisjoint(node.outputs):
            found = quantised_value(node, graph)
            values = None if found is None else [found]
        if values is None:
            kept.append(proto)
            continue
        for name, value in zip(node.outputs, values, strict=False):
            if name:
                made += np.asarray(value).nbytes
                limits.check("constant_bytes", made, "constants that are folded take too much")
                graph.add_tensor(value_tensor(value, name))
    if len(kept) == len(model.graph.node):
        return False
    nodes = [_copied(node) for node in kept]
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    return True


def _copied(node: onnx.NodeProto) -> Any:
    copy = onnx.NodeProto()
    copy.CopyFrom(node)
    return copy


def value_tensor(value: Any, name: str) -> Any:
    """A stored tensor called `name`."""
    array = np.asarray(value)
    return numpy_helper.from_array(np.ascontiguousarray(array).reshape(array.shape), name)


def _value(node: Node, graph: Graph) -> list[Any] | None:
    """The outputs of `node` where they are known now."""
    if node.proto.domain or node.op in KEPT or _has_subgraph(node):
        return None
    if node.op in ("Shape", "Size"):
        return _shape_value(node, graph)
    if not all(graph.is_constant(name) for name in node.inputs if name):
        return None
    if not _small(node, graph):
        return None
    return _evaluate(node, graph)


def _has_subgraph(node: Node) -> bool:
    return any(a.HasField("g") or a.graphs for a in node.proto.attribute)


def _shape_value(node: Node, graph: Graph) -> list[Any] | None:
    """Result of Shape or Size where the shape is static."""
    info = graph.info(node.input(0))
    if info is None or info.shape is None:
        return None
    if node.op == "Size":
        return [np.array(prod(info.shape), np.int64)]
    start, end = node.attr("start", 0), node.attr("end", len(info.shape))
    rank = len(info.shape)
    low = min(max(start + rank if start < 0 else start, 0), rank)
    high = min(max(end + rank if end < 0 else end, 0), rank)
    return [np.array(info.shape[low:high], np.int64)]


def _small(node: Node, graph: Graph) -> bool:
    """Whether computing the node costs little and its result takes little room."""
    if node.op == "Constant":
        return True
    if node.op == "Range":
        return _count(node, graph) <= MOST_ELEMENTS
    if node.op == "ConstantOfShape":
        sizes = np.asarray(graph.constant(node.input(0)))
        return prod(int(size) for size in sizes) <= MOST_FILLED
    sizes_in = [prod(graph.shape(name)) for name in node.inputs if name]
    infos = [graph.info(name) for name in node.outputs if name]
    if any(info is None or info.shape is None for info in infos):
        return node.op not in GROWS and sum(sizes_in) <= 1024
    size_out = sum(prod(info.shape or ()) for info in infos if info)
    if node.op in MOVES and size_out <= 2 * max(sizes_in, default=0):
        return True
    return max([size_out, *sizes_in]) <= MOST_ELEMENTS


def _count(node: Node, graph: Graph) -> float:
    """Elements of a Range, whose inputs are known; inference does not count those of floats."""
    start, limit, delta = (
        float(np.asarray(graph.constant(name)).reshape(-1)[0]) for name in node.inputs
    )
    return max((limit - start) / delta, 0.0) if delta else inf


def _evaluate(node: Node, graph: Graph) -> list[Any] | None:
    """Run one node; None where the evaluator cannot, so that the node stays."""
    inputs = {name: graph.constant(name) for name in node.inputs if name}
    proto = helper.make_graph(
        [node.proto],
        "fold",
        [
            helper.make_tensor_value_info(name, graph.dtype(name), graph.shape(name))
            for name in inputs
        ],
        [onnx.ValueInfoProto(name=name) for name in node.outputs if name],
    )
    model = helper.make_model(proto, opset_imports=list(graph.model.opset_import))
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            results = ReferenceEvaluator(model).run(None, inputs)
    except Exception:  # noqa: BLE001 - the evaluator raises what it likes; the node then stays
        return None
    if not all(
        _matches(r, graph, n) for r, n in zip(results, filter(None, node.outputs), strict=True)
    ):
        return None
    values = iter(results)
    return [next(values) if name else None for name in node.outputs]


def _matches(value: Any, graph: Graph, name: str) -> bool:
    """Whether a computed value is a tensor of the type that inference found."""
    info = graph.info(name)
    if not isinstance(value, np.ndarray | np.generic):
        return False
    if info is None:
        return True
    same_shape = info.shape is None or info.shape == np.shape(value)
    return same_shape and helper.np_dtype_to_tensor_dtype(np.asarray(value).dtype) == info.dtype
