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


def said_precision(node: Node, b: Builder) -> Values | None:
    """A precision that is the scale's type, which holds where none is said."""
    if not node.attr("precision", 0) or node.attr("precision") != b.graph.dtype(node.input(1)):
        return None
    rest = {name: value for name, value in node.attributes.items() if name != "precision"}
    return (b.op("QuantizeLinear", *node.inputs, **rest),)


def quantize(node: Node, b: Builder) -> Values | None:
    """Blocked: saturate(round(x / scale) + zero point), both repeated to the shape of x."""
    if not node.attr("block_size", 0):
        return None
    kind = (
        b.graph.dtype(node.input(2))
        if node.input(2)
        else node.attr("output_dtype", 0) or TensorProto.UINT8
    )
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


def matmul_blocks(node: Node, b: Builder) -> Values:
    """`MatMulNBits` of ONNX Runtime: A [.., K] times a weight [K, N] known now, and a bias.

    B is uint8 [N, blocks, block_size * bits / 8], the low bits of a byte first; scales
    [N * blocks]; zero points packed likewise in each row of N, or as floats, 2^(bits - 1) where
    there are none. The weight is widened at compile time.
    """
    given = [b.graph.constant(name) if name else None for name in node.inputs[1:5]]
    stored, scales, points, groups = [*given, None, None][:4]
    if stored is None or scales is None or (node.input(3) and points is None):
        raise Refusal("its weights are not known at compile time")
    if groups is not None or node.input(4):
        raise Refusal("blocks of numbered groups are not compiled")
    bits, block = int(node.attr("bits", 4)), int(node.attr("block_size"))
    if bits not in (2, 4, 8):
        raise Refusal(f"weights of {bits} bits are not compiled")
    wide, high = int(node.attr("K")), int(node.attr("N"))
    if min(wide, high, block) < 1:
        raise Refusal("sizes below 1")
    count = ceil(wide / block)
    numbers = _unpacked(stored.reshape(high, -1), bits).astype(np.float32)
    scale = scales.astype(np.float32).reshape(high, count)
    zero = np.full((high, count), 2 ** (bits - 1), np.float32)
    if points is not None and points.dtype == np.uint8:
        zero = _unpacked(points.reshape(high, -1), bits)[:, :count].astype(np.float32)
    elif points is not None:
        zero = points.astype(np.float32).reshape(high, count)
    blocks = numbers.reshape(high, count, block)
    weight = ((blocks - zero[..., None]) * scale[..., None]).reshape(high, -1)[:, :wide]
    y = b.op("MatMul", node.input(0), b.like(weight.T, node.input(0)))
    return (b.op("Add", y, node.input(5)) if node.input(5) else y,)


def _unpacked(rows: np.ndarray, bits: int) -> np.ndarray:
    """The numbers in every row of bytes, those in low bits first."""
    shifts = np.arange(0, 8, bits, dtype=np.uint8)
    parts = (rows[:, :, None] >> shifts) & np.uint8(2**bits - 1)
    return parts.reshape(len(rows), -1)
