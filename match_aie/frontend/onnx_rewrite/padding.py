"""Padding said in words or modes that TVM reads otherwise, as numbers or as gathers."""

from __future__ import annotations

import numpy as np

from match_aie.frontend.onnx_rewrite.graph import Builder, Node, Refusal

#: Elements that are gathered for padding on one side of an axis at most.
MOST_PADDING = 1 << 24


def explicit_pads(node: Node, b: Builder) -> tuple[str, ...] | None:
    """`auto_pad` of convolutions and pools as `pads`, dilation included.

    SAME means ceil(size / stride) results; an odd element of padding goes to the end (UPPER) or
    to the beginning (LOWER).
    """
    auto = node.attr("auto_pad", "NOTSET")
    if auto == "NOTSET":
        return None
    spatial = b.graph.shape(node.input(0))[2:]
    rank = len(spatial)
    kernel = node.attr("kernel_shape") or b.graph.shape(node.input(1))[2:]
    strides = node.attr("strides", [1] * rank)
    dilations = node.attr("dilations", [1] * rank)
    if node.op.endswith("Pool") and auto != "VALID" and max(dilations) > 1:
        raise Refusal("auto_pad beside dilation: runtimes disagree about it; give pads")
    begins, ends = [0] * rank, [0] * rank
    for at, (size, k, s, d) in enumerate(zip(spatial, kernel, strides, dilations, strict=True)):
        if auto == "VALID":
            continue
        total = max((-(-size // s) - 1) * s + (k - 1) * d + 1 - size, 0)
        halves = (total // 2, total - total // 2)
        begins[at], ends[at] = halves if auto == "SAME_UPPER" else halves[::-1]
    kept = {k: v for k, v in node.attributes.items() if k not in ("auto_pad", "ceil_mode")}
    if auto == "VALID" and node.attr("ceil_mode", 0):
        kept["ceil_mode"] = 1
    results = b.many(node.op, node.inputs, len(node.outputs), **kept, pads=[*begins, *ends])
    return tuple(results)


def pad(node: Node, b: Builder) -> tuple[str, ...] | None:
    """Padding by wrapping around, or that crops as well, as gathers.

    What is cropped is gone before the rest is padded, as onnxruntime has it.
    """
    mode = node.attr("mode", "constant")
    pads = b.graph.constant(node.input(1))
    if mode == "constant" or pads is None:
        return None
    if mode != "wrap" and (pads >= 0).all():
        return None
    if mode not in ("edge", "reflect", "wrap"):
        raise Refusal(f"mode {mode} is not known")
    shape = b.graph.shape(node.input(0))
    axes = b.graph.constant(node.input(3)) if node.input(3) else np.arange(len(shape))
    if axes is None:
        raise Refusal("its axes must be known at compile time")
    if len(pads) != 2 * len(axes) or any(not -len(shape) <= axis < len(shape) for axis in axes):
        raise Refusal("its pads and axes do not fit each other")
    value = node.input(0)
    for at, axis in enumerate(int(axis) for axis in axes):
        before, after = int(pads[at]), int(pads[at + len(axes)])
        if before or after:
            kept = np.arange(max(-before, 0), max(shape[axis] + min(after, 0), 0))
            more = max(before, after)
            if not kept.size or more > MOST_PADDING:
                raise Refusal("nothing is left to pad with, or too much is padded")
            if mode == "reflect" and more >= kept.size:
                raise Refusal("more is reflected than there is")
            index = np.pad(kept, (max(before, 0), max(after, 0)), mode=mode)
            value = b.op("Gather", value, b.const(index, np.int64), axis=axis)
    return (value,)
