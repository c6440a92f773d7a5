"""`Loop` over a number of steps that is known, written out one by one.

The number is the loop's trip count, or follows from its condition where that depends on counters
alone: values that go from step to step, begin as constants, and are computed of nothing else.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence

import numpy as np
import onnx
from onnx import helper
from onnx.reference import ReferenceEvaluator

from match_aie.frontend.onnx_rewrite.fold import KEPT
from match_aie.frontend.onnx_rewrite.graph import Builder, Node, Refusal
from match_aie.frontend.onnx_rewrite.scan import MOST_NODES, MOST_STEPS, without_constants

#: Larger values do not count as counters.
MOST_COUNTED = 1024

_OPEN = "how often it runs is not known at compile time"


def loop(node: Node, b: Builder) -> tuple[str, ...]:
    """The body's nodes for every step: states go from one to the next, pieces out."""
    body, states = node.attr("body"), list(node.inputs[2:])
    if len(body.input) != len(states) + 2 or len(body.output) < len(states) + 1:
        raise Refusal("its body and inputs do not fit each other")
    body, held = without_constants(body, b)
    most, given = _limit(node, b), [port.name for port in body.input]
    pieces: list[list[str]] = [[] for _ in range(len(body.output) - len(states) - 1)]
    counted = _Counted(node, b, body, held)
    steps = 0
    while steps < most and counted.more:
        if steps >= MOST_STEPS or (steps + 1) * len(body.node) > MOST_NODES:
            raise Refusal(f"more than {steps} steps of {len(body.node)} operators")
        at, going = b.const(np.array(steps, np.int64)), b.const(np.array(True))
        names = [at, going, *counted.named(states, b)]
        results = b.splice(body, held | dict(zip(given, names, strict=True)), rename=True)
        states = results[1 : len(states) + 1]
        for piece, result in zip(pieces, results[len(states) + 1 :], strict=True):
            piece.append(result)
        counted.step(steps)
        steps += 1
    if not steps and pieces:
        raise Refusal("it runs no step, and what it collects is empty")
    first = b.const(np.array([0], np.int64))
    joined = []
    for piece in pieces:
        parts = [b.op("Unsqueeze", name, first) for name in piece]
        joined.append(b.op("Concat", *parts, axis=0) if len(parts) > 1 else parts[0])
    return (*counted.named(states, b), *joined)


def _limit(node: Node, b: Builder) -> float:
    """The trip count; infinite where none is given."""
    if not node.input(0):
        return float("inf")
    count = b.graph.constant(node.input(0))
    if count is None or count.size != 1:
        raise Refusal(_OPEN)
    return float(count.reshape(-1)[0])


class _Counted:
    """The condition and the counters that it depends on, step by step as values.

    Attributes:
        more: whether the condition holds.
    """

    def __init__(self, node: Node, b: Builder, body: onnx.GraphProto, held: dict[str, str]) -> None:
        """Find the counters, and read what they begin with."""
        going = b.graph.constant(node.input(1)) if node.input(1) else np.array(True)
        if going is None:
            raise Refusal(_OPEN)
        self.more = bool(going.reshape(-1)[0])
        ports = [port.name for port in body.input]
        self._names, (self._at, self._going) = ports[2:], ports[:2]
        self._values: dict[str, np.ndarray] = {}
        always = body.output[0].name == self._going or _always(b, body, held)
        self._run = None if always else self._evaluator(node, b, body, held)

    def named(self, states: Sequence[str], b: Builder) -> list[str]:
        """`states` with constants in the places of counters."""
        pairs = zip(self._names, states, strict=True)
        return [b.const(self._values[own]) if own in self._values else s for own, s in pairs]

    def step(self, number: int) -> None:
        """What the counters and the condition are after step `number`."""
        if self._run is None:
            return
        given = {self._at: np.array(number, np.int64), self._going: np.array(True)}
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            more, *values = self._run.run(None, given | self._values)
        self._values = {
            name: np.asarray(value) for name, value in zip(self._values, values, strict=True)
        }
        self.more = bool(np.asarray(more).reshape(-1)[0])

    def _evaluator(
        self, node: Node, b: Builder, body: onnx.GraphProto, held: dict[str, str]
    ) -> ReferenceEvaluator:
        """A model of the condition and its counters."""
        result = dict(zip(self._names, [port.name for port in body.output[1:]], strict=False))
        initial = dict(zip(self._names, node.inputs[2:], strict=True))
        wanted, cone = [body.output[0].name], set[str]()
        free = {self._at, self._going}
        producer = {name: n for n in body.node for name in n.output if name}
        stored: dict[str, np.ndarray] = {}
        for name in _growing(wanted, cone):
            if name in producer:
                wanted += _operands(producer[name])
            elif name in initial:
                value = b.graph.constant(initial[name])
                if value is None or value.size > MOST_COUNTED:
                    raise Refusal(_OPEN)
                self._values[name] = value
                wanted.append(result[name])
            elif name not in free:
                known = b.graph.constant(held.get(name, name))
                if known is None:
                    raise Refusal(_OPEN)
                stored[name] = known
        nodes = [n for n in body.node if cone & set(n.output)]
        ends = [body.output[0].name, *(result[name] for name in self._values)]
        tensors = [onnx.numpy_helper.from_array(value, name) for name, value in stored.items()]
        made = helper.make_graph(
            nodes,
            "counters",
            [onnx.ValueInfoProto(name=name) for name in (*free, *self._values)],
            [onnx.ValueInfoProto(name=name) for name in ends],
            tensors,
        )
        model = helper.make_model(made, opset_imports=list(b.graph.model.opset_import))
        return ReferenceEvaluator(model)


def _growing(wanted: list[str], seen: set[str]) -> Iterator[str]:
    """Each name of a list that grows meanwhile, once."""
    while wanted:
        name = wanted.pop()
        if name and name not in seen:
            seen.add(name)
            yield name


def _operands(node: onnx.NodeProto) -> list[str]:
    """What a node of the condition reads."""
    if node.domain or node.op_type in KEPT or any(a.HasField("g") for a in node.attribute):
        raise Refusal(_OPEN)
    return list(node.input)


def _always(b: Builder, body: onnx.GraphProto, held: dict[str, str]) -> bool:
    """Whether the condition is the constant true."""
    name = body.output[0].name
    producer = {out: n for n in body.node for out in n.output}
    while name in producer and producer[name].op_type == "Identity":
        name = producer[name].input[0]
    if name == body.input[1].name:
        return True
    value = b.graph.constant(held.get(name, name))
    return value is not None and bool(value.all())
