"""Operators that ONNX itself defines by a body of simpler operators."""

from __future__ import annotations

import onnx
from onnx import defs, helper, inliner

from match_aie.frontend.onnx_rewrite.graph import STANDARD, Builder, Graph, Node, Refusal


def expand(node: Node, b: Builder) -> tuple[str, ...]:
    """The body from ONNX's definition of the operator."""
    body = body_of(node, b.graph)
    outer = dict(zip((value.name for value in body.input), _present(node), strict=True))
    inner = dict(
        zip((v.name for v in body.output), b.splice(body, outer, rename=True), strict=True)
    )
    return tuple(inner[f"out{i}"] if name else "" for i, name in enumerate(node.outputs))


def _present(node: Node) -> list[str]:
    """The inputs that are there, each once."""
    return list(dict.fromkeys(name for name in node.inputs if name))


def body_of(node: Node, graph: Graph) -> onnx.GraphProto:
    """A graph that computes `node` in simpler operators, named as `alone` names it.

    Raises:
        Refusal: ONNX has no body for this operator with these types.
    """
    key = (node.proto.domain, node.proto.op_type)
    model = alone(node, graph)
    try:
        inlined = inliner.inline_selected_functions(model, [key], inline_schema_functions=True)
    except RuntimeError as error:
        raise Refusal("ONNX cannot expand it with these inputs") from error
    if any((inner.domain, inner.op_type) == key for inner in inlined.graph.node):
        raise Refusal("ONNX defines no body for it with these types")
    return inlined.graph


def alone(node: Node, graph: Graph) -> onnx.ModelProto:
    """A model of `node` alone, with inputs in0, in1, ... and outputs out0, out1, ..."""
    names = {name: f"in{i}" for i, name in enumerate(_present(node))}
    proto = onnx.NodeProto()
    proto.CopyFrom(node.proto)
    proto.ClearField("name")
    proto.input[:] = [names.get(name, "") for name in node.inputs]
    proto.output[:] = [f"out{i}" if name else "" for i, name in enumerate(node.outputs)]
    _spell_out_defaults(proto, graph.opset)
    inputs = [_typed(graph, name, inner) for name, inner in names.items()]
    outputs = [_typed(graph, name, f"out{i}") for i, name in enumerate(node.outputs) if name]
    return helper.make_model(
        helper.make_graph([proto], "body", inputs, outputs),
        opset_imports=list(graph.model.opset_import),
        ir_version=graph.model.ir_version,
    )


def _spell_out_defaults(proto: onnx.NodeProto, opset: int) -> None:
    """Give absent attributes their default values, which ONNX's expansion leaves out."""
    if proto.domain not in STANDARD or not defs.has(proto.op_type, opset, ""):
        return
    given = {attribute.name for attribute in proto.attribute}
    for name, attribute in defs.get_schema(proto.op_type, opset, "").attributes.items():
        if name not in given and attribute.default_value.name:
            proto.attribute.append(attribute.default_value)


def _typed(graph: Graph, name: str, inner: str) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(inner, graph.dtype(name), graph.shape(name))
