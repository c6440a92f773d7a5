"""How a dense layer runs on a few columns: of the best mappings, those that a graph can express.

A plan is its nest (`dense_nest`): the network's manifest keeps it, and the plan is read from it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from math import ceil

import numpy as np

from match_aie.cost_models.aie_image import requested
from match_aie.errors import Infeasible, TargetError
from match_aie.hardware import Mapping
from match_aie.targets.aie_ml.array.assumed import Assumed
from match_aie.targets.aie_ml.array.layer import ArrayMapping, DenseLayer, PartialSums
from match_aie.targets.aie_ml.array.price import Priced, price
from match_aie.targets.aie_ml.array.search import SLOWER, Given, search
from match_aie.targets.aie_ml.array.shapes import native_tilings, splits
from match_aie.targets.aie_ml.devices import Device
from match_aie.targets.aie_ml.graph.dense import DenseGraph, gathered, width_of
from match_aie.targets.aie_ml.graph.dense_nest import is_dense_nest, mapping_of, nest_of, parts_of
from match_aie.targets.aie_ml.graph.gather import channels_of, handed_on
from match_aie.targets.aie_ml.graph.layer import Arrays, LayerPlan, by_width, zeros_of
from match_aie.targets.aie_ml.graph.plan import LayerGraph, MemoryKind
from match_aie.targets.aie_ml.graph.proof import cannot_be_written, cannot_lie
from match_aie.targets.aie_ml.graph.region import columns_of_chains, region, region_of_chains
from match_aie.targets.aie_ml.graph.spread_plan import Aim, is_nest, of_nest, spread_plans
from match_aie.targets.aie_ml.graph.stack_plan import single, tile_plans
from match_aie.targets.aie_ml.graph.timed_plan import TimedPlan, timed_best, timed_of_nest
from match_aie.targets.aie_ml.graph.timed_splits import REQUEST_CYCLES
from match_aie.targets.aie_ml.kernels.arithmetic import NARROW, starts
from match_aie.targets.aie_ml.known import device as known
from match_aie.targets.aie_ml.schedule import schedule_call
from match_aie.targets.aie_ml.schedule.kernel import ELEMENT_BYTES, Requantise
from match_aie.workload import Workload, rounds_sums

#: Plans that are laid out until one fits the array, and mappings of a split that are looked at.
CANDIDATES = 12
KEPT = 4

#: A plan this near the least cycles of any other split is good enough.
NEAR = 0.99

#: Of widths without a plan that keeps the weights.
_NONE = Infeasible("columns that keep its weights", 1, 0, "columns")


@dataclass(frozen=True)
class DensePlan:
    """A mapping that a graph can express.

    Attributes:
        mapping: how the layer is spread.
        device: with as many columns as the layer takes.
        inside: cycles of one run without the ways in and out, modelled.
    """

    mapping: ArrayMapping
    device: Device
    inside: float

    @property
    def cycles(self) -> float:
        """Of one run, modelled: memory tiles take x as a whole, and give y as a whole."""
        return sum((*self.legs, *self.requests), self.inside)

    @property
    def legs(self) -> tuple[float, float]:
        """Of `cycles`, the way of x into memory tiles, and that of y out."""
        m, rate = self.mapping, self.device.architecture.shim_dma.bytes_per_cycle
        layer, wide = m.layer, m.column_parts * width_of(m)
        entering = layer.rows * layer.reduction * ELEMENT_BYTES[layer.a] / rate
        return entering, layer.rows * wide * ELEMENT_BYTES[layer.out] / rate

    @property
    def requests(self) -> tuple[float, float]:
        """Of `cycles`, what the chip's memory takes from requests on."""
        return requested(REQUEST_CYCLES, self.starting)

    @property
    def starting(self) -> float:
        """Starting the kernels, each with two buffers."""
        return Assumed().start + 2 * Assumed().start_port

    @property
    def columns(self) -> int:
        """Of the array that it takes."""
        return self.device.columns

    @property
    def memory(self) -> MemoryKind:
        """The chip's."""
        return "ddr"

    @property
    def ways(self) -> tuple[int, int]:
        """Channels from the chip's memory into the array, and back."""
        return 1, 1

    @property
    def nest(self) -> Mapping:
        """See `dense_nest`."""
        return nest_of(self.mapping)

    def graph(self, name: str, workload: Workload, constants: Arrays) -> LayerGraph:
        """The graph, called `name`, with the numbers of `constants`."""
        return DenseGraph(name, self.mapping, self.device, workload, constants).graph


