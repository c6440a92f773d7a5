"""Which versions of ONNX's operators are read, and older models brought up to the oldest."""

from __future__ import annotations

import onnx
from onnx import defs, version_converter

from match_aie.errors import ModelError, shorten
from match_aie.frontend.onnx_rewrite.graph import STANDARD

#: The oldest version of the standard operators that is read as it is.
OLDEST_OPSET = 13


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
        return version_converter.convert_version(model, OLDEST_OPSET)
    except (version_converter.ConvertError, RuntimeError, ValueError) as error:
        raise _refused(version, newest, f"conversion failed: {shorten(str(error))}") from error


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
