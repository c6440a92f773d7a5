"""Fourier transforms as products with cosines and sines."""

from __future__ import annotations

from math import prod

import numpy as np
from onnx import TensorProto

from match_aie.frontend.onnx_rewrite.graph import Builder, Node, Refusal

#: Numbers that a table of cosines and sines may have: a transform of 4,096 points, onesided.
LARGEST_TABLE = 1 << 25


def fourier(rows: int, length: int, bins: int, sign: int = -1) -> np.ndarray:
    """[rows, bins, 2]: real and imaginary part of exp(sign * 2 pi i row bin / length), float64.

    Args:
        rows: samples of the signal.
        length: of the transform, which the turns are counted in.
        bins: frequencies.
        sign: -1 forward, 1 back.
    """
    turns = np.outer(np.arange(rows), np.arange(bins)) % length
    angle = sign * 2 * np.pi * turns / length
    return np.stack([np.cos(angle), np.sin(angle)], -1)


def dft(node: Node, b: Builder) -> tuple[str, ...]:
    """DFT along one axis, of real numbers or of pairs, forward or back, whole or onesided.

    Formula: ONNX's DFT, versions 17 and 20. A shorter transform cuts the signal, a longer one
    reads zeros behind it.
    """
    shape = b.graph.shape(node.input(0))
    axis, size, bins = _asked(node, b, shape)
    back = bool(node.attr("inverse", 0))
    rows, parts = min(shape[axis], size), shape[-1]
    if rows * parts * bins * 2 > LARGEST_TABLE:
        raise Refusal(f"a transform of {size} points is too long to be written as a product")
    turned = fourier(rows, size, bins, 1 if back else -1) / (size if back else 1)
    table = turned[:, None]
    if parts == 2:  # i times (re, im) is (-im, re)
        table = np.stack([turned, np.stack([-turned[..., 1], turned[..., 0]], -1)], 1)
    last = len(shape) - 2
    order = [i for i in range(last + 1) if i != axis] + [axis]
    x = b.op("Slice", node.input(0), *(b.const([v], np.int64) for v in (0, rows, axis)))
    x = b.op("Transpose", x, perm=[*order, last + 1])
    others = [shape[i] for i in order[:-1]]
    flat = b.op("Reshape", x, b.const([prod(others), rows * parts], np.int64))
    # In float64: sums that should be zero are differences of large numbers.
    wide = b.op("Cast", flat, to=TensorProto.DOUBLE)
    product = b.op("MatMul", wide, b.const(table.reshape(rows * parts, bins * 2)))
    narrow = b.op("Cast", product, to=b.graph.dtype(node.input(0)))
    pairs = b.op("Reshape", narrow, b.const([*others, bins, 2], np.int64))
    return (b.op("Transpose", pairs, perm=[*np.argsort(order).tolist(), last + 1]),)


def _asked(node: Node, b: Builder, shape: tuple[int, ...]) -> tuple[int, int, int]:
    """(axis, points of the transform, frequencies)."""
    if len(shape) < 2:
        raise Refusal("its input has no axis of real and imaginary parts")
    given = b.graph.constant(node.input(2)) if node.input(2) else None
    if node.input(2) and (given is None or given.size != 1):
        raise Refusal("its axis is computed at run time")
    axis = (
        node.attr("axis", 1 if node.opset < 20 else -2)
        if given is None
        else int(given.reshape(-1)[0])
    )
    if not -len(shape) <= axis < len(shape):
        raise Refusal(f"it has no axis {axis}")
    axis %= len(shape)
    if axis == len(shape) - 1 or shape[-1] not in (1, 2):
        raise Refusal("its axis is that of real and imaginary parts")
    length = b.graph.constant(node.input(1)) if node.input(1) else np.array(shape[axis])
    if length is None or length.size != 1 or (points := int(length.reshape(-1)[0])) < 1:
        raise Refusal("its length is computed at run time")
    onesided = bool(node.attr("onesided", 0))
    if onesided and (node.attr("inverse", 0) or shape[-1] == 2):
        raise Refusal("onesided transforms of complex numbers are not compiled")
    return axis, points, points // 2 + 1 if onesided else points
