"""How a dense layer runs on a few columns: of the best mappings, those that a graph can express.

A split over tiles (chains, parts of rows and columns) is what tells plans of a layer apart: it is
what the network's manifest keeps, and from it the same plan is found again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from match_aie.cost_models.aie_array import ArrayCost
from match_aie.errors import Infeasible, TargetError
from match_aie.hardware import Loop
from match_aie.targets.aie_ml.array.assumed import Assumed
from match_aie.targets.aie_ml.array.check import violations
from match_aie.targets.aie_ml.array.floor import Floor
from match_aie.targets.aie_ml.array.layer import ArrayMapping, DenseLayer
from match_aie.targets.aie_ml.array.layout import lay_out
from match_aie.targets.aie_ml.array.price import Priced, price
from match_aie.targets.aie_ml.array.search import Given, search
from match_aie.targets.aie_ml.array.shapes import blocks
from match_aie.targets.aie_ml.devices import Device
from match_aie.targets.aie_ml.graph.dense import DenseGraph
from match_aie.targets.aie_ml.graph.plan import LayerGraph
from match_aie.targets.aie_ml.known import device as known
from match_aie.targets.aie_ml.schedule.kernel import ELEMENT_BYTES, Requantise
from match_aie.workload import Workload, with_fixed_tail
from match_aie.workload.build import Quantized, dense, full_range

#: Mappings that are looked at: the best ones may need packets, or weights that are streamed.
CANDIDATES = 8

#: Dimensions of a split, in the order in which its loops are named.
SPLIT = ("B", "K", "C")


@dataclass(frozen=True)
class DensePlan:
    """A mapping that a graph can express.

    Attributes:
        mapping: how the layer is spread.
        device: with as many columns as the layer takes.
        cycles: of one run, modelled.
    """

    mapping: ArrayMapping
    device: Device
    cycles: float

    @property
    def columns(self) -> int:
        """Of the array that it takes."""
        return self.device.columns

    @property
    def ways(self) -> tuple[int, int]:
        """Channels from the chip's memory into the array, and back."""
        return 1, 1

    @property
    def spatial(self) -> tuple[Loop, ...]:
        """The split over tiles, then the lanes of one `mmul`."""
        m, t = self.mapping, self.mapping.tiling
        parts = (m.row_parts, m.column_parts, m.cas_length)
        lanes = (t.m, t.n, t.k)
        return tuple(
            Loop(dim, size)
            for sizes in (parts, lanes)
            for dim, size in zip(SPLIT, sizes, strict=True)
        )

    def graph(
        self, name: str, workload: Workload, constants: Mapping[str, np.ndarray]
    ) -> LayerGraph:
        """The graph, called `name`, with the numbers of `constants`."""
        return DenseGraph(name, self.mapping, self.device, workload, constants).graph


def dense_layer(workload: Workload) -> DenseLayer:
    """A dense workload in fixed point as the array's search sees it."""
    sizes, tail = workload.sizes, workload.tail
    names = {operand.name: operand for operand in workload.constants}
    form: Requantise = "none"
    if tail is not None and workload.output.dtype != "int32":
        multiplier = names.get("multiplier")
        form = "shift" if multiplier is None else "multiplier"
        if multiplier is not None and multiplier.size > 1:
            form = "channel"
    return DenseLayer(
        rows=sizes["B"],
        reduction=sizes["C"],
        columns=sizes["K"],
        a=workload.inputs[0].dtype,
        w=names["weight"].dtype,
        out=workload.output.dtype,
        bias=form in ("shift", "none") or workload.inputs[0].zero_point != 0,
        relu=tail is not None and tail.lo > np.iinfo(workload.output.dtype).min,
        requantise=form,
    )


def dense_plans(workload: Workload, name: str, most: int) -> tuple[DensePlan, ...] | Infeasible:
    """Plans of a dense layer on up to `most` columns of device `name`, the best of every width.

    No plan is as good as one of fewer columns.

    Raises:
        TargetError: element types without a product there, or facts that are not known.
    """
    layer = dense_layer(workload)
    widths = sorted({1 << i for i in range(most.bit_length())} | {most})
    found: dict[int, DensePlan] = {}
    refused: Infeasible | None = None
    for width in (w for w in widths if w <= most):
        best = _best(layer, name, width)
        if isinstance(best, Infeasible):
            refused = best
        elif all(best.cycles < other.cycles for other in found.values()):
            found[best.columns] = best
    if refused is not None and not found:
        return refused
    return tuple(found.values())


def dense_plan(workload: Workload, name: str, spatial: tuple[Loop, ...]) -> DensePlan:
    """The plan that `dense_plans` gave for these spatial loops.

    Raises:
        TargetError: there is none.
    """
    split = Given(spatial[2].size, spatial[1].size, spatial[0].size)
    plan = _of_split(dense_layer(workload), name, split)
    if isinstance(plan, Infeasible):
        raise TargetError(f"a dense layer has no plan for {split}")
    return plan


