"""A quantised ONNX network as a TensorFlow Lite file with the same integers."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import flatbuffers
import numpy as np
import onnx
import tflite
from onnx import helper, numpy_helper

RELU = int(tflite.ActivationFunctionType.RELU)
NONE = int(tflite.ActivationFunctionType.NONE)
SAME, VALID = int(tflite.Padding.SAME), int(tflite.Padding.VALID)
#: Versions of operators of which there is no third.
VERSIONS = {
    **dict.fromkeys(("RESHAPE", "EXPAND_DIMS", "SHAPE", "HARD_SWISH", "DENSIFY"), 1),
    **dict.fromkeys(("WHILE", "LESS", "LOGICAL_AND", "REDUCE_MAX"), 1),
    **dict.fromkeys(("VAR_HANDLE", "CALL_ONCE", "READ_VARIABLE", "ASSIGN_VARIABLE"), 1),
    **dict.fromkeys(("PACK", "AVERAGE_POOL_2D", "CONCATENATION"), 2),
}
TYPES = {
    name: int(getattr(tflite.TensorType, name.upper()))
    for name in (
        *("bool", "int8", "int16", "int32", "int64", "float16", "float32", "complex64"),
        "resource",
    )
}


@dataclass(frozen=True)
class Stored:
    """A tensor of the file: its content where it is constant, and what its integers mean.

    Of a `sparse` one, a table of rows, only the elements that are not 0 are stored. A `variable`
    one is kept from call to call. Sizes that a `signature` gives as -1 are open.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str
    scale: np.ndarray = field(default_factory=lambda: np.zeros(0, np.float32))
    zero_point: int = 0
    axis: int = 0
    content: np.ndarray | None = None
    sparse: bool = False
    variable: bool = False
    signature: tuple[int, ...] = ()


@dataclass(frozen=True)
class Step:
    """An operator of the file: its code, operands by name ("" is none), the table of its options.

    A code that the schema does not have is a custom operator's name, whose options are the bytes
    `Custom` of `fields`. Where there are several results, `more` are those behind the first; ""
    is none. `between` are tensors that only say how the operator's inner results are quantised.
    """

    code: str
    operands: tuple[str, ...]
    result: str
    options: str = ""
    fields: dict[str, object] = field(default_factory=dict)
    more: tuple[str, ...] = ()
    between: tuple[str, ...] = ()


def converted(model: onnx.ModelProto) -> bytes:
    """`model`, of `quantised.signed`, as a file.

    Raises:
        KeyError: an operator that none of the networks here has.
    """
    reading = _Reading(model)
    for node in reading.graph.node:
        reading.take(node)
    (entry,), (leaving,) = reading.graph.input, reading.graph.output
    _finish_tensor(reading, leaving.name)
    return flatbuffer(list(reading.tensors.values()), reading.steps, entry.name, leaving.name)


