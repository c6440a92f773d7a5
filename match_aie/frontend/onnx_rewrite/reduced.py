"""Reductions with axes where the model's version of the operators wants them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from match_aie.frontend.onnx_rewrite.graph import Builder

#: From this version on the axes are an input: of ReduceSum, and of the others.
SUM_SINCE, SINCE = 13, 18


def reduced(b: Builder, op: str, x: str, axes: Sequence[int], keepdims: int = 1) -> str:
    """`x` reduced over `axes` by the operator `op`.

    Args:
        b: takes the node.
        op: such as "ReduceSum".
        x: name of the tensor.
        axes: to reduce.
        keepdims: 1: they stay, with one element.
    """
    since = SUM_SINCE if op == "ReduceSum" else SINCE
    if b.graph.opset >= since:
        return b.op(op, x, b.const(list(axes), np.int64), keepdims=keepdims)
    return b.op(op, x, axes=list(axes), keepdims=keepdims)
