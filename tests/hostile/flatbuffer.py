"""Writes TFLite files of a few operators."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import flatbuffers
import numpy as np
import tflite

TYPES = {"float32": 0, "int32": 2, "uint8": 3, "int64": 4, "int8": 9}

Builder = flatbuffers.Builder


@dataclass(frozen=True)
class Tensor:
    """A tensor; a constant where it has `data`, quantised where it has a `scale`."""

    name: str
    shape: Sequence[int]
    dtype: str
    data: bytes = b""
    scale: Sequence[float] = ()
    zero: Sequence[int] = ()


@dataclass(frozen=True)
class Op:
    """An operator by the name of its code, with tensor numbers; -1 for an absent input."""

    code: str
    inputs: Sequence[int]
    outputs: Sequence[int]


def flatbuffer(
    tensors: Sequence[Tensor], ops: Sequence[Op], inputs: Sequence[int], outputs: Sequence[int]
) -> bytes:
    """The bytes of a model of one subgraph."""
    b = Builder(1024)
    codes = list(dict.fromkeys(op.code for op in ops))
    buffers = [_buffer(b, b"")] + [_buffer(b, t.data) for t in tensors]
    made = [_tensor(b, t, index + 1 if t.data else 0) for index, t in enumerate(tensors)]
    placed = [_operator(b, op, codes.index(op.code)) for op in ops]
    graph = _table(
        b,
        tflite.SubGraphStart,
        tflite.SubGraphEnd,
        (tflite.SubGraphAddTensors, _offsets(b, made)),
        (tflite.SubGraphAddInputs, _numbers(b, inputs)),
        (tflite.SubGraphAddOutputs, _numbers(b, outputs)),
        (tflite.SubGraphAddOperators, _offsets(b, placed)),
    )
    listed = [_code(b, code) for code in codes]
    model = _table(
        b,
        tflite.ModelStart,
        tflite.ModelEnd,
        (tflite.ModelAddVersion, 3),
        (tflite.ModelAddOperatorCodes, _offsets(b, listed)),
        (tflite.ModelAddSubgraphs, _offsets(b, [graph])),
        (tflite.ModelAddBuffers, _offsets(b, buffers)),
    )
    b.Finish(model, file_identifier=b"TFL3")
    return bytes(b.Output())


def _table(
    b: Builder,
    start: Callable[[Builder], None],
    end: Callable[[Builder], int],
    *fields: tuple[Callable[[Builder, int], None], int],
) -> int:
    start(b)
    for add, value in fields:
        add(b, value)
    return end(b)


def _offsets(b: Builder, offsets: Sequence[int]) -> int:
    b.StartVector(4, len(offsets), 4)
    for offset in reversed(offsets):
        b.PrependUOffsetTRelative(offset)
    return b.EndVector()


def _numbers(b: Builder, values: Sequence[int], kind: str = "int32") -> int:
    return b.CreateNumpyVector(np.array(values, kind))


def _buffer(b: Builder, data: bytes) -> int:
    if not data:
        return _table(b, tflite.BufferStart, tflite.BufferEnd)
    vector = b.CreateByteVector(data)
    return _table(b, tflite.BufferStart, tflite.BufferEnd, (tflite.BufferAddData, vector))


def _tensor(b: Builder, tensor: Tensor, buffer: int) -> int:
    name, shape = b.CreateString(tensor.name), _numbers(b, tensor.shape)
    quantised = []
    if tensor.scale:
        scale = _numbers(b, tensor.scale, "float32")
        zero = _numbers(b, tensor.zero, "int64")
        parameters = _table(
            b,
            tflite.QuantizationParametersStart,
            tflite.QuantizationParametersEnd,
            (tflite.QuantizationParametersAddScale, scale),
            (tflite.QuantizationParametersAddZeroPoint, zero),
        )
        quantised.append((tflite.TensorAddQuantization, parameters))
    return _table(
        b,
        tflite.TensorStart,
        tflite.TensorEnd,
        (tflite.TensorAddShape, shape),
        (tflite.TensorAddType, TYPES[tensor.dtype]),
        (tflite.TensorAddBuffer, buffer),
        (tflite.TensorAddName, name),
        *quantised,
    )


def _code(b: Builder, code: str) -> int:
    number = getattr(tflite.BuiltinOperator, code)
    return _table(
        b,
        tflite.OperatorCodeStart,
        tflite.OperatorCodeEnd,
        (tflite.OperatorCodeAddDeprecatedBuiltinCode, min(number, 127)),
        (tflite.OperatorCodeAddVersion, 1),
        (tflite.OperatorCodeAddBuiltinCode, number),
    )


def _operator(b: Builder, op: Op, code: int) -> int:
    inputs, outputs = _numbers(b, op.inputs), _numbers(b, op.outputs)
    fields = [
        (tflite.OperatorAddOpcodeIndex, code),
        (tflite.OperatorAddInputs, inputs),
        (tflite.OperatorAddOutputs, outputs),
    ]
    if op.code in OPTIONS:
        kind, build = OPTIONS[op.code]
        options = build(b)
        fields += [
            (tflite.OperatorAddBuiltinOptionsType, kind),
            (tflite.OperatorAddBuiltinOptions, options),
        ]
    return _table(b, tflite.OperatorStart, tflite.OperatorEnd, *fields)


def _conv(b: Builder) -> int:
    return _table(
        b,
        tflite.Conv2DOptionsStart,
        tflite.Conv2DOptionsEnd,
        (tflite.Conv2DOptionsAddStrideW, 1),
        (tflite.Conv2DOptionsAddStrideH, 1),
        (tflite.Conv2DOptionsAddFusedActivationFunction, 1),
    )


def _pool(b: Builder) -> int:
    return _table(
        b,
        tflite.Pool2DOptionsStart,
        tflite.Pool2DOptionsEnd,
        (tflite.Pool2DOptionsAddStrideW, 2),
        (tflite.Pool2DOptionsAddStrideH, 2),
        (tflite.Pool2DOptionsAddFilterWidth, 2),
        (tflite.Pool2DOptionsAddFilterHeight, 2),
    )


def _softmax(b: Builder) -> int:
    return _table(
        b, tflite.SoftmaxOptionsStart, tflite.SoftmaxOptionsEnd, (tflite.SoftmaxOptionsAddBeta, 1.0)
    )


def _concatenation(b: Builder) -> int:
    return _table(
        b,
        tflite.ConcatenationOptionsStart,
        tflite.ConcatenationOptionsEnd,
        (tflite.ConcatenationOptionsAddAxis, 1),
    )


#: Options of operators by code: their type's number, and a writer.
OPTIONS: dict[str, tuple[int, Callable[[Builder], int]]] = {
    "CONV_2D": (tflite.BuiltinOptions.Conv2DOptions, _conv),
    "MAX_POOL_2D": (tflite.BuiltinOptions.Pool2DOptions, _pool),
    "SOFTMAX": (tflite.BuiltinOptions.SoftmaxOptions, _softmax),
    "CONCATENATION": (tflite.BuiltinOptions.ConcatenationOptions, _concatenation),
    "ADD": (
        tflite.BuiltinOptions.AddOptions,
        lambda b: _table(b, tflite.AddOptionsStart, tflite.AddOptionsEnd),
    ),
    "FULLY_CONNECTED": (
        tflite.BuiltinOptions.FullyConnectedOptions,
        lambda b: _table(b, tflite.FullyConnectedOptionsStart, tflite.FullyConnectedOptionsEnd),
    ),
}
