"""The Versal target."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from match_aie.cost_models.roofline import Roofline
from match_aie.errors import Infeasible, TargetError
from match_aie.hardware import (
    BuildProfile,
    ChosenLayer,
    CostModel,
    ExecModule,
    MatchTarget,
    Runtime,
    SimulatedStep,
    Unit,
    runtime_files,
)
from match_aie.targets.aie_ml.emulation import emulation_files
from match_aie.targets.aie_ml.graph.layer import LayerPlan
from match_aie.targets.aie_ml.graph.plan import LayerGraph
from match_aie.targets.aie_ml.graph.write import Placed, network_units
from match_aie.targets.aie_ml.known import device as known_device
from match_aie.targets.aie_ml.simulate import ArrayNetworkSimulator
from match_aie.targets.cpu import CPUModule
from match_aie.targets.versal.module import SHARED, AieArray
from match_aie.workload import Workload

#: Clock of the Arm Cortex-A72: ASSUMPTION, 1.4 GHz; speed grades differ.
ARM_MHZ = 1400.0

#: Quantised layers as portable C on one Cortex-A72. ASSUMPTIONS: one 128-bit multiply-accumulate
#: of 8 int16 pairs (SMLAL, SMLAL2) every two cycles, half of it lost to widening and loads; an
#: element in float32 a cycle; 8 bytes a cycle from the second cache.
ARM = Roofline(macs_per_cycle=2.0, steps_per_cycle=0.5, bytes_per_cycle=8.0, overhead=200.0)


class ArmModule(CPUModule):
    """The portable layers of the CPU target on one Arm core."""

    name = "arm"

    def cost_model(self, workload: Workload) -> CostModel:
        """A roofline with the constants of `ARM`."""
        del workload
        return ARM


class VersalAIEML(MatchTarget):
    """AMD Versal with an AIE-ML array (VEK280), and one Arm Cortex-A72 for everything else.

    Attributes:
        device: name of the device.
        columns_per_layer: columns of the array that one layer may take at most.
        frequency: of the Arm core, in Hz.
    """

    name = "VersalAIEML"

    def __init__(
        self,
        device: str = "vek280",
        columns_per_layer: int = 4,
        modules: Sequence[str] = ("array", "arm"),
        arm_mhz: float = ARM_MHZ,
    ) -> None:
        """Everything has a default.

        Args:
            device: such as "vek280".
            columns_per_layer: columns of the array that one layer may take at most. Layers lie
                side by side; selection divides the columns among them.
            modules: which of "array" and "arm" (the CPU target's layers on the Arm core) run
                layers; the fallback runs the rest.
            arm_mhz: clock of the Arm core.

        Raises:
            TargetError: there is no such device or module, or something that the graphs need is
                not known of the device.
        """
        array = known_device(device)
        if array.mem_rows == 0:
            raise TargetError(f"{device} has no memory tiles", hint="vek280")
        array.need(array.gmio_in, "the number of DMA channels from memory")
        if not 1 <= columns_per_layer <= array.columns:
            raise TargetError(f"{columns_per_layer} columns a layer, {device} has {array.columns}")
        if not arm_mhz > 0:
            raise TargetError(f"an Arm core at {arm_mhz} MHz")
        self.device = device
        self.columns_per_layer = columns_per_layer
        self._megahertz = arm_mhz
        self.frequency = arm_mhz * 1e6
        self._array = AieArray(device, columns_per_layer)
        made: dict[str, ExecModule] = {"array": self._array, "arm": ArmModule()}
        strange = [name for name in modules if name not in made]
        if strange:
            raise TargetError(
                f"{self.name} has no module {strange[0]!r}", hint="modules are array and arm"
            )
        self._modules = tuple(made[name] for name in made if name in modules)

    def modules(self) -> Sequence[ExecModule]:
        """The array first."""
        return self._modules

    def build_profile(self) -> BuildProfile:
        """The host's emulation."""
        return BuildProfile(cxx_flags=("-O1", "-Iemulation", "-Iaie"))

    def runtime(self) -> Runtime:
        """The header between tensors and the array's buffers, and the emulation's headers."""
        files = runtime_files("match_aie.targets.aie_ml", ("include/ma_array.h",))
        return Runtime({**files, **emulation_files()})

    def capacities(self) -> Mapping[str, int]:
        """Columns, and DMA channels between the array and the chip's memory."""
        array = known_device(self.device)
        ways = (array.gmio_in or 0, array.gmio_out or 0)
        return dict(zip(SHARED, (array.columns, *ways), strict=True))

    def companions(
        self, network: str, layers: Sequence[ChosenLayer]
    ) -> Sequence[Unit] | Infeasible:
        """Every layer's graph, side by side."""
        mine = [layer for layer in layers if layer.module == self._array.name]
        plans = [self._array.plan(layer.workload, layer.mapping) for layer in mine]
        lacking = self._lacking(mine, plans)
        if lacking is not None or not mine:
            return lacking or ()
        placed, column = [], 0
        for layer, plan in zip(mine, plans, strict=True):
            graph = plan.graph(layer.symbol, layer.workload, layer.constants)
            placed.append(Placed(graph, column, layer.workload))
            column += plan.columns
        return network_units(network, placed)

    def _lacking(
        self, layers: Sequence[ChosenLayer], plans: Sequence[LayerPlan]
    ) -> Infeasible | None:
        """What there is too little of; nothing where selection kept to `capacities`."""
        for at, (name, most) in enumerate(self.capacities().items()):
            taken = [float((plan.columns, *plan.ways)[at]) for plan in plans]
            if sum(taken) > most:
                users = tuple(zip((layer.label for layer in layers), taken, strict=True))
                levers = ("selection='cheapest'", "fewer layers on the array")
                return Infeasible(name, sum(taken), most, "in all", levers, users)
        return None

    def simulator(self) -> ArrayNetworkSimulator:
        """The array, and the Arm core around it."""
        hertz = self._megahertz * 1e6
        return ArrayNetworkSimulator(known_device(self.device), hertz, self.graph_of)

    def graph_of(self, step: SimulatedStep) -> LayerGraph | None:
        """The graph of a layer on the array, its numbers apart."""
        if step.module != self._array.name or step.workload is None or step.mapping is None:
            return None
        zeros = {o.name: np.zeros(o.shape, o.dtype) for o in step.workload.constants}
        plan = self._array.plan(step.workload, step.mapping)
        return plan.graph("layer", step.workload, zeros)

    def options(self) -> Mapping[str, object]:
        """Arguments that make an equal target."""
        return {
            "device": self.device,
            "columns_per_layer": self.columns_per_layer,
            "modules": [module.name for module in self._modules],
            "arm_mhz": self._megahertz,
        }

    def built_for(self) -> str:
        """The Arm core and the array; emulated on the host."""
        return f"{self.device}: Cortex-A72 and AI Engine array"
