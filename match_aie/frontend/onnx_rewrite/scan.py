"""`Scan` over a known number of steps, written out one by one."""

from __future__ import annotations

import numpy as np
import onnx

from match_aie.frontend.onnx_rewrite.graph import STANDARD, Builder, Node, Refusal

#: Steps and nodes that are written out at most; a second of compilation is a thousand nodes.
MOST_STEPS, MOST_NODES = 1024, 20_000


def scan(node: Node, b: Builder) -> tuple[str, ...]:
    """The body's nodes for every step: states go from one to the next, slices in, pieces out."""
    body = node.attr("body")
    scanned = int(node.attr("num_scan_inputs", 0))
    states = list(node.inputs[: len(node.inputs) - scanned])
    slices = node.inputs[len(states) :]
    back = node.attr("scan_input_directions", [0] * scanned)
    ranks = [len(b.graph.shape(name)) for name in slices]
    axes = _axes(node, "scan_input_axes", ranks)
    fits = 0 < scanned == len(slices) == len(axes) == len(back) and 0 not in ranks
    if not fits or len(body.input) != len(node.inputs) or len(body.output) < len(states):
        raise Refusal("its body, inputs and attributes do not fit each other")
    steps = {b.graph.shape(name)[axis] for name, axis in zip(slices, axes, strict=True)}
    if len(steps) != 1:
        raise Refusal("its inputs have other numbers of steps")
    count = steps.pop()
    if not 0 < count <= MOST_STEPS or count * len(body.node) > MOST_NODES:
        raise Refusal(f"{count} steps of {len(body.node)} operators are not written out")
    body, held = without_constants(body, b)
    pieces: list[list[str]] = [[] for _ in range(len(body.output) - len(states))]
    for step in range(count):
        given = list(states)
        for name, axis, turned in zip(slices, axes, back, strict=True):
            place = b.const(np.array(count - 1 - step if turned else step, np.int64))
            given.append(b.op("Gather", name, place, axis=axis))
        names = [port.name for port in body.input]
        results = b.splice(body, held | dict(zip(names, given, strict=True)))
        states = results[: len(states)]
        for piece, result in zip(pieces, results[len(states) :], strict=True):
            piece.append(result)
    return (*states, *_joined(node, b, pieces))


def without_constants(body: onnx.GraphProto, b: Builder) -> tuple[onnx.GraphProto, dict[str, str]]:
    """(the body without its stored tensors, their names inside -> outside)."""
    copy = onnx.GraphProto()
    copy.CopyFrom(body)
    stored = [(tensor.name, tensor) for tensor in copy.initializer]
    nodes = []
    for node in copy.node:
        value = next((a.t for a in node.attribute if a.name == "value" and a.HasField("t")), None)
        if node.op_type == "Constant" and node.domain in STANDARD and value is not None:
            stored.append((node.output[0], value))
        else:
            nodes.append(node)
    held = {}
    for name, tensor in stored:
        held[name] = b.graph.fresh("c")
        kept = onnx.TensorProto()
        kept.CopyFrom(tensor)
        kept.name = held[name]
        b.graph.add_tensor(kept)
    rest = onnx.GraphProto()
    rest.CopyFrom(copy)
    del rest.initializer[:], rest.node[:]
    rest.node.extend(nodes)
    return rest, held


def _axes(node: Node, name: str, ranks: list[int]) -> list[int]:
    """Axes of an attribute, counted from the front."""
    given = node.attr(name, [0] * len(ranks))
    return [int(axis) % max(rank, 1) for axis, rank in zip(given, ranks, strict=False)]


def _joined(node: Node, b: Builder, pieces: list[list[str]]) -> list[str]:
    """The pieces of each output side by side along a new axis."""
    axes = node.attr("scan_output_axes", [0] * len(pieces))
    back = node.attr("scan_output_directions", [0] * len(pieces))
    if not len(axes) == len(back) == len(pieces):
        raise Refusal("its outputs and attributes do not fit each other")
    joined = []
    for piece, axis, turned in zip(pieces, axes, back, strict=True):
        where = b.const(np.array([axis], np.int64))
        parts = [b.op("Unsqueeze", name, where) for name in (piece[::-1] if turned else piece)]
        joined.append(b.op("Concat", *parts, axis=int(axis)) if len(parts) > 1 else parts[0])
    return joined