class _Reading:
    """Tensors and steps of an ONNX graph: quantisations become facts of tensors."""

    def __init__(self, model: onnx.ModelProto) -> None:
        self.graph = onnx.shape_inference.infer_shapes(model).graph
        self._values = {t.name: numpy_helper.to_array(t) for t in self.graph.initializer}
        known = [*self.graph.input, *self.graph.value_info, *self.graph.output]
        self._shapes = {
            port.name: tuple(d.dim_value for d in port.type.tensor_type.shape.dim) for port in known
        }
        #: name in the ONNX graph -> name of the stored tensor that it dequantises or becomes.
        self._stored: dict[str, str] = {}
        self._result = {n.input[0]: n.output[0] for n in self.graph.node if _is(n, "Quantize")}
        self.tensors: dict[str, Stored] = {}
        self.steps: list[Step] = []

    def take(self, node: onnx.NodeProto) -> None:
        """The next node in order."""
        if _is(node, "Quantize"):
            return
        if _is(node, "Dequantize"):
            self._dequantised(node)
            return
        result = self._result[node.output[0]]
        if node.op_type == "Transpose":  # of the input, which has its channels last already
            self._stored[result] = self._stored[node.input[0]]
            return
        operands = tuple(self._stored[name] for name in node.input)
        given = {a.name: helper.get_attribute_value(a) for a in node.attribute}
        self._stored[result] = result
        self.steps.append(self._step(node, operands, result, given))

    def _dequantised(self, node: onnx.NodeProto) -> None:
        """A tensor's scale and zero point are those that it is read with."""
        of, scale, zero = node.input
        name = self._stored.setdefault(of, of)
        self._stored[node.output[0]] = name
        if name in self.tensors:
            return
        content = self._values.get(of)
        shape = content.shape if content is not None else self._shapes[of]
        if content is None and len(shape) == 4 and of not in {p.name for p in self.graph.input}:
            shape = (shape[0], *shape[2:], shape[1])
        dtype = "int8" if content is None else str(content.dtype)
        scales, point = np.atleast_1d(self._values[scale]), int(self._values[zero].flat[0])
        self.tensors[name] = Stored(name, shape, dtype, scales, point, 0, content)

    def _step(self, node: onnx.NodeProto, operands, result: str, given) -> Step:
        """Attributes in the file's terms; filters get their channels last."""
        if node.op_type == "Conv":
            return self._convolution(operands, result, given)
        if node.op_type == "AveragePool":
            (high, wide), (down, right) = given["kernel_shape"], given["strides"]
            fields = {"Padding": VALID, "FilterHeight": high, "FilterWidth": wide}
            fields |= {"StrideH": down, "StrideW": right}
            return Step("AVERAGE_POOL_2D", operands, result, "Pool2DOptions", fields)
        if node.op_type == "Add":
            fields = {"FusedActivationFunction": self._activation(node.output[0])}
            return Step("ADD", operands, result, "AddOptions", fields)
        code, options, fields = {
            "Flatten": ("RESHAPE", "ReshapeOptions", {}),
            "Gemm": ("FULLY_CONNECTED", "FullyConnectedOptions", {}),
            "Softmax": ("SOFTMAX", "SoftmaxOptions", {"Beta": 1.0}),
        }[node.op_type]
        if node.op_type == "Flatten":
            shape = np.array(self._shapes[result], np.int32)
            name = f"{result}/shape"
            none = np.zeros(0, np.float32)
            self.tensors[name] = Stored(name, shape.shape, "int32", none, 0, 0, shape)
            operands = (*operands, name)
        return Step(code, operands, result, options, fields)

    def _convolution(self, operands, result: str, given) -> Step:
        data, weight, bias = operands
        filters = self.tensors[weight]
        assert filters.content is not None
        depthwise = given["group"] > 1
        order, axis = ((1, 2, 3, 0), 3) if depthwise else ((0, 2, 3, 1), 0)
        moved = filters.content.transpose(order)
        self.tensors[weight] = Stored(
            weight, moved.shape, filters.dtype, filters.scale, 0, axis, moved
        )
        down, right = given["strides"]
        activation = self._activation(result)
        fields = {"Padding": SAME, "StrideH": down, "StrideW": right}
        fields |= {"FusedActivationFunction": activation}
        if depthwise:
            fields["DepthMultiplier"] = 1
            return Step(
                *("DEPTHWISE_CONV_2D", (data, weight, bias), result),
                *("DepthwiseConv2DOptions", fields),
            )
        return Step("CONV_2D", (data, weight, bias), result, "Conv2DOptions", fields)

    def _activation(self, result: str) -> int:
        """ReLU where the least integer means 0; the quantiser has left the operator out."""
        stored = self._result.get(result, result)
        reader = next(n for n in self.graph.node if n.input[0] == stored)
        return RELU if int(self._values[reader.input[2]]) == -128 else NONE


def _is(node: onnx.NodeProto, kind: str) -> bool:
    return bool(node.op_type == f"{kind}Linear")


