"""What users ask of single layers on the array: tiles, cascades, replicas, position, precision.

A wish is kept, or refused with a reason: never half of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from match_aie.errors import TargetError
from match_aie.hardware import ChosenLayer
from match_aie.hardware import Mapping as LoopMapping
from match_aie.targets.aie_ml.graph.layer import LayerPlan, zeros_of
from match_aie.targets.aie_ml.graph.recurrent_splits import along_cascade, with_logic
from match_aie.targets.aie_ml.graph.timed_plan import TimedPlan
from match_aie.workload import RECURRENT, Workload, product_type

#: Layers by label, and what is asked of each.
Layers = Mapping[str, Mapping[str, object]]

#: Of none.
NO_LAYERS: Layers = MappingProxyType({})

#: The plan that a layer's mapping names.
PlanOf = Callable[[Workload, LoopMapping], LayerPlan]

#: What may be asked as a number of the plan, and how it is said.
COUNTS = {
    "columns": "columns",
    "tiles": "tiles",
    "cascade": "tiles of a cascade",
    "replicas": "replicas",
    "logic": "kernels of logic",
}

#: Of a dense layer's operands, what users call them.
OPERANDS = {"input": "x", "weight": "weight", "result": "y"}


@dataclass(frozen=True)
class Wish:
    """What is asked of a layer; None where all is welcome.

    Attributes:
        label: of the layer.
        columns: of the array that it takes.
        tiles: likewise.
        cascade: tiles of a chain, which divide the reduction.
        replicas: copies of its weights, each of which takes its share of the rows.
        logic: kernels of programmable logic, which no layer has that none is asked for, but where
            the arithmetic is that of logic.
        column: its first one.
        precision: element types, by what users call the operands.
    """

    label: str
    columns: int | None = None
    tiles: int | None = None
    cascade: int | None = None
    replicas: int | None = None
    logic: int | None = None
    column: int | None = None
    precision: tuple[tuple[str, str], ...] = ()

    @property
    def data(self) -> dict[str, object]:
        """As `read` takes it."""
        found: dict[str, object] = {
            what: value for what in COUNTS if (value := getattr(self, what)) is not None
        }
        if self.column is not None:
            found["position"] = [self.column, 0]
        return {**found, "precision": dict(self.precision)} if self.precision else found

    @property
    def of_plan(self) -> bool:
        """Whether it says how the layer is spread, not only where it lies."""
        return any(getattr(self, what) is not None for what in COUNTS)

    @property
    def of_place(self) -> bool:
        """Whether it says how the layer is spread, or where it lies."""
        return self.of_plan or self.column is not None

    def __str__(self) -> str:
        """In words."""
        counts = ((getattr(self, what), word) for what, word in COUNTS.items())
        found = [f"{count} {word}" for count, word in counts if count is not None]
        if self.column is not None:
            found.append(f"position ({self.column}, 0)")
        found += [f"{operand} {dtype}" for operand, dtype in self.precision]
        return ", ".join(found)

    def kept(self, plan: LayerPlan, workload: Workload) -> bool:
        """Whether a plan is what is asked for.

        Args:
            plan: of the layer.
            workload: what it computes.
        """
        if self.columns not in (None, plan.columns):
            return False
        if (logic(plan, workload) or 0) not in self._kernels(workload):
            return False
        if self.cascade not in (None, cascade(plan, workload)):
            return False
        if self.replicas not in (None, replicas(plan, workload)):
            return False
        return self.tiles is None or self.tiles == tiles(plan, workload)

    def _kernels(self, workload: Workload) -> tuple[int, ...]:
        """How many kernels of logic may be; unasked, one is only where it has the functions."""
        if self.logic is None and workload.real is not None:
            return (0, 1) if workload.real.precision == "single_lines" else (0,)
        return (self.logic or 0,)

    def mistyped(self, workload: Workload) -> str:
        """How a layer's element types differ from what is asked for; empty where they do not."""
        own = precision(workload)
        return ", ".join(
            f"{operand} {dtype} is asked for and "
            + (f"the layer's is {own[operand]}" if operand in own else "it has none")
            for operand, dtype in self.precision
            if own.get(operand) != dtype
        )


