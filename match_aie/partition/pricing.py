"""What the parts of a cover cost, in cycles of the target's reference clock or in picojoules.

A cover of the graph is a set of options, no operator in two of them. It costs

- the modelled cycles of each chosen option,
- the core's cycles for every operator that no chosen option takes and that is not known at
  compile time (for an operator that may be repeated, only where its result is read outside the
  options that hold it), and
- a move for every tensor and every unit that reads it and is not the unit that wrote it. The
  caller's inputs and outputs are with the core, and
- a copy by the core for every tensor, unit and order (`Packed.layouts`) in which it is read and
  not written. The core and the caller have tensors row-major. Two units that read one order pay
  twice, though one copy serves both.

Energy is counted alike: the modelled picojoules of the options, and what the core takes in the
cycles of operators and moves. `Weights` say what counts.

`audit` computes this by walking the graph, for any cover. `match_aie.partition.cover` says the
same as conditions, for the solver; the two are compared on every selection.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import isfinite
from typing import TYPE_CHECKING

from match_aie.errors import TargetError
from match_aie.hardware import (
    ChipCosts,
    ExecModule,
    MatchTarget,
    Move,
    Operation,
    Packing,
    TensorType,
    activations,
    facet,
    reference_cycles,
    refuse_objective,
)
from match_aie.hardware.graph import Graph, Node
from match_aie.hardware.written import is_view
from match_aie.limits import STEPS
from match_aie.partition.match import REPEATABLE

if TYPE_CHECKING:
    from match_aie.partition.select import Option

#: The core's price of a recurrent layer whose steps are not written out, and of what is pinned to
#: a module, against what it would cost: the core cannot or shall not, so whoever can is chosen.
UNWRITTEN = 1000.0


@dataclass(frozen=True)
class Weights:
    """What a cycle of the reference clock, and a picojoule, add to a cover's cost."""

    cycle: float = 1.0
    picojoule: float = 0.0


CYCLES, PICOJOULES = Weights(), Weights(0.0, 1.0)


@dataclass(frozen=True)
class CoverCost:
    """What a cover costs, modelled: cycles of the reference clock, or what the weights say.

    Attributes:
        layers: of the chosen options, started.
        fallback: of what no option takes.
        moves: between units.
    """

    layers: float
    fallback: float
    moves: float

    @property
    def total(self) -> float:
        """The sum."""
        return self.layers + self.fallback + self.moves


@dataclass(frozen=True, eq=False)
class Place:
    """Where an option lies in the graph.

    Attributes:
        root: index of the node that gives the result.
        nodes: all nodes it computes.
        owned: those that no other option may compute: all but repeatable ones, and the root.
        reads: tensors that arrive at run time from outside.
    """

    root: int
    nodes: frozenset[int]
    owned: frozenset[int]
    reads: tuple[str, ...]


@dataclass(frozen=True)
class Side:
    """Who writes or reads a value, in which order; the core or the caller where both are None.

    Attributes:
        module: the execution module.
        order: (shape of the operand, how it lies); row-major where None.
    """

    module: ExecModule | None = None
    order: tuple[tuple[int, ...], Packing] | None = None


CORE_SIDE = Side()


