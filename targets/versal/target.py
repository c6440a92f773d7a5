"""The Versal target."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from match_aie.errors import Infeasible, InfeasibleError
from match_aie.hardware import (
    ArrayChip,
    BuildProfile,
    BuiltFor,
    ChipCosts,
    ChosenLayer,
    Cost,
    ExecModule,
    HandedOver,
    MatchTarget,
    Move,
    Rewrites,
    Runtime,
    Seat,
    SimulatedStep,
    Stage,
    Unit,
    runtime_files,
)
from match_aie.hardware import Mapping as LoopMapping
from match_aie.targets.aie_ml.emulation import ARCH_MACRO, emulation_files
from match_aie.targets.aie_ml.graph.inplace import trimmed
from match_aie.targets.aie_ml.graph.join import Joined
from match_aie.targets.aie_ml.graph.overlay_nest import is_overlay_nest
from match_aie.targets.aie_ml.graph.plan import LayerGraph, MemoryKind
from match_aie.targets.aie_ml.graph.row_stage import RowStagePlan
from match_aie.targets.aie_ml.graph.spread_plan import Aim, SpreadPlan
from match_aie.targets.aie_ml.graph.write import Chained, Placed, kernels_of, network_units
from match_aie.targets.aie_ml.known import documented
from match_aie.targets.aie_ml.simulate import ArrayNetworkSimulator, Stretch
from match_aie.targets.aie_ml.vendor import Golden, Job, vendor_files, vendor_units
from match_aie.targets.cpu import CPU
from match_aie.targets.versal.arm import ARCH, ARM_MHZ, arm_modules
from match_aie.targets.versal.chained import Chain, given, sharing
from match_aie.targets.versal.chains import chains, joined
from match_aie.targets.versal.choices import (
    Floats,
    Softmax,
    among,
    columns_alone,
    columns_asked,
    refuse_clock,
    refuse_ways,
    starts_once,
    versal_array,
)
from match_aie.targets.versal.handed import in_chains
from match_aie.targets.versal.module import (
    AROUND_NS,
    EVERY,
    SHARED,
    STREAMS,
    WHOLE,
    AieArray,
    Place,
    layer_cost,
    taken,
)
from match_aie.targets.versal.phases import by_turns, updated
from match_aie.targets.versal.pipelines import row_costs, together
from match_aie.targets.versal.simulated import layers_of, stretches_of
from match_aie.targets.versal.stages import Stages
from match_aie.targets.versal.streaming import ahead
from match_aie.targets.versal.wishes import NO_LAYERS, Layers, verify
from match_aie.targets.versal.wishes_read import read

#: Frames of golden data that a project holds.
FRAMES = 2


class VersalAIEML(MatchTarget, ChipCosts, ArrayChip, BuiltFor, Rewrites):
    """AMD Versal with an AI Engine array, and one Arm core for everything else.

    VEK280 (AIE-ML), VEK385 (AIE-MLv2), and for dense and recurrent layers VCK190 (AIE).

    Attributes:
        device: name of the device.
        columns_per_layer: columns of the array that one layer may take at most.
        memory: what feeds dense layers.
        frequency: of the Arm core, in Hz.
    """

    name = "VersalAIEML"
    transposed = "cheapest"

    def __init__(
        self,
        device: str = "vek280",
        columns_per_layer: int | None = None,
        modules: Sequence[str] = ("array", "arm"),
        arm_mhz: float = ARM_MHZ,
        handover: bool = True,
        memory: MemoryKind = "ddr",
        optimize_for: Aim = "latency",
        documented_only: bool = False,
        layers: Layers = NO_LAYERS,
        floats: Floats = "float32",
        softmax: Softmax = "model",
    ) -> None:
        """Everything has a default.

        Args:
            device: "vek280", "vek385", or for dense and recurrent layers "vck190".
            columns_per_layer: columns of the array that one layer may take at most; 4, or all where
                throughput counts. Layers lie side by side; selection divides them.
            modules: which of "array" and "arm" (the CPU target's layers) run layers.
            arm_mhz: clock of the Arm core.
            handover: whether layers in a row leave results in memory tiles for the next ones.
            memory: what feeds dense layers whose weights stay in the tiles: the chip's memory
                ("ddr"), or streams of programmable logic ("plio"), many at once.
            optimize_for: whether layers fed by streams are chosen for the cycles of a single run
                ("latency"), or between runs that follow each other ("throughput").
            documented_only: emits only what a public example shows, so without handover.
            layers: what is asked of layers, by label: `wishes_read.KEYS`.
            floats: what layers of float32 tensors are: "float32", which the Arm core computes (and
                recurrent ones the VCK190's array; with "float32_logic" their gates are in logic),
                or "bf16", which the array may, with operands and results of bfloat16, sums of
                float32; or "int8": that, with products of 8 bits in recurrent layers.
            softmax: "model", with weights of the model's 8 bits; "running" of quantised heads that
                no tile holds: keys go by once, results are nearer to float64; "unshifted" in
                bfloat16: the same, for scores within 44 of 0, and no softmax beyond.

        Raises:
            TargetError: there is no such device, module or choice, or something that graphs need
                is not known of it; or a wish that no layer can have.
        """
        array = self._array_of(device)
        columns_per_layer = columns_asked(array, columns_per_layer, optimize_for)
        refuse_ways(array, memory, optimize_for)
        refuse_clock(arm_mhz)
        self.device, self._whole = array.name, array
        self.columns_per_layer = columns_per_layer
        self._megahertz = arm_mhz
        self._handover = handover and not documented_only
        self._documented = documented_only
        self.frequency = arm_mhz * 1e6
        self.memory, self._aim = memory, optimize_for
        self._wishes = read(layers, array)
        emitted_for = documented(array.name) if documented_only else array.name
        alone = columns_alone(columns_per_layer, memory, optimize_for)
        joins = self._handover and starts_once(array, optimize_for)
        how = memory, optimize_for, floats, softmax, joins
        self._array = self._array_kind()(emitted_for, alone, *how)
        self._chosen = [name for name in ("array", *self._hosts()) if name in modules]
        self._modules = among({"array": (self._array,), **self._hosts()}, modules)

    _array_of = staticmethod(versal_array)

    def _hosts(self) -> Mapping[str, Sequence[ExecModule]]:
        return {"arm": arm_modules(self._host())}

    def _array_kind(self) -> type[AieArray]:
        """The class of the array's module."""
        return AieArray

    def _host(self) -> CPU:
        """The processor beside the array."""
        return CPU(ARCH)

    def modules(self) -> Sequence[ExecModule]:
        """The array first."""
        return self._modules

    def build_profile(self) -> BuildProfile:
        """The host's emulation, of the array's generation where that is not the emulation's own."""
        number = ARCH_MACRO[self._whole.architecture.name]
        macro = () if number == ARCH_MACRO["AIE-ML"] else (f"-D__AIE_ARCH__={number}",)
        return BuildProfile(cxx_flags=("-O1", "-Iemulation", "-Iaie", *macro))

    def runtime(self) -> Runtime:
        """The core's; between tensors and the array's buffers; the emulation's headers."""
        files = runtime_files("match_aie.targets.aie_ml", ("include/ma_array.h",))
        core = self._host().runtime()
        files = {**core.files, **files, **emulation_files()}
        return replace(core, files=files, vendor=vendor_files())

    def capacities(self) -> Mapping[str, int]:
        """Tiles, DMA channels to the chip's memory, and streams where layers use them."""
        array = self._whole
        ways = (array.gmio_in or 0, array.gmio_out or 0)
        found = dict(zip(SHARED, (array.core_tiles, *ways), strict=True))
        found[WHOLE], found[EVERY] = array.columns, array.core_tiles
        if self.memory == "plio":
            found |= dict(zip(STREAMS, (array.plio_in or 0, array.plio_out or 0), strict=True))
        return found

    def companions(
        self, network: str, layers: Sequence[ChosenLayer]
    ) -> Sequence[Unit] | Infeasible:
        """Every layer's graph, side by side."""
        mine = self._mine(layers)
        graphs = [self._graph(layer) for layer in mine]
        if self._too_many(mine):
            return self._lacking([(a.label, b) for a, b in zip(mine, graphs, strict=True)]) or ()
        found: list[Placed | Chained] = []
        users: list[tuple[str, LayerGraph]] = []
        try:
            chained = self._joined(network, mine, graphs)
        except InfeasibleError as refused:
            return refused.reason
        for chain, whole in chained:
            if whole is None:
                at, host = chain.first, None if chain.host is None else graphs[chain.host]
                turns = is_overlay_nest(mine[at].mapping)
                found.append(Placed(graphs[at], chain.column, mine[at].workload, host, turns))
            else:
                each = [(trimmed(graphs[n]), mine[n].workload) for n in chain.layers]
                parts = tuple(Placed(graph, chain.column, of) for graph, of in each)
                found.append(Chained(whole, chain.column, parts, ahead(self._aim, chained)))
            if chain.host is None and chain.beside is None:
                users.append((mine[chain.first].label, found[-1].graph))
        stack = self._whole.need(self._whole.architecture.core.stack_default_bytes, "default stack")
        lacking = self._lacking(users)
        if lacking is not None or not found:
            return lacking or ()
        made = network_units(network, found, stack)
        numbers = [tuple(chain.layers) for chain, _ in chained]
        jobs = [Job(one, at) for one, at in zip(found, numbers, strict=True)]
        return (*made, *self._vendor(network, mine, jobs, kernels_of(network, made)))

    def _vendor(
        self, network: str, mine: Sequence[ChosenLayer], jobs: Sequence[Job], kernels: Sequence[str]
    ) -> Sequence[Unit]:
        """What AMD's tools take beside the graphs.

        Args:
            network: C identifier.
            mine: layers on the array.
            jobs: their graphs.
            kernels: paths of sources.
        """
        return vendor_units(network, jobs, Golden(tuple(mine), FRAMES), kernels, self._whole)

    def _too_many(self, mine: Sequence[ChosenLayer]) -> bool:
        """Whether layers take more tiles than there are."""
        tiles = (self._array.demands(la.workload, la.mapping).get(SHARED[0], 0) for la in mine)
        return sum(tiles) > self._whole.core_tiles

    def _mine(self, layers: Sequence[ChosenLayer]) -> list[ChosenLayer]:
        verify(self._wishes, layers, self._array.name, self._array.plan)
        return [layer for layer in layers if layer.module == self._array.name]

    def _graph(self, layer: ChosenLayer) -> LayerGraph:
        plan = self._array.plan(layer.workload, layer.mapping)
        return plan.graph(layer.symbol, layer.workload, layer.constants)

    def _joined(
        self, network: str, mine: Sequence[ChosenLayer], graphs: Sequence[LayerGraph]
    ) -> list[tuple[Chain, Joined | None]]:
        """Chains of the network's layers, and the graphs of those with several."""
        layers = tuple(given(layer, self._wishes) for layer in mine)
        return [
            (
                chain,
                joined(f"{network}_chain{at}", chain, graphs, layers, self.device)
                if len(chain.layers) > 1
                else None,
            )
            for at, chain in enumerate(chains(layers, self.device, whole=self._handover))
        ]

    def _lacking(self, users: Sequence[tuple[str, LayerGraph]]) -> Infeasible | None:
        """What there is too little of for the graphs; nothing where selection kept to all of it."""
        for name, most in self.capacities().items():
            needs = [float(taken(graph, self._whole.core_rows).get(name, 0)) for _, graph in users]
            if sum(needs) > most:
                each = tuple(zip((label for label, _ in users), needs, strict=True))
                levers = ("selection='cheapest'", "fewer layers on the array")
                return Infeasible(name, sum(needs), most, "in all", levers, each)
        return None

    def stages(self, layers: Sequence[ChosenLayer]) -> list[Stage]:
        """What reports say of the layers on the array."""
        mine = self._mine(layers)
        graphs = [self._graph(layer) for layer in mine]
        known = Stages(self._array, mine, graphs, self._wishes)
        found = self._joined("network", mine, graphs) if mine else []
        return [
            stage for at, (chain, _) in enumerate(found) for stage in known.of(chain, f"graph {at}")
        ]

    def spared(self) -> frozenset[str]:
        """What layers do not need that hand over in memory tiles, or run as one graph by turns."""
        return frozenset((WHOLE, EVERY, *SHARED[1:], *STREAMS))

    def handed_over(self, layers: Sequence[ChosenLayer]) -> Mapping[str, HandedOver]:
        """Layers of chains, and what they cost there."""
        mine = self._mine(layers)
        graphs = [self._graph(layer) for layer in mine]
        if self._too_many(mine):
            return {}  # `companions` says so
        found: dict[str, HandedOver] = {}
        try:
            chained = self._joined("chain", mine, graphs)
        except InfeasibleError:
            return {}  # likewise
        shared = sharing(chain for chain, _ in chained)
        for chain, whole in chained:
            together = self._together([mine[at] for at in chain.layers])
            if whole is None:
                again = graphs[chain.first] if chain.first in shared else None
                found |= self._alone(mine[chain.first], together, again)
                continue
            for number, at in enumerate(chain.layers):
                held = chain.reads(number)
                links = {link for link in chain.links if link.reader == number}
                names = {operand.name for operand in mine[at].workload.inputs}
                stays = chain.stays(number)
                place = Place(
                    number == 0,
                    frozenset(held),
                    in_place=names == set(held) and links <= whole.in_place,
                    stays=stays,
                )
                plan = self._array.plan(mine[at].workload, mine[at].mapping)
                cost = layer_cost(plan, mine[at].workload, self._whole, place, self._aim)
                if together is not None:
                    cost = together[number]
                until = mine[chain.last].flow.step if stays else None
                runs = 0 if stays else ahead(self._aim, chained)
                found[mine[at].symbol] = HandedOver(cost, until, runs)
        return found

    def _alone(
        self, layer: ChosenLayer, together: Sequence[Cost] | None, again: LayerGraph | None
    ) -> dict[str, HandedOver]:
        """A layer that is a graph of its own, with that graph's start and ways.

        One whose graph, which others run as, too, is given its numbers `again`.
        """
        plan = self._array.plan(layer.workload, layer.mapping)
        cost = layer_cost(plan, layer.workload, self._whole, aim=self._aim)
        if isinstance(plan, SpreadPlan):
            cost = together[0] if together else cost
        elif again is not None:
            cost = updated(cost, again, self._whole)
        return {layer.symbol: HandedOver(cost, None)}

    def together(self, layers: Sequence[Seat]) -> Mapping[int, tuple[LoopMapping, Cost]]:
        """Dense layers in a row that run together, and layers with wishes."""
        pipelined = self.memory == "plio" or self._aim == "throughput"
        joined = self._handover and (pipelined or not self._whole.mem_rows)
        most, array = self.columns_per_layer if joined else 0, self._array
        wishes = {label: wish for label, wish in self._wishes.items() if wish.of_place}
        some, columns = most or wishes, self._whole.columns
        found = together(layers, array, columns, wishes, most=most) if some else {}
        if self._handover and not joined:
            found = in_chains(layers, found, array, wishes.keys())
        return by_turns(layers, found, array, wishes.keys())

    def _together(self, layers: Sequence[ChosenLayer]) -> Sequence[Cost] | None:
        """Costs of a chain's layers that were planned together; None of others."""
        plans = [self._array.plan(layer.workload, layer.mapping) for layer in layers]
        staged = [plan for plan in plans if isinstance(plan, SpreadPlan | RowStagePlan)]
        return row_costs(staged, self.device, self._aim) if len(staged) == len(plans) else None

    def start_cost(self, move: Move) -> float:
        """Of a graph, where single runs count: layers in a row are one, or few."""
        starts = self._array.joins and not move.stays and move.destination is self._array
        return AROUND_NS * self._megahertz * 1e-3 if starts else 0.0

    def simulator(self) -> ArrayNetworkSimulator:
        """The array, and the Arm core around it."""
        return ArrayNetworkSimulator(self._whole, self._megahertz * 1e6, self.stretches)

    def stretches(self, steps: Sequence[SimulatedStep]) -> list[Stretch]:
        """What the array runs of a network's calls, its numbers apart."""
        mine = layers_of(steps, self._array.name)
        graphs = [self._graph(layer) for layer in mine]
        return stretches_of(mine, graphs, self._joined("network", mine, graphs))

    def options(self) -> Mapping[str, object]:
        """Arguments that make an equal target."""
        return {
            "device": self.device,
            "columns_per_layer": self.columns_per_layer,
            "modules": self._chosen,
            "arm_mhz": self._megahertz,
            "handover": self._handover,
            "memory": self.memory,
            "optimize_for": self._aim,
            "documented_only": self._documented,
            "floats": self._array.floats,
            "softmax": self._array.softmax,
            "layers": {label: wish.data for label, wish in self._wishes.items()},
        }

    def built_for(self) -> str:
        """The Arm core and the array; emulated on the host."""
        between = "; modelled: cycles between runs" if self._aim == "throughput" else ""
        return f"{self.device}: Cortex-A72 and AI Engine array{between}"