def dense_layer(workload: Workload) -> DenseLayer:
    """A dense workload in fixed point as the array's search sees it."""
    sizes, tail = workload.sizes, workload.tail
    sums: PartialSums = "result" if rounds_sums(workload) else "exact"
    if workload.real is not None:
        shape = sizes["B"], sizes["C"], sizes["K"]
        types = "bfloat16", workload.real.precision, "bfloat16"
        relu = workload.real.activation == "relu"
        biased = starts(workload, "none")
        return DenseLayer(*shape, *types, bias=biased, relu=relu, partial_sums=sums)
    names = {operand.name: operand for operand in workload.constants}
    form: Requantise = "none"
    if tail is not None and workload.output.dtype != "int32":
        multiplier = names.get("multiplier")
        form = "shift" if multiplier is None else "multiplier"
        if multiplier is not None and multiplier.size > 1:
            form = "narrow_channel" if tail.bits == NARROW.bits else "channel"
    return DenseLayer(
        rows=sizes["B"],
        reduction=sizes["C"],
        columns=sizes["K"],
        a=workload.inputs[0].dtype,
        w=names["weight"].dtype,
        out=workload.output.dtype,
        bias=starts(workload, form),
        relu=tail is not None and tail.lo > np.iinfo(workload.output.dtype).min,
        requantise=form,
        partial_sums=sums,
    )


def dense_plans(
    workload: Workload, name: str, most: int, memory: MemoryKind = "ddr", aim: Aim = "latency"
) -> tuple[LayerPlan, ...] | Infeasible:
    """Plans of a dense layer on up to `most` columns of device `name`, the best of every width.

    No plan is as good as one of fewer columns and its kind: with weights in the tiles, or going by.
    A layer whose weights do not fit the tiles goes
    through the chip's memory, whatever feeds the others. Where weights do and are not few, the last
    plan is one whose weights go by all the same: alike layers may take turns on its tiles.

    Args:
        workload: in fixed point.
        name: of the device.
        most: columns.
        memory: where activations come from, and results go to.
        aim: what plans are compared by.

    Raises:
        TargetError: element types without a product there, or facts that are not known.
    """
    if not known(name).mem_rows:
        return tile_plans(dense_layer(workload), workload, name, memory, aim)
    found = _resident_plans(workload, name, most, memory, aim)
    # A processor that dispatches whole programs has a graph for each layer.
    if isinstance(found, Infeasible) or known(name).dispatch_us is not None:
        return found
    if any(isinstance(plan, TimedPlan) and plan.timed.mapping.streamed for plan in found):
        return found
    plan = _going_by(dense_layer(workload), workload, name, most)
    return found if plan is None else (*found, plan)


def _going_by(layer: DenseLayer, workload: Workload, name: str, columns: int) -> TimedPlan | None:
    """The best plan on so few tiles that the weights come from the chip's memory in every run.

    None where there is none, and of layers of less weights than two tiles hold.
    """
    whole = known(name)
    held = whole.architecture.core.data_memory_bytes
    tiles = layer.reduction * layer.columns * ELEMENT_BYTES[layer.w] // held
    few = min(columns, ceil(tiles / whole.core_rows))
    plan = timed_best(layer, workload, name, few, tiles) if tiles > 1 else None
    return plan if isinstance(plan, TimedPlan) and plan.timed.mapping.streamed else None


def _resident_plans(
    workload: Workload, name: str, most: int, memory: MemoryKind, aim: Aim
) -> tuple[LayerPlan, ...] | Infeasible:
    """Plans with weights in the tiles, where they fit; see `dense_plans`."""
    if memory == "plio":
        layer = dense_layer(workload)
        found = spread_plans(layer, workload, name, most, aim)
        if not isinstance(found, Infeasible):
            few = single(layer, name)
            alike = few is None or any(few.nest.spatial == plan.nest.spatial for plan in found)
            return found if few is None or alike else (*found, few)
    found = by_width(most, lambda width, least: _best_plan(workload, name, width, least))
    if isinstance(found, Infeasible):
        return found
    # One whose operands go by may be faster alone on fewer columns, but its neighbours' data cannot
    # stay in memory tiles.
    held = by_width(most, lambda width, _: _held(workload, name, width) or _NONE)
    if not isinstance(held, Infeasible):
        found = (*found, *(plan for plan in held if plan not in found))
    written = tuple(plan for plan in found if _written(plan, workload, name))
    return written or found