@lru_cache(maxsize=1024)
def _best(layer: DenseLayer, name: str, columns: int) -> DensePlan | Infeasible:
    """The plan of least latency on at most `columns` columns."""
    found: list[Priced] = []
    refused: Infeasible | None = None
    for length in range(1, columns + 1):
        answer = search(
            layer,
            region(name, columns, length),
            objective="latency",
            keep=CANDIDATES,
            given=Given(cas_length=length),
        )
        if isinstance(answer, Infeasible):
            refused = answer
        else:
            found += answer
    found.sort(key=lambda p: (p.cost.latency, p.mapping.tiles))
    splits = dict.fromkeys(
        Given(p.mapping.cas_length, p.mapping.column_parts, p.mapping.row_parts) for p in found
    )
    for split in splits:
        plan = _of_split(layer, name, split)
        if not isinstance(plan, Infeasible):
            return plan
        refused = plan
    return refused or Infeasible("tiles", 1, 0, "tiles")


@lru_cache(maxsize=4096)
def _of_split(layer: DenseLayer, name: str, split: Given) -> DensePlan | Infeasible:
    """The best plan of a split, on as few columns as hold it."""
    length = split.cas_length or 1
    chains = (split.column_parts or 1) * (split.row_parts or 1)
    slots = -(-chains // _chains_of_slot(known(name), length))
    device = region(name, slots * length, length)
    found = search(layer, device, objective="latency", keep=CANDIDATES, given=split)
    if isinstance(found, Infeasible):
        return found
    # The search's kernels have fewer operations than some tails: a smaller block may be needed.
    tried = [replace(p.mapping, block=block) for p in found for block in blocks(p.mapping)]
    plans = [plan for mapping in tried if (plan := _expressible(mapping, device)) is not None]
    refused: Infeasible | None = None
    for plan in sorted(plans, key=lambda plan: plan.cycles):
        refused = _unlawful(plan)
        if refused is None:
            return plan
    if refused is not None:
        return refused
    weights = found[0].mapping.part_weight_bytes
    return Infeasible(
        "memory of a tile",
        weights,
        device.architecture.core.data_memory_bytes,
        "bytes for weights that stay there, beside activations",
        ("more columns for a layer (columns_per_layer)", "run the layer on the Arm core"),
    )


def _unlawful(plan: DensePlan) -> Infeasible | None:
    """Which rule of the array the plan's graph breaks, or what it lacks; None for neither."""
    workload, constants = _example(plan.mapping.layer)
    try:
        program = lay_out(plan.graph("layer", workload, constants), known(plan.device.name))
    except TargetError as error:  # no schedule
        return Infeasible(str(error.what), 1, 0, "kernels", (error.hint,))
    if isinstance(program, Infeasible):
        return program
    broken = violations(program, known(plan.device.name))
    if not broken:
        return None
    name, violation = broken[0]
    return Infeasible(f"{name}: {violation.where}", violation.demand, violation.bound, "at most")


def _example(layer: DenseLayer) -> tuple[Workload, dict[str, np.ndarray]]:
    """A workload that has the layer's graph, all its numbers 0."""
    x, y = Quantized(layer.a, 1.0), Quantized(layer.out, 1.0)
    stored = None if layer.requantise == "none" else full_range(layer.out, 0)
    made = dense(
        x,
        y,
        rows=layer.rows,
        inputs=layer.reduction,
        outputs=layer.columns,
        weight_dtype=layer.w,
        tail=stored,
        scales=1,
    )
    if stored is not None:
        multiplier = {"shift": 0, "multiplier": 1}.get(layer.requantise, layer.columns)
        tail = replace(stored, lo=0 if layer.relu else stored.lo, shift=8, bits=64)
        made = with_fixed_tail(made, tail, multiplier=multiplier, offset=layer.columns, bias=False)
    return made, {o.name: np.zeros(o.shape, o.dtype) for o in made.constants}


def _chains_of_slot(device: Device, length: int) -> int:
    """Chains above each other whose results find a stream down: in their last two columns."""
    ways = device.architecture.switch_ports["core_tile", "master", "S"]
    return min(device.core_rows, ways * min(length, 2))


def region(name: str, columns: int, length: int) -> Device:
    """Device `name` with so many columns, which one DMA channel feeds and one empties.

    Of its rows it has as many as chains of `length` tiles can stand above each other.
    """
    whole = known(name)
    return replace(
        whole,
        columns=min(columns, whole.columns),
        core_rows=_chains_of_slot(whole, length),
        shim_noc_columns=None,
        plio_in=None,
        plio_out=None,
        gmio_in=1,
        gmio_out=1,
    )


def _expressible(mapping: ArrayMapping, device: Device) -> DensePlan | None:
    """The mapping with one channel of activations a tile.

    None where weights are streamed, sums wait between turns of the reduction, or slices of
    activations take turns on a lane.
    """
    if mapping.streamed or mapping.reduction_steps > 1:
        return None
    single = mapping.with_channels(1)
    if Floor(single, device).shares != (1, 1):
        return None
    try:
        priced = price(single, device, Assumed())
    except TargetError:
        return None
    if isinstance(priced, Infeasible):
        return None
    return DensePlan(single, device, _once(single, priced.cost, device))


def _once(mapping: ArrayMapping, cost: ArrayCost, device: Device) -> float:
    """Cycles of a single run: memory tiles take x as a whole, and give y as a whole."""
    layer, rate = mapping.layer, device.architecture.shim_dma.bytes_per_cycle
    inside = max(cycles for what, cycles in cost.parts if not what.startswith("way "))
    entering = layer.rows * layer.reduction * ELEMENT_BYTES[layer.a] / rate
    leaving = layer.rows * layer.columns * ELEMENT_BYTES[layer.out] / rate
    return entering + inside + leaving + cost.latency - cost.interval