@dataclass(frozen=True, eq=False)
class Pricing:
    """Prices of options, operators and moves on one graph and target.

    Attributes:
        graph: what is covered.
        target: the chip.
        weights: what counts; picojoules only where the target states energy.
        forced: indices of nodes that the core may not run: pinned to modules.
    """

    graph: Graph
    target: MatchTarget
    weights: Weights = CYCLES
    forced: frozenset[int] = frozenset()

    @cached_property
    def known(self) -> frozenset[str]:
        """Values known at compile time, results of constant operators included."""
        names = {name for name, value in self.graph.values.items() if value.constant is not None}
        for node in self.graph.nodes:
            inputs = node.inputs()
            if inputs and names.issuperset(inputs):
                names.add(node.output)
        return frozenset(names)

    def place(self, option: Option) -> Place:
        """Where `option` lies."""
        nodes = frozenset(option.candidate.match.nodes)
        root = option.candidate.match.root
        inside = {self.graph.nodes[index].output for index in nodes}
        reads = {
            name: None
            for index in sorted(nodes)
            for name in self.graph.nodes[index].inputs()
            if name not in inside and name not in self.known
        }
        owned = {i for i in nodes if not self.repeatable(i)} | {root}
        return Place(root, nodes, frozenset(owned), tuple(reads))

    def repeatable(self, index: int) -> bool:
        """Whether the node may be computed by several options."""
        return self.graph.nodes[index].operator in REPEATABLE

    def option(self, option: Option) -> float:
        """What a priced option costs."""
        if option.cost is None:
            raise ValueError("an option without a mapping costs nothing that could be said")
        module = option.candidate.module
        cycles = reference_cycles(self.target, module, option.cost.cycles)
        who = f"the cost model of module {module.name}"
        picojoules = option.cost.picojoules if self.weights.picojoule else 0.0
        if picojoules is None:
            raise TargetError(f"{who} gives no energy", hint="`kernel_energy`, `transfer_energy`")
        cycles = _checked(cycles, who) * self.weights.cycle
        return cycles + _checked(picojoules, who, "picojoules") * self.weights.picojoule

    @property
    def chip(self) -> ChipCosts:
        """What the target says of costs beside its modules'."""
        return facet(self.target, ChipCosts)

    @cached_property
    def core_cycle(self) -> float:
        """What a cycle of the core costs."""
        energy, weights = self.chip.energy, self.weights
        if not weights.picojoule:
            return weights.cycle
        refuse_objective("energy", self.target.name, energy)
        assert energy is not None
        return weights.cycle + weights.picojoule * energy.core.value

    def fallback(self, index: int) -> float:
        """What the core takes for one node; 0 where it is known at compile time."""
        return self._fallback[index]

    @cached_property
    def _fallback(self) -> tuple[float, ...]:
        return tuple(self._of(node) for node in self.graph.nodes)

    def _of(self, node: Node) -> float:
        if node.output in self.known or is_view(self.graph, node):
            return 0.0
        operation = Operation(
            node.operator,
            tuple(self.tensor(name) for name in node.inputs()),
            self.tensor(node.output),
            node.attributes,
        )
        cycles = _checked(self.chip.fallback_cost(operation), "fallback_cost") * self.core_cycle
        dear = STEPS in node.attributes or node.index in self.forced
        return cycles * UNWRITTEN if dear else cycles

    def move(self, value: str, source: Side, to: Side) -> float:
        """What handing `value` over costs: the core's work, to change its order included."""
        tensor = self.tensor(value)
        moved = Move(tensor, source.module, to.module)
        cycles = _checked(self.chip.move_cost(moved), "move_cost")
        if source.order != to.order:
            copy = Operation("layout_transform", (tensor,), tensor)
            cycles += _checked(self.chip.fallback_cost(copy), "fallback_cost")
        return (cycles + self._started(moved)) * self.core_cycle

    def start(self, value: str, source: Side, to: Side) -> float:
        """What starting the reader takes of `move`: cycles only, as layers' own costs have it."""
        return (
            self._started(Move(self.tensor(value), source.module, to.module)) * self.weights.cycle
        )

    def _started(self, moved: Move) -> float:
        return _checked(self.chip.start_cost(moved), "start_cost")

    def side(self, option: Option, value: str) -> Side:
        """Who an option is to one of the values that it reads or gives."""
        layer, module = option.candidate.layer, option.candidate.module
        orders = {} if layer is None else activations(layer.workload, module)
        if layer is not None and orders:
            operands = (*layer.workload.inputs, layer.workload.output)
            for name, operand in zip((*layer.inputs, layer.output), operands, strict=True):
                if name == value and operand.name in orders:
                    return Side(module, (operand.shape, orders[operand.name]))
        return Side(module)

    def tensor(self, name: str) -> TensorType:
        """A value's type."""
        value = self.graph.values[name]
        return TensorType(value.dtype, value.shape, name in self.known)


def _checked(much: float, who: str, unit: str = "cycles") -> float:
    if not isfinite(much) or much < 0:
        raise TargetError(
            f"{who} gives {much} {unit}", hint="a cost is a finite number, not below 0"
        )
    return much


@dataclass(frozen=True, eq=False)
class Leftover:
    """What a cover leaves to the core, and who reads what.

    Attributes:
        nodes: indices that the core computes.
        readers: value -> who reads it from outside, each once.
    """

    nodes: tuple[int, ...]
    readers: dict[str, dict[Side, None]]


def leftover(pricing: Pricing, chosen: Sequence[Option]) -> Leftover:
    """Walk the graph backwards from what must be there: results, and what options read."""
    graph = pricing.graph
    readers: dict[str, dict[Side, None]] = {}

    def read(name: str, side: Side) -> None:
        if name not in pricing.known:
            readers.setdefault(name, {})[side] = None

    taken: set[int] = set()
    for option in chosen:
        place = pricing.place(option)
        taken |= place.owned
        for name in place.reads:
            read(name, pricing.side(option, name))
    for name in graph.outputs:
        read(name, CORE_SIDE)
    left: list[int] = []
    for node in reversed(graph.nodes):
        unread = pricing.repeatable(node.index) and node.output not in readers
        if node.index in taken or unread or node.output in pricing.known:
            continue
        left.append(node.index)
        for name in node.inputs():
            read(name, CORE_SIDE)
    return Leftover(tuple(reversed(left)), readers)


Unit = Callable[[float], float]


def exactly(cycles: float) -> float:
    """Costs as they are."""
    return cycles


def audit(pricing: Pricing, chosen: Sequence[Option], unit: Unit = exactly) -> CoverCost:
    """What the cover `chosen` costs.

    Args:
        pricing: of the graph.
        chosen: options of which no two own a node.
        unit: applied to every single cost before it is added, such as a rounding.
    """
    left = leftover(pricing, chosen)
    written = [(pricing.graph.nodes[o.candidate.match.root].output, o) for o in chosen]
    source = {name: pricing.side(option, name) for name, option in written}
    cost = CoverCost(sum(unit(pricing.option(o)) for o in chosen), 0.0, 0.0)
    cost = replace(cost, fallback=sum(unit(pricing.fallback(index)) for index in left.nodes))
    ways = [
        (name, source.get(name, CORE_SIDE), side)
        for name, sides in left.readers.items()
        for side in sides
    ]
    moves = sum(unit(pricing.move(*way)) for way in ways)
    starts = sum(unit(pricing.start(*way)) for way in ways)
    return replace(cost, layers=cost.layers + starts, moves=moves - starts)


def core_work(pricing: Pricing, chosen: Sequence[Option]) -> tuple[tuple[str, str, float], ...]:
    """What the core does under a cover: (label, operator, modelled cycles) in execution order."""
    nodes = (pricing.graph.nodes[index] for index in leftover(pricing, chosen).nodes)
    return tuple((node.label, node.operator, pricing.fallback(node.index)) for node in nodes)
