"""How attention runs on a few columns: the cheapest cut that can be laid out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from match_aie.cost_models.aie_array import Work, array_cost
from match_aie.errors import Infeasible, TargetError
from match_aie.hardware import Loop
from match_aie.targets.aie_ml.array.assumed import RUNTIME_BYTES, Assumed
from match_aie.targets.aie_ml.array.attending import LEVERS, attending_banks
from match_aie.targets.aie_ml.array.shapes import counts
from match_aie.targets.aie_ml.devices import Device
from match_aie.targets.aie_ml.graph.attention import AttentionCut, AttentionGraph, ProductForm
from match_aie.targets.aie_ml.graph.dense_plan import links_down, region
from match_aie.targets.aie_ml.graph.layer import by_width
from match_aie.targets.aie_ml.graph.plan import LayerGraph, MemoryKind
from match_aie.targets.aie_ml.graph.proof import cannot_lie
from match_aie.targets.aie_ml.kernels.attention import TILE_COLUMNS, TILE_ROWS
from match_aie.targets.aie_ml.kernels.fit import check_kernel
from match_aie.targets.aie_ml.kernels.spec import BYTES
from match_aie.targets.aie_ml.known import device as known
from match_aie.targets.aie_ml.schedule.attention import attention_schedules
from match_aie.workload import Workload

#: Cuts of a width that are laid out, cheapest first, before it is given up.
TRIES = 6

#: Groups of heads that are tried: each takes three ways in and one out.
GROUPS = (1, 2, 3, 4, 6)

#: Blocks of accumulators that are tried for either product.
BLOCKS = ((1, 1), (2, 1), (1, 2), (2, 2))

#: Dimensions of a split, in the order in which its loops are named, and of an `mmul`'s lanes.
SPLIT = ("B", "B", "OY", "OY", "OX", "C")


@dataclass(frozen=True)
class AttentionPlan:
    """A cut whose graph can be laid out.

    Attributes:
        cut: how the layer is spread.
        device: with as many columns as it takes.
        cycles: of one run, modelled.
        legs: of `cycles`, the way of the inputs into memory tiles, and that of the result out.
    """

    cut: AttentionCut
    device: Device
    cycles: float
    legs: tuple[float, float]

    @property
    def starting(self) -> float:
        """Of `cycles`, starting the kernels, each with three buffers."""
        return Assumed().start + 3 * Assumed().start_port

    @property
    def columns(self) -> int:
        """Of the array that it takes."""
        return -(-self.cut.tiles // self.device.core_rows)

    @property
    def memory(self) -> MemoryKind:
        """The chip's."""
        return "ddr"

    @property
    def ways(self) -> tuple[int, int]:
        """Channels from the chip's memory for each group's three operands, and back."""
        return 3 * self.cut.groups, self.cut.groups

    @property
    def spatial(self) -> tuple[Loop, ...]:
        """The split over groups and tiles, then the lanes of one `mmul`."""
        cut, t = self.cut, self.cut.tiling
        sizes = (cut.groups, cut.batch_parts, cut.row_parts, t.m, t.n, t.k)
        return tuple(Loop(dim, size) for dim, size in zip(SPLIT, sizes, strict=True))

    def graph(
        self, name: str, workload: Workload, constants: Mapping[str, np.ndarray]
    ) -> LayerGraph:
        """The graph, called `name`, with the numbers of `constants`."""
        return AttentionGraph(name, self.cut, self.device, workload, constants).graph


def attention_plans(
    workload: Workload, name: str, most: int
) -> tuple[AttentionPlan, ...] | Infeasible:
    """Plans of attention on up to `most` columns of device `name`, the best of every width.

    Raises:
        TargetError: element types without a product there, or facts that are not known.
    """
    return by_width(most, lambda width: _best(workload, name, width))


def attention_plan(workload: Workload, name: str, spatial: tuple[Loop, ...]) -> AttentionPlan:
    """The plan that `attention_plans` gave for these spatial loops.

    Raises:
        TargetError: there is none.
    """
    groups, batch, rows = (loop.size for loop in spatial[:3])
    plan = _of_parts(workload, name, (groups, batch, rows))
    if isinstance(plan, Infeasible):
        raise TargetError(f"attention has no plan for {(groups, batch, rows)}")
    return plan


@lru_cache(maxsize=256)
def _best(workload: Workload, name: str, columns: int) -> AttentionPlan | Infeasible:
    """The cheapest plan on at most `columns` columns whose graph can be laid out."""
    rows = links_down(known(name))
    plans: list[AttentionPlan] = []
    refused: Infeasible | None = None
    for parts in _splits(workload, name, columns * rows):
        plan = _of_parts(workload, name, parts)
        if not isinstance(plan, Infeasible):
            plans += [plan] if plan.columns <= columns else []
        elif refused is None or plan.demand * refused.bound < refused.demand * plan.bound:
            refused = plan
    for plan in sorted(plans, key=lambda p: (p.cycles, p.cut.tiles))[:TRIES]:
        reason = cannot_lie(plan.graph("layer", workload, _zeros(workload)), known(name))
        if reason is None:
            return plan
        refused = reason
    return refused or Infeasible("columns", columns + 1, columns, "columns", LEVERS[:1])


def _zeros(workload: Workload) -> dict[str, np.ndarray]:
    return {o.name: np.zeros(o.shape, o.dtype) for o in workload.constants}


