"""Dense layers in a row on few tiles: plans of each on one, and what all of them take."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise
from math import ceil, inf

from match_aie.errors import Infeasible
from match_aie.targets.aie_ml.array.assumed import Assumed
from match_aie.targets.aie_ml.array.emit import call_spec, tile_nest
from match_aie.targets.aie_ml.array.kernel_choice import with_kernel
from match_aie.targets.aie_ml.array.layer import ArrayMapping, DenseLayer
from match_aie.targets.aie_ml.array.search import VARIANTS
from match_aie.targets.aie_ml.array.stacked import stack_banks
from match_aie.targets.aie_ml.array.works import program_bytes, works
from match_aie.targets.aie_ml.graph.spread_plan import Aim, SpreadPlan, narrow, plan_of_pass
from match_aie.targets.aie_ml.graph.stack import shares, stack_kernel
from match_aie.targets.aie_ml.kernels.call import LayerCall
from match_aie.targets.aie_ml.kernels.nest import Nest
from match_aie.targets.aie_ml.kernels.stack import Stack, follows
from match_aie.targets.aie_ml.known import device as known
from match_aie.targets.aie_ml.schedule.generated import schedule_of
from match_aie.targets.aie_ml.schedule.kernel import ELEMENT_BYTES

#: Tiles of `mmul` along the rows of a call that are tried.
HEIGHTS = (1, 2, 4, 8, 16)


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


def stack_plan(layers: Sequence[DenseLayer], name: str, aim: Aim) -> StackPlan | Infeasible:
    """The best plan of layers of which each reads what the one before it stores.

    Args:
        layers: in the order in which they run.
        name: of the device.
        aim: which cycles count.

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
            made = [plan for plan in plans if plan is not None]
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
    tilings = known(name).architecture.core.tilings_of(layer.a, layer.w)
    return sorted({tiling.m for tiling in tilings if tiling.native})


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
    for tiling in known(name).architecture.core.tilings_of(layer.a, layer.w):
        if tiling.m != high or tiling.n != tiling.k or not tiling.native:
            continue
        wide = ceil(layer.columns / tiling.n) * tiling.n
        part = replace(layer, rows=min(layer.rows, rows))
        mapping = ArrayMapping(part, tiling, (1, 1), VARIANTS[0], 1, 1, 1, rows, wide)
        made = with_kernel(mapping, narrow(name, mapping), VARIANTS)
        plan = None if made is None else plan_of_pass(made, layer.rows, name)
        if plan is not None:
            found.append(plan)
    return min(found, key=lambda plan: plan.cycles, default=None)


def single(layer: DenseLayer, name: str) -> SpreadPlan | None:
    """The fastest plan of a layer on one tile, in calls as low as can be; None where none fits."""
    plans = [alone(layer, name, high, high) for high in _heights(layer, name)]
    return min((p for p in plans if p is not None), key=lambda p: p.cycles, default=None)


def _stack_of(plans: Sequence[SpreadPlan], name: str, aim: Aim) -> StackPlan | Infeasible:
    """What layers take that run as these plans, on few tiles."""
    nests = [_nest(plan) for plan in plans]
    if not all(_follow(before, after) for before, after in pairwise(nests)):
        levers = ("tilings alike", "layers of like element types")
        return Infeasible("layers whose results the next one reads", 1, 0, "layers", levers)
    tiles = _shared_out(nests, name, aim)
    if isinstance(tiles, Infeasible):
        return tiles
    begins = {part[0] for part in tiles}
    ordered = (_ordered(p, shared=at not in begins) for at, p in enumerate(plans))
    return StackPlan(tuple(ordered), tiles, *_cycles(plans, nests, tiles, name))


def stack_of_plans(plans: Sequence[SpreadPlan], name: str) -> StackPlan | None:
    """The plan of layers on a tile each, or on tiles that they share; None of others."""
    if len(plans) < 2 or any(plan.timed.tiles > 1 for plan in plans):
        return None
    begins = [at for at, plan in enumerate(plans) if at == 0 or not shares(plan.timed)]
    tiles = tuple(range(a, b) for a, b in pairwise([*begins, len(plans)]))
    nests = [_nest(plan) for plan in plans]
    if not all(_follow(before, after) for before, after in pairwise(nests)):
        return None
    return StackPlan(tuple(plans), tiles, *_cycles(plans, nests, tiles, name))


