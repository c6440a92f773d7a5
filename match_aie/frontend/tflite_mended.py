"""Operators of TFLite files that TVM's importer takes, but not with all that they say."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from tvm import relax

from match_aie import tvm_api
from match_aie.frontend.tflite_fold import table_of
from match_aie.frontend.tflite_recurrent import ACTIVATIONS
from match_aie.frontend.tflite_tensors import Tensors

Expr = Any


def softmax(tensors: Tensors, op: Any) -> Expr:
    """`SOFTMAX` of `beta` times its operand; TVM's own takes 1 for `beta`."""
    beta = table_of(op, "SoftmaxOptions").Beta()
    if beta == 1:
        return tensors.convert_softmax(op)
    (given,), (result,) = tensors.get_input_tensors(op), tensors.get_output_tensors(op)
    x = tensors.value_of(given)
    if given.qnn_params:
        x = tensors.emit(tensors.dequantize(x, given))
    scaled = tensors.emit(relax.op.multiply(x, relax.const(beta, "float32")))
    y = relax.op.nn.softmax(scaled, axis=-1)
    return tensors.quantize(tensors.emit(y), result) if result.qnn_params else y


def gelu(tensors: Tensors, op: Any) -> Expr:
    """`GELU`; TVM's own is by erf also where the operator says tanh."""
    if not table_of(op, "GeluOptions").Approximate():
        return tensors.convert_gelu(op)
    return relax.op.nn.gelu_tanh(tensors.value_of(tensors.get_input_tensors(op)[0]))


def batch_matmul(tensors: Tensors, op: Any) -> Expr:
    """`BATCH_MATMUL`, batches of both sides broadcast."""
    given = table_of(op, "BatchMatMulOptions")
    sides = []
    for tensor, turned in zip(
        tensors.get_input_tensors(op), (given.AdjX(), given.AdjY()), strict=True
    ):
        side = tensors.value_of(tensor)
        rank = len(tvm_api.shape_of(side))
        order = [*range(rank - 2), rank - 1, rank - 2]
        sides.append(tensors.emit(relax.op.permute_dims(side, order)) if turned else side)
    return relax.op.matmul(*sides)


def extreme_place(function: Callable[..., Expr]) -> Callable[[Tensors, Any], Expr]:
    """`ARG_MAX` or `ARG_MIN` by `function`, in the type that the result has; TVM's own is int64."""

    def convert(tensors: Tensors, op: Any) -> Expr:
        data, axis = tensors.get_input_tensors(op)
        (result,) = tensors.get_output_tensors(op)
        at = int(tensors.get_tensor_value(axis).item())
        place = tensors.emit(function(tensors.value_of(data), axis=at, keepdims=False))
        return relax.op.astype(place, tensors.get_tensor_type_str(result.tensor.Type()))

    return convert


def dense(tensors: Tensors, op: Any) -> Expr:
    """`FULLY_CONNECTED`: rows of as many elements as the weights have, unless all axes are kept.

    TVM's own keeps all axes of floats, and takes no rows of another length than the last axis.
    """
    given = table_of(op, "FullyConnectedOptions")
    data, weight, *bias = tensors.get_input_tensors(op)
    if data.qnn_params:
        y = tensors.emit(tensors.bb.normalize(tensors.convert_fully_connected(op)))
        shape = tvm_api.shape_of(y)
        flat = len(shape) > 2 and not given.KeepNumDims()
        return relax.op.reshape(y, (-1, shape[-1])) if flat else y
    turned = tensors.emit(relax.op.permute_dims(tensors.value_of(weight), [1, 0]))
    added = tensors.value_of(bias[0]) if bias and bias[0].tensor_idx >= 0 else None
    return rows_of(tensors.emit, given, tensors.value_of(data), turned, added)


def rows_of(
    emit: Callable[[Expr], Expr],
    given: Any,
    x: Expr,
    weight: Expr,
    bias: Expr | None,
    prepared: Callable[[Expr], Expr] = lambda rows: rows,
) -> Expr:
    """A dense layer of floats: x [.., K], weight [K, N] -> rows of N, or all axes where kept.

    Args:
        emit: binds a call to a variable.
        given: its attributes, as the schema has them.
        x: activations.
        weight: turned.
        bias: [N]; None where it has none.
        prepared: what becomes of the rows [M, K] before they are multiplied.
    """
    shape, (inputs, outputs) = tvm_api.shape_of(x), tvm_api.shape_of(weight)
    rows = x if shape[1:] == (inputs,) else emit(relax.op.reshape(x, (-1, inputs)))
    y = emit(relax.op.matmul(prepared(rows), weight))
    if bias is not None:
        y = emit(relax.op.add(y, bias))
    y = ACTIVATIONS[given.FusedActivationFunction()](y)
    return relax.op.reshape(y, (*shape[:-1], outputs)) if given.KeepNumDims() else y


#: Operator -> how it is converted.
MENDED: Mapping[str, Callable[[Tensors, Any], Expr]] = MappingProxyType(
    {
        "ARG_MAX": extreme_place(relax.op.argmax),
        "ARG_MIN": extreme_place(relax.op.argmin),
        "BATCH_MATMUL": batch_matmul,
        "GELU": gelu,
        "SOFTMAX": softmax,
    }
)

#: Operators that TVM imports as calls of its own library, which no core has.
LIBRARY = frozenset({"MATRIX_DIAG", "MATRIX_SET_DIAG", "SPARSE_TO_DENSE"})
