"""`ReverseSequence`: the first steps of every row, as many as its length says, turned around."""

from __future__ import annotations

import numpy as np

from match_aie.frontend.onnx_rewrite.graph import Builder, Node


def reverse_sequence(node: Node, b: Builder) -> tuple[str, ...] | None:
    """Gathered: all rows alike where the lengths are known and equal, else each row its own."""
    x, lengths = node.inputs
    shape = b.graph.shape(x)
    rank = len(shape)
    time, batch = node.attr("time_axis", 0) % rank, node.attr("batch_axis", 1) % rank
    known = b.graph.constant(lengths)
    steps = np.arange(shape[time], dtype=np.int64)
    if known is not None and known.size and (known == known.reshape(-1)[0]).all():
        alike = _turned(steps, np.int64(known.reshape(-1)[0]))
        return (b.op("Gather", x, b.const(alike), axis=time),)
    # Sizes of 1 but for time and rows, expanded since each element is looked up.
    along = [shape[time] if axis == time else 1 for axis in range(rank)]
    rows = [shape[batch] if axis == batch else 1 for axis in range(rank)]
    step = b.const(steps.reshape(along))
    length = b.op("Reshape", b.op("Cast", lengths, to=7), b.const(rows, np.int64))
    last = b.op("Sub", length, b.const(np.array(1, np.int64)))
    turned = b.op("Where", b.op("Less", step, length), b.op("Sub", last, step), step)
    places = b.op("Expand", turned, b.const(shape, np.int64))
    return (b.op("GatherElements", x, places, axis=time),)


def _turned(steps: np.ndarray, length: np.int64) -> np.ndarray:
    return np.where(steps < length, length - 1 - steps, steps)
