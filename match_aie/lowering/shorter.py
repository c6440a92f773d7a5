"""Tensors of float32 between layers that compute in 16 bits: stored in these."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import replace

from match_aie.fallback.remainder import Call, Remainder
from match_aie.hardware import OwnArithmetic, facet
from match_aie.lowering.lower import MappedLayer
from match_aie.workload import Workload, stored_as

Layers = Mapping[str, MappedLayer]


def shorter(remainder: Remainder, layers: Layers) -> tuple[Remainder, dict[str, Workload]]:
    """Tensors as short as all who touch them say; with the layers that are others then.

    A tensor and its views have one type. Those of the network's callers stay, and what lies in a
    concatenation.

    Args:
        remainder: calls of layers, and of the fallback.
        layers: by key.

    Returns:
        The calls with types of tensors changed, and workloads by key of the layers that changed.
    """
    base = {alias.view: alias.base for alias in remainder.aliases}
    dtypes = {tensor.name: tensor.dtype for tensor in remainder.tensors}
    said: dict[str, set[str]] = defaultdict(set)
    for name in _kept(remainder):
        said[_root(name, base)].add("")
    for call in remainder.calls:
        for name, dtype in _wishes(call, layers):
            said[_root(name, base)].add(dtype if dtypes[name] == "float32" else "")
    found = {root: next(iter(types)) for root, types in said.items() if len(types) == 1}
    short = {name: found.get(_root(name, base), "") for name in dtypes}
    changed: dict[str, Workload] = {}
    for call in remainder.calls:
        layer = layers.get(call.callee)
        if layer is not None:
            types = {o: short[name] for name, o in _operands(call, layer) if short[name]}
            if types:
                changed[call.callee] = stored_as(layer.workload, types)
    tensors = tuple(replace(t, dtype=short[t.name] or t.dtype) for t in remainder.tensors)
    return replace(remainder, tensors=tensors), changed


def _root(name: str, base: Mapping[str, str]) -> str:
    while name in base:
        name = base[name]
    return name


def _kept(remainder: Remainder) -> Iterator[str]:
    """Tensors that others see, or that lie inside of one another."""
    yield from remainder.inputs
    yield from remainder.outputs
    for alias in remainder.aliases:
        if alias.offset:
            yield alias.base
    for join in remainder.joins:
        yield from join.parts


def _wishes(call: Call, layers: Layers) -> Iterator[tuple[str, str]]:
    """Tensors that a call touches, with the type that it would have them in; "" for their own."""
    layer = layers.get(call.callee)
    if layer is None or layer.sized is not None:
        for argument in call.arguments:
            if argument.kind == "tensor":
                yield argument.name, ""
        return
    wanted = facet(layer.module, OwnArithmetic).shorter(layer.workload)
    for name, operand in _operands(call, layer):
        yield name, wanted.get(operand, "")


def _operands(call: Call, layer: MappedLayer) -> Iterator[tuple[str, str]]:
    """(tensor, operand) of the activations of a layer."""
    reads = [a.name for a in call.arguments if a.access == "read"]
    tensors = {argument.name for argument in call.arguments if argument.kind == "tensor"}
    for name, operand in zip(reads, layer.workload.inputs, strict=True):
        if name in tensors:
            yield name, operand.name
    for argument in call.arguments:
        if argument.access == "write":
            yield argument.name, layer.workload.output.name
