"""Folds and rewrites until nothing changes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import onnx
from onnx import helper

from match_aie.errors import InternalError, UnsupportedOperatorError, shorten
from match_aie.frontend.onnx_limits import check_inferred
from match_aie.frontend.onnx_rewrite.fold import fold_constants
from match_aie.frontend.onnx_rewrite.graph import Builder, Graph, Node, Refusal
from match_aie.frontend.onnx_rewrite.prune import prune
from match_aie.frontend.onnx_rewrite.support import why_unsupported
from match_aie.frontend.onnx_rewrite.table import REWRITES, Rewrite
from match_aie.frontend.onnx_shapes import infer_shapes
from match_aie.limits import Limits

#: Rewrites produce nodes that are rewritten again; deeper than this is a loop.
MOST_ROUNDS = 24


def rewrite(
    model: onnx.ModelProto,
    labels: Mapping[str, str],
    limits: Limits = Limits(),
    rewrites: Mapping[str, tuple[Rewrite, ...]] = REWRITES,
) -> onnx.ModelProto:
    """`model` in operators that import exactly, its unused parts dropped.

    Args:
        model: an `onnx.ModelProto` with plain names, on which shape inference has run.
        labels: node name -> what the user calls the node.
        limits: how large values, constants and the graph may become.
        rewrites: operator -> what to try on it.

    Raises:
        LimitError: a rewrite or folding makes the model too large.
        UnsupportedOperatorError: naming every node that cannot be compiled.
    """
    refused: dict[str, tuple[str, str, str]] = {}
    for _ in range(MOST_ROUNDS + limits.depth):  # a round takes away a level of branches
        model = prune(model)
        folded = fold_constants(model, limits)
        refused.clear()
        if not _rewrite_once(model, labels, rewrites, refused, limits) and not folded:
            break
        _forget_symbols(model.graph)
        model = infer_shapes(model, strict=False)
        check_inferred(model, limits)
    else:
        raise InternalError("the ONNX pre-pass does not come to an end")
    model = prune(model)
    _refuse(model, labels, refused)
    return model


def _forget_symbols(graph: onnx.GraphProto) -> None:
    """Drop shapes that hold a symbol: inference would keep it where folding has found a number."""
    known = [
        value
        for value in graph.value_info
        if all(dim.HasField("dim_value") for dim in value.type.tensor_type.shape.dim)
    ]
    if len(known) < len(graph.value_info):
        del graph.value_info[:]
        graph.value_info.extend(known)


def _rewrite_once(
    model: onnx.ModelProto,
    labels: Mapping[str, str],
    rewrites: Mapping[str, tuple[Rewrite, ...]],
    refused: dict[str, tuple[str, str, str]],
    limits: Limits,
) -> bool:
    """Rewrite every node that has a rewrite, in place; returns whether one did something.

    Args:
        model: to rewrite.
        labels: node name -> what the user calls the node.
        rewrites: operator -> what to try on it.
        refused: takes the nodes that cannot be compiled, with the reason.
        limits: how many nodes and bytes of constants there may be.

    Raises:
        LimitError: there are more.
    """
    graph = Graph(model)
    nodes: list[onnx.NodeProto] = []
    changed = False
    for proto in model.graph.node:
        builder = Builder(graph, proto.name)
        node = Node(proto, graph.opset)
        values = None
        try:
            values = _apply(node, builder, rewrites.get(node.op, ()))
        except Refusal as refusal:
            label = labels.get(proto.name, proto.name)
            refused.setdefault(_key(proto), (node.op, label, str(refusal)))
        except (LookupError, ValueError, TypeError, ArithmeticError) as error:
            # A damaged node: what it asks for and what it has contradict each other.
            what = f"{type(error).__name__}: {shorten(str(error), 80)}"
            why = f"its inputs and attributes do not fit each other ({what})"
            label = labels.get(proto.name, proto.name)
            refused.setdefault(_key(proto), (node.op, label, why))
        if values is None:
            nodes.append(proto)
            continue
        changed = True
        nodes += _named(builder, node, values)
        limits.check("nodes", len(nodes), "the model has too many nodes, written out")
        limits.check("constant_bytes", graph.added_bytes, "constants of written out operators")
    if changed:
        kept = [_copy(node) for node in nodes]
        del model.graph.node[:]
        model.graph.node.extend(kept)
        del model.graph.value_info[:]
        _import_domains(model)
    return changed


def _apply(node: Node, builder: Builder, steps: tuple[Rewrite, ...]) -> tuple[str, ...] | None:
    """The first rewrite that does something."""
    for step in steps:
        values = step(node, builder)
        if values is not None:
            return values
        builder.nodes.clear()
    return None


def _key(proto: onnx.NodeProto) -> str:
    """What tells nodes apart: every value has one producer."""
    return next((name for name in proto.output if name), proto.name)


def _copy(node: onnx.NodeProto) -> Any:
    copy = onnx.NodeProto()
    copy.CopyFrom(node)
    return copy


def _named(builder: Builder, node: Node, values: tuple[str, ...]) -> list[Any]:
    """The new nodes, and identities that give their results the names of the old outputs.

    A value "" stands for an output that nobody reads.
    """
    pairs = [(old, new) for old, new in zip(node.outputs, values, strict=False) if old and new]
    identities = [
        helper.make_node("Identity", [new], [old], name=builder.label) for old, new in pairs
    ]
    return [*builder.nodes, *identities]


def _import_domains(model: onnx.ModelProto) -> None:
    """Declare the standard operators where a model held only others."""
    if not any(opset.domain in ("", "ai.onnx") for opset in model.opset_import):
        model.opset_import.append(helper.make_opsetid("", 17))


def _refuse(
    model: onnx.ModelProto, labels: Mapping[str, str], refused: Mapping[str, tuple[str, str, str]]
) -> None:
    """Raise for every node left that cannot be compiled."""
    graph = Graph(model)
    found = []
    for proto in model.graph.node:
        node = Node(proto, graph.opset)
        known = refused.get(_key(proto))
        why = known[2] if known else why_unsupported(node, graph)
        if why is not None:
            found.append((node.op, labels.get(proto.name, proto.name), why))
    if found:
        raise UnsupportedOperatorError(found)
