"""The XDNA target: the array is planned as Versal's, the host is the CPU target."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

from match_aie.errors import Infeasible, InfeasibleError, TargetError
from match_aie.hardware import (
    Bid,
    BuildProfile,
    ChosenLayer,
    Configuration,
    Cost,
    ExecModule,
    Runtime,
    Seat,
    Unit,
    runtime_files,
)
from match_aie.hardware import Mapping as LoopMapping
from match_aie.targets.aie_ml.array.layout import lay_out
from match_aie.targets.aie_ml.devices import Device
from match_aie.targets.aie_ml.graph.join import Joined
from match_aie.targets.aie_ml.graph.overlay_nest import is_overlay_nest
from match_aie.targets.aie_ml.graph.plan import LayerGraph
from match_aie.targets.aie_ml.known import device as known_device
from match_aie.targets.aie_ml.simulate import ArrayNetworkSimulator, Beyond
from match_aie.targets.cpu import CPU
from match_aie.targets.versal.chained import Chain
from match_aie.targets.versal.choices import Floats, Softmax
from match_aie.targets.versal.handed import priced_in_chains
from match_aie.targets.versal.module import around_ns
from match_aie.targets.versal.target import VersalAIEML
from match_aie.targets.versal.wishes import NO_LAYERS, Layers
from match_aie.targets.xdna.configured import Prices, configurations
from match_aie.targets.xdna.direct import direct
from match_aie.targets.xdna.mlir import DEFAULT, dialect_of, text
from match_aie.targets.xdna.mlir.linking import crowded
from match_aie.targets.xdna.mlir.objects import ObjectFile, objects
from match_aie.targets.xdna.mlir.tensors import GraphHost, GraphLayers, graph_host
from match_aie.targets.xdna.mlir.units import (
    HOST_FILES,
    KERNEL_FILES,
    Configured,
    command_units,
    host_units,
    kernel_units,
)
from match_aie.targets.xdna.overlaid import Seated, overlay_text, why_not

#: What every Ryzen AI processor executes; those with AVX-512 are an option.
ARCH = "x86-64-v3"

#: Clock of an x86 core. ASSUMPTION: 3.8 GHz, a base clock of these processors; they differ.
CPU_MHZ = 3800.0

#: What dense layers of float32 tensors may become, as for Versal.
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
    if floats not in get_args(XdnaFloats):
        raise TargetError(f"floats {floats!r}", hint=f"one of {get_args(XdnaFloats)}")
    return floats


def _refuse_unknown(modules: Sequence[str]) -> None:
    """Refuse modules that the target does not have."""
    unknown = sorted(set(modules) - {"array", "cpu"})
    if unknown:
        raise TargetError(
            f"the target has no module {unknown[0]!r}", hint="modules are array and cpu"
        )


@dataclass(frozen=True, eq=False)
class WrittenGraph:
    """What the open tool chain gets of a graph.

    Attributes:
        units: files.
        host: its host program; None where it has no text.
        objects: its object files.
    """

    units: Sequence[Unit]
    host: GraphHost | None = None
    objects: Sequence[ObjectFile] = ()


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
            floats: what dense layers of float32 tensors are: "float32", which the x86 cores
                compute, or "bf16", which the array may; or "bfp16", on npu2: the same with
                products of block floating point.
            softmax: of quantised attention whose heads no tile holds, as for Versal.
            mlir: version of the MLIR-AIE dialect, "2025-05", "2026-03" or "2026-08".
            cores: that the processor's layers may be divided over, as `CPU(cores=...)` takes it.
            overlay: whether dense layers may share a configuration; not in the dialect of 2025.

        Raises:
            TargetError: there is no such device, module or dialect, its facts lack something that
                graphs need, it has no kernels for `floats`, or a wish that no layer can have.
        """
        self._dialect = dialect_of(mlir)
        self._overlays = overlay
        array = xdna_array(device)
        if not cpu_mhz > 0:
            raise TargetError(f"an x86 core at {cpu_mhz} MHz")
        self._cpu = CPU(arch, cores)
        if self._cpu.machine.family not in ("x86-64", ""):
            raise TargetError(f"{arch} is no x86 processor", hint=ARCH)
        _refuse_unknown(modules)
        hosts = tuple(self._hosts()) if "cpu" in modules else ()
        super().__init__(
            device,
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
        """Also every graph's program for the open tool chain: text, kernels, hosts, commands."""
        found = super().companions(network, layers)
        if isinstance(found, Infeasible):
            return found
        mine = self._mine(layers)
        graphs = [self._graph(layer) for layer in mine]
        units: dict[str, Unit] = {unit.path: unit for unit in found}
        written: list[Configured] = []
        overlaid: list[Chain] = []
        for chain, whole in self._joined(network, mine, graphs):
            if is_overlay_nest(mine[chain.first].mapping):
                overlaid.append(chain)
                continue
            graph = graphs[chain.first] if whole is None else whole.graph
            parts = [(mine[at].symbol, mine[at].workload) for at in chain.layers]
            made = self._written(graph, whole, parts, chain.column)
            units |= {unit.path: unit for unit in made.units}
            if made.host is not None:
                written.append(Configured(made.host.name, (made.host,), made.objects))
        if overlaid:
            layers = [mine[chain.first] for chain in overlaid]
            made_of, text_of = self._overlaid(f"{network}_overlay", layers, overlaid[0].column)
            units |= {unit.path: unit for unit in made_of}
            written += text_of
        if written:
            commands = command_units(network, written, self._whole, self._dialect)
            units |= {unit.path: unit for unit in commands}
        return tuple(units.values())

    def _vendor(self, *_: object) -> Sequence[Unit]:
        """Nothing for the tools of another device."""
        return ()

    def _written(
        self, graph: LayerGraph, whole: Joined | None, layers: GraphLayers, column: int
    ) -> WrittenGraph:
        """A graph's files; a remark in the place of its text where there is none, and why."""
        path = f"mlir/{graph.name}.mlir"
        try:
            graph = direct(graph, whole, self._whole)
            program = lay_out(graph, self._whole, column)
            if isinstance(program, Infeasible):
                raise InfeasibleError(program)
            lines = text(program, self._whole, self._dialect)
            made = objects(program)
            host = graph_host(program, graph, whole, layers)
        except (InfeasibleError, TargetError) as error:
            return WrittenGraph([_no_text(path, error)])
        lacks = crowded(program, self._whole, self._dialect)
        lacks = lacks and f"{path}: {lacks}"
        unit = Unit(path, "xdna/program.mlir.mako", {"text": lines}, warning=lacks)
        return WrittenGraph([unit, *kernel_units(made), *host_units(host)], host, made)

    def _overlaid(
        self, name: str, layers: Sequence[ChosenLayer], column: int
    ) -> tuple[Sequence[Unit], Sequence[Configured]]:
        """Files of layers that share a configuration; a remark where it has no text."""
        path = f"mlir/{name}.mlir"
        seated = [Seated(la, self._array.plan(la.workload, la.mapping)) for la in layers]
        try:
            made = overlay_text(name, seated, column, self._whole, self._dialect)
        except (InfeasibleError, TargetError) as error:
            return [_no_text(path, error)], ()
        lacks = made.lacks and f"{path}: {made.lacks}"
        unit = Unit(path, "xdna/program.mlir.mako", {"text": made.text}, warning=lacks)
        hosts = [unit for host in made.hosts for unit in host_units(host)]
        whole = Configured(name, tuple(made.hosts), made.objects)
        return [unit, *kernel_units(made.objects), *hosts], (whole,)

    def configurations(self, bids: Sequence[Bid]) -> Sequence[Configuration]:
        """Overlays of dense layers; none where the dialect has no text for them."""
        if not self._overlays or self._dialect.globals or self._array not in self.modules():
            return ()
        prices = Prices(self._megahertz * 1e6, self.core)
        asked = {label for label, wish in self._wishes.items() if wish is not None}
        return tuple(configurations(bids, self._array, prices, self._dialect, asked))

    def together(self, layers: Sequence[Seat]) -> Mapping[int, tuple[LoopMapping, Cost]]:
        """As Versal's; layers of an overlay are planned already, and are one layer to others."""
        mine = [at for at, layer in enumerate(layers) if is_overlay_nest(layer.mapping)]
        seen = [
            replace(layer, module="overlay") if at in mine[1:] else layer
            for at, layer in enumerate(layers)
        ]
        found = dict(super().together(seen))
        if self._handover:
            found = priced_in_chains(seen, found, self._array)
        return {at: way for at, way in found.items() if at not in mine}

    def simulator(self) -> ArrayNetworkSimulator:
        """The array behind a dispatch, and the x86 cores around it."""
        beyond = Beyond(call_ns=around_ns(self._whole))
        hertz = self._megahertz * 1e6
        return ArrayNetworkSimulator(self._whole, hertz, self.stretches, beyond=beyond)

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
        }

    def built_for(self) -> str:
        """The x86 cores and the array; emulated on the host."""
        return f"{self.device}: {self._cpu.built_for()} and AI Engine array"


def _no_text(path: str, error: InfeasibleError | TargetError) -> Unit:
    """A remark in the place of a text, and why."""
    why = why_not(error)
    lacks = f"{path} has no program for the open tool chain: {why}"
    values = {"text": f"// No program: {why}\n"}
    return Unit(path, "xdna/program.mlir.mako", values, warning=lacks)
