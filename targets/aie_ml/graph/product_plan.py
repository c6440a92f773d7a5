"""How a product of two activations runs on a few columns: the cheapest cut that can be laid out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from match_aie.cost_models.aie_array import Work, array_cost
from match_aie.errors import Infeasible, TargetError
from match_aie.hardware import Loop
from match_aie.targets.aie_ml.array.assumed import RUNTIME_BYTES, Assumed
from match_aie.targets.aie_ml.array.local import Demand, logical_banks
from match_aie.targets.aie_ml.array.shapes import FLAT, TALL, counts
from match_aie.targets.aie_ml.devices import Device
from match_aie.targets.aie_ml.graph.dense_plan import links_down, region
from match_aie.targets.aie_ml.graph.layer import by_width
from match_aie.targets.aie_ml.graph.plan import LayerGraph, MemoryKind
from match_aie.targets.aie_ml.graph.product import ProductCut, ProductGraph, product_spec
from match_aie.targets.aie_ml.graph.proof import cannot_lie
from match_aie.targets.aie_ml.kernels.arithmetic import epilogue
from match_aie.targets.aie_ml.kernels.fit import check_kernel
from match_aie.targets.aie_ml.kernels.product import ProductCall
from match_aie.targets.aie_ml.kernels.spec import BYTES
from match_aie.targets.aie_ml.known import device as known
from match_aie.targets.aie_ml.schedule.product import product_schedule
from match_aie.workload import Workload

#: Dimensions of a split, in the order in which its loops are named, and of an `mmul`'s lanes.
SPLIT = ("B", "OY", "K", "OY", "K", "C")

#: Cuts of a width that are laid out, cheapest first, before it is given up.
TRIES = 12


@dataclass(frozen=True)
class ProductPlan:
    """A cut whose graph can be laid out.

    Attributes:
        cut: how the product is spread.
        device: with as many columns as it takes.
        cycles: of one run, modelled.
        legs: of `cycles`, the way of both operands into memory tiles, and that of the result out.
    """

    cut: ProductCut
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
        """Channels from the chip's memory into the array, one for each operand, and back."""
        return 2, 1

    @property
    def spatial(self) -> tuple[Loop, ...]:
        """The split over tiles, then the lanes of one `mmul`."""
        cut, t = self.cut, self.cut.tiling
        sizes = (cut.batch_parts, cut.row_parts, cut.column_parts, t.m, t.n, t.k)
        return tuple(Loop(dim, size) for dim, size in zip(SPLIT, sizes, strict=True))

    def graph(
        self, name: str, workload: Workload, constants: Mapping[str, np.ndarray]
    ) -> LayerGraph:
        """The graph, called `name`, with the numbers of `constants`."""
        return ProductGraph(name, self.cut, self.device, workload, constants).graph


def product_plans(workload: Workload, name: str, most: int) -> tuple[ProductPlan, ...] | Infeasible:
    """Plans of a product of two activations on up to `most` columns of device `name`.

    The best of every width; none is as good as one of fewer columns.

    Raises:
        TargetError: element types without a product there, or facts that are not known.
    """
    return by_width(most, lambda width: _best(workload, name, width))


def product_plan(workload: Workload, name: str, spatial: tuple[Loop, ...]) -> ProductPlan:
    """The plan that `product_plans` gave for these spatial loops.

    Raises:
        TargetError: there is none.
    """
    parts = tuple(loop.size for loop in spatial[:3])
    plan = _of_parts(workload, name, (parts[0], parts[1], parts[2]))
    if isinstance(plan, Infeasible):
        raise TargetError(f"a product of two activations has no plan for {parts}")
    return plan


@lru_cache(maxsize=1024)
def _best(workload: Workload, name: str, columns: int) -> ProductPlan | Infeasible:
    """The cheapest plan on at most `columns` columns whose graph can be laid out."""
    rows = links_down(known(name))
    plans: list[ProductPlan] = []
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
    levers = ("more columns for a layer (columns_per_layer)",)
    return refused or Infeasible("columns", columns + 1, columns, "columns", levers)


def _zeros(workload: Workload) -> dict[str, np.ndarray]:
    return {o.name: np.zeros(o.shape, o.dtype) for o in workload.constants}


def _base(workload: Workload, name: str) -> ProductCut:
    """The product on one tile.

    Raises:
        TargetError: there is no native product of its element types.
    """
    sizes, (x, x1) = workload.sizes, workload.inputs
    core = known(name).architecture.core
    shapes = [t for t in core.tilings_of(x.dtype, x1.dtype) if t.native]
    if not shapes:
        raise TargetError(f"{name} has no native product of {x.dtype} by {x1.dtype}")
    best = max(shapes, key=lambda t: t.macs)
    return ProductCut(sizes["B"], (sizes["OY"], sizes["C"], sizes["K"]), best, 1, 1, 1)


