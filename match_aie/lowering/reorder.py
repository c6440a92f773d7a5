"""Tensors in an order of a module's own: written and read so, and reordered between modules.

`Packed.layouts` may say how a layer's inputs and output lie. A tensor that one layer writes and
another reads in the same order is never row-major. Wherever else somebody needs it in another one,
the core copies it, once for each order: behind the step that writes it where it is wanted row-major
(the network's inputs and outputs are), and before the first step that reads it in blocks.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from match_aie.fallback.reorder import reorder
from match_aie.hardware import ChipCosts, MatchTarget, Operation, Packing, TensorType, facet
from match_aie.lowering.program import (
    Argument,
    CFunction,
    Constant,
    LayerProgram,
    Schedule,
    Step,
)
from match_aie.workload import Operand


@dataclass(frozen=True)
class _Order:
    """A tensor's elements in an order; two layers mean the same where these are equal."""

    shape: tuple[int, ...]
    packing: Packing


def reordered(schedule: Schedule, target: MatchTarget) -> Schedule:
    """`schedule` with tensors in the orders that its layers declare.

    Args:
        schedule: in which every tensor is row-major.
        target: prices what the core copies.

    Raises:
        TargetError: C has no type for the elements of a tensor that is to be copied.
    """
    if not any(step.layer is not None and step.layer.layouts for step in schedule.steps):
        return schedule
    return _Reordering(schedule, target).schedule()


class _Reordering:
    """A schedule's steps, one after the other, and in which orders each tensor is there by then."""

    def __init__(self, schedule: Schedule, target: MatchTarget) -> None:
        self._whole, self._target = schedule, target
        self._tensors = {tensor.name: tensor for tensor in schedule.tensors}
        self._constants = {constant.name: constant for constant in schedule.constants}
        self._plain = _plain(schedule)
        self._made: dict[str, dict[_Order, str]] = {}
        self._functions: dict[tuple[object, ...], CFunction] = {}
        self._steps: list[Step] = []

    def schedule(self) -> Schedule:
        """With every step in its place."""
        for step in self._whole.steps:
            if step.layer is None or not step.layer.layouts:
                self._steps.append(step)
            else:
                self._add(step, step.layer)
        gone = set(self._made) - self._plain
        read = {a.name for step in self._steps for a in step.arguments if a.kind == "constant"}
        return replace(
            self._whole,
            tensors=tuple(t for name, t in self._tensors.items() if name not in gone),
            constants=tuple(c for c in self._constants.values() if c.name in read),
            steps=tuple(self._steps),
            functions=(*self._whole.functions, *self._functions.values()),
        )

    def _add(self, step: Step, layer: LayerProgram) -> None:
        layouts, operands = dict(layer.layouts), layer.workload.operands
        arguments, written, orders = list(step.arguments), [], {}
        for at, operand in enumerate(operands):
            argument, packing = arguments[at], layouts.get(operand.name)
            if packing is None:
                continue
            order = _Order(operand.shape, packing)
            if argument.kind == "constant":
                name = self._constant(argument.name, order, operand)
            elif argument.access == "read":
                name = self._read(argument.name, order, operand)
            else:
                name = self._variant(argument.name, order, operand)
                written.append((argument.name, name, operand))
            orders[argument.name] = (name, order)
            arguments[at] = replace(argument, name=name)
        pairs = [
            (orders[read][0], orders[write][0])
            for read, write in step.in_place
            if read in orders and write in orders and orders[read][1] == orders[write][1]
        ]
        kept = [pair for pair in step.in_place if not set(pair) & set(orders)]
        self._steps.append(replace(step, arguments=tuple(arguments), in_place=(*kept, *pairs)))
        for name, variant, operand in written:
            if name in self._plain:
                self._copy(variant, name, operand, orders[name][1], None)

    def _read(self, name: str, order: _Order, operand: Operand) -> str:
        """The tensor in that order, copied now where nobody made it yet."""
        found = self._made.get(name, {})
        if order in found:
            return found[order]
        known = next(iter(found.items()), None) if name not in self._plain else None
        source, given = (name, None) if known is None else (known[1], known[0])
        variant = self._variant(name, order, operand)
        self._copy(source, variant, operand, given, order)
        return variant

    def _variant(self, name: str, order: _Order, operand: Operand) -> str:
        """A new tensor for `name` in that order."""
        made = self._made.setdefault(name, {})
        variant = f"{name}_order{len(made)}"
        tensor = replace(self._tensors[name], name=variant, shape=order.packing.shape(operand))
        self._tensors[variant] = tensor
        made[order] = variant
        return variant

    def _constant(self, name: str, order: _Order, operand: Operand) -> str:
        """A constant among the inputs is reordered here and now."""
        made = self._made.setdefault(name, {})
        if order not in made:
            made[order] = f"{name}_order{len(made)}"
            value = self._constants[name].value.reshape(operand.shape)
            packed = order.packing.pack(operand, value)
            self._constants[made[order]] = Constant(made[order], packed)
        return made[order]

    def _copy(
        self,
        source: str,
        destination: str,
        operand: Operand,
        given: _Order | None,
        wanted: _Order | None,
    ) -> None:
        """A step of the core that copies one tensor to another, between two orders."""
        function = self._function(operand, given, wanted)
        kind = TensorType(operand.dtype, operand.shape)
        cycles = facet(self._target, ChipCosts).fallback_cost(
            Operation("layout_transform", (kind,), kind)
        )
        label = self._tensors[destination].label or self._tensors[source].label or source
        arguments = (Argument("tensor", source, "read"), Argument("tensor", destination, "write"))
        self._steps.append(Step(label, function.symbol, arguments, cycles=cycles))

    def _function(self, operand: Operand, given: _Order | None, wanted: _Order | None) -> CFunction:
        key = (operand.dtype, operand.shape, given, wanted)
        if key not in self._functions:
            symbol = f"{self._whole.name}_reorder{len(self._functions)}"
            packings = [order.packing if order else None for order in (given, wanted)]
            text = reorder(symbol, operand, *packings)
            self._functions[key] = CFunction(symbol, text, "reorder")
        return self._functions[key]


def _plain(schedule: Schedule) -> set[str]:
    """Tensors that somebody needs row-major: callers, the fallback, views, and layers as well."""
    found = {*schedule.inputs, *schedule.outputs}
    for alias in schedule.aliases:
        found |= {alias.view, alias.base}
    for step in schedule.steps:
        found.update(_row_major(step))
    return found


def _row_major(step: Step) -> Iterable[str]:
    """Tensors that a step reads or writes as they are."""
    layouts = dict(step.layer.layouts) if step.layer is not None else {}
    names = [o.name for o in step.layer.workload.operands] if step.layer is not None else []
    for at, argument in enumerate(step.arguments):
        ordered = at < len(names) and names[at] in layouts
        if argument.kind == "tensor" and not ordered:
            yield argument.name
