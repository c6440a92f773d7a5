"""Quantisation in blocks and in fewer than eight bits, which TVM does not have."""

from __future__ import annotations

from math import ceil

import numpy as np
from onnx import TensorProto, helper

from match_aie.frontend.onnx_rewrite.graph import Builder, Node, Refusal

Values = tuple[str, ...]

#: Types that hold the values of narrower ones.
WIDER = {
    TensorProto.INT4: TensorProto.INT8,
    TensorProto.UINT4: TensorProto.UINT8,
    TensorProto.INT2: TensorProto.INT8,
    TensorProto.UINT2: TensorProto.UINT8,
}

#: Ranges that QuantizeLinear saturates to.
RANGES = {
    getattr(TensorProto, name.upper()): (np.iinfo(name).min, np.iinfo(name).max)
    for name in ("int8", "uint8", "int16", "uint16")
}


def narrow_integers(node: Node, b: Builder) -> Values | None:
    """Stored integers of 2 and 4 bits as bytes."""
    if b.graph.dtype(node.input(0)) not in WIDER:
        return None
    wide = [_widened(b, name) if at in (0, 2) and name else name for at, name in _inputs(node)]
    return (b.op("DequantizeLinear", *wide, **node.attributes),)


def _inputs(node: Node) -> list[tuple[int, str]]:
    return list(enumerate(node.inputs))


def _widened(b: Builder, name: str) -> str:
    value = b.graph.constant(name)
    if value is None:
        raise Refusal("integers of fewer than 8 bits must be known at compile time")
    dtype = WIDER[b.graph.dtype(name)]
    return b.graph.add_constant(value.astype(helper.tensor_dtype_to_np_dtype(dtype)), dtype)


def dequantize(node: Node, b: Builder) -> Values | None:
    """Blocked: (x - zero point) * scale, both repeated to the shape of x."""
    if not node.attr("block_size", 0):
        return None
    x = b.op("Cast", node.input(0), to=b.graph.dtype(node.input(1)))
    if node.input(2):
        zero = b.op("Cast", _repeated(node, b, 2), to=b.graph.dtype(node.input(1)))
        x = b.op("Sub", x, zero)
    return (b.op("Mul", x, _repeated(node, b, 1)),)


def quantize(node: Node, b: Builder) -> Values | None:
    """Blocked: saturate(round(x / scale) + zero point), both repeated to the shape of x."""
    if not node.attr("block_size", 0):
        return None
    kind = b.graph.dtype(node.input(2)) if node.input(2) else node.attr("output_dtype", 2)
    if kind not in RANGES:
        raise Refusal("blocked quantisation to this type")
    wide = b.graph.dtype(node.input(0))
    y = b.op("Round", b.op("Div", node.input(0), _repeated(node, b, 1)))
    if node.input(2):
        y = b.op("Add", y, b.op("Cast", _repeated(node, b, 2), to=wide))
    low, high = (b.like(bound, node.input(0)) for bound in RANGES[kind])
    return (b.op("Cast", b.op("Clip", y, low, high), to=kind),)


def _repeated(node: Node, b: Builder, position: int) -> str:
    """A constant with one element per block, with one per element."""
    value = b.graph.constant(node.input(position))
    if value is None:
        raise Refusal("scales and zero points of blocks must be known at compile time")
    shape = b.graph.shape(node.input(0))
    axis, block = int(node.attr("axis", 1)), int(node.attr("block_size"))
    if value.shape[axis] != ceil(shape[axis] / block):
        raise Refusal("its scales do not fit its block size")
    full = np.repeat(value, block, axis=axis)
    full = np.take(full, np.arange(shape[axis]), axis=axis)
    dtype = b.graph.dtype(node.input(position))
    if dtype in WIDER:
        dtype = WIDER[dtype]
        full = full.astype(helper.tensor_dtype_to_np_dtype(dtype))
    return b.graph.add_constant(full, dtype)
