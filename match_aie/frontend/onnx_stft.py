"""Short-time Fourier transforms as convolutions.

They are written out before shapes are inferred: ONNX's inference (1.23) gives `STFT` another size
than its definition and every implementation do, and what follows then seems to contradict it.
"""

from __future__ import annotations

import numpy as np
import onnx
from onnx import helper, numpy_helper

from match_aie.frontend.onnx_rewrite.graph import STANDARD, Graph
from match_aie.frontend.onnx_rewrite.spectra import LARGEST_TABLE, fourier
from match_aie.frontend.onnx_shapes import infer_shapes


def write_out_stft(model: onnx.ModelProto) -> None:
    """Replace every onesided `STFT` of real signals by a convolution, in place.

    Step and window must be known, and the signal [batch, length] or [batch, length, 1].
    """
    graph = model.graph
    known = {tensor.name: tensor for tensor in graph.initializer}
    for node in graph.node:
        if node.op_type == "Constant" and node.domain in STANDARD:
            for attribute in node.attribute:
                if attribute.name == "value":
                    known[node.output[0]] = attribute.t
    nodes = list(graph.node)
    if not any(map(_is_stft, nodes)):
        return
    signals = Graph(infer_shapes(model, strict=False))
    taken = {name for node in nodes for name in (*node.input, *node.output)} | set(known)
    prefix = "stft"
    while any(value.startswith(prefix) for value in taken):
        prefix += "_"
    del graph.node[:]
    for place, node in enumerate(nodes):
        found = _written(node, known) if _is_stft(node) and _is_real(node, signals) else None
        if found is None:
            graph.node.append(node)
            continue
        step, table = found
        graph.node.extend(_convolution(node, graph, step, table, f"{prefix}{place}"))


def _is_real(node: onnx.NodeProto, signals: Graph) -> bool:
    """Whether the signal is known to be no complex one, which `STFT` takes too."""
    info = signals.info(node.input[0]) if node.input else None
    shape = None if info is None else info.shape
    return shape is not None and (len(shape) == 2 or (len(shape) == 3 and shape[2] == 1))


def _is_stft(node: onnx.NodeProto) -> bool:
    onesided = {a.name: a.i for a in node.attribute}.get("onesided", 1)
    return node.op_type == "STFT" and node.domain in STANDARD and bool(onesided)


def _written(
    node: onnx.NodeProto, known: dict[str, onnx.TensorProto]
) -> tuple[int, np.ndarray] | None:
    """(step, [2 * frequencies, 1, samples of a frame]); None where either is not known."""
    names = [*node.input, "", "", ""][:4]
    if any(name and name not in known for name in names[1:]):
        return None
    step, window, length = (
        numpy_helper.to_array(known[name]) if name else None for name in names[1:]
    )
    hop, asked = _count(step), _count(length)
    samples = window.size if window is not None and length is None else asked
    bins = samples // 2 + 1
    if hop < 1 or samples < 1 or samples * bins * 2 > LARGEST_TABLE:
        return None
    weights = np.ones(samples, np.float32) if window is None else window.reshape(-1)
    if weights.size != samples or weights.dtype.kind != "f":
        return None
    table = fourier(samples, samples, bins) * weights[:, None, None]
    shaped = table.transpose(1, 2, 0).reshape(2 * bins, 1, samples)
    return hop, shaped.astype(weights.dtype)


def _count(array: np.ndarray | None) -> int:
    """The only number of an array of integers; 0 where it is none."""
    if array is None or array.size != 1 or array.dtype.kind not in "iu":
        return 0
    return int(array.reshape(-1)[0])


def _convolution(
    node: onnx.NodeProto, graph: onnx.GraphProto, step: int, table: np.ndarray, name: str
) -> list[onnx.NodeProto]:
    """[batch, frames, frequencies, 2] of the signal: frames side by side, in steps.

    Args:
        node: the transform.
        graph: takes the constants.
        step: samples from frame to frame.
        table: of the convolution.
        name: that no value of the graph begins with.
    """
    constants = {
        "rows": np.array([0, 1, -1], np.int64),
        "table": table,
        "pairs": np.array([0, 0, len(table) // 2, 2], np.int64),
    }
    for key, value in constants.items():
        graph.initializer.append(numpy_helper.from_array(value, f"{name}/{key}"))
    label = node.name or node.output[0]
    made = [f"{name}/{key}" for key in ("signal", "parts", "frames")]
    return [
        helper.make_node("Reshape", [node.input[0], f"{name}/rows"], [made[0]], name=label),
        helper.make_node("Conv", [made[0], f"{name}/table"], [made[1]], label, strides=[step]),
        helper.make_node("Transpose", [made[1]], [made[2]], label, perm=[0, 2, 1]),
        helper.make_node("Reshape", [made[2], f"{name}/pairs"], list(node.output), label),
    ]
