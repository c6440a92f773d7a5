"""The AI Engine array as an execution module."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping as MappingOf
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import ClassVar, Literal

from match_aie.errors import Infeasible, InternalError
from match_aie.hardware import (
    Constants,
    Converted,
    Cost,
    CostModel,
    ExecModule,
    Loop,
    Mapping,
    Memory,
    OnArray,
    OwnArithmetic,
    Packed,
    Pattern,
    Priced,
    Roof,
)
from match_aie.targets.aie_ml.devices import Device
from match_aie.targets.aie_ml.graph.cut_plan import copied, cut_plan, cut_plans, refuses
from match_aie.targets.aie_ml.graph.dense_plan import dense_layer, dense_plan, dense_plans
from match_aie.targets.aie_ml.graph.float_attention import refuses_few_keys, refuses_lanes
from match_aie.targets.aie_ml.graph.gather import handing_begins
from match_aie.targets.aie_ml.graph.kinds import STAGE_KINDS
from match_aie.targets.aie_ml.graph.layer import LayerPlan
from match_aie.targets.aie_ml.graph.overlay_nest import is_overlay_nest
from match_aie.targets.aie_ml.graph.overlay_plan import overlay_of_nest
from match_aie.targets.aie_ml.graph.pipeline_rows import stage_plan_of, stage_plans
from match_aie.targets.aie_ml.graph.plan import LayerGraph, MemoryKind
from match_aie.targets.aie_ml.graph.row_stage import RowStagePlan, is_row_stage
from match_aie.targets.aie_ml.graph.spread_plan import Aim, SpreadPlan
from match_aie.targets.aie_ml.graph.timed_plan import TimedPlan
from match_aie.targets.aie_ml.graph.write import pack
from match_aie.targets.aie_ml.kernels.arithmetic import in_fixed_point, in_single
from match_aie.targets.aie_ml.kernels.lookup import lacks
from match_aie.targets.aie_ml.known import device
from match_aie.targets.versal.choices import Floats, Softmax, of_float32, refuse_arithmetic
from match_aie.targets.versal.patterns import FLOATS, INTEGER_RECURRENT, PATTERNS, SINGLE, TURNED
from match_aie.workload import RECURRENT, Workload, heads_joined, product_type

#: What the layers of a network share: tiles, by whole columns but for layers of a single one, and
#: channels from the chip's memory, and to it.
SHARED = ("tiles of the array", "channels into the array", "channels out of the array")

#: Tiles again, of graphs that alike layers may share as well (`phases`), each counted by itself.
EVERY = "tiles of the array, a graph for each layer"

#: Columns, each of which belongs to one graph: layers that share tiles have theirs in common.
WHOLE = "columns of the array"

#: Layers, where each has a configuration of its own; so many are no limit.
GRAPHS, MANY = "graphs of the array", 1 << 16

#: Likewise streams of programmable logic.
STREAMS = ("streams into the array", "streams out of the array")

#: Nanoseconds that the Arm core takes around a layer: it programs a transfer each way, starts the
#: graph and waits. ASSUMPTION, not measured: some hundred accesses of uncached registers.
AROUND_NS = 1000.0


def around_ns(array: Device) -> float:
    """Nanoseconds that a host takes around a layer: the device's dispatch where it is known."""
    return AROUND_NS if array.dispatch_us is None else array.dispatch_us * 1e3


#: Bytes of the array's buffers a nanosecond, to and from which the Arm core copies tensors.
#: ASSUMPTION: 4 bytes a cycle at 1.4 GHz.
COPIED_PER_NS = 5.6


def taken(graph: LayerGraph, rows: int) -> MappingOf[str, int]:
    """What a graph takes of what layers share, in columns of so many `rows` of tiles."""
    ways = SHARED[1:] if graph.memory == "ddr" else STREAMS
    counts = len(graph.inputs), len(graph.outputs)
    found = {WHOLE: graph.columns, SHARED[0]: graph.columns * rows}
    return found | dict(zip(ways, counts, strict=True))


def _way_in(array: Device, memory: MemoryKind) -> tuple[float, str] | None:
    """Bytes that reach the array in a cycle of its clock, and from where; None if not known."""
    if memory == "ddr":
        if array.gmio_in is None:
            return None
        return float(array.gmio_in * array.architecture.shim_dma.bytes_per_cycle), "DDR"
    if array.if_to_array_gbps is None:
        return None
    return array.if_to_array_gbps / array.clock_ghz, "programmable logic"


