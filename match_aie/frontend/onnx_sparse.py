"""Sparse tensors of ONNX models as dense ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
from onnx import numpy_helper

from match_aie.errors import ModelError, shorten
from match_aie.frontend.onnx_limits import every_node, graphs


def unfold(model: onnx.ModelProto) -> None:
    """Give stored sparse tensors, and those of Constant nodes, all of their elements, in place.

    Raises:
        ModelError: an index that the tensor does not have.
    """
    for graph in graphs(model):
        graph.initializer.extend(_dense(s, s.values.name) for s in graph.sparse_initializer)
        del graph.sparse_initializer[:]
    bodies = [node for function in model.functions for node in function.node]
    for node in every_node([*model.graph.node, *bodies]):
        for attribute in node.attribute:
            if attribute.HasField("sparse_tensor") and node.op_type == "Constant":
                dense = _dense(attribute.sparse_tensor, node.output[0])
                attribute.ClearField("sparse_tensor")
                attribute.name, attribute.type = "value", onnx.AttributeProto.TENSOR
                attribute.t.CopyFrom(dense)


def _dense(sparse: onnx.SparseTensorProto, name: str) -> Any:
    """The dense tensor called `name`; indices count elements, or are a row of places for each."""
    values, indices = numpy_helper.to_array(sparse.values), numpy_helper.to_array(sparse.indices)
    array = np.zeros(tuple(sparse.dims), values.dtype)
    try:
        places = (
            np.ravel_multi_index(tuple(indices.T), array.shape) if indices.ndim > 1 else indices
        )
        array.reshape(-1)[places] = values
    except (ValueError, IndexError) as error:
        raise ModelError(
            f"a sparse tensor and its indices do not fit each other: {shorten(str(error))}",
            where=f"sparse tensor {shorten(name, 80)}",
        ) from error
    dense = numpy_helper.from_array(array, name)
    dense.data_type = sparse.values.data_type
    return dense
