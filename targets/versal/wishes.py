"""What users ask of single layers on the array: columns, tiles, length of cascades, position.

A wish is kept, or refused with a reason: never half of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from match_aie.errors import TargetError
from match_aie.hardware import ChosenLayer
from match_aie.hardware import Mapping as LoopMapping
from match_aie.targets.aie_ml.devices import Device
from match_aie.targets.aie_ml.graph.layer import LayerPlan, zeros_of
from match_aie.workload import Workload

#: Layers by label, and what is asked of each.
Layers = Mapping[str, Mapping[str, object]]

#: Of none.
NO_LAYERS: Layers = MappingProxyType({})

#: The plan that a layer's mapping names.
PlanOf = Callable[[Workload, LoopMapping], LayerPlan]

#: What may be asked, beside a position.
COUNTS = ("columns", "tiles", "cascade")


@dataclass(frozen=True)
class Wish:
    """What is asked of a layer; None where all is welcome.

    Attributes:
        label: of the layer.
        columns: of the array that it takes.
        tiles: likewise.
        cascade: tiles of a chain, which divide the reduction.
        column: its first one.
    """

    label: str
    columns: int | None = None
    tiles: int | None = None
    cascade: int | None = None
    column: int | None = None

    @property
    def data(self) -> dict[str, object]:
        """As `read` takes it."""
        found: dict[str, object] = {
            what: value for what in COUNTS if (value := getattr(self, what)) is not None
        }
        return found if self.column is None else {**found, "position": [self.column, 0]}

    @property
    def of_plan(self) -> bool:
        """Whether it says how the layer is spread, not only where it lies."""
        return (self.columns, self.tiles, self.cascade) != (None, None, None)

    def __str__(self) -> str:
        """In words."""
        found = [f"{getattr(self, what)} {what}" for what in COUNTS if getattr(self, what)]
        found = [word.replace(" cascade", " tiles of a cascade") for word in found]
        if self.column is not None:
            found.append(f"position ({self.column}, 0)")
        return ", ".join(found)

    def kept(self, plan: LayerPlan, workload: Workload) -> bool:
        """Whether a plan is what is asked for.

        Args:
            plan: of the layer.
            workload: what it computes.
        """
        if self.columns not in (None, plan.columns):
            return False
        if self.cascade not in (None, cascade(plan, workload)):
            return False
        return self.tiles is None or self.tiles == tiles(plan, workload)


#: Where nobody asks for anything.
NO_WISHES: Mapping[str, Wish] = MappingProxyType({})


def cascade(plan: LayerPlan, workload: Workload) -> int | None:
    """Tiles of a chain of a dense layer's plan; None of other kinds."""
    if workload.kind != "dense":
        return None
    return next((loop.size for loop in plan.spatial if loop.dim == "C"), None)


def tiles(plan: LayerPlan, workload: Workload) -> int:
    """Cores of a plan."""
    zeros = zeros_of(workload)
    return len(plan.graph("layer", workload, zeros).kernels)


def read(layers: Layers, device: Device) -> dict[str, Wish]:
    """Wishes by label.

    Args:
        layers: what is asked.
        device: the array.

    Raises:
        TargetError: there is no such wish, or no array of this size.
    """
    hint = 'wishes by label, such as {"fc1": {"columns": 2}}'
    if not isinstance(layers, Mapping):
        raise TargetError(f"layers {layers!r}", hint=hint)
    for label, asked in layers.items():
        if not isinstance(label, str) or not isinstance(asked, Mapping):
            raise TargetError(f"wishes {asked!r}", where=str(label), hint=hint)
    return {label: _read(label, dict(asked), device) for label, asked in layers.items()}


def _read(label: str, asked: dict[str, object], device: Device) -> Wish:
    most = {
        "columns": device.columns,
        "tiles": device.columns * device.core_rows,
        "cascade": device.columns,
    }
    counts: dict[str, int] = {}
    for what, value in asked.items():
        if what == "position":
            continue
        if what not in most:
            hint = f"one of {(*COUNTS, 'position')}"
            raise TargetError(f"no wish of a layer is called {what!r}", where=label, hint=hint)
        if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= most[what]:
            raise TargetError(f"{what} {value!r}", where=label, hint=f"a number up to {most[what]}")
        counts[what] = value
    if "position" not in asked:
        return Wish(label, **counts)
    return Wish(label, **counts, column=_column(label, asked["position"], device))


def _column(label: str, position: object, device: Device) -> int:
    """The first column of a position."""
    pair = tuple(position) if isinstance(position, (tuple, list)) else ()
    if len(pair) != 2 or not all(isinstance(at, int) and not isinstance(at, bool) for at in pair):
        raise TargetError(f"position {position!r}", where=label, hint="(first column, 0)")
    column, row = pair
    if not 0 <= column < device.columns:
        what = f"column {column} of an array with {device.columns}"
        raise TargetError(what, where=label, hint=f"0 to {device.columns - 1}")
    if row != 0:
        raise TargetError(
            f"position in row {row}: a layer takes whole columns, with their memory tiles",
            where=label,
            hint=f"({column}, 0)",
        )
    return int(column)


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
        TargetError: a wish names no layer, or several, or one that does not run on the array; or
            selection kept another plan.
    """
    labels = [layer.label for layer in layers]
    for label in wishes:
        if labels.count(label) != 1:
            what = "no layer" if label not in labels else f"{labels.count(label)} layers"
            raise TargetError(
                f"{what} called {label!r} in the network, and columns or a position for it",
                hint=f"layers are {', '.join(labels[:20])}",
            )
        layer = layers[labels.index(label)]
        if layer.module != module:
            raise TargetError(
                f"not on the array, but on {layer.module or 'the core'}: {wishes[label]}",
                where=label,
                hint='modules=("array",), or no wish for this layer',
            )
        if not wishes[label].kept(plan_of(layer.workload, layer.mapping), layer.workload):
            raise TargetError(
                f"another plan than one with {wishes[label]} was chosen",
                where=label,
                hint="selection='cheapest'",
            )
