"""Operators on quantised tensors as dequantise, a float operator, quantise."""

from __future__ import annotations

import numpy as np
from onnx import TensorProto

from match_aie.frontend.onnx_rewrite.graph import Builder, Node, Refusal

#: Element types that QuantizeLinear makes since opset 13; 16 bits came with 21.
EIGHT_BITS = (TensorProto.INT8, TensorProto.UINT8)

#: (value, scale, zero point): where the three stand among a node's inputs.
Triple = tuple[int, int, int]


def _dequantized(node: Node, b: Builder, where: Triple, axis: int | None = None) -> str:
    """The real value of a quantised input."""
    value, scale, zero = (node.input(index) for index in where)
    _check_bits(b, value)
    per_axis = _size(b, scale) != 1
    if per_axis and axis is None:
        raise Refusal("a scale per channel where a single scale is wanted")
    pair = [name if per_axis else _scalar(b, name) for name in (scale, zero) if name]
    pair[0] = _single(b, pair[0], b.graph.dtype(scale))
    return b.op("DequantizeLinear", value, *pair, axis=axis if per_axis else None)


def _quantized(node: Node, b: Builder, value: str, scale_at: int, zero_at: int) -> str:
    """`value` as the node's quantised output."""
    scale, zero = node.input(scale_at), node.input(zero_at)
    if zero:
        _check_bits(b, zero)
    pair = [_scalar(b, name) for name in (scale, zero) if name]
    pair[0] = _single(b, pair[0], b.graph.dtype(scale))
    return b.op("QuantizeLinear", value, *pair)


def _check_bits(b: Builder, name: str) -> None:
    if b.graph.opset < 21 and b.graph.dtype(name) not in (*EIGHT_BITS, TensorProto.INT32):
        raise Refusal("quantised types wider than 8 bits need a model of opset 21 or later")


def _single(b: Builder, scale: str, dtype: int) -> str:
    """A scale in float32: with half precision the sum in between would be rounded."""
    value = b.graph.constant(scale)
    if dtype == TensorProto.FLOAT:
        return scale
    if value is None:
        return b.op("Cast", scale, to=TensorProto.FLOAT)
    return b.const(value, np.float32)


def _size(b: Builder, name: str) -> int:
    return int(np.prod(b.graph.shape(name)))


def _scalar(b: Builder, name: str) -> str:
    """A one-element tensor as a scalar, since QuantizeLinear takes a vector as per axis."""
    if _size(b, name) != 1:
        raise Refusal("a scale per channel where a single scale is wanted")
    if b.graph.shape(name) == ():
        return name
    value = b.graph.constant(name)
    if value is not None:
        return b.graph.add_constant(value.reshape(()), b.graph.dtype(name))
    return b.op("Reshape", name, b.const(np.zeros(0, np.int64)))


def _bias(b: Builder, bias: str, x_scale: str, w_scale: str, axis: int) -> str:
    """An int32 bias, whose scale is the product of the other two, as real numbers."""
    scales = [b.graph.constant(name) for name in (x_scale, w_scale)]
    if scales[0] is None or scales[1] is None:
        raise Refusal("scales that are computed at run time")
    scale = (scales[0].astype(np.float32) * scales[1].astype(np.float32)).astype(np.float32)
    flat = scale.reshape(()) if scale.size == 1 else scale.reshape(-1)
    per_axis = axis if flat.ndim else None
    return b.op("DequantizeLinear", bias, b.const(flat, np.float32), axis=per_axis)


def qlinear_conv(node: Node, b: Builder) -> tuple[str, ...]:
    """QLinearConv: x, w (per tensor or output channel) and an int32 bias."""
    inputs = [_dequantized(node, b, (0, 1, 2)), _dequantized(node, b, (3, 4, 5), axis=0)]
    if node.input(8):
        inputs.append(_bias(b, node.input(8), node.input(1), node.input(4), 0))
    result = b.op("Conv", *inputs, **node.attributes)
    return (_quantized(node, b, result, 6, 7),)


def qlinear_matmul(node: Node, b: Builder) -> tuple[str, ...]:
    """QLinearMatMul, with scales per tensor, per row of a, or per column of b."""
    sides = []
    for index, back in ((0, 2), (3, 1)):
        rank = len(b.graph.shape(node.input(index)))
        if len(b.graph.shape(node.input(index + 1))) > 1 and _size(b, node.input(index + 1)) > 1:
            raise Refusal("scales with more than one dimension")
        axis = max(rank - back, 0)
        sides.append(_dequantized(node, b, (index, index + 1, index + 2), axis))
    return (_quantized(node, b, b.op("MatMul", *sides), 6, 7),)


