"""The XDNA target: the array is planned as Versal's, the host is the CPU target."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal, get_args

from match_aie.errors import Infeasible, InfeasibleError, TargetError
from match_aie.hardware import (
    Bid,
    BuildProfile,
    ChosenLayer,
    Configuration,
    Cost,
    ExecModule,
    HandedOver,
    Runtime,
    Seat,
    SimulatedStep,
    Stage,
    Unit,
    refuse_word,
    runtime_files,
)
from match_aie.hardware import Mapping as LoopMapping
from match_aie.targets.aie_ml.array.layer import PartialSums
from match_aie.targets.aie_ml.devices import Device
from match_aie.targets.aie_ml.graph.overlay_nest import is_overlay_nest
from match_aie.targets.aie_ml.known import device as known_device
from match_aie.targets.aie_ml.simulate import ArrayNetworkSimulator, Beyond, Stretch
from match_aie.targets.cpu import CPU
from match_aie.targets.versal.chained import Given, given, seated
from match_aie.targets.versal.choices import Floats, Softmax
from match_aie.targets.versal.handed import priced_in_chains
from match_aie.targets.versal.module import GRAPHS, MANY, AieArray, around_ns, layer_cost
from match_aie.targets.versal.simulated import layers_of
from match_aie.targets.versal.target import VersalAIEML
from match_aie.targets.versal.wishes import NO_LAYERS, Layers
from match_aie.targets.xdna.configured import Prices, configurations
from match_aie.targets.xdna.mlir import DEFAULT, dialect_of
from match_aie.targets.xdna.mlir.units import (
    HOST_FILES,
    KERNEL_FILES,
    Configured,
    command_units,
)
from match_aie.targets.xdna.module import RoundingArray
from match_aie.targets.xdna.network import (
    by_layer,
    configured_anew,
    configuring_cycles,
    members_of,
    switched,
)
from match_aie.targets.xdna.one_text import Written, configurations_of, text_units

#: What every Ryzen AI processor executes; those with AVX-512 are an option.
ARCH = "x86-64-v3"

#: Clock of an x86 core. ASSUMPTION: 3.8 GHz, a base clock of these processors; they differ.
CPU_MHZ = 3800.0

#: What layers of float32 tensors may become, as for Versal.
XdnaFloats = Literal["float32", "bf16", "bfp16"]


def xdna_array(name: str) -> Device:
    """The array of a Ryzen AI processor.

    Raises:
        TargetError: the device is no such processor, or something that graphs need is not known.
    """
    array = known_device(name)
    if not array.architecture.name.startswith("XDNA"):
        raise TargetError(
            f"{name} is no Ryzen AI processor: its array is of {array.architecture.name}",
            hint="npu1 or npu2",
        )
    array.need(array.gmio_in, "the number of DMA channels from memory")
    array.need(array.dram_gbps, "the rate of the chip's memory")
    array.need(array.dispatch_us, "the time of a dispatch")
    return array


def _floats(floats: XdnaFloats) -> Floats:
    """What the array's module is asked for.

    Products of bfloat16 are exact on both: in tiles on npu1, lane by lane on npu2. Those of block
    floating point are npu2's alone.

    Raises:
        TargetError: it is no choice.
    """
    refuse_word("floats", floats, get_args(XdnaFloats))
    return floats


def _sums(partial_sums: PartialSums) -> PartialSums:
    """How sums of dense layers wait.

    Raises:
        TargetError: it is no choice.
    """
    refuse_word("partial_sums", partial_sums, get_args(PartialSums))
    return partial_sums


def _refuse_unknown(modules: Sequence[str]) -> None:
    """Refuse modules that the target does not have."""
    unknown = sorted(set(modules) - {"array", "cpu"})
    if unknown:
        raise TargetError(
            f"the target has no module {unknown[0]!r}", hint="modules are array and cpu"
        )


class XDNA(VersalAIEML):
    """AMD Ryzen AI: the array ("npu1": 4 columns, "npu2": 8), and x86 cores for everything else.

    Attributes:
        device: name of the device.
        columns_per_layer: columns of the array that one layer may take at most.
        frequency: of an x86 core, in Hz.
    """

    name = "XDNA"
    _array_of = staticmethod(xdna_array)

    def __init__(
        self,
        device: str = "npu1",
        columns_per_layer: int | None = None,
        modules: Sequence[str] = ("array", "cpu"),
        arch: str = ARCH,
        cpu_mhz: float = CPU_MHZ,
        handover: bool = True,
        layers: Layers = NO_LAYERS,
        floats: XdnaFloats = "float32",
        softmax: Softmax = "model",
        mlir: str = DEFAULT.name,
        cores: int = 1,
        overlay: bool = True,
        partial_sums: PartialSums = "exact",
    ) -> None:
        """Everything has a default.

        Args:
            device: "npu1" (Phoenix, Hawk Point) or "npu2" (Strix and its like).
            columns_per_layer: columns of the array that one layer may take at most; all of them.
            modules: which of "array" and "cpu" (all modules of the CPU target) run layers.
            arch: of the x86 cores, as `CPU(arch=...)` takes it.
            cpu_mhz: clock of such a core.
            handover: whether layers in a row leave results in memory tiles for the next ones.
            layers: what is asked of layers, by label, as for Versal.
            floats: what layers of float32 tensors are: "float32", which the x86 cores compute, or
                "bf16", which the array may; or "bfp16", on npu2: the same with products of block
                floating point in dense layers, and in attention with an unshifted softmax.
            softmax: of attention, as for Versal: "model", "running" (quantised heads that no tile
                holds), or "unshifted" (in bfloat16, and in blocks with "bfp16").
            mlir: version of the MLIR-AIE dialect, "2025-05", "2026-03" or "2026-08".
            cores: that the processor's layers may be divided over, as `CPU(cores=...)` takes it.
            overlay: whether dense layers may share a configuration; not in the dialect of 2025.
            partial_sums: of dense layers between turns: "exact", or "result": rounded, lossy.

        Raises:
            TargetError: there is no such device, module or dialect, its facts lack something that
                graphs need, it has no kernels for `floats`, or a wish that no layer can have.
        """
        self._dialect, self._overlays = dialect_of(mlir), overlay
        self._partial_sums = _sums(partial_sums)
        array = xdna_array(device)
        if not cpu_mhz > 0:
            raise TargetError(f"an x86 core at {cpu_mhz} MHz")
        self._cpu = CPU(arch, cores)
        if self._cpu.machine.family not in ("x86-64", ""):
            raise TargetError(f"{arch} is no x86 processor", hint=ARCH)
        _refuse_unknown(modules)
        hosts = tuple(self._hosts()) if "cpu" in modules else ()
        super().__init__(
            array.name,
            array.columns if columns_per_layer is None else columns_per_layer,
            (*(("array",) if "array" in modules else ()), *hosts),
            cpu_mhz,
            handover,
            layers=layers,
            floats=_floats(floats),
            softmax=softmax,
        )

    def _hosts(self) -> Mapping[str, Sequence[ExecModule]]:
        return {module.name: (module,) for module in self._cpu.modules()}

    def _host(self) -> CPU:
        return self._cpu

    def _array_kind(self) -> type[AieArray]:
        return AieArray if self._partial_sums == "exact" else RoundingArray

    def build_profile(self) -> BuildProfile:
        """That of the CPU, and the emulation of the array."""
        flags = super().build_profile().cxx_flags
        return replace(self._cpu.build_profile(), cxx_flags=flags)

    def runtime(self) -> Runtime:
        """As Versal's, with files of kernels and hosts; nothing for another device's tools."""
        mine = super().runtime()
        open_tools = runtime_files("match_aie.targets.xdna", (*KERNEL_FILES, *HOST_FILES))
        return replace(mine, files={**mine.files, **open_tools}, vendor={})

    def companions(
        self, network: str, layers: Sequence[ChosenLayer]
    ) -> Sequence[Unit] | Infeasible:
        """Also what the open tool chain gets of all graphs: texts, kernels, hosts, commands."""
        found = super().companions(network, layers)
        if isinstance(found, Infeasible):
            return found
        mine = self._mine(layers)
        graphs = [self._graph(layer) for layer in mine]
        units: dict[str, Unit] = {unit.path: unit for unit in found}
        chained = self._joined(network, mine, graphs)
        members = members_of(network, mine, graphs, chained, self._whole)
        configured: list[Configured] = []
        for some, made in configurations_of(members, self._whole, self._dialect):
            name = some[0].tasks[0].name
            if len(some) > 1 or some[0].told:
                name = f"{network}_array{len(configured) or ''}"
            if isinstance(made, Written):
                configured.append(Configured(name, tuple(made.hosts), made.objects))
            units |= {unit.path: unit for unit in text_units(name, made)}
        units = self._warned(units, mine)
        if configured:
            commands = command_units(network, configured, self._whole, self._dialect)
            units |= {unit.path: unit for unit in commands}
        return tuple(units.values())

    def _warned(self, units: Mapping[str, Unit], layers: Sequence[ChosenLayer]) -> dict[str, Unit]:
        """Files, the first text of which says how often the array is configured anew."""
        found = dict(units)
        anew = self._switched(tuple(given(layer, self._wishes) for layer in layers))
        if anew:
            path = next(path for path in units if path.endswith(".mlir"))
            each = f"{len(anew)} times in a run, {self._whole.reconfiguration_ms} ms each"
            said = f"{path} is one of several: the array is configured anew {each} (published)"
            before = found[path].warning
            found[path] = replace(found[path], warning=f"{before}; {said}" if before else said)
        return found

    def stages(self, layers: Sequence[ChosenLayer]) -> list[Stage]:
        """As Versal's, and which configuration each needs where there are several."""
        found, mine = super().stages(layers), self._mine(layers)
        facts = tuple(given(layer, self._wishes) for layer in mine)
        each = by_layer(facts, self._whole, self._dialect.name, whole=self._handover)
        if len(set(each)) < 2:
            return found
        of = {layer.symbol: number for layer, number in zip(mine, each, strict=True)}
        return [replace(s, graph=f"{s.graph}, configuration {of[s.symbol]}") for s in found]

    def _vendor(self, *_: object) -> Sequence[Unit]:
        """Nothing for the tools of another device."""
        return ()

    def configurations(self, bids: Sequence[Bid]) -> Sequence[Configuration]:
        """Overlays of dense layers.

        The dialect of 2025 has a text for each graph: there it is one layer on the array, so that
        nothing is configured in a run.
        """
        if self._array not in self.modules():
            return ()
        if self._dialect.globals:
            return (Configuration({}, {GRAPHS: MANY - 1}),)
        if not self._overlays:
            return ()
        prices = Prices(self._megahertz * 1e6, self.core)
        asked = {label for label, wish in self._wishes.items() if wish is not None}
        return tuple(configurations(bids, self._array, prices, self._dialect, asked))

    def capacities(self) -> Mapping[str, int]:
        """As Versal's, and layers that have configurations of their own."""
        found = dict(super().capacities())
        return {**found, GRAPHS: MANY} if self._dialect.globals else found

    def together(self, layers: Sequence[Seat]) -> Mapping[int, tuple[LoopMapping, Cost]]:
        """As Versal's; layers of an overlay are planned already, and are one layer to others.

        What the array is configured anew for costs that, too.
        """
        mine = [at for at, layer in enumerate(layers) if is_overlay_nest(layer.mapping)]
        seen = [
            replace(layer, module="overlay") if at in mine[1:] else layer
            for at, layer in enumerate(layers)
        ]
        found = dict(super().together(seen))
        if self._handover:
            found = priced_in_chains(seen, found, self._array)
        found = {at: way for at, way in found.items() if at not in mine}
        nests = {
            at: found[at][0] if at in found else layer.mapping
            for at, layer in enumerate(layers)
            if layer.module == self._array.name
        }
        given = tuple(seated(layers[at], at, nest, self._wishes) for at, nest in nests.items())
        for number in self._switched(given):
            at = list(nests)[number]
            plan = self._array.plan(layers[at].workload, nests[at])
            alone = layer_cost(plan, layers[at].workload, self._whole, aim=self._aim)
            cost = found[at][1] if at in found else alone
            found[at] = nests[at], configured_anew(cost, self._whole)
        return found

    def handed_over(self, layers: Sequence[ChosenLayer]) -> Mapping[str, HandedOver]:
        """As Versal's, and what configuring the array anew takes."""
        found, mine = dict(super().handed_over(layers)), self._mine(layers)
        for at in self._switched(tuple(given(layer, self._wishes) for layer in mine)):
            plan = self._array.plan(mine[at].workload, mine[at].mapping)
            alone = layer_cost(plan, mine[at].workload, self._whole, aim=self._aim)
            over = found.get(mine[at].symbol, HandedOver(alone, None))
            cost = configured_anew(over.cost, self._whole)
            found[mine[at].symbol] = replace(over, cost=cost)
        return found

    def _switched(self, layers: tuple[Given, ...]) -> Sequence[int]:
        """Numbers of layers before which the array is configured anew; none of what fits not."""
        try:
            return switched(layers, self._whole, self._dialect.name, whole=self._handover)
        except InfeasibleError:  # `companions` says so
            return ()

    def simulator(self) -> ArrayNetworkSimulator:
        """The array behind a dispatch, and the x86 cores around it."""
        configuring = configuring_cycles(self._whole) / self._whole.clock_ghz
        beyond = Beyond(call_ns=around_ns(self._whole), configuring_ns=configuring)
        hertz = self._megahertz * 1e6
        return ArrayNetworkSimulator(self._whole, hertz, self.stretches, beyond=beyond)

    def stretches(self, steps: Sequence[SimulatedStep]) -> list[Stretch]:
        """As Versal's, and before which of them the array is configured anew."""
        mine = layers_of(steps, self._array.name)
        anew = self._switched(tuple(given(layer, self._wishes) for layer in mine))
        first = {mine[at].flow.step for at in anew}
        return [
            replace(one, configures=one.parts[0].step in first) for one in super().stretches(steps)
        ]

    def options(self) -> Mapping[str, object]:
        """Arguments that make an equal target."""
        names = {module.name for module in self.modules()}
        kept = [name for name in (self._array.name,) if name in names]
        kept += ["cpu"] if names - set(kept) else []
        return {
            "device": self.device,
            "columns_per_layer": self.columns_per_layer,
            "modules": kept,
            "arch": self._cpu.machine.name,
            "cpu_mhz": self._megahertz,
            "handover": self._handover,
            "layers": {label: wish.data for label, wish in self._wishes.items()},
            "floats": self._array.floats,
            "softmax": self._array.softmax,
            "mlir": self._dialect.name,
            "cores": self._cpu.cores,
            "overlay": self._overlays,
            "partial_sums": self._partial_sums,
        }

    def built_for(self) -> str:
        """The x86 cores and the array; emulated on the host."""
        return f"{self.device}: {self._cpu.built_for()} and AI Engine array"
