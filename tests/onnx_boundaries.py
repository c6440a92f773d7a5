"""What onnxruntime computes at every quantised boundary of a network, and what our layers do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import onnx

from match_aie.compilation import Compilation
from match_aie.hardware import Graph
from match_aie.partition import Extracted, to_graph
from match_aie.partition.match import Match
from match_aie.workload import reference
from match_aie.workload.stored import sums_of


class Exposed:
    """The model with every QuantizeLinear of an activation as an output, in onnxruntime."""

    def __init__(self, path: Path, *, optimise: bool) -> None:
        import onnxruntime as ort

        model = onnx.load(path)
        constants = {i.name for i in model.graph.initializer}
        types = {i.name: i.data_type for i in model.graph.initializer}
        self.boundary: dict[str, str] = {}
        have = {o.name for o in model.graph.output}
        for node in model.graph.node:
            if node.op_type != "QuantizeLinear" or node.input[0] in constants:
                continue
            self.boundary[node.name or node.output[0]] = node.output[0]
            if node.output[0] not in have:
                kind = types[node.input[2]]
                model.graph.output.append(
                    onnx.helper.make_tensor_value_info(node.output[0], kind, None)
                )
        options = ort.SessionOptions()
        options.log_severity_level = 3
        # Without 8-bit dot-product instructions the default u8 x s8 kernels add pairs of products
        # in saturating 16 bits; this makes them exact.
        options.add_session_config_entry("session.x64quantprecision", "1")
        if not optimise:
            options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
        self.session = ort.InferenceSession(model.SerializeToString(), options)

    def run(self, feeds: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Boundary tensors by QuantizeLinear node name, as onnxruntime lays them out."""
        names = list(self.boundary.values())
        values = dict(zip(names, self.session.run(names, dict(feeds)), strict=True))
        return {node: values[tensor] for node, tensor in self.boundary.items()}


@dataclass(frozen=True, eq=False)
class Compared:
    """One layer on one input: what we computed and what onnxruntime did, in one layout.

    Where a product takes sums along, and layers are fed onnxruntime's tensors, the product is one
    of these and each sum, an "add", another; else all together are one, of the kind "summed".
    """

    layer: str
    kind: str
    ours: np.ndarray
    theirs: np.ndarray

    @property
    def steps(self) -> np.ndarray:
        """Absolute differences in integer steps."""
        return np.abs(self.ours.astype(np.int64) - self.theirs.astype(np.int64))


def walk(
    net: Compilation,
    feeds: Mapping[str, np.ndarray],
    boundaries: Mapping[str, np.ndarray],
    *,
    forced: bool,
) -> Iterator[Compared]:
    """Our layers' references in order, compared at every boundary that onnxruntime has too.

    Args:
        net: compiled.
        feeds: network inputs by name.
        boundaries: onnxruntime's tensors by QuantizeLinear name.
        forced: feed every layer onnxruntime's own tensors; else each eats our previous result.
    """
    graph = to_graph(net.model)
    layers = {o.candidate.match.root: o.candidate for o in net.assignment.chosen}
    values = {f"in{i}": feeds[port.name] for i, port in enumerate(net.inputs)}
    for node in graph.nodes:
        shape = graph.values[node.output].shape
        found = layers.get(node.index)
        if found is not None:
            layer = found.layer
            values[node.output] = _reference(layer, values).reshape(shape)
            theirs = boundaries.get(node.label)
            if theirs is not None and node.operator in ("quantize", "clip"):
                theirs = _laid_out(theirs, shape)
                ours = values[node.output]
                if forced and layer.workload.added:
                    yield from _apart(graph, found.match, layer, values, boundaries)
                else:
                    kind = "summed" if layer.workload.added else layer.workload.kind
                    yield Compared(node.label, kind, ours, theirs)
                values[node.output] = theirs if forced else ours
        elif node.operator in ("reshape", "permute_dims"):
            values[node.output] = _moved(graph, node.operator, node, values).reshape(shape)
        else:
            inputs = [i for i in node.inputs() if graph.values[i].constant is None]
            assert not inputs or node.output not in graph.outputs, node.operator


def _apart(
    graph: Graph,
    match: Match,
    layer: Extracted,
    values: Mapping[str, np.ndarray],
    boundaries: Mapping[str, np.ndarray],
) -> Iterator[Compared]:
    """A product and its sums, each fed onnxruntime's tensor of what comes before it."""
    workload = layer.workload
    arrays = dict(zip(layer.inputs, workload.inputs, strict=True))
    given = {o.name: values[n].reshape(o.shape) for n, o in arrays.items()} | layer.constants
    stored = [n for n in graph.nodes if n.index in match.nodes and n.operator == "quantize"]
    assert len(stored) == 1 + len(workload.added)
    before = [_laid_out(boundaries[n.label], workload.output.shape) for n in stored]
    sums = {added.operand for added in workload.added}
    product = replace(
        workload.output,
        dtype=str(before[0].dtype),
        scale=workload.added[0].scale,
        zero_point=workload.tail.zero_point,
    )
    operands = tuple(o for o in workload.operands[:-1] if o.name not in sums)
    alone = replace(workload, operands=(*operands, product), added=())
    made = reference(alone, [given[o.name] for o in alone.inputs], layer.constants)
    yield Compared(stored[0].label, workload.kind, made, before[0])
    tail = workload.tail
    for at, added in enumerate(workload.added):
        one = replace(workload, tail=tail, added=(added,))
        made = sums_of(before[at].astype(np.int64), one, given)
        yield Compared(stored[at + 1].label, "add", made, before[at + 1])
        tail = added.tail


def _reference(layer: Extracted, values: Mapping[str, np.ndarray]) -> np.ndarray:
    operands = layer.workload.inputs
    arrays = [values[n].reshape(o.shape) for n, o in zip(layer.inputs, operands, strict=True)]
    return reference(layer.workload, arrays, layer.constants)


def _moved(graph: Graph, operator: str, node, values: Mapping[str, np.ndarray]) -> np.ndarray:
    source = values[node.inputs()[0]]
    return source if operator == "reshape" else source.transpose(node.attributes["axes"])


def _laid_out(theirs: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """onnxruntime's tensor in our layout: images channel-last."""
    if theirs.ndim == 4 and theirs.shape != shape:
        return theirs.transpose(0, 2, 3, 1).reshape(shape)
    return theirs.reshape(shape)
