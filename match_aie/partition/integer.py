"""Layers that are integers throughout: `clip(shift(sum * multiplier + offset) + zero point)`.

Normalisation makes their requantisation one composite, `match.requantize`; they have no
`dequantize`, since their operators read the stored integers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import cast

import numpy as np

from match_aie.hardware import REQUANTIZE
from match_aie.partition.graph import Graph, Node
from match_aie.workload import Tail, Workload
from match_aie.workload.fixed import with_fixed_tail
from match_aie.workload.reference import accumulator_bound
from match_aie.workload.workload import Rounding

Arrays = Mapping[str, np.ndarray]

#: Kinds whose sums such a requantisation may follow.
KINDS = ("conv2d", "dense", "matmul", "add", "mul")


@dataclass(frozen=True)
class Centred:
    """Integers behind an operand: the tensor, its zero point, the nodes between."""

    value: str
    zero: int
    nodes: tuple[int, ...]


def centred(graph: Graph, name: str) -> Centred | None:
    """How an integer operator reads `name`: x, astype(x, int32), or that less a zero point.

    None where `name` is no tensor of integers.
    """
    if not graph.values[name].dtype.startswith(("int", "uint")):
        return None
    node = graph.producers.get(name)
    zero, nodes = 0, tuple[int, ...]()
    if node is not None and node.operator == "subtract":
        zero_point = _scalar(graph, str(node.arguments[1]))
        inner = graph.producers.get(str(node.arguments[0]))
        if zero_point is None or inner is None or inner.operator != "astype":
            return Centred(name, 0, ())
        zero, nodes, node = zero_point, (node.index,), inner
    if node is None or node.operator != "astype" or graph.values[node.output].dtype != "int32":
        return Centred(name, 0, ())
    source = str(node.arguments[0])
    if graph.values[source].dtype not in ("int8", "uint8", "int16", "uint16"):
        return Centred(name, 0, ())
    return Centred(source, zero, (*nodes, node.index))


def _scalar(graph: Graph, name: str) -> int | None:
    constant = graph.values[name].constant if name in graph.values else None
    return None if constant is None or constant.size != 1 else int(constant.reshape(-1)[0])


def fixed_point(
    graph: Graph, node: Node, workload: Workload, constants: Arrays
) -> tuple[Workload, dict[str, np.ndarray]] | str:
    """A layer whose requantisation is `node`, with the tail that this means, or why there is none.

    Args:
        graph: that holds it.
        node: of the operator `match.requantize`.
        workload: as if the requantisation were a `quantize` of scale 1.
        constants: of the layer, by operand name.
    """
    assert node.operator == REQUANTIZE
    assert workload.tail is not None
    if workload.kind not in KINDS:
        return f"a {workload.kind} requantised in integers"
    multiplier, offset = (_vector(graph, argument) for argument in node.arguments[1:3])
    rounding = cast("Rounding", node.attributes["rounding"])
    shift, bits = (int(cast("int", node.attributes[name])) for name in ("shift", "bits"))
    reason = _overflow(workload, constants, multiplier, offset, (shift, bits))
    if reason:
        return reason
    before = workload.tail
    tail = Tail(before.zero_point, before.lo, before.hi, rounding, shift, bits)
    if workload.kind == "add":
        if multiplier.size > 1:
            return "a sum of two tensors has a multiplier per channel"
        multiplier = np.repeat(multiplier, 2)
    unit = workload.kind != "add" and bool((multiplier == 1).all())
    plain = not offset.any()
    changed = with_fixed_tail(
        # Nothing says what an integer step is worth.
        replace(workload, operands=tuple(replace(o, scale=None) for o in workload.operands)),
        tail,
        multiplier=0 if unit else multiplier.size,
        offset=0 if plain else offset.size,
    )
    given = {"multiplier": multiplier, "offset": offset, **constants}
    return changed, {o.name: given[o.name] for o in changed.constants}


def _vector(graph: Graph, argument: object) -> np.ndarray:
    constant = graph.values[str(argument)].constant
    assert constant is not None
    return np.ascontiguousarray(constant.reshape(-1).astype(np.int32))


def _overflow(
    workload: Workload,
    constants: Arrays,
    multiplier: np.ndarray,
    offset: np.ndarray,
    register: tuple[int, int],
) -> str | None:
    """Why the register may overflow, over all inputs of the inputs' types; None if it cannot."""
    shift, bits = register
    if workload.macs:
        most = accumulator_bound(workload, constants)
    else:
        ends = [
            max(abs(int(np.iinfo(x.dtype).min) - x.zero_point),
                abs(int(np.iinfo(x.dtype).max) - x.zero_point))
            for x in (workload.operand("x"), workload.operand("x1"))
        ]  # fmt: skip
        most = ends[0] + ends[1] if workload.kind == "add" else ends[0] * ends[1]
    factor = int(np.abs(multiplier.astype(np.int64)).max())
    added = int(np.abs(offset.astype(np.int64)).max()) + ((1 << shift) >> 1)
    if most >= 1 << 31:
        return "the sum can overflow 32 bits"
    if most * factor + added >= 1 << (bits - 1):
        return f"a sum times its multiplier can overflow {bits} bits"
    if (most * factor + added) >> shift >= 1 << 30:
        return "what is shifted can overflow 32 bits"
    return None