def _splits(workload: Workload, name: str, most: int) -> Iterator[tuple[int, int, int]]:
    """Parts of the batch, of rows and of columns on up to `most` tiles."""
    base = _base(workload, name)
    (m, _, n), t = base.sizes, base.tiling
    for batch in (b for b in range(1, min(base.batch, most) + 1) if base.batch % b == 0):
        alone = most // batch if batch == base.batch else 1
        for rows in counts(-(-m // t.m), alone):
            for columns in counts(-(-n // t.n), most // (batch * rows)):
                yield batch, rows, columns


@lru_cache(maxsize=4096)
def _of_parts(
    workload: Workload, name: str, parts: tuple[int, int, int]
) -> ProductPlan | Infeasible:
    """The plan of a split, on as few columns as hold it, with its fastest kernel."""
    base = replace(
        _base(workload, name),
        batch_parts=parts[0],
        row_parts=parts[1],
        column_parts=parts[2],
    )
    whole = known(name)
    mem = whole.architecture.mem
    down = links_down(whole) - (1 if mem is not None and base.tiles > mem.dma.s2mm else 0)
    device = region(name, -(-base.tiles // down), down)
    refused = _lacking(base, workload, device)
    if refused is not None:
        return refused
    found = [
        (body, cut) for cut in _kernels(base) if (body := _body(cut, workload, device)) is not None
    ]
    if not found:
        levers = ("smaller matrices", "run the layer on the Arm core")
        return Infeasible("kernels that fit registers and program memory", 1, 0, "kernels", levers)
    body, cut = min(found, key=lambda each: each[0])
    return ProductPlan(cut, device, *_cycles(cut, body, workload, device))


def _kernels(base: ProductCut) -> Iterator[ProductCut]:
    """Blocks of accumulators that divide a call, with and without an inner loop."""
    rows, columns = base.call[0] // base.tiling.m, base.call[2] // base.tiling.n
    for r, c in (*TALL, *FLAT):
        if rows % r == 0 and columns % c == 0:
            for flat in (True, False):
                yield replace(base, block=(r, c), flat=flat)


def _body(cut: ProductCut, workload: Workload, device: Device) -> int | None:
    """Cycles of a call; None where registers or program memory do not suffice."""
    try:
        spec = product_spec(cut, workload, epilogue(workload, _zeros(workload)))
        check_kernel(spec, device)
        schedule = product_schedule(spec, device.architecture)
    except TargetError:
        return None
    room = device.architecture.core.program_memory_bytes - RUNTIME_BYTES
    return schedule.body if schedule.program_bytes <= room else None


def _lacking(cut: ProductCut, workload: Workload, device: Device) -> Infeasible | None:
    """What a tile or a memory tile has too little of; nothing where both hold their part."""
    (x, x1), y = workload.inputs, workload.output
    rows, reduction, columns = cut.padded
    mem = device.architecture.mem
    levers = ("more columns for a layer (columns_per_layer)", "run the layer on the Arm core")
    held = (
        (x.name, cut.batch * rows * reduction * BYTES[x.dtype]),
        (x1.name, cut.batch * reduction * columns * BYTES[x1.dtype]),
        (y.name, cut.batch * rows * columns * BYTES[y.dtype]),
    )
    most = mem.bytes if mem is not None else 0
    if max(size for _, size in held) > most:
        which = max(held, key=lambda each: each[1])
        return Infeasible(f"a memory tile for {which[0]}", which[1], most, "bytes", levers, held)
    need = _demand(cut, workload, device)
    banks, size = logical_banks(device)
    if need.plan(banks, size) is None:
        parts = (
            ("x, twice", -(-2 * need.inputs // size)),
            ("x1, twice", -(-2 * need.streamed // size)),
            ("y, twice, sums and stack", -(-need.others() // size)),
        )
        taken = sum(much for _, much in parts)
        unit = f"banks of {size} bytes"
        return Infeasible("memory banks of a tile", taken, banks, unit, levers, parts)
    return None


def _demand(cut: ProductCut, workload: Workload, device: Device) -> Demand:
    """Bytes of a tile's buffers, as they are laid out."""
    (x, x1), y, (m, k, n) = workload.inputs, workload.output, cut.call
    spec = product_spec(cut, workload, epilogue(workload, _zeros(workload)))
    call = ProductCall("tile", "", spec)
    numbers = device.need(device.architecture.core.stack_default_bytes, "default stack")
    numbers += call.stack_bytes + sum(4 * p.size for p in call.parameters)
    a, b, out = m * k * BYTES[x.dtype], k * n * BYTES[x1.dtype], m * n * BYTES[y.dtype]
    return Demand(a, 0, b, out, numbers)


def _cycles(
    cut: ProductCut, body: int, workload: Workload, device: Device
) -> tuple[float, tuple[float, float]]:
    """Cycles of a single run, and of its ways in and out.

    Memory tiles take both operands whole, and give y whole.
    Where one memory tile has too few channels for all results, others gather some and hand them on.
    """
    assumed, arch = Assumed(), device.architecture
    (x, x1), y = workload.inputs, workload.output
    (m, k, n), (rows, reduction, columns) = cut.call, cut.padded
    a, b = m * k * BYTES[x.dtype], k * n * BYTES[x1.dtype]
    local = _demand(cut, workload, device).plan(*logical_banks(device))
    rate = arch.shim_dma.bytes_per_cycle
    entering = cut.batch * reduction * max(rows * BYTES[x.dtype], columns * BYTES[x1.dtype]) / rate
    leaving = cut.batch * rows * columns * BYTES[y.dtype] / rate
    work = Work(
        calls=cut.firings,
        body=body,
        around=assumed.call(3) + (local.stall(device) if local is not None else 0),
        inputs=cut.firings,
        input_bytes=max(a, b),
        weights=0,
        weight_bytes=0,
        outputs=cut.firings,
        output_bytes=m * n * BYTES[y.dtype],
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
    graph = ProductGraph("layer", cut, device, workload, _zeros(workload))
    inside = array_cost(work).latency + graph.handed / rate
    return entering + inside + leaving, (entering, leaving)