def flatbuffer(
    stored: Sequence[Stored],
    steps: Sequence[Step],
    entry: str | tuple[str, ...],
    leaving: str | tuple[str, ...],
    others: Sequence[tuple[Sequence[Any], ...]] = (),
) -> bytes:
    """A file of these tensors and operators.

    Args:
        stored: all tensors, in the order of their numbers.
        steps: the operators in order.
        entry: name of the input, or of several.
        leaving: name of the output, or of several.
        others: tensors and operators of further subgraphs, and names of their inputs and outputs
            where they have any.
    """
    builder = flatbuffers.Builder(1 << 16)
    # The first buffer is empty by convention: it is that of tensors without content.
    contents: list[np.ndarray | None] = [None]
    entries, exits = (
        [names] if isinstance(names, str) else list(names) for names in (entry, leaving)
    )
    wholes = [(stored, steps, entries, exits), *((*other, [], [])[:4] for other in others)]
    codes = sorted({step.code for _, own, _, _ in wholes for step in own})
    graphs = [_graph(builder, contents, codes, *whole) for whole in wholes]
    buffers = [_buffer(builder, content) for content in contents]
    built_in = [_code(builder, name) for name in codes]
    model = _table(
        builder,
        "Model",
        Version=3,
        OperatorCodes=_offsets(builder, built_in),
        Subgraphs=_offsets(builder, graphs),
        Description=builder.CreateString("generated"),
        Buffers=_offsets(builder, buffers),
    )
    builder.Finish(model, file_identifier=b"TFL3")
    return bytes(builder.Output())


def _code(builder: flatbuffers.Builder, name: str) -> int:
    known = hasattr(tflite.BuiltinOperator, name)
    code = int(getattr(tflite.BuiltinOperator, name if known else "CUSTOM"))
    fields: dict[str, object] = {} if known else {"CustomCode": builder.CreateString(name)}
    return _table(
        builder,
        "OperatorCode",
        DeprecatedBuiltinCode=min(code, 127),
        BuiltinCode=code,
        Version=VERSIONS.get(name, 3) if known else 1,
        **fields,
    )


def _graph(
    builder: flatbuffers.Builder,
    contents: list[np.ndarray | None],
    codes: list[str],
    stored: Sequence[Stored],
    steps: Sequence[Step],
    entries: Sequence[str],
    leaving: Sequence[str],
) -> int:
    """A subgraph, whose constants join `contents`."""
    number: dict[str, int] = {}
    tensors = []
    for index, tensor in enumerate(stored):
        number[tensor.name] = index
        content, buffer = tensor.content, 0
        if content is not None:
            buffer = len(contents)
            contents.append(content[np.nonzero(content)] if tensor.sparse else content)
        tensors.append(_tensor(builder, tensor, buffer))
    operators = [_operator(builder, step, codes, number) for step in steps]
    return _table(
        builder,
        "SubGraph",
        Tensors=_offsets(builder, tensors),
        Inputs=_numbers(builder, [number[name] for name in entries], np.int32),
        Outputs=_numbers(builder, [number[name] for name in leaving], np.int32),
        Operators=_offsets(builder, operators),
        Name=builder.CreateString("main"),
    )


def _finish_tensor(reading: _Reading, leaving: str) -> None:
    """The softmax's output, which nothing dequantises: 256ths from -128."""
    shape = tuple(d.dim_value for d in reading.graph.output[0].type.tensor_type.shape.dim)
    scale = np.array([1 / 256], np.float32)
    reading.tensors[leaving] = Stored(leaving, shape, "int8", scale, -128)


