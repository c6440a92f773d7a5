"""Plans of dense layers by overlays: read from a nest, and the overlay that serves many best."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import ceil, inf

from match_aie.errors import Infeasible, TargetError
from match_aie.hardware import Mapping
from match_aie.targets.aie_ml.array.kernel_choice import with_kernel
from match_aie.targets.aie_ml.array.layer import ArrayMapping, DenseLayer
from match_aie.targets.aie_ml.array.roles import ROLES
from match_aie.targets.aie_ml.array.search import VARIANTS
from match_aie.targets.aie_ml.array.shapes import blocks, native_tilings
from match_aie.targets.aie_ml.devices import Device, Tiling
from match_aie.targets.aie_ml.graph.dense_nest import called, parts_of
from match_aie.targets.aie_ml.graph.dense_plan import dense_layer
from match_aie.targets.aie_ml.graph.layer import zeros_of
from match_aie.targets.aie_ml.graph.overlay import Overlaid, Overlay, OverlayPlan
from match_aie.targets.aie_ml.graph.proof import cannot_lie
from match_aie.targets.aie_ml.graph.timed_splits import columns_for, memory_rate
from match_aie.targets.aie_ml.known import device as known
from match_aie.targets.aie_ml.schedule.kernel import ELEMENT_BYTES
from match_aie.workload import Workload

#: Bytes that a stream brings a tile in a cycle (facts: 32 bits).
STREAM = 4

#: Turns whose weights a memory tile takes at once: a layer's turns are even.
CHUNK = 2

#: Rows, reduction and columns of a call, blocks of a pass, and ways for the weights of a column of
#: tiles, that are tried.
ROWS = (16, 32, 48, 64, 96, 128)
REDUCTIONS = (32, 64, 128)
COLUMNS = (32, 64, 128)
BLOCKS = (4, 8, 16, 32)
FEEDS = (1, 2)

#: Bytes of a layer's weights in the chip's memory, where they lie as often as tiles take them: no
#: limit of a chip, but of what a project should hold.
MOST_CONSTANTS = 128 * 2**20

#: Overlays that are looked at closely, those that may be worth most.
LOOKED = 16

#: Of a layer, by its number, that takes so many cycles of the array; not above 0 where it is better
#: left alone.
Worth = Callable[[int, float], float]


#: Whether a layer may run so.
Able = Callable[[Workload, OverlayPlan], bool]


def laid_out(workload: Workload, plan: OverlayPlan) -> bool:
    """Whether a layer's program has its place on the device."""
    graph = plan.graph("layer", workload, zeros_of(workload))
    return cannot_lie(graph, known(plan.timed.device.name)) is None


@dataclass(frozen=True)
class Found:
    """An overlay, and how layers run by it.

    Attributes:
        overlay: what they share.
        plans: by number of the layer; those that it cannot run, or better does not, are left out.
        worth: of all of them.
    """

    overlay: Overlay
    plans: dict[int, OverlayPlan]
    worth: float


@lru_cache(maxsize=4096)
def overlay_of_nest(layer: DenseLayer, name: str, nest: Mapping) -> OverlayPlan:
    """The plan of a layer that a nest says (`overlay_nest`).

    Raises:
        TargetError: it says none.
    """
    row_parts, column_parts, length = parts_of(nest)
    array = columns_for(name, row_parts * column_parts, length)
    runs, _, wide, high, pieces, chunk = nest.temporal[:6]
    turns = pieces.size * chunk.size
    # Rows and reduction of a single block: kernels are chosen by these (`_with_kernel`).
    whole = replace(layer, rows=high.step, reduction=ROLES * chunk.step, columns=runs.step)
    shape = called(_shared(whole), array, nest)
    mapping = _with_kernel(shape, array, (shape.block,))
    if mapping is None:
        raise TargetError(f"{nest} has no kernel on {name}")
    size = mapping.call_reduction, high.size * turns, wide.size, chunk.size
    timed = Overlay(mapping, *size, nest.spatial[0].size).padded(layer, name)
    if isinstance(timed, Infeasible) or OverlayPlan(timed).nest != nest:
        raise TargetError(f"{nest} is no nest of a dense layer by an overlay on {name}")
    return OverlayPlan(timed)


def best_overlay(
    workloads: Sequence[Workload], name: str, columns: int, worth: Worth, able: Able = laid_out
) -> Found | None:
    """The overlay on so many columns that is worth most; None where none is worth anything.

    Those that may be worth most, if tiles did nothing but products and ways were always busy, are
    looked at closely.

    Args:
        workloads: of the same element types and requantisation.
        name: of the device.
        columns: that it may take.
        worth: of a layer.
        able: whether a layer's program has its place, and a text.
    """
    array, layers = known(name), [dense_layer(workload) for workload in workloads]
    best: Found | None = None
    offers = [
        (_by(one, layers, name, worth, lambda plan: _least(plan, array)), one)
        for one in _overlays(layers, array, columns)
    ]
    offers = sorted(offers, key=lambda each: -each[0].worth)
    for most, rough in offers[:LOOKED]:
        if most.worth <= (0 if best is None else best.worth):
            break
        # Registers of a generation may hold the sums of single tiles only.
        mapping = _with_kernel(rough.mapping, array, (*blocks(rough.mapping), (1, 1)))
        if mapping is None:
            continue
        found = _by(replace(rough, mapping=mapping), layers, name, worth, lambda plan: plan.cycles)
        better = found.worth > (0 if best is None else best.worth)
        alike = {plan.nest: number for number, plan in found.plans.items()}
        if better and all(able(workloads[n], found.plans[n]) for n in alike.values()):
            best = found
    return best


