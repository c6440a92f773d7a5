"""Which versions of ONNX's operators are read, and older models brought up to the oldest."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np
import onnx
from onnx import TensorProto, defs, numpy_helper, version_converter
from onnx.shape_inference import InferenceError

from match_aie.errors import ModelError, shorten
from match_aie.frontend.onnx_rewrite.graph import STANDARD
from match_aie.frontend.onnx_rewrite.resize import UNNAMED

#: The oldest version of the standard operators that is read as it is.
OLDEST_OPSET = 13

#: From this version on slopes of a PRelu broadcast; before, one counts the channels.
SLOPES_BROADCAST = 7

#: From this version on a Resize says how coordinates are transformed.
OWN_COORDINATES = 11


def at_known_opset(model: onnx.ModelProto) -> onnx.ModelProto:
    """`model` in a version of the operators that is read.

    An older model whose operators have not changed since is taken as it is; any other older model
    goes through ONNX's version converter.

    Raises:
        ModelError: the version is newer than the installed onnx, or cannot be converted.
    """
    newest = defs.onnx_opset_version()
    version = max((o.version for o in model.opset_import if o.domain in STANDARD), default=None)
    if version is None:
        model.opset_import.append(onnx.helper.make_opsetid("", OLDEST_OPSET))
        return model
    if version > newest:
        raise _refused(version, newest, "it is newer than the installed onnx package")
    if version >= OLDEST_OPSET:
        return model
    if _unchanged(model.graph, version):
        for opset in model.opset_import:
            if opset.domain in STANDARD:
                opset.version = OLDEST_OPSET
        return model
    try:
        known = _types(model)
        if version < SLOPES_BROADCAST:
            _slopes_of_channels(model.graph, known)
        made = version_converter.convert_version(model, OLDEST_OPSET)
    except (version_converter.ConvertError, InferenceError, RuntimeError, ValueError) as error:
        raise _refused(version, newest, f"conversion failed: {shorten(str(error))}") from error
    if version < OWN_COORDINATES:
        _resized_as_before(made.graph)
    _flattened_hardmax(made.graph)
    _bounds_of_their_type(made.graph, known)
    return made


def _types(model: onnx.ModelProto) -> dict[str, onnx.TypeProto.Tensor]:
    """What inference knows of the values of `model`, those of its subgraphs too."""
    found: dict[str, onnx.TypeProto.Tensor] = {}

    def collect(graph: onnx.GraphProto) -> None:
        for value in (*graph.input, *graph.value_info, *graph.output):
            found[value.name] = value.type.tensor_type
        for stored in graph.initializer:
            kind = onnx.helper.make_tensor_type_proto(stored.data_type, list(stored.dims))
            found[stored.name] = kind.tensor_type
        for node in graph.node:
            for attribute in node.attribute:
                if attribute.HasField("g"):
                    collect(attribute.g)

    collect(onnx.shape_inference.infer_shapes(model).graph)
    return found


def _rank(kind: onnx.TypeProto.Tensor | None) -> int:
    """How many axes a value has, as far as inference knows."""
    return 0 if kind is None else len(kind.shape.dim)


def _slopes_of_channels(graph: onnx.GraphProto, known: Mapping[str, onnx.TypeProto.Tensor]) -> None:
    """Give slopes of PRelu axes of one behind the channels' that they count, as numpy would not."""
    nodes: list[onnx.NodeProto] = []
    for node in graph.node:
        if node.op_type == "PRelu" and node.domain in STANDARD:
            rank, slope = (_rank(known.get(name)) for name in node.input)
            if slope == 1 and rank > 2:
                spread = f"{node.output[0]}/before7/slope"
                axes = list(range(1, rank - 1))
                make = onnx.helper.make_node
                nodes.append(make("Unsqueeze", [node.input[1]], [spread], node.name, axes=axes))
                node.input[1] = spread
        nodes.append(node)
    copies = [onnx.NodeProto.FromString(node.SerializeToString()) for node in nodes]
    del graph.node[:]
    graph.node.extend(copies)


def _bounds_of_their_type(
    graph: onnx.GraphProto, known: Mapping[str, onnx.TypeProto.Tensor]
) -> None:
    """Give bounds of Clip the type of what they bound; the converter writes all as float32."""
    made = {node.output[0]: node for node in graph.node if node.op_type == "Constant"}
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.HasField("g"):
                _bounds_of_their_type(attribute.g, known)
        if node.op_type != "Clip" or node.input[0] not in known:
            continue
        kind = known[node.input[0]].elem_type
        for bound in node.input[1:]:
            if bound in made and kind in (TensorProto.FLOAT16, TensorProto.DOUBLE):
                value = made[bound].attribute[0].t
                dtype = onnx.helper.tensor_dtype_to_np_dtype(kind)
                with np.errstate(over="ignore"):
                    cast = numpy_helper.to_array(value).astype(dtype)
                value.CopyFrom(numpy_helper.from_array(cast))


def _resized_as_before(graph: onnx.GraphProto) -> None:
    """Give every Resize the coordinates of Upsample and Resize-10, as the converter does not."""
    for node in graph.node:
        if node.op_type == "Resize" and node.domain in STANDARD:
            mode = onnx.helper.make_attribute("coordinate_transformation_mode", "asymmetric")
            node.attribute.extend([mode, onnx.helper.make_attribute("nearest_mode", UNNAMED)])
        for attribute in node.attribute:
            if attribute.HasField("g"):
                _resized_as_before(attribute.g)


def _flattened_hardmax(graph: onnx.GraphProto) -> None:
    """Make all axes from Hardmax's `axis` on one, as the converter does for Softmax only."""
    nodes: list[onnx.NodeProto] = []
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.HasField("g"):
                _flattened_hardmax(attribute.g)
        if node.op_type != "Hardmax" or node.domain not in STANDARD:
            nodes.append(node)
            continue
        (x,), (y,) = node.input, node.output
        axis = next((a.i for a in node.attribute if a.name == "axis"), 1)
        flat, best, shape = (f"{y}/before13/{part}" for part in ("flat", "best", "shape"))
        make = partial(onnx.helper.make_node, name=node.name)
        nodes += [
            make("Flatten", [x], [flat], axis=axis),
            make("Hardmax", [flat], [best], axis=-1),
            make("Shape", [x], [shape]),
            make("Reshape", [best, shape], [y]),
        ]
    del graph.node[:]
    graph.node.extend(nodes)


def _unchanged(graph: onnx.GraphProto, version: int) -> bool:
    """Whether every operator means the same in `version` as in the oldest one that is read."""
    for node in graph.node:
        if node.domain not in STANDARD:
            continue
        schemas = [
            defs.get_schema(node.op_type, v, "").since_version
            for v in (version, OLDEST_OPSET)
            if defs.has(node.op_type, v, "")
        ]
        if len(schemas) != 2 or schemas[0] != schemas[1]:
            return False
        inner = [a.g for a in node.attribute if a.HasField("g")]
        if not all(_unchanged(subgraph, version) for subgraph in inner):
            return False
    return True


def _refused(version: int, newest: int, why: str) -> ModelError:
    return ModelError(
        f"the model uses version {version} of the ONNX operators; "
        f"versions {OLDEST_OPSET} to {newest} are read: {why}",
        hint=f"export with opset {min(newest, 21)}",
    )