def _best_plan(workload: Workload, name: str, columns: int, most: float) -> LayerPlan | Infeasible:
    """A plan with all weights in the tiles; else one whose operands go by, of less than `most`.

    One of the former without a text, where there must be one, only where there is none of the
    latter.
    """
    held = _held(workload, name, columns)
    if held is not None and _written(held, workload, name):
        return held
    by = timed_best(dense_layer(workload), workload, name, columns, most=most)
    return by if held is None or not isinstance(by, Infeasible) else held


def _written(plan: LayerPlan, workload: Workload, name: str) -> bool:
    """Whether a plan has a text; of those whose operands go by, one was taken that has, if any."""
    asked = isinstance(plan, DensePlan) and known(name).named_calls
    return not asked or _has_text(workload, name, plan.nest)


@lru_cache(maxsize=1024)
def _has_text(workload: Workload, name: str, nest: Mapping) -> bool:
    """Whether a plan with all weights in the tiles has a text, where there must be one."""
    graph = _of_nest(dense_layer(workload), name, nest).graph("layer", workload, zeros_of(workload))
    return cannot_be_written(graph, known(name)) is None


def _held(workload: Workload, name: str, columns: int) -> DensePlan | None:
    """The best plan with all weights in the tiles."""
    layer, device = dense_layer(workload), known(name)
    room = columns * device.core_rows * device.architecture.core.data_memory_bytes
    fits = layer.reduction * layer.columns * ELEMENT_BYTES[layer.w] < room
    return _best(workload, name, columns) if fits and _holds(layer, device) else None


def _holds(layer: DenseLayer, device: Device) -> bool:
    """Whether a memory tile holds x as a whole, and y: `DenseGraph` has a buffer of each."""
    mem = device.architecture.mem
    x = layer.rows * layer.reduction * ELEMENT_BYTES[layer.a]
    y = layer.rows * layer.columns * ELEMENT_BYTES[layer.out]
    return mem is not None and max(x, y) <= mem.bytes


def dense_plan(workload: Workload, name: str, nest: Mapping) -> LayerPlan:
    """The plan that a nest says, of `dense_plans` or another one.

    Raises:
        TargetError: it says none.
    """
    layer = dense_layer(workload)
    if is_nest(nest):
        return of_nest(layer, name, nest)
    if is_dense_nest(nest, in_passes=True):
        return timed_of_nest(layer, name, nest)
    if is_dense_nest(nest, in_passes=False):
        return _of_nest(layer, name, nest)
    raise TargetError(f"{nest} is no nest of a dense layer")


@lru_cache(maxsize=1024)
def _of_nest(layer: DenseLayer, name: str, nest: Mapping) -> DensePlan:
    """The plan that a nest without passes says."""
    row_parts, column_parts, length = parts_of(nest)
    device = region_of_chains(name, row_parts * column_parts, length)
    mapping = mapping_of(layer, device, nest)
    if mapping is None or mapping.streamed or mapping.reduction_steps > 1:
        raise TargetError(f"{nest} does not fit {name}")
    priced = price(mapping, device, Assumed())
    if not isinstance(priced, Infeasible):
        plan = DensePlan(mapping, device, _inside(priced, device))
        if _scheduled(plan) and plan.nest == nest:
            return plan
    raise TargetError(f"{nest} does not fit {name}")


@lru_cache(maxsize=1024)
def _best(workload: Workload, name: str, columns: int) -> DensePlan | None:
    """The plan of least latency on at most `columns` columns whose graph can be laid out.

    Of those that have a text, where there must be one, as long as any has.
    """
    layer = dense_layer(workload)
    ordered, refused = _ordered(layer, name, columns), set[Given]()
    unwritten: DensePlan | None = None
    while len(refused) < CANDIDATES:
        found = _fastest(layer, name, ordered, refused)
        if found is None:
            break
        split, plan = found
        if _laid_out(plan, workload, name):
            if _written(plan, workload, name):
                return plan
            unwritten = unwritten or plan
        refused.add(split)
    return unwritten


