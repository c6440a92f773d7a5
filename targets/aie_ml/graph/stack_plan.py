"""Dense layers in a row on few tiles: plans of each on one, and what all of them take."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise
from math import ceil, inf

from match_aie.errors import Infeasible
from match_aie.targets.aie_ml.array.kernel_choice import with_kernel
from match_aie.targets.aie_ml.array.layer import ArrayMapping, DenseLayer
from match_aie.targets.aie_ml.array.local import logical_banks
from match_aie.targets.aie_ml.array.roles import program_bytes
from match_aie.targets.aie_ml.array.search import VARIANTS
from match_aie.targets.aie_ml.array.stacked import stack_banks
from match_aie.targets.aie_ml.array.works import works
from match_aie.targets.aie_ml.devices import Tiling
from match_aie.targets.aie_ml.graph.layer import LayerPlan, zeros_of
from match_aie.targets.aie_ml.graph.plan import MemoryKind
from match_aie.targets.aie_ml.graph.proof import cannot_lie
from match_aie.targets.aie_ml.graph.spread_plan import (
    Aim,
    SpreadPlan,
    WayKind,
    asks,
    fed_by,
    narrow,
    plan_of_pass,
)
from match_aie.targets.aie_ml.graph.stack import shares, stack_kernel
from match_aie.targets.aie_ml.graph.stack_cycles import layer_cycles, nest_of, stack_cycles
from match_aie.targets.aie_ml.kernels.nest import Nest
from match_aie.targets.aie_ml.kernels.stack import Stack, follows
from match_aie.targets.aie_ml.known import device as known
from match_aie.targets.aie_ml.schedule.kernel import ELEMENT_BYTES
from match_aie.workload import Workload

#: Tiles of `mmul` along the rows of a call that are tried.
HEIGHTS = (1, 2, 4, 8, 16)

#: Rows of a tile of `mmul` that is taken though it is of two instructions, without memory tiles.
ROWS = 4


@dataclass(frozen=True)
class StackPlan:
    """Layers that share tiles.

    Attributes:
        plans: of each layer, alone on a tile.
        tiles: which layers are on each.
        cycles: of each layer in a run: its kernel, then what brings its activations there and, of
            the last one, its results out.
        interval: between the ends of runs that follow each other.
    """

    plans: tuple[SpreadPlan, ...]
    tiles: tuple[range, ...]
    cycles: tuple[float, ...]
    interval: float

    def aimed(self, aim: Aim) -> float:
        """What counts."""
        return sum(self.cycles) if aim == "latency" else self.interval


def stack_plan(
    layers: Sequence[DenseLayer], name: str, aim: Aim, through: WayKind = "plio"
) -> StackPlan | Infeasible:
    """The best plan of layers of which each reads what the one before it stores.

    Args:
        layers: in the order in which they run.
        name: of the device.
        aim: which cycles count.
        through: what their ways are.

    Raises:
        TargetError: element types without a product there, or facts that are not known.
    """
    found: list[StackPlan] = []
    refused: Infeasible | None = None
    for high in _heights(layers[0], name):
        for rows in (high * many for many in HEIGHTS):
            if rows > high and rows >= 2 * layers[0].rows:
                continue
            plans = [alone(layer, name, rows, high) for layer in layers]
            made = [fed_by(plan, name, through) for plan in plans if plan is not None]
            if len(made) < len(plans):
                continue
            plan = _stack_of(made, name, aim)
            if isinstance(plan, Infeasible):
                refused = plan
            else:
                found.append(plan)
    levers = ("layers of fewer weights", "layers of like element types")
    none = Infeasible("layers that share tiles", len(layers), 0, "layers", levers)
    return min(found, key=lambda plan: plan.aimed(aim)) if found else refused or none


def _heights(layer: DenseLayer, name: str) -> list[int]:
    """Rows of the `mmul` tiles of a layer's element types."""
    return sorted({tiling.m for tiling in _tilings(layer, name)})