def qgemm(node: Node, b: Builder) -> tuple[str, ...]:
    """com.microsoft QGemm: alpha scales the product only, the bias has scale as*bs."""
    alpha = float(node.attr("alpha", 1.0))
    axis = 0 if node.attr("transB", 0) else 1
    inputs = [_dequantized(node, b, (0, 1, 2)), _dequantized(node, b, (3, 4, 5), axis)]
    if node.input(6):
        if alpha != 1.0:
            raise Refusal("alpha other than 1 beside a bias")
        rank = len(b.graph.shape(node.input(6)))
        bias = _bias(b, node.input(6), node.input(1), node.input(4), max(rank - 1, 0))
        inputs.append(bias)
    gemm = {name: node.attr(name, 0) for name in ("transA", "transB")}
    result = b.op("Gemm", *inputs, alpha=alpha, **gemm)
    return (_quantized(node, b, result, 7, 8) if node.input(7) else result,)


def qlinear_binary(op: str, node: Node, b: Builder) -> tuple[str, ...]:
    """com.microsoft QLinearAdd and QLinearMul."""
    sides = [_dequantized(node, b, (0, 1, 2)), _dequantized(node, b, (3, 4, 5))]
    return (_quantized(node, b, b.op(op, *sides), 6, 7),)


def qlinear_unary(op: str, node: Node, b: Builder, **attributes: object) -> tuple[str, ...]:
    """A quantised operator with one tensor in and one out.

    Args:
        op: its float form.
        node: of the quantised operator: x, scale, zero point, and those of the result.
        b: takes the nodes.
        attributes: of the float form.
    """
    result = b.op(op, _dequantized(node, b, (0, 1, 2)), **attributes)
    return (_quantized(node, b, result, 3, 4),)


def qlinear_sigmoid(node: Node, b: Builder) -> tuple[str, ...]:
    """com.microsoft QLinearSigmoid."""
    return qlinear_unary("Sigmoid", node, b)


def qlinear_leaky_relu(node: Node, b: Builder) -> tuple[str, ...]:
    """com.microsoft QLinearLeakyRelu."""
    return qlinear_unary("LeakyRelu", node, b, alpha=float(node.attr("alpha", 0.01)))


def qlinear_softmax(node: Node, b: Builder) -> tuple[str, ...]:
    """com.microsoft QLinearSoftmax with the softmax of opset 13, along a single axis."""
    rank = len(b.graph.shape(node.input(0)))
    axis = int(node.attr("axis", -1))
    if int(node.attr("opset", 13)) < 13 and axis % rank != rank - 1:
        raise Refusal("softmax over several axes, as before opset 13")
    return qlinear_unary("Softmax", node, b, axis=axis)


def qlinear_pool(op: str, node: Node, b: Builder) -> tuple[str, ...]:
    """com.microsoft QLinearAveragePool and QLinearGlobalAveragePool."""
    attributes = dict(node.attributes)
    last = attributes.pop("channels_last", 0)
    value = _dequantized(node, b, (0, 1, 2))
    rank = len(b.graph.shape(node.input(0)))
    if last:
        value = b.op("Transpose", value, perm=[0, rank - 1, *range(1, rank - 1)])
    value = b.op(op, value, **attributes)
    if last:
        value = b.op("Transpose", value, perm=[0, *range(2, rank), 1])
    return (_quantized(node, b, value, 3, 4),)


def qlinear_concat(node: Node, b: Builder) -> tuple[str, ...]:
    """com.microsoft QLinearConcat: output scale and zero point first, then triples."""
    parts = [
        _dequantized(node, b, (at, at + 1, at + 2)) for at in range(2, len(node.inputs) - 2, 3)
    ]
    return (_quantized(node, b, b.op("Concat", *parts, axis=node.attr("axis")), 0, 1),)


def qlinear_reduce_mean(node: Node, b: Builder) -> tuple[str, ...]:
    """com.microsoft QLinearReduceMean."""
    axes, keep = node.attr("axes"), int(node.attr("keepdims", 1))
    value = _dequantized(node, b, (0, 1, 2))
    if axes is None:
        axes = list(range(len(b.graph.shape(node.input(0)))))
    if b.graph.opset >= 18:
        value = b.op("ReduceMean", value, b.const(axes, np.int64), keepdims=keep)
    else:
        value = b.op("ReduceMean", value, axes=list(axes), keepdims=keep)
    return (_quantized(node, b, value, 3, 4),)


def microsoft_quantize(node: Node, b: Builder) -> tuple[str, ...]:
    """com.microsoft QuantizeLinear and DequantizeLinear: the standard ones, from before 16 bits."""
    op = node.op.rpartition(".")[2]
    integer = node.input(2) if op == "QuantizeLinear" else node.input(0)
    if integer:
        _check_bits(b, integer)
    return (b.op(op, *node.inputs, **node.attributes),)