def plans(
    workload: Workload, name: str, most: int, memory: MemoryKind = "ddr", aim: Aim = "latency"
) -> Sequence[LayerPlan] | Infeasible:
    """How the layer can run on up to `most` columns of device `name`, narrowest first.

    Of dense layers those of each kind are, as `dense_plans` says, and they alone use the streams of
    `memory` "plio".
    """
    if workload.kind == "dense":
        return dense_plans(workload, name, most, memory, aim)
    if workload.kind == "permute" or heads_joined(workload):
        return stage_plans(workload, name, most)
    return cut_plans(workload, name, most)


def in_turn(plan: LayerPlan, array: Device) -> bool:
    """Whether layers may use the graph of such a plan one after the other (`phases`).

    Weights come from the chip's memory in every run, so that tiles keep little of a layer. A
    processor that dispatches whole programs has a graph for each.
    """
    streamed = isinstance(plan, TimedPlan) and plan.timed.mapping.streamed
    return streamed and array.dispatch_us is None


def plan_of(workload: Workload, name: str, mapping: Mapping) -> LayerPlan:
    """The plan that `mapping` says: it is read, nothing is searched.

    Raises:
        TargetError: it says none.
    """
    if is_overlay_nest(mapping):
        return overlay_of_nest(dense_layer(workload), name, mapping)
    if workload.kind == "dense":
        return dense_plan(workload, name, mapping)
    if (workload.kind in STAGE_KINDS or heads_joined(workload)) and is_row_stage(mapping):
        return stage_plan_of(workload, name, mapping)
    return cut_plan(workload, name, mapping)


@dataclass(frozen=True)
class ArrayLayerCost:
    """Cycles of the array's clock for one layer: the array's own, then the Arm core's around them.

    Attributes:
        device: name of the device.
        columns: that the layer may take.
        memory: what feeds dense layers.
        aim: which cycles count.
        joins: whether `VersalAIEML.start_cost` counts starts: layers have none of their own.
    """

    device: str
    columns: int
    memory: MemoryKind = "ddr"
    aim: Aim = "latency"
    joins: bool = False

    def cost(self, workload: Workload, mapping: Mapping) -> Cost | Infeasible:
        """Of the plan that `mapping` says; why there is none where it is empty."""
        if not mapping.spatial:
            none = plans(workload, self.device, self.columns, self.memory, self.aim)
            if isinstance(none, Infeasible):
                return none
            raise InternalError("a layer on the array without loops")
        plan = plan_of(workload, self.device, mapping)
        # Selection prices layers apart that may be neighbours: only ends of chains ask the memory.
        place = Place(first=not self.joins, asks=False)
        return layer_cost(plan, workload, device(self.device), place, self.aim)


@dataclass(frozen=True)
class Place:
    """Where a layer stands among others that run as one graph.

    Attributes:
        first: whether the Arm core starts the graph for it.
        held: inputs that are in memory tiles already.
        in_place: whether it reads all of its inputs where they lie there.
        stays: whether its result stays in memory tiles.
        asks: whether what requests to the chip's memory take is counted.
    """

    first: bool = True
    held: frozenset[str] = frozenset()
    in_place: bool = False
    stays: bool = False
    asks: bool = True