def _ordered(plan: SpreadPlan, *, shared: bool) -> SpreadPlan:
    """The plan with what says whether it shares the tile of the layer before (`stack.shares`)."""
    mapping = replace(plan.timed.mapping, order="n" if shared else "m")
    return replace(plan, timed=replace(plan.timed, mapping=mapping))


def _shared_out(nests: Sequence[Nest], name: str, aim: Aim) -> tuple[range, ...] | Infeasible:
    """Which layers share a tile: the fewest tiles, and of those the split of the fastest slowest.

    Where runs follow each other, no tile takes more cycles than the slowest layer alone.
    """
    cycles = [_layer_cycles(nest, name) for nest in nests]
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


def _layer_cycles(nest: Nest, name: str) -> int:
    """Of a call of a layer's kernel."""
    return schedule_of(nest.call.spec, known(name).architecture).body


@lru_cache(maxsize=4096)
def _cannot_share(nests: tuple[Nest, ...], name: str) -> Infeasible | None:
    """What a tile lacks for these layers together; None where they fit."""
    device, stack = known(name), Stack("stack", "", nests)
    placed = stack_banks(stack, device)
    if isinstance(placed, Infeasible):
        return placed
    much = program_bytes(works(stack_kernel(stack, (0, 0), ()), device.architecture))
    most = device.architecture.core.program_memory_bytes
    if much <= most:
        return None
    levers = ("fewer layers a tile",)
    return Infeasible("program memory of a tile", much, most, "bytes", levers)


def _follow(before: Nest, after: Nest) -> bool:
    return before.m_tiles == after.m_tiles and follows(before.call.spec, after.call.spec)


def _nest(plan: SpreadPlan) -> Nest:
    m = plan.timed.mapping
    nest = tile_nest(m, LayerCall("layer", "", call_spec(m, 0)))
    return replace(nest, order="mn", m_tiles=plan.timed.passes)


def _cycles(
    plans: Sequence[SpreadPlan], nests: Sequence[Nest], tiles: Sequence[range], name: str
) -> tuple[tuple[float, ...], float]:
    """Cycles of each layer in a run, and between runs, modelled."""
    device, assumed, passes = known(name), Assumed(), plans[0].timed.passes
    arch, lock = device.architecture, assumed.acquire + assumed.release
    bodies = [float(_layer_cycles(nest, name)) for nest in nests]
    rate = arch.core.dma.bytes_per_cycle
    width = device.need(arch.core.banks.width_bits, "width of a memory bank") // 8
    for part in tiles:  # the DMA fills a copy of x beside what a tile's layers load
        shared = ceil(_copy(nests[part[0]]) / len(part))
        for at in part:
            bodies[at] += ceil(shared / width) * arch.latency("bank_conflict_penalty")
    hop = arch.hop_cycles
    moved = [assumed.descriptor + _copy(nests[part[0]]) / rate + lock + 2 * hop for part in tiles]
    slowest = max(
        max(sum(bodies[at] for at in part) + 2 * lock, way)
        for part, way in zip(tiles, moved, strict=True)
    )
    taken = list(bodies)
    for part, way in zip(tiles, moved, strict=True):
        taken[part[0]] += way
    first, last = plans[0].timed.mapping, nests[-1].call.spec
    taken[0] += first.layer.rows * first.part_reduction * ELEMENT_BYTES[first.layer.a] / rate
    taken[0] += hop * (device.mem_rows + 1)
    results = last.m * last.n * ELEMENT_BYTES[first.layer.out] / rate
    taken[-1] += assumed.descriptor + results + lock + hop * (device.mem_rows + device.core_rows)
    taken[-1] += results / last.tiling.m + (passes - 1) * slowest
    return tuple(taken), passes * slowest + assumed.start + 2 * assumed.start_port


def _copy(nest: Nest) -> int:
    """Bytes of x of a pass."""
    return nest.call.spec.m * nest.call.spec.k * ELEMENT_BYTES[nest.call.spec.a]
