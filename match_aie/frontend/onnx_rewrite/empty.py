"""Tensors without elements: folded away, since the emitted code has none."""

from __future__ import annotations

from math import prod

import numpy as np
from onnx import helper

from match_aie.frontend.onnx_rewrite.graph import Builder, Node


def without_empty(node: Node, b: Builder) -> tuple[str, ...] | None:
    """Split, Concat and Slice around pieces that have no elements."""
    shapes = [b.graph.shape(name) for name in node.outputs if name]
    empty = [prod(shape) == 0 for shape in shapes]
    if node.op == "Concat":
        kept = [name for name in node.inputs if prod(b.graph.shape(name))]
        if len(kept) == len(node.inputs) or not kept:
            return None
        return (b.op("Concat", *kept, axis=node.attr("axis")) if len(kept) > 1 else kept[0],)
    if not any(empty) or prod(b.graph.shape(node.input(0))) == 0:
        return None
    return tuple(_pieces(node, b, shapes))


def _pieces(node: Node, b: Builder, shapes: list[tuple[int, ...]]) -> list[str]:
    """Results of a Split or Slice, some of which have no elements."""
    axis = int(node.attr("axis", 0)) % len(shapes[0])
    start, pieces = 0, []
    for shape in shapes:
        stop = start + shape[axis]
        if prod(shape) == 0:
            pieces.append(_nothing(b, node.input(0), shape))
        else:
            bounds = [b.const(np.array([at], np.int64)) for at in (start, stop, axis)]
            pieces.append(b.op("Slice", node.input(0), *bounds))
        start = stop
    return pieces


def _nothing(b: Builder, like: str, shape: tuple[int, ...]) -> str:
    """A constant without elements."""
    dtype = b.graph.dtype(like)
    return b.graph.add_constant(np.zeros(shape, helper.tensor_dtype_to_np_dtype(dtype)), dtype)
