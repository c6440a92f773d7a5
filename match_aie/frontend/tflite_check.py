"""Checks a TFLite flatbuffer before anybody trusts the numbers in it."""

from __future__ import annotations

import struct
from math import prod
from typing import Any

import tflite

from match_aie.errors import ModelError, shorten
from match_aie.limits import Limits

#: numpy's name of a TFLite type number, for the types that can be compiled.
DTYPES = {
    **{0: "float32", 1: "float16", 2: "int32", 3: "uint8", 4: "int64", 6: "bool", 7: "int16"},
    **{9: "int8", 10: "float64", 12: "uint64", 15: "uint32", 16: "uint16"},
}

#: Bits of an element by TFLite type number; strings and variants have none.
ELEMENT_BITS = {
    **{0: 32, 1: 16, 2: 32, 3: 8, 4: 64, 6: 8, 7: 16, 8: 64, 9: 8, 10: 64, 11: 128, 12: 64},
    **{15: 32, 16: 16, 17: 4},
}


def tensor_name(graph: Any, index: int) -> str:
    """Name of a tensor, made up where it has none."""
    name = graph.Tensors(index).Name()
    return name.decode("utf-8", "replace") if name else f"tensor {index}"


def check_flatbuffer(data: bytes, limits: Limits = Limits()) -> None:
    """Read every part of the model once, with bounds.

    Raises:
        LimitError: the model is too large.
        ModelError: an offset or an index points outside, or sizes contradict each other.
    """
    try:
        model = tflite.Model.GetRootAs(data, 0)
        _count(model.SubgraphsLength(), data)
        _count(model.OperatorCodesLength(), data)
        buffers = _buffers(model, data)
        if not model.SubgraphsLength():
            raise ValueError("no subgraph")
        limits.check("constant_bytes", sum(buffers), "the constants of the model take too much")
        for place in range(model.SubgraphsLength()):
            _check_graph(model, model.Subgraphs(place), buffers, data, main=place == 0)
            _check_sizes(model.Subgraphs(place), limits)
    except (struct.error, IndexError, ValueError, TypeError, AttributeError, OverflowError) as e:
        raise ModelError(
            "this TFLite file is damaged",
            hint="is the file complete? offsets in it point outside of it",
        ) from e


def _check_sizes(graph: Any, limits: Limits) -> None:
    """Refuse too many operators, and tensors that are too large."""
    limits.check("nodes", graph.OperatorsLength(), "the model has too many operators")
    for index in range(graph.TensorsLength()):
        tensor = graph.Tensors(index)
        shape = [tensor.Shape(i) for i in range(tensor.ShapeLength())]
        where = f"tensor {shorten(tensor_name(graph, index), 80)}"
        limits.check("rank", len(shape), "a tensor has too many dimensions", where)
        what = f"a tensor of shape {shape} is too large"
        limits.check("tensor_elements", prod(shape), what, where)


def _count(length: int, data: bytes) -> int:
    """`length`, which must be a length that the file has room for."""
    if not 0 <= length <= len(data):
        raise ValueError("a vector is longer than the file")
    return length


def _buffers(model: Any, data: bytes) -> list[int]:
    """Bytes in every buffer."""
    sizes = []
    for index in range(_count(model.BuffersLength(), data)):
        buffer = model.Buffers(index)
        size = _count(buffer.DataLength(), data)
        if size and len(buffer.DataAsNumpy()) != size:
            raise ValueError("a buffer ends outside the file")
        sizes.append(size)
    return sizes


def _check_graph(model: Any, graph: Any, buffers: list[int], data: bytes, *, main: bool) -> None:
    """Tensors have sane shapes and enough data; operators use tensors and codes that exist."""
    tensors = _count(graph.TensorsLength(), data)
    for index in range(tensors):
        _check_tensor(graph.Tensors(index), buffers, data)
    for index in range(_count(graph.OperatorsLength(), data)):
        op = graph.Operators(index)
        if not 0 <= op.OpcodeIndex() < model.OperatorCodesLength():
            raise IndexError("operator code")
        model.OperatorCodes(op.OpcodeIndex()).BuiltinCode()
        uses = [op.Inputs(i) for i in range(_count(op.InputsLength(), data))]
        makes = [op.Outputs(i) for i in range(_count(op.OutputsLength(), data))]
        uses += [op.Intermediates(i) for i in range(_count(op.IntermediatesLength(), data))]
        if any(not -1 <= t < tensors for t in uses) or any(not 0 <= t < tensors for t in makes):
            raise IndexError("tensor")
    ports = [graph.Inputs(i) for i in range(_count(graph.InputsLength(), data))]
    ports += [graph.Outputs(i) for i in range(_count(graph.OutputsLength(), data))]
    if (main and not graph.OutputsLength()) or any(not 0 <= t < tensors for t in ports):
        raise IndexError("input or output")


def _check_tensor(tensor: Any, buffers: list[int], data: bytes) -> None:
    """A tensor's stored bytes are as many as its shape and type say."""
    name = tensor.Name()
    if name is not None:
        name.decode("utf-8")
    shape = [tensor.Shape(i) for i in range(_count(tensor.ShapeLength(), data))]
    bits = ELEMENT_BITS.get(tensor.Type())
    stored = buffers[tensor.Buffer()]
    if any(size < 0 for size in shape):
        raise ValueError("negative size")
    whole = (prod(shape) * (bits or 0) + 7) // 8
    sparse = tensor.Sparsity() is not None
    if stored and bits and (stored > whole if sparse else stored != whole):
        raise ValueError("stored bytes do not fit the shape")
    for index in range(_count(tensor.ShapeSignatureLength(), data)):
        tensor.ShapeSignature(index)
    quantization = tensor.Quantization()
    if quantization is not None:
        _count(quantization.ScaleLength(), data)
        _count(quantization.ZeroPointLength(), data)
        for index in range(quantization.ScaleLength()):
            quantization.Scale(index)
        for index in range(quantization.ZeroPointLength()):
            quantization.ZeroPoint(index)