#: Where nobody asks for anything.
NO_WISHES: Mapping[str, Wish] = MappingProxyType({})


def cascade(plan: LayerPlan, workload: Workload) -> int | None:
    """Tiles of a chain of a dense or recurrent layer's plan; None of others."""
    if workload.kind in RECURRENT:
        return along_cascade(plan.nest.spatial)
    if workload.kind != "dense":
        return None
    return next((loop.size for loop in plan.nest.spatial if loop.dim == "C"), None)


def logic(plan: LayerPlan, workload: Workload) -> int | None:
    """Kernels of programmable logic of a recurrent layer's plan; None of others."""
    return int(with_logic(plan.nest.spatial)) if workload.kind in RECURRENT else None


def replicas(plan: LayerPlan, workload: Workload) -> int | None:
    """Copies of a dense layer's weights, which divide its rows; None of other kinds."""
    if workload.kind != "dense":
        return None
    if isinstance(plan, TimedPlan):
        return plan.timed.copies * plan.timed.mapping.row_parts
    return next((loop.size for loop in plan.nest.spatial if loop.dim == "B"), None)


def tiles(plan: LayerPlan, workload: Workload) -> int:
    """Cores of a plan."""
    zeros = zeros_of(workload)
    return len(plan.graph("layer", workload, zeros).kernels)


def precision(workload: Workload) -> dict[str, str]:
    """Element types of a layer's operands as the array computes them, by what users call them."""
    own = {operand.name: operand.dtype for operand in workload.operands}
    found = {word: own[name] for word, name in OPERANDS.items() if name in own}
    if "weight" not in found and "x1" in own:
        found["weight"] = own["x1"]
    if not workload.rounded:
        return found
    names = {"bfloat16": "bf16"}
    types = product_type(workload)
    return dict.fromkeys(found, names.get(types, types))


def offered(plans: Sequence[LayerPlan], workload: Workload) -> str:
    """What plans of a layer there are, in words."""
    counts = [
        (
            plan.columns,
            tiles(plan, workload),
            cascade(plan, workload),
            replicas(plan, workload),
            logic(plan, workload) or None,
        )
        for plan in plans
    ]
    return in_words("plans", counts)


def in_words(what: str, counts: Sequence[Sequence[int | None]]) -> str:
    """What there is of the first of `COUNTS`, as "plans have 1, 2 columns; 4, 8 tiles"."""
    if not counts:
        return f"no {what} were found"
    found = []
    for word, values in zip(COUNTS.values(), zip(*counts, strict=True), strict=False):
        numbers = sorted({value for value in values if value is not None})
        found += [f"{', '.join(map(str, numbers))} {word}"] if numbers else []
    return f"{what} have " + "; ".join(found)


def verify(
    wishes: Mapping[str, Wish], layers: Sequence[ChosenLayer], module: str, plan_of: PlanOf
) -> None:
    """Hold what was chosen to what was asked.

    Args:
        wishes: by label.
        layers: of all modules.
        module: name of the array's.
        plan_of: the plan of a layer on the array.

    Raises:
        TargetError: a wish names no layer, or several, or one that does not run on the array;
            selection kept another plan, or the layer has other element types.
    """
    labels = [layer.label for layer in layers]
    for label, wish in wishes.items():
        if labels.count(label) != 1:
            what = "no layer" if label not in labels else f"{labels.count(label)} layers"
            raise TargetError(
                f"{what} called {label!r} in the network, and {wish} for it",
                hint=f"layers are {', '.join(labels[:20])}",
            )
        layer = layers[labels.index(label)]
        if layer.module != module:
            raise TargetError(
                f"not on the array, but on {layer.module or 'the core'}: {wish}",
                where=label,
                hint=f"pins={{{label!r}: {module!r}}}, or no wish for this layer",
            )
        mistyped = wish.mistyped(layer.workload)
        if mistyped:
            raise TargetError(
                f"the model's scales and types say what a layer computes: {mistyped}",
                where=label,
                hint="quantise the model so, or ask for the types that the layer has",
            )
        if not wish.kept(plan_of(layer.workload, layer.mapping), layer.workload):
            raise TargetError(
                f"another plan than one with {wish} was chosen",
                where=label,
                hint="selection='cheapest'",
            )
