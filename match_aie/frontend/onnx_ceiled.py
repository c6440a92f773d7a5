"""Pools that round their sizes up, where the window more would begin in the padding at the end.

Such a window is not computed. ONNX's inference of pools before version 22 of the operators counts
it, and what follows then seems to contradict the model.
"""

from __future__ import annotations

from collections.abc import Sequence

import onnx

from match_aie.frontend.onnx_rewrite.graph import STANDARD, Graph, Node, opset_of
from match_aie.frontend.onnx_shapes import infer_shapes

POOLS = ("MaxPool", "AveragePool", "LpPool")


def without_dropped_windows(model: onnx.ModelProto) -> None:
    """Let pools round down, in place, where that gives all windows that are computed."""
    opset = opset_of(model)
    left = [
        proto
        for proto in model.graph.node
        if proto.op_type in POOLS and proto.domain in STANDARD and _rounds_up(Node(proto, opset))
    ]
    while left:
        graph = Graph(infer_shapes(model, strict=False))
        found = [proto for proto in left if _adds_nothing(Node(proto, opset), graph)]
        if not found:
            return
        # Sizes of pools behind it hang on the first: the others are looked at again.
        next(a for a in found[0].attribute if a.name == "ceil_mode").i = 0
        left.remove(found[0])


def _rounds_up(node: Node) -> bool:
    return bool(node.attr("ceil_mode", 0)) and node.attr("auto_pad", "NOTSET") == "NOTSET"


def _adds_nothing(node: Node, graph: Graph) -> bool:
    """Whether the pool has as many windows rounded down, and one more by ONNX's inference."""
    info, kernel = graph.info(node.input(0)), node.attr("kernel_shape") or []
    if info is None or info.shape is None or len(info.shape) != 2 + len(kernel):
        return False
    rank = len(kernel)
    ones, pads = [1] * rank, node.attr("pads", [0] * 2 * rank)
    columns = (info.shape[2:], kernel, node.attr("strides", ones), node.attr("dilations", ones))
    more = [
        _more(sizes, before, after)
        for sizes, before, after in zip(
            zip(*columns, strict=True), pads[:rank], pads[rank:], strict=True
        )
    ]
    return any(counted for counted, _ in more) and not any(real for _, real in more)


def _more(sizes: Sequence[int], before: int, after: int) -> tuple[bool, bool]:
    """(whether rounding up counts a window more, whether that one is computed).

    Args:
        sizes: of the image, the window, its step and its dilation along an axis.
        before: elements of padding.
        after: likewise.
    """
    size, window, step, dilation = sizes
    room = size + before + after - (window - 1) * dilation - 1
    up = -(-room // step)
    counted = up > room // step
    return counted, counted and up * step < size + before