def _tensor(builder: flatbuffers.Builder, tensor: Stored, buffer: int) -> int:
    fields: dict[str, object] = {
        "Shape": _numbers(builder, tensor.shape, np.int32),
        "Type": TYPES[tensor.dtype],
        "Buffer": buffer,
        "Name": builder.CreateString(tensor.name),
    }
    if tensor.variable:
        fields["IsVariable"] = True
    if tensor.signature:
        fields["ShapeSignature"] = _numbers(builder, tensor.signature, np.int32)
    if tensor.sparse and tensor.content is not None:
        fields["Sparsity"] = _sparsity(builder, tensor.content)
    if tensor.scale.size:
        points = [tensor.zero_point] * tensor.scale.size
        fields["Quantization"] = _table(
            builder,
            "QuantizationParameters",
            Scale=_numbers(builder, tensor.scale, np.float32),
            ZeroPoint=_numbers(builder, points, np.int64),
            QuantizedDimension=tensor.axis,
        )
    return _table(builder, "Tensor", **fields)


def _sparsity(builder: flatbuffers.Builder, rows: np.ndarray) -> int:
    """Rows one after the other, of each the places of its elements."""
    segments = np.cumsum([0, *(np.count_nonzero(row) for row in rows)])
    kept = [
        _table(builder, "Int32Vector", Values=_numbers(builder, values, np.int32))
        for values in (segments, np.nonzero(rows)[1])
    ]
    dense = _table(builder, "DimensionMetadata", Format=0, DenseSize=len(rows))
    places = {"ArraySegmentsType": 1, "ArraySegments": kept[0]}
    places |= {"ArrayIndicesType": 1, "ArrayIndices": kept[1]}
    compressed = _table(builder, "DimensionMetadata", Format=1, **places)
    return _table(
        builder,
        "SparsityParameters",
        TraversalOrder=_numbers(builder, (0, 1), np.int32),
        DimMetadata=_offsets(builder, [dense, compressed]),
    )


def _operator(
    builder: flatbuffers.Builder, step: Step, codes: list[str], number: dict[str, int]
) -> int:
    fields: dict[str, object] = {
        "OpcodeIndex": codes.index(step.code),
        "Inputs": _numbers(builder, [number[t] if t else -1 for t in step.operands], np.int32),
        "Outputs": _numbers(builder, [number[t] for t in (step.result, *step.more) if t], np.int32),
    }
    if step.between:
        inner = [number[name] for name in step.between]
        fields["Intermediates"] = _numbers(builder, inner, np.int32)
    if "Custom" in step.fields:
        content = np.frombuffer(step.fields["Custom"], np.uint8)  # type: ignore[call-overload]
        fields["CustomOptions"] = _numbers(builder, content, np.uint8)
    elif step.options:
        given = {name: _field(builder, value) for name, value in step.fields.items()}
        fields["BuiltinOptionsType"] = int(getattr(tflite.BuiltinOptions, step.options))
        fields["BuiltinOptions"] = _table(builder, step.options, **given)
    return _table(builder, "Operator", **fields)


def _field(builder: flatbuffers.Builder, value: object) -> object:
    if isinstance(value, str):
        return builder.CreateString(value)
    return _numbers(builder, value, np.int32) if isinstance(value, tuple) else value


def _buffer(builder: flatbuffers.Builder, content: np.ndarray | None) -> int:
    if content is None:
        return _table(builder, "Buffer")
    data = np.frombuffer(np.ascontiguousarray(content).tobytes(), np.uint8)
    return _table(builder, "Buffer", Data=_numbers(builder, data, np.uint8))


def _table(builder: flatbuffers.Builder, kind: str, **fields: object) -> int:
    """A table of the schema, by the functions that the flatbuffers compiler made of it."""
    module = importlib.import_module(f"tflite.{kind}")
    getattr(module, f"{kind}Start")(builder)
    for name, value in fields.items():
        getattr(module, f"{kind}Add{name}")(builder, value)
    return int(getattr(module, f"{kind}End")(builder))


def _numbers(builder: flatbuffers.Builder, values: Sequence[object], dtype: type) -> int:
    return int(builder.CreateNumpyVector(np.asarray(values, dtype)))


def _offsets(builder: flatbuffers.Builder, offsets: Sequence[int]) -> int:
    builder.StartVector(4, len(offsets), 4)
    for offset in reversed(offsets):
        builder.PrependUOffsetTRelative(offset)
    return int(builder.EndVector())
