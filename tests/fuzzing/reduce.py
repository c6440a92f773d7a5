"""Cuts a failing model down to a few nodes that fail in the same way.

Delta debugging on three things: what the network gives (one output, at any tensor), what it takes
(any tensor becomes an input, and what made it goes), and its sizes (a dimension of one size becomes
smaller everywhere). Every step that the predicate accepts is kept; the rest is undone.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

Predicate = Callable[[onnx.ModelProto], bool]


@dataclass
class Budget:
    """How many models may be tried, and for how long."""

    tries: int = 400
    seconds: float = 240.0
    used: int = 0
    started: float = field(default_factory=time.monotonic)

    @property
    def left(self) -> bool:
        return self.used < self.tries and time.monotonic() - self.started < self.seconds


def reduced(model: onnx.ModelProto, fails: Predicate, budget: Budget | None = None):
    """The smallest model found for which `fails` still holds.

    Args:
        model: for which it holds; self-contained, all shapes fixed.
        fails: whether a model fails in the same way; must bear models that mean nothing.
        budget: of the search.
    """
    budget = budget or Budget()
    best = tidy(model)
    if best is None or not fails(best):
        return model
    shrinking = True
    while shrinking and budget.left:
        shrinking = False
        for step in (single_outputs, without_chunks, cut_inputs, smaller_sizes):
            found = first(step(best), fails, budget, size_of(best))
            while found is not None:
                best, shrinking = found, True
                found = first(step(best), fails, budget, size_of(best))
    return best


def size_of(model: onnx.ModelProto) -> tuple[int, int]:
    """What is to become small: nodes first, then elements."""
    elements = sum(int(np.prod(c.dims)) for c in model.graph.initializer)
    elements += sum(int(np.prod(shape)) for _, shape in tensors(model).values())
    return (len(model.graph.node), elements + len(model.graph.output))


def first(
    candidates: Iterator[onnx.ModelProto | None], fails: Predicate, budget: Budget, size
) -> onnx.ModelProto | None:
    """The first smaller candidate that fails."""
    for candidate in candidates:
        if not budget.left:
            return None
        made = tidy(candidate) if candidate is not None else None
        if made is None or not size_of(made) < size:
            continue
        budget.used += 1
        if fails(made):
            return made
    return None


def tensors(model: onnx.ModelProto) -> dict[str, tuple[int, tuple[int, ...]]]:
    """Element type and shape by name, where shape inference knows them."""
    found = {}
    for info in (*model.graph.input, *model.graph.value_info, *model.graph.output):
        kind = info.type.tensor_type
        if kind.HasField("shape") and all(d.HasField("dim_value") for d in kind.shape.dim):
            found[info.name] = (kind.elem_type, tuple(d.dim_value for d in kind.shape.dim))
    return found


def tidy(model: onnx.ModelProto) -> onnx.ModelProto | None:
    """A copy without what nothing reads, its shapes inferred anew; None where it is none."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    graph = copy.graph
    used = {o.name for o in graph.output}
    kept = []
    for node in reversed(graph.node):
        if used & set(node.output):
            used |= {*node.input}
            kept.append(node)
    nodes, inputs = kept[::-1], [i for i in graph.input if i.name in used]
    constants = [c for c in graph.initializer if c.name in used]
    for group, values in (
        (graph.node, nodes), (graph.input, inputs), (graph.initializer, constants)
    ):  # fmt: skip
        own = [type(v).FromString(v.SerializeToString()) for v in values]
        del group[:]
        group.extend(own)
    del graph.value_info[:]
    for output in graph.output:
        output.type.tensor_type.ClearField("shape")
    try:
        made = onnx.shape_inference.infer_shapes(copy, strict_mode=True, data_prop=True)
        known = tensors(made)
        if not made.graph.node or any(o.name not in known for o in made.graph.output):
            return None
        onnx.checker.check_model(made)
    except Exception:  # noqa: BLE001  onnx's checkers raise what they like; such a model is no candidate
        return None
    return made