def layer_cost(
    plan: LayerPlan, workload: Workload, array: Device, place: Place = Place(), aim: Aim = "latency"
) -> Cost:
    """Modelled cycles of a layer; among others without the ways that it does not take.

    Programmable logic moves its data itself; of runs that follow each other the interval counts.
    """
    gigahertz, starts = array.clock_ghz, around_ns(array)
    if isinstance(plan, SpreadPlan):
        once = plan.aimed(aim)
        around = starts * gigahertz if aim == "latency" and place.first else 0.0
        if plan.through == "gmio" and not array.mem_rows:
            around += sum(plan.moved) * gigahertz / COPIED_PER_NS
        return Cost(once + around, (("array", once), ("host", around)))
    if isinstance(plan, RowStagePlan):
        return Cost(plan.interval, (("array", plan.interval),))
    enter, leave = plan.legs
    # What memory tiles hold comes from one to the next, which may be faster than from outside.
    inside = place.held.issuperset(o.name for o in workload.inputs)
    nearer = 1.0 - array.handing if inside else 0.0
    first, last = plan.requests
    spared = enter * (1.0 if place.in_place else nearer) + (leave + last if place.stays else 0.0)
    if inside:  # else kernels start during the first request
        spared += first if place.first else first + plan.starting
        spared -= 0 if place.in_place else handing_begins(1, array)  # layers stand side by side
    spared += 0.0 if place.asks else first + last
    moved = sum(copied(plan, workload, o) for o in workload.inputs if o.name not in place.held)
    moved += 0 if place.stays else copied(plan, workload, workload.output)
    around = starts if place.first else 0.0
    host, once = (around + moved / COPIED_PER_NS) * gigahertz, plan.cycles - spared
    return Cost(once + host, (("array", once), ("host", host)))


@cache
def sources_digest() -> str:
    """A digest of everything that plans and prices layers: sources and facts."""
    digest = hashlib.sha256()
    folder = Path(str(files("match_aie.targets.aie_ml")))
    costs = Path(str(files("match_aie.cost_models")))
    mine = [path for path in folder.rglob("*") if path.suffix in (".py", ".json", ".csv")]
    for path in sorted([*mine, *costs.glob("aie_*.py")]):
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]


