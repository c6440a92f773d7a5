"""A model whose 8-bit products onnxruntime sums up without saturation.

On x86 processors without 8-bit dot products, onnxruntime's kernels of uint8 by int8 add pairs of
products in 16 bits, where they saturate. Those of uint8 by uint8 do not. The session option that
asks for them is heard by its optimiser alone, so an unoptimised run gets weights and zero points
that are both 128 higher, which says the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from onnx import GraphProto, NodeProto, TensorProto

#: Where operators have their data's zero point, their weights, and the weights' zero point.
PLACES: Mapping[str, tuple[int, int, int]] = {
    "QLinearConv": (2, 3, 5),
    "QLinearMatMul": (2, 3, 5),
    "QGemm": (2, 3, 5),
    "ConvInteger": (2, 1, 3),
    "MatMulInteger": (2, 1, 3),
}
#: From int8 to uint8.
SHIFT = 128
#: Larger models are not rewritten: protobuf ends at 2 GB, and a copy is held.
LARGEST = 2**30


def whole_sums(path: Path) -> bytes | None:
    """The model of a file with such weights; None where it has no weights to change.

    Nor is there one of a large file, of a model whose weights lie in other files, or of a file
    that is no model: onnxruntime says what is wrong with it.

    Args:
        path: of an ONNX model.
    """
    import onnx
    from google.protobuf.message import DecodeError  # type: ignore[import-untyped]

    if path.stat().st_size > LARGEST:
        return None
    try:
        model = onnx.load(path, load_external_data=False)
    except DecodeError:
        return None
    graph = model.graph
    if any(tensor.data_location == onnx.TensorProto.EXTERNAL for tensor in graph.initializer):
        return None
    constants = {tensor.name: tensor for tensor in graph.initializer}
    made: dict[str, str] = {}
    for node in graph.node:
        places = PLACES.get(node.op_type)
        if places is None:
            continue
        data, weight = (constants.get(_input(node, place)) for place in places[:2])
        if weight is None or weight.data_type != onnx.TensorProto.INT8:
            continue
        if data is None or data.data_type != onnx.TensorProto.INT8:
            _raise(graph, node, places, constants, made)
    if not made:
        return None
    whole: bytes = model.SerializeToString()
    return whole


def _input(node: NodeProto, place: int) -> str:
    return str(node.input[place]) if place < len(node.input) else ""


def _raise(
    graph: GraphProto,
    node: NodeProto,
    places: tuple[int, int, int],
    constants: Mapping[str, TensorProto],
    made: dict[str, str],
) -> None:
    """Give a node weights and zero points 128 higher.

    Args:
        graph: takes the new constants.
        node: reads them from now on.
        places: of the node's operator.
        constants: of the model, by name.
        made: name of a constant -> name of the one that is higher.
    """
    from onnx import numpy_helper

    _, weight, zero = places
    name = _input(node, zero)
    if name and name not in constants:
        return
    while len(node.input) <= zero:
        node.input.append("")
    for place in (weight, zero):
        old = node.input[place]
        if old not in made:
            value = numpy_helper.to_array(constants[old]) if old else np.zeros((), np.int8)
            raised = (value.astype(np.int16) + SHIFT).astype(np.uint8)
            made[old] = f"{old}/whole_sums"
            graph.initializer.append(numpy_helper.from_array(raised, made[old]))
        node.input[place] = made[old]