def _shared(layer: DenseLayer) -> DenseLayer:
    """As kernels of an overlay see a layer: all of them start from a bias."""
    return replace(layer, resident=False, shared=True, bias=True)


def _with_kernel(
    shape: ArrayMapping, array: Device, tried: tuple[tuple[int, int], ...]
) -> ArrayMapping | None:
    """With the fastest kernel of these blocks, which all layers then have.

    Program memory has to hold it for turns of all roles, whatever turns a layer has.
    """
    whole = replace(shape, home="chip", reduction_steps=ROLES)
    return with_kernel(whole, array, VARIANTS, tried, alike=True)


def _by(
    overlay: Overlay,
    layers: Sequence[DenseLayer],
    name: str,
    worth: Worth,
    cycles: Callable[[OverlayPlan], float],
) -> Found:
    """What an overlay makes of the layers.

    Args:
        overlay: of them.
        layers: some may not fit it.
        name: of the device.
        worth: of a layer.
        cycles: of a plan.
    """
    plans, total, seen = {}, 0.0, {}
    for number, layer in enumerate(layers):
        if layer not in seen:
            timed = overlay.padded(layer, name)
            large = isinstance(timed, Infeasible) or _constants(timed) > MOST_CONSTANTS
            plan = None if isinstance(timed, Infeasible) or large else OverlayPlan(timed)
            seen[layer] = plan, inf if plan is None else cycles(plan)
        plan, taken = seen[layer]
        more = 0.0 if plan is None or taken == inf else worth(number, taken)
        if plan is not None and more > 0:
            plans[number] = plan
            total += more
    return Found(overlay, plans, total)


def _constants(timed: Overlaid) -> int:
    """Bytes of weights that a layer has in the chip's memory, as often as they are sent apart."""
    return (timed.passes if timed.runs > 1 else 1) * sum(timed.w_loads)


def _least(plan: OverlayPlan, array: Device) -> float:
    """Cycles that no kernels beat: products, ways into the tiles, the chip's memory."""
    t, m = plan.timed, plan.timed.mapping
    a, w, rate = ELEMENT_BYTES[m.layer.a], ELEMENT_BYTES[m.layer.w], STREAM
    macs = array.architecture.core.macs_of(m.layer.a, m.layer.w) or 1
    turn = max(
        m.call_rows * m.call_reduction * m.call_columns / macs,
        m.call_rows * m.call_reduction * a / rate,
        m.call_reduction * m.call_columns * w / rate,
    )
    calls = t.passes * m.row_steps * m.column_steps * m.reduction_steps
    return max(calls * turn, plan.traffic[0] / memory_rate(array))


def _overlays(layers: Sequence[DenseLayer], array: Device, columns: int) -> Iterator[Overlay]:
    """Overlays of all splits and sizes that are tried, whose kernels are not chosen yet."""
    tiling = native_tilings(layers[0], array)[0]
    widths = sorted({layer.columns for layer in layers})
    for length in (n for n in (1, 2, 4) if columns % n == 0):
        chains = columns // length * array.core_rows
        for wide in (n for n in (1, 2, 4, 8) if chains % n == 0):
            for high, deep, across in _calls(tiling, layers[0], array):
                for steps in sorted({ceil(width / (wide * across)) for width in widths}):
                    whole = replace(
                        layers[0],
                        rows=chains // wide * high,
                        reduction=length * deep * ROLES,
                        columns=steps * wide * across,
                    )
                    split = length, wide, chains // wide, high, across
                    mapping = ArrayMapping(
                        *(_shared(whole), tiling, (1, 1), VARIANTS[0], *split),
                        home="chip",
                        reduction_steps=ROLES,
                    )
                    for many in BLOCKS:
                        for feeds in FEEDS[: 1 if wide == 1 else 2]:
                            yield Overlay(mapping, deep, many, steps, CHUNK, feeds)


def _calls(tiling: Tiling, layer: DenseLayer, array: Device) -> Iterator[tuple[int, int, int]]:
    """Rows, reduction and columns of calls that a tile has room for."""
    a, w, y = (ELEMENT_BYTES[each] for each in (layer.a, layer.w, layer.out))
    room = array.architecture.core.data_memory_bytes
    for high in (n for n in ROWS if n % tiling.m == 0):
        for deep in (n for n in REDUCTIONS if n % tiling.k == 0):
            for across in (n for n in COLUMNS if n % tiling.n == 0):
                held = 2 * deep * (high * a + across * w) + high * across * (4 + y)
                if held < room:
                    yield high, deep, across