def _tilings(layer: DenseLayer, name: str) -> list[Tiling]:
    """Shapes whose results lie as the next layer reads them.

    Where no native one has four rows, those of two instructions count, too: AIE's 4x8x8 loads half
    as many weights for a product as 2x8x8 (AIE_API, detail/aie1/mmul_8_8.hpp).
    """
    found = [
        tiling
        for tiling in known(name).architecture.core.tilings_of(layer.a, layer.w)
        if tiling.n == tiling.k
    ]
    native = [tiling for tiling in found if tiling.native]
    return native if known(name).mem_rows else [t for t in found if t.native or t.m == ROWS]


@lru_cache(maxsize=4096)
def alone(layer: DenseLayer, name: str, rows: int, high: int) -> SpreadPlan | None:
    """The fastest plan of a layer on one tile, in calls of `rows` rows; None where none fits.

    Args:
        layer: what runs.
        name: of the device.
        rows: of a call.
        high: rows of an `mmul` tile.

    Raises:
        TargetError: facts that are not known.
    """
    found = []
    for tiling in _tilings(layer, name):
        if tiling.m != high:
            continue
        wide = ceil(layer.columns / tiling.n) * tiling.n
        part = replace(layer, rows=min(layer.rows, rows))
        mapping = ArrayMapping(part, tiling, (1, 1), VARIANTS[0], 1, 1, 1, rows, wide)
        shapes = None if known(name).mem_rows else _narrow_blocks(mapping)
        made = with_kernel(mapping, narrow(name, mapping), VARIANTS, shapes)
        plan = None if made is None else plan_of_pass(made, layer.rows, name)
        if plan is not None:
            found.append(plan)
    return min(found, key=lambda plan: plan.cycles, default=None)


def _narrow_blocks(mapping: ArrayMapping) -> tuple[tuple[int, int], ...]:
    """Blocks of a row of tiles: a core of AIE has four accumulators and eight vectors."""
    wide = mapping.call_columns // mapping.tiling.n
    return tuple(shape for shape in ((1, 1), (1, 2)) if wide % shape[1] == 0)


def tile_plans(
    layer: DenseLayer, workload: Workload, name: str, memory: MemoryKind, aim: Aim
) -> tuple[LayerPlan, ...] | Infeasible:
    """The plan of a layer on a device without memory tiles, where one tile holds its weights.

    Args:
        layer: what runs.
        workload: the same.
        name: of the device.
        memory: what feeds it.
        aim: what plans are compared by.

    Raises:
        TargetError: facts that are not known.
    """
    through: WayKind = "plio" if memory == "plio" else "gmio"
    tried = [
        alone(layer, name, high * many, high)
        for high in _heights(layer, name)
        for many in HEIGHTS
        if many == 1 or high * many < 2 * layer.rows
    ]
    ways = (fed_by(plan, name, through) for plan in tried if plan is not None)
    refused: Infeasible | None = None
    for fed in sorted(ways, key=lambda plan: plan.aimed(aim)):
        refused = cannot_lie(fed.graph("layer", workload, zeros_of(workload)), known(name))
        if refused is None:
            return (fed,)
    return refused or _too_large(layer, name)


def _too_large(layer: DenseLayer, name: str) -> Infeasible:
    """Why no tile holds a layer."""
    count, size = logical_banks(known(name))
    weights = layer.reduction * layer.columns * ELEMENT_BYTES[layer.w]
    levers = ("layers of fewer weights", "a device with memory tiles, such as vek280")
    what = f"weights of a layer in a tile of {name}, which vek280 can spread over several,"
    return Infeasible(what, weights, (count - 2) * size, "bytes", levers)


def single(layer: DenseLayer, name: str) -> SpreadPlan | None:
    """The fastest plan of a layer on one tile, in calls as low as can be; None where none fits."""
    plans = [alone(layer, name, high, high) for high in _heights(layer, name)]
    return min((p for p in plans if p is not None), key=lambda p: p.cycles, default=None)