def _base(workload: Workload, name: str) -> AttentionCut:
    """The layer on one tile.

    Raises:
        TargetError: there is no native product of its element types in tiles of 4 x 8 x 8.
    """
    sizes, core = workload.sizes, known(name).architecture.core
    found = core.tilings_of(workload.operand("x").dtype, workload.operand("x1").dtype)
    wanted = (TILE_ROWS, TILE_COLUMNS, TILE_COLUMNS)
    shapes = [t for t in found if t.native and (t.m, t.k, t.n) == wanted]
    if not shapes:
        raise TargetError(f"{name} has no product of bytes in tiles of {wanted}")
    wide = sizes["C"], sizes["K"]
    return AttentionCut(sizes["B"], sizes["OY"], sizes["OX"], wide, shapes[0])


def _splits(workload: Workload, name: str, most: int) -> Iterator[tuple[int, int, int]]:
    """Groups of heads, parts of a group's heads and of a head's rows, on up to `most` tiles."""
    base, whole = _base(workload, name), known(name)
    mem = whole.architecture.mem
    gathered = mem.dma.s2mm if mem is not None else 1
    ways = min((whole.gmio_in or 3) // 3, whole.gmio_out or 1)
    for groups in (g for g in GROUPS if base.heads % g == 0 and g <= min(ways, most)):
        heads = base.heads // groups
        for batch in (b for b in range(1, heads + 1) if heads % b == 0 and b * groups <= most):
            alone = most // (batch * groups)
            if batch < heads:  # a memory tile takes all results
                alone = min(alone, gathered // batch)
            for rows in counts(-(-base.rows // base.tiling.m), max(1, alone)):
                yield groups, batch, rows


@lru_cache(maxsize=2048)
def _of_parts(
    workload: Workload, name: str, parts: tuple[int, int, int]
) -> AttentionPlan | Infeasible:
    """The plan of a split, on as few columns as hold it, with its fastest kernels."""
    groups, batch, rows = parts
    base = replace(_base(workload, name), groups=groups, batch_parts=batch, row_parts=rows)
    whole = known(name)
    mem = whole.architecture.mem
    down = links_down(whole) - (1 if mem is not None and base.parts > mem.dma.s2mm else 0)
    device = region(name, -(-base.tiles // down), down)
    refused = _lacking(base, workload, device)
    if refused is not None:
        return refused
    found = list(_kernels(base, workload, device))
    if not found:
        return Infeasible("kernels that fit registers and program memory", 1, 0, "kernels", LEVERS)
    body, cut = min(found, key=lambda each: each[0])
    return AttentionPlan(cut, device, *_cycles(cut, body, workload, device))


def _lacking(cut: AttentionCut, workload: Workload, device: Device) -> Infeasible | None:
    """What a tile or a memory tile has too little of; nothing where both hold their part."""
    mem = device.architecture.mem
    most = mem.bytes if mem is not None else 0
    keys, rows = 2 * cut.together * cut.n * cut.w, cut.together * cut.m * cut.row_parts * cut.w
    for what, much in (("keys and values", keys), ("queries", rows)):
        if much > most:
            return Infeasible(f"a memory tile for {what}", much, most, "bytes", LEVERS)
    call = AttentionGraph("tile", cut, device, workload, _zeros(workload)).call
    placed = attending_banks(call, device)
    return placed if isinstance(placed, Infeasible) else None


def _kernels(
    base: AttentionCut, workload: Workload, device: Device
) -> Iterator[tuple[int, AttentionCut]]:
    """Cycles of a head with each pair of kernels that registers and program memory hold."""
    tiles = [(base.m // TILE_ROWS, each // TILE_COLUMNS) for each in (base.n, base.w)]
    forms = [
        [
            ProductForm(block, flat)
            for block in BLOCKS
            if rows % block[0] == 0 and columns % block[1] == 0
            for flat in (True, False)
        ]
        for rows, columns in tiles
    ]
    room = device.architecture.core.program_memory_bytes - RUNTIME_BYTES
    for first in forms[0]:
        for second in forms[1]:
            cut = replace(base, forms=(first, second))
            try:
                call = AttentionGraph("tile", cut, device, workload, _zeros(workload)).call
                for product in call.products:
                    check_kernel(product.spec, device)
                both = attention_schedules(call, device.architecture)
            except TargetError:
                continue
            if sum(each.program_bytes for each in both) <= room:
                yield sum(each.body for each in both), cut


def _cycles(
    cut: AttentionCut, body: int, workload: Workload, device: Device
) -> tuple[float, tuple[float, float]]:
    """Cycles of a single run, and of its ways in and out: memory tiles take operands whole."""
    assumed, arch = Assumed(), device.architecture
    x1, y = workload.operand("x1"), workload.output
    rate = arch.shim_dma.bytes_per_cycle
    rows, held = cut.m * cut.row_parts * cut.w, cut.n * cut.w * BYTES[x1.dtype]
    entering = cut.together * max(rows, held) / rate
    leaving = cut.together * rows * BYTES[y.dtype] / rate
    work = Work(
        calls=cut.firings,
        body=body,
        around=2 * assumed.call(2),
        inputs=cut.firings,
        input_bytes=2 * held,
        weights=0,
        weight_bytes=0,
        outputs=cut.firings,
        output_bytes=cut.m * cut.w * BYTES[y.dtype],
        input_share=1,
        weight_share=1,
        down_share=1,
        rate=arch.core.dma.bytes_per_cycle,
        descriptor=assumed.descriptor,
        external_in=0,
        external_out=0,
        external_in_rate=rate,
        external_out_rate=rate,
        skew=0,
        hops=arch.hop_cycles * (device.mem_rows + device.core_rows),
        first_weights=0,
        first_inputs=0,
    )
    return entering + array_cost(work).latency + leaving, (entering, leaving)