class AieArray(ExecModule, Packed, OwnArithmetic, Priced, OnArray):
    """Layers as graphs of the array's tiles, weights resident.

    Args:
        name: of the device.
        columns: that one layer may take.
        memory: what feeds dense layers.
        aim: which cycles count.
        floats: what float32 layers become; those that stay float32 are not run.
        softmax: of attention (`choices.Softmax`).
        joins: whether layers in a row start once.
    """

    name = "array"
    arithmetic: ClassVar[Literal["model", "module"]] = "module"
    #: Costs come from much more than this class: cached searches must know all of it.
    version: ClassVar[str] = sources_digest()
    memories: tuple[Memory, ...] = (Memory("DDR", None, 4.0),)

    def __init__(
        self,
        device_name: str,
        columns: int,
        memory: MemoryKind = "ddr",
        aim: Aim = "latency",
        floats: Floats = "float32",
        softmax: Softmax = "model",
        joins: bool = False,
    ) -> None:
        """For one device.

        Raises:
            TargetError: `floats` is no choice, or what its cores do not multiply; likewise
                `softmax`.
        """
        refuse_arithmetic(device_name, floats, softmax)
        self.device = device_name
        self.columns = columns
        self.memory = memory
        self.aim = aim
        self.floats = floats
        self.softmax = softmax
        self.joins = joins
        self.frequency = device(device_name).clock_ghz * 1e9

    def patterns(self) -> Sequence[Pattern]:
        """Dense and recurrent layers, products of activations, convolutions, pools and sums."""
        known = (*PATTERNS, *TURNED) if self.pipelined else PATTERNS
        if self.floats == "int8":
            return (*INTEGER_RECURRENT, *FLOATS, *known)
        if self.floats.startswith("float32"):
            return (*SINGLE, *known) if self.multiplies_floats else known
        return (*FLOATS, *known)

    @property
    def multiplies_floats(self) -> bool:
        """Whether its cores multiply float32 numbers, for which recurrent layers have kernels."""
        return of_float32(self.device)

    @property
    def pipelined(self) -> bool:
        """Whether layers may be stages of pipelines that programmable logic feeds."""
        fed = self.memory == "plio" and self.aim == "throughput"
        return fed and bool(device(self.device).mem_rows)

    def convert(self, workload: Workload, constants: Constants) -> Converted | str:
        """The layer in the fixed point of its kernel, or why not."""
        core = device(self.device).architecture.name
        if self.multiplies_floats and workload.kind in RECURRENT:
            return in_single(workload, constants, lines=self.floats == "float32_logic")
        if not device(self.device).mem_rows and workload.kind != "dense":
            return (
                f"{self.device} has no memory tiles, through which all layers but dense and "
                "recurrent ones go: vek280 has"
            )
        unshifted, blocks = self.softmax == "unshifted", self.floats == "bfp16"
        reason = lacks(workload, device(self.device).architecture)
        if workload.kind == "attention" and workload.real and not (blocks and unshifted):
            reason = reason or refuses_lanes(workload, device(self.device))
        if reason is not None:
            return reason
        if workload.kind == "permute":
            return Converted(workload, constants)
        how = {"unshifted": unshifted, "running": self.softmax == "running"}
        made = in_fixed_point(workload, constants, blocks=blocks, **how)
        if core == "AIE" and not isinstance(made, str):
            if dense_layer(made.workload).requantise != "shift":
                return (
                    f"kernels of {self.device} requantise by shifts to 8 or 16 bits, so all scales "
                    "must be powers of two apart: vek280 multiplies, too"
                )
        if not isinstance(made, str) and workload.kind == "attention" and workload.real:
            return refuses_few_keys(made.workload) or made
        alone = ("dense", "matmul", "attention", *RECURRENT)
        if isinstance(made, str) or workload.kind in alone:
            return made
        return refuses(made.workload) or made

    def plan(self, workload: Workload, mapping: Mapping) -> LayerPlan:
        """How the layer runs as `mapping` says."""
        return plan_of(workload, self.device, mapping)

    def spatial(self, workload: Workload) -> Sequence[Loop]:
        """Nothing that holds for all plans; see `nests`."""
        del workload
        return ()

    def nests(self, workload: Workload) -> Sequence[Mapping]:
        """One for each plan; an empty one for a layer that does not fit."""
        found = self._plans(workload)
        return [Mapping((), ())] if isinstance(found, Infeasible) else [p.nest for p in found]

    def _plans(self, workload: Workload) -> Sequence[LayerPlan] | Infeasible:
        return plans(workload, self.device, self.columns, self.memory, self.aim)

    def demands(self, workload: Workload, mapping: Mapping) -> MappingOf[str, int]:
        """Tiles of the array, and channels or streams from and to what is outside.

        A layer takes whole columns, but for one of a single tile: several of these share columns
        (`graph.stack`). Layers of an overlay take theirs together (`configurations`).
        """
        if is_overlay_nest(mapping):
            return {}
        plan = self.plan(workload, mapping)
        alone = isinstance(plan, SpreadPlan) and plan.timed.tiles == 1
        tiles = 1 if alone else plan.columns * device(self.device).core_rows
        ways = SHARED[1:] if plan.memory == "ddr" else STREAMS
        # Of a graph that others of the layers use by turns, a small part.
        kept = plan.columns if in_turn(plan, device(self.device)) else tiles
        found = {WHOLE: plan.columns, EVERY: tiles, SHARED[0]: kept, GRAPHS: 1}
        return found | dict(zip(ways, plan.ways, strict=True))

    def cost_model(self, workload: Workload) -> CostModel:
        """See `match_aie.cost_models.aie_array`."""
        del workload
        return ArrayLayerCost(self.device, self.columns, self.memory, self.aim, self.joins)

    def roof(self, workload: Workload) -> Roof | None:
        """Products of the layer's element types in all cores, and the ways into the array.

        Weights are in the tiles before a run; inputs that lie in memory tiles move less still.
        """
        array, data = device(self.device), workload.data
        pair = [operand.dtype for operand in (*data, *workload.constants)[:2]]
        pair = [product_type(workload)] * len(pair) if workload.rounded else pair
        peak = array.architecture.core.macs_of(*pair) if len(pair) == 2 else None
        way = _way_in(array, self.memory if workload.kind == "dense" else "ddr")
        nbytes = sum(operand.nbytes for operand in workload.inputs)
        if peak is None or way is None or not nbytes or not workload.macs:
            return None
        rate, name = way
        source = f"documents of {array.part} (`targets/aie_ml/facts`)"
        return Roof(float(peak * array.core_tiles), rate, name, nbytes, source)

    def template(self, workload: Workload) -> str:
        """A call of the C++ beside the network's C."""
        del workload
        return "aie/layer.c.mako"

    def pack_mapped(self, workload: Workload, mapping: Mapping, constants: Constants) -> Constants:
        """Run-time parameters of all kernels."""
        graph = self.plan(workload, mapping).graph("layer", workload, constants)
        return pack(graph, workload).constants