def ends_at(model: onnx.ModelProto, names: list[str]) -> onnx.ModelProto:
    """The model with these tensors as its outputs."""
    known = tensors(model)
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    del copy.graph.output[:]
    for name in names:
        copy.graph.output.append(helper.make_tensor_value_info(name, *known[name]))
    return copy


def single_outputs(model: onnx.ModelProto) -> Iterator[onnx.ModelProto | None]:
    """One output: a present one, else any tensor, the earliest first."""
    known = tensors(model)
    present = [o.name for o in model.graph.output]
    if len(present) > 1:
        for name in present:
            yield ends_at(model, [name])
    inner = [o for n in model.graph.node for o in n.output if o in known and o not in present]
    for name in inner:
        yield ends_at(model, [name])


def starts_at(model: onnx.ModelProto, names: set[str]) -> onnx.ModelProto | None:
    """The model with these tensors as inputs in the place of what made them."""
    known = tensors(model)
    if not names <= set(known):
        return None
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    for node in copy.graph.node:
        for index, name in enumerate(node.output):
            if name in names:
                node.output[index] = f"{name}__unused"
    present = {i.name for i in copy.graph.input}
    for name in sorted(names - present):
        copy.graph.input.append(helper.make_tensor_value_info(name, *known[name]))
    return copy


def without_chunks(model: onnx.ModelProto) -> Iterator[onnx.ModelProto | None]:
    """Runs of nodes removed, the longest first: their results become inputs."""
    nodes = list(model.graph.node)
    outputs = {o.name for o in model.graph.output}
    length = len(nodes) // 2
    while length:
        for start in range(0, len(nodes) - length + 1, max(1, length // 2)):
            gone = nodes[start : start + length]
            kept = nodes[:start] + nodes[start + length :]
            read = {name for node in kept for name in node.input}
            made = {o for node in gone for o in node.output if o}
            if not made & outputs:
                yield starts_at(model, made & read)
        length //= 2


def cut_inputs(model: onnx.ModelProto) -> Iterator[onnx.ModelProto | None]:
    """One tensor after the other as an input, and as a constant of zeros where it is one."""
    outputs = {o.name for o in model.graph.output}
    for node in reversed(model.graph.node):
        for name in node.output:
            if name and name not in outputs:
                yield starts_at(model, {name})
        for name in node.input:
            if name in {i.name for i in model.graph.input}:
                yield bypassed(model, node, name)


def bypassed(model: onnx.ModelProto, node: onnx.NodeProto, name: str) -> onnx.ModelProto | None:
    """The model without `node`: who read its result reads `name`, if type and shape agree."""
    known = tensors(model)
    [*results] = [o for o in node.output if o]
    if len(results) != 1 or known.get(results[0]) != known.get(name):
        return None
    if results[0] in {o.name for o in model.graph.output}:
        return None
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    for other in copy.graph.node:
        for index, read in enumerate(other.input):
            if read == results[0]:
                other.input[index] = name
    return copy


def smaller_sizes(model: onnx.ModelProto) -> Iterator[onnx.ModelProto | None]:
    """Every size of a dimension replaced by a smaller one, everywhere."""
    sizes = {n for _, shape in tensors(model).values() for n in shape}
    sizes |= {n for c in model.graph.initializer for n in c.dims}
    for size in sorted(sizes, reverse=True):
        for smaller in dict.fromkeys((1, 2, size // 2, size - 1)):
            if 0 < smaller < size:
                yield resized(model, size, smaller)


def resized(model: onnx.ModelProto, size: int, smaller: int) -> onnx.ModelProto:
    """The model with inputs and constants cut from `size` to `smaller` along every axis."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    for port in copy.graph.input:
        for dim in port.type.tensor_type.shape.dim:
            if dim.dim_value == size:
                dim.dim_value = smaller
    for constant in copy.graph.initializer:
        array = numpy_helper.to_array(constant)
        cut = array[tuple(slice(smaller if n == size else n) for n in array.shape)]
        if constant.data_type == TensorProto.INT64:
            # Shapes, sizes and counts are constants too.
            cut = np.where(cut == size, smaller, cut)
        constant.CopyFrom(numpy_helper.from_array(np.ascontiguousarray(cut), constant.name))
        if not array.shape:
            constant.ClearField("dims")
    return copy