def _stack_of(plans: Sequence[SpreadPlan], name: str, aim: Aim) -> StackPlan | Infeasible:
    """What layers take that run as these plans, on few tiles."""
    nests = [nest_of(plan.timed) for plan in plans]
    if not all(_follow(before, after) for before, after in pairwise(nests)):
        levers = ("tilings alike", "layers of like element types")
        return Infeasible("layers whose results the next one reads", 1, 0, "layers", levers)
    tiles = _shared_out(nests, name, aim)
    if isinstance(tiles, Infeasible):
        return tiles
    begins = {part[0] for part in tiles}
    ordered = (_ordered(p, shared=at not in begins) for at, p in enumerate(plans))
    return StackPlan(tuple(ordered), tiles, *_cycles(plans, tiles, name))


def stack_of_plans(plans: Sequence[SpreadPlan], name: str) -> StackPlan | None:
    """The plan of layers on a tile each, or on tiles that they share; None of others."""
    if len(plans) < 2 or any(plan.timed.tiles > 1 for plan in plans):
        return None
    begins = [at for at, plan in enumerate(plans) if at == 0 or not shares(plan.timed)]
    tiles = tuple(range(a, b) for a, b in pairwise([*begins, len(plans)]))
    nests = [nest_of(plan.timed) for plan in plans]
    if not all(_follow(before, after) for before, after in pairwise(nests)):
        return None
    return StackPlan(tuple(plans), tiles, *_cycles(plans, tiles, name))


def _cycles(
    plans: Sequence[SpreadPlan], tiles: Sequence[range], name: str
) -> tuple[tuple[float, ...], float]:
    return stack_cycles([p.timed for p in plans], tiles, name, asks(plans[0].through))


def _ordered(plan: SpreadPlan, *, shared: bool) -> SpreadPlan:
    """The plan with what says whether it shares the tile of the layer before (`stack.shares`)."""
    mapping = replace(plan.timed.mapping, order="n" if shared else "m")
    return replace(plan, timed=replace(plan.timed, mapping=mapping))


def _shared_out(nests: Sequence[Nest], name: str, aim: Aim) -> tuple[range, ...] | Infeasible:
    """Which layers share a tile: the fewest tiles, and of those the split of the fastest slowest.

    Where runs follow each other, no tile takes more cycles than the slowest layer alone.
    """
    cycles = [layer_cycles(nest, name) for nest in nests]
    most = inf if aim == "latency" else max(cycles)
    #: (tiles, cycles of the slowest, where the last tile begins) of the first layers.
    best: list[tuple[float, float, int]] = [(0, 0, 0)]
    for end in range(1, len(nests) + 1):
        found: tuple[float, float, int] = (inf, inf, 0)
        refused: Infeasible | None = None
        for begin in reversed(range(end)):
            refused = _cannot_share(tuple(nests[begin:end]), name)
            if refused is not None or sum(cycles[begin:end]) > most:
                break
            tiles, slowest, _ = best[begin]
            found = min(found, (tiles + 1, max(slowest, sum(cycles[begin:end])), begin))
        if found[0] == inf and refused is not None:
            return refused
        best.append(found)
    parts, end = [], len(nests)
    while end:
        begin = best[end][2]
        parts.append(range(begin, end))
        end = begin
    return tuple(reversed(parts))


@lru_cache(maxsize=4096)
def _cannot_share(nests: tuple[Nest, ...], name: str) -> Infeasible | None:
    """What a tile lacks for these layers together; None where they fit."""
    device, stack = known(name), Stack("stack", "", nests)
    placed = stack_banks(stack, device)
    if isinstance(placed, Infeasible):
        return placed
    work = works(stack_kernel(stack, (0, 0), ()), device.architecture)
    much = program_bytes(work, stack, device)
    most = device.architecture.core.program_memory_bytes
    if much <= most:
        return None
    levers = ("fewer layers a tile",)
    return Infeasible("program memory of a tile", much, most, "bytes", levers)


def _follow(before: Nest, after: Nest) -> bool:
    return before.m_tiles == after.m_tiles and follows(before.call.spec, after.call.spec)
