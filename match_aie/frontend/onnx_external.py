"""External data of ONNX models: read what lies in the model's own folder, refuse the rest."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import onnx

from match_aie.errors import ModelError, shorten
from match_aie.frontend.onnx_tensors import stored_bytes


def embed_external_data(model: onnx.ModelProto, folder: Path | None) -> bool:
    """Move external tensor data into `model`; returns whether there was any.

    Args:
        model: an `onnx.ModelProto`, changed in place.
        folder: the folder that holds the model file; None refuses all external data.

    Raises:
        ModelError: data outside `folder`, missing, or shorter than stated.
    """
    found = False
    for tensor in tensors(model):
        if tensor.data_location == onnx.TensorProto.EXTERNAL:
            found = True
            tensor.raw_data = _read(tensor, folder)
            tensor.data_location = onnx.TensorProto.DEFAULT
            del tensor.external_data[:]
    return found


def tensors(model: onnx.ModelProto) -> Iterator[Any]:
    """Every stored tensor of a model, those in subgraphs and functions too."""
    yield from _graph_tensors(model.graph)
    for function in model.functions:
        yield from _node_tensors(function.node)


def _graph_tensors(graph: onnx.GraphProto) -> Iterator[Any]:
    yield from graph.initializer
    for sparse in graph.sparse_initializer:
        yield from (sparse.values, sparse.indices)
    yield from _node_tensors(graph.node)


def _node_tensors(nodes: Any) -> Iterator[Any]:
    for attribute in (a for node in nodes for a in node.attribute):
        if attribute.HasField("t"):
            yield attribute.t
        yield from attribute.tensors
        if attribute.HasField("sparse_tensor"):
            yield from (attribute.sparse_tensor.values, attribute.sparse_tensor.indices)
        for graph in [attribute.g] if attribute.HasField("g") else attribute.graphs:
            yield from _graph_tensors(graph)


def _read(tensor: onnx.TensorProto, folder: Path | None) -> bytes:
    """The bytes of one external tensor."""
    entries = {entry.key: entry.value for entry in tensor.external_data}
    location = entries.get("location", "")
    where = f"tensor {shorten(tensor.name, 80)}, file {shorten(location, 200)!r}"
    if folder is None:
        raise ModelError(
            "the model keeps tensors in other files, and these are only read beside a model file",
            where=where,
            hint="give the path of the model, or call onnx.load, which embeds them",
        )
    path = _inside(folder, location, where)
    wanted = stored_bytes(tensor)
    try:
        offset, length = int(entries.get("offset", 0)), int(entries.get("length", wanted))
        if offset < 0 or length != wanted:
            raise ValueError(f"{length} bytes at {offset} for a tensor of {wanted} bytes")
        with path.open("rb") as file:
            file.seek(offset)
            data = file.read(wanted)
    except (OSError, ValueError, OverflowError) as error:
        why = shorten(str(error), 200)
        raise ModelError(f"external data cannot be read: {why}", where=where) from error
    if len(data) != wanted:
        raise ModelError(
            f"external data ends too early: {len(data)} of {wanted} bytes", where=where
        )
    return data


def _inside(folder: Path, location: str, where: str) -> Path:
    """The file at `location`, which must lie in `folder` after following links."""
    try:
        path = (folder / location).resolve()
        inside = bool(location) and path.is_relative_to(folder.resolve()) and path.is_file()
    except (OSError, ValueError):
        inside = False
    if not inside:
        raise ModelError(
            "the model keeps a tensor in a file that is missing or outside the model's folder",
            where=where,
            hint="keep external data beside the model, or embed it with onnx.load, onnx.save",
        )
    return path
