"""`Loop` over a number of steps that is known, or bounded, written out one by one.

The number is the loop's trip count, or follows from its condition where that depends on counters
alone: values that go from step to step, begin as constants, and are computed of nothing else. Where
a part of the condition (of those that an `And` joins) is computed at run time, the others and the
trip count bound the loop: all steps are computed, and from where the condition failed results stay
as they are. That may be done as no operator traps (`control`).
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence

import numpy as np
import onnx
from onnx import helper
from onnx.reference import ReferenceEvaluator

from match_aie.frontend.onnx_rewrite.control import chosen
from match_aie.frontend.onnx_rewrite.fold import KEPT
from match_aie.frontend.onnx_rewrite.graph import Builder, Node, Refusal
from match_aie.frontend.onnx_rewrite.scan import MOST_NODES, MOST_STEPS, without_constants

#: Trip counts from here on stand for none: exporters write the largest integer.
ENDLESS = (1 << 31) - 1
INFINITE = float("inf")

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
    read = [node.has_output(len(states) + at) for at in range(len(pieces))]
    counted = _Counted(node, b, body, held)
    kept = _Kept(node, b, counted, most) if counted.open or most is None else None
    if kept and any(read):
        raise Refusal("what it collects is as long as it runs, which is known at run time alone")
    steps = 0
    while steps < (INFINITE if most is None else most) and counted.more:
        if steps >= MOST_STEPS or (steps + 1) * len(body.node) > MOST_NODES:
            raise Refusal(f"more than {steps} steps of {len(body.node)} operators")
        at, going = b.const(np.array(steps, np.int64)), b.const(np.array(True))
        names = [at, going, *counted.named(states, b)]
        results = b.splice(body, held | dict(zip(given, names, strict=True)))
        states = results[1 : len(states) + 1]
        for piece, result in zip(pieces, results[len(states) + 1 :], strict=True):
            piece.append(result)
        if kept:
            kept.step(steps, states, results[0])
        counted.step(steps)
        steps += 1
    if kept:
        return tuple(kept.states)
    if not steps and any(read):
        raise Refusal("it runs no step, and what it collects is empty")
    joined = [
        _joined(piece, b) if wanted else "" for piece, wanted in zip(pieces, read, strict=True)
    ]
    return (*counted.named(states, b), *joined)


def _joined(piece: Sequence[str], b: Builder) -> str:
    """What the steps gave, one behind the other along a new first axis."""
    first = b.const(np.array([0], np.int64))
    parts = [b.op("Unsqueeze", name, first) for name in piece]
    return b.op("Concat", *parts, axis=0) if len(parts) > 1 else parts[0]


class _Kept:
    """States of a loop whose condition is computed at run time, as they were while it held.

    Attributes:
        states: their names.
    """

    def __init__(self, node: Node, b: Builder, counted: _Counted, most: float | None) -> None:
        """Before the first step.

        Args:
            node: the loop.
            b: the builder.
            counted: what is known of its condition.
            most: the trip count, None for one of run time.

        Raises:
            Refusal: nothing that is known bounds the loop.
        """
        if most in (None, INFINITE) and not counted.bounded:
            raise Refusal(f"{_OPEN}, and neither trip count nor counters bound it")
        self.states = list(node.inputs[2:])
        self._b, self._open = b, counted.open
        self._count = node.input(0) if most is None else ""
        begins = node.input(1) and b.graph.constant(node.input(1)) is None
        self._alive = [_flat(node.input(1), b)] if begins else []

    def step(self, number: int, states: Sequence[str], more: str) -> None:
        """Take what step `number` gives where it runs; `more` is the condition behind it."""
        b = self._b
        if self._count:
            at = b.const(np.array(number, np.int64))
            count = b.op("Cast", _flat(self._count, b), to=onnx.TensorProto.INT64)
            self._alive.append(b.op("Less", at, count))
        while len(self._alive) > 1:
            self._alive.append(b.op("And", self._alive.pop(), self._alive.pop()))
        if self._alive:
            pairs = zip(states, self.states, strict=True)
            self.states = [chosen(b, self._alive[0], new, old) for new, old in pairs]
        else:
            self.states = list(states)
        if self._open:
            self._alive.append(_flat(more, b))


def _flat(name: str, b: Builder) -> str:
    """A value of one element, without dimensions."""
    return b.op("Reshape", name, b.const(np.zeros(0, np.int64)))


def _limit(node: Node, b: Builder) -> float | None:
    """The trip count; infinite where none, or one beyond all loops, is given; None at run time."""
    if not node.input(0):
        return INFINITE
    count = b.graph.constant(node.input(0))
    if count is None:
        return None
    if count.size != 1:
        raise Refusal(_OPEN)
    value = int(count.reshape(-1)[0])
    return INFINITE if value >= ENDLESS else float(value)


class _Counted:
    """The condition and the counters that it depends on, step by step as values.

    Attributes:
        more: whether the condition holds, as far as it is known.
        open: whether some of it is computed at run time.
        bounded: whether some of it depends on counters.
    """

    def __init__(self, node: Node, b: Builder, body: onnx.GraphProto, held: dict[str, str]) -> None:
        """Find the counters, and read what they begin with."""
        going = b.graph.constant(node.input(1)) if node.input(1) else np.array(True)
        self.more = going is None or bool(going.reshape(-1)[0])
        self.open, self.bounded = going is None, False
        ports = [port.name for port in body.input]
        self._names, (self._at, self._going) = ports[2:], ports[:2]
        self._values: dict[str, np.ndarray] = {}
        self._run: ReferenceEvaluator | None = None
        if body.output[0].name == self._going or _always(b, body, held):
            return
        cone, known = set[str](), list[str]()
        stored: dict[str, np.ndarray] = {}
        for name in _parts(body):
            try:
                found = self._cone(name, node, b, body, held)
            except Refusal:
                self.open = True
                continue
            known.append(name)
            cone |= found[0]
            self._values |= found[1]
            stored |= found[2]
        if known:
            self.bounded = True
            self._run = self._evaluator(known, b, body, cone, stored)

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
            found = self._run.run(None, given | self._values)
        parts = len(found) - len(self._values)
        self._values = {
            name: np.asarray(value) for name, value in zip(self._values, found[parts:], strict=True)
        }
        self.more = all(bool(np.asarray(part).reshape(-1)[0]) for part in found[:parts])

    def _cone(
        self, name: str, node: Node, b: Builder, body: onnx.GraphProto, held: dict[str, str]
    ) -> tuple[set[str], dict[str, np.ndarray], dict[str, np.ndarray]]:
        """What a part of the condition hangs on: all names, counters and constants with values.

        Args:
            name: of the part.
            node: the loop.
            b: the builder.
            body: of the loop.
            held: names outside of constants of the body.

        Raises:
            Refusal: it depends on something else.
        """
        result = dict(zip(self._names, [port.name for port in body.output[1:]], strict=False))
        initial = dict(zip(self._names, node.inputs[2:], strict=True))
        wanted, cone = [name], set[str]()
        producer = {name: n for n in body.node for name in n.output if name}
        values: dict[str, np.ndarray] = {}
        stored: dict[str, np.ndarray] = {}
        for each in _growing(wanted, cone):
            if each in producer:
                wanted += _operands(producer[each])
            elif each in initial:
                value = b.graph.constant(initial[each])
                if value is None or value.size > MOST_COUNTED:
                    raise Refusal(_OPEN)
                values[each] = value
                wanted.append(result[each])
            elif each not in (self._at, self._going):
                known = b.graph.constant(held.get(each, each))
                if known is None:
                    raise Refusal(_OPEN)
                stored[each] = known
        return cone, values, stored

    def _evaluator(
        self,
        parts: Sequence[str],
        b: Builder,
        body: onnx.GraphProto,
        cone: set[str],
        stored: dict[str, np.ndarray],
    ) -> ReferenceEvaluator:
        """A model of parts of the condition and of the counters behind them.

        Args:
            parts: their names.
            b: the builder.
            body: of the loop.
            cone: all that they hang on.
            stored: constants among it.
        """
        result = dict(zip(self._names, [port.name for port in body.output[1:]], strict=False))
        free = (self._at, self._going)
        nodes = [n for n in body.node if cone & set(n.output)]
        ends = [*parts, *(result[name] for name in self._values)]
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


def _parts(body: onnx.GraphProto) -> list[str]:
    """Values that the condition joins by `And`."""
    producer = {name: n for n in body.node for name in n.output if name}
    wanted, found = [body.output[0].name], list[str]()
    for name in _growing(wanted, set()):
        maker = producer.get(name)
        if maker is not None and not maker.domain and maker.op_type in ("And", "Identity"):
            wanted += maker.input
        else:
            found.append(name)
    return found


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
