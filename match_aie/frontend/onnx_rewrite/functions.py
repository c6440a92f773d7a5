"""Operators that ONNX itself defines by a body of simpler operators."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import onnx
from onnx import defs, helper

from match_aie.frontend.onnx_rewrite.graph import STANDARD, Builder, Graph, Node, Refusal


def expand(node: Node, b: Builder) -> tuple[str, ...]:
    """The body from ONNX's definition of the operator."""
    body = definition(node, b.graph)
    given = [*node.inputs, *[""] * len(body.input)]
    bound = {name: given[at] for at, name in enumerate(body.input)}
    graph = onnx.GraphProto()
    graph.node.extend(body.node)
    graph.output.extend(onnx.ValueInfoProto(name=name) for name in body.output)
    results = b.splice(graph, bound)
    return tuple(
        result if name else "" for name, result in zip(node.outputs, results, strict=False)
    )


def definition(node: Node, graph: Graph) -> onnx.FunctionProto:
    """ONNX's body for `node`, with the node's attributes in place.

    Raises:
        Refusal: ONNX has no body for this operator with these types.
    """
    spelled_out = onnx.NodeProto()
    spelled_out.CopyFrom(node.proto)
    spell_out_defaults(spelled_out, graph.model)
    version = _version(node.proto.domain, graph.model)
    schema = defs.get_schema(node.proto.op_type, version, node.proto.domain)
    plain = [v for v in schema.function_opset_versions if v <= version]
    by_types = [v for v in schema.context_dependent_function_opset_versions if v <= version]
    try:
        if plain:
            data = schema.get_function_with_opset_version(max(plain))
        else:
            types = [_type(graph, name).SerializeToString() for name in node.inputs]
            data = schema.get_context_dependent_function_with_opset_version(
                max(by_types, default=version), spelled_out.SerializeToString(), types
            )
    except (RuntimeError, ValueError) as error:
        raise Refusal("ONNX cannot expand it with these inputs") from error
    body = onnx.FunctionProto.FromString(data)
    if not body.node:
        raise Refusal("ONNX defines no body for it with these types")
    _fill_in(body.node, {attribute.name: attribute for attribute in spelled_out.attribute})
    return body


def _version(domain: str, model: onnx.ModelProto) -> int:
    """Version of the operators of `domain` that the model uses."""
    standard = domain in STANDARD
    same = [o for o in model.opset_import if o.domain == domain or (standard and not o.domain)]
    return max((opset.version for opset in same), default=1)


def _type(graph: Graph, name: str) -> onnx.TypeProto:
    """Type of an input, nothing where it is absent."""
    if not name:
        return onnx.TypeProto()
    return helper.make_tensor_type_proto(graph.dtype(name), graph.shape(name))


def _fill_in(nodes: Iterable[onnx.NodeProto], given: Mapping[str, onnx.AttributeProto]) -> None:
    """Put the operator's attributes where its body refers to them."""
    for node in nodes:
        for attribute in list(node.attribute):
            if attribute.HasField("g"):
                _fill_in(attribute.g.node, given)
            if not attribute.ref_attr_name:
                continue
            name, source = attribute.name, given.get(attribute.ref_attr_name)
            if source is None:
                node.attribute.remove(attribute)
            else:
                attribute.CopyFrom(source)
                attribute.name = name


def _present(node: Node) -> list[str]:
    """The inputs that are there, each once."""
    return list(dict.fromkeys(name for name in node.inputs if name))


def alone(node: Node, graph: Graph) -> onnx.ModelProto:
    """A model of `node` alone, with inputs in0, in1, ... and outputs out0, out1, ..."""
    names = {name: f"in{i}" for i, name in enumerate(_present(node))}
    proto = onnx.NodeProto()
    proto.CopyFrom(node.proto)
    proto.ClearField("name")
    proto.input[:] = [names.get(name, "") for name in node.inputs]
    proto.output[:] = [f"out{i}" if name else "" for i, name in enumerate(node.outputs)]
    spell_out_defaults(proto, graph.model)
    inputs = [_typed(graph, name, inner) for name, inner in names.items()]
    outputs = [_typed(graph, name, f"out{i}") for i, name in enumerate(node.outputs) if name]
    return helper.make_model(
        helper.make_graph([proto], "body", inputs, outputs),
        opset_imports=list(graph.model.opset_import),
        ir_version=graph.model.ir_version,
    )


def spell_out_defaults(proto: onnx.NodeProto, model: onnx.ModelProto) -> None:
    """Give absent attributes their default values, which ONNX's expansion leaves out."""
    version = _version(proto.domain, model)
    if not defs.has(proto.op_type, version, proto.domain):
        return
    given = {attribute.name for attribute in proto.attribute}
    schema = defs.get_schema(proto.op_type, version, proto.domain)
    for name, attribute in schema.attributes.items():
        if name not in given and attribute.default_value.name:
            proto.attribute.append(attribute.default_value)


def _typed(graph: Graph, name: str, inner: str) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(inner, graph.dtype(name), graph.shape(name))