def _fastest(
    layer: DenseLayer,
    name: str,
    ordered: tuple[tuple[float, Given], ...],
    refused: set[Given],
) -> tuple[Given, DensePlan] | None:
    """The split whose plan has the least cycles, of equal ones the fewest tiles, and that plan.

    Args:
        layer: what runs.
        name: of the device.
        ordered: bounds and splits, best first.
        refused: splits whose plans cannot be laid out.
    """
    best: tuple[Given, DensePlan] | None = None
    for bound, split in ordered:
        if best is not None and bound >= NEAR * best[1].cycles:
            break
        plan = SLOWER if split in refused else plan_of_split(layer, name, split)
        if not isinstance(plan, Infeasible) and (best is None or _key(plan) < _key(best[1])):
            best = split, plan
    return best


def _key(plan: DensePlan) -> tuple[float, int]:
    return plan.cycles, plan.mapping.tiles


@lru_cache(maxsize=1024)
def _ordered(layer: DenseLayer, name: str, columns: int) -> tuple[tuple[float, Given], ...]:
    """Least cycles and splits on at most `columns` columns, best first, those of few tiles before.

    Products are done, x comes and y leaves; where one memory tile has not the channels for all
    chains, what brings it most chains' results hands on those of at least the average.
    """
    whole, found = region(name, columns, known(name).core_rows), []
    rate, most = whole.architecture.shim_dma.bytes_per_cycle, channels_of(whole).s2mm
    x = layer.rows * layer.reduction * ELEMENT_BYTES[layer.a] / rate
    y = layer.rows * layer.columns * ELEMENT_BYTES[layer.out] / rate
    for split in splits(layer, whole, native_tilings(layer, whole)[0], None, coarse=True):
        many, length = split.chains, split.cas_length
        if columns_of_chains(name, many, length) <= columns:
            handed = ceil(many / most) / many * y if many > most else 0.0
            bound = x + split.bound + handed + y
            parts = Given(length, split.column_parts, split.row_parts)
            found.append(((bound, many * length), (bound, parts)))
    return tuple(entry for _, entry in sorted(found, key=lambda one: one[0]))


def _laid_out(plan: DensePlan, workload: Workload, name: str) -> bool:
    """Whether the plan's graph fits the array and keeps its rules."""
    return cannot_lie(plan.graph("layer", workload, zeros_of(workload)), known(name)) is None


@lru_cache(maxsize=4096)
def plan_of_split(layer: DenseLayer, name: str, split: Given) -> DensePlan | Infeasible:
    """The best plan of a split, on as few columns as hold it."""
    chains = (split.column_parts or 1) * (split.row_parts or 1)
    device = region_of_chains(name, chains, split.cas_length or 1)
    found = search(layer, device, objective="latency", keep=KEPT, given=split, resident=True)
    if isinstance(found, Infeasible):
        return found
    plans = (DensePlan(one.mapping, device, _inside(one, device)) for one in found)
    if able := [plan for plan in plans if _scheduled(plan)]:
        return min(able, key=lambda plan: plan.cycles)
    weights = found[0].mapping.weight_bytes * found[0].mapping.column_steps
    return Infeasible(
        "memory of a tile",
        weights,
        device.architecture.core.data_memory_bytes,
        "bytes for weights that stay there, beside activations",
        ("more columns for a layer (columns_per_layer)", "run the layer on the Arm core"),
    )


def _scheduled(plan: DensePlan) -> bool:
    """Whether the kernel that stores has a schedule: its tail may hold more than the search's."""
    m = plan.mapping
    scaled = m.layer.requantise not in ("shift", "none")
    kernel = replace(m.kernel(m.cas_length - 1), addends=scaled)
    size = (m.call_rows, m.call_reduction, m.call_columns)
    try:
        schedule_call(kernel, plan.device.architecture, *size)
    except TargetError:
        return False
    return True


def _inside(priced: Priced, device: Device) -> float:
    """Cycles of a single run from the memory tiles that have x to the one that has all of y."""
    handed, cost = handed_on(*gathered(priced.mapping, device), device), priced.cost
    return cost.inside + cost.latency - cost.interval - cost.before + handed
