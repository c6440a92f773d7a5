"""The GAP9 target."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import get_args

from match_aie.cost_models.pulp_plain import InstructionSet
from match_aie.errors import TargetError
from match_aie.hardware import (
    SCRATCHPAD_FILES,
    BuildProfile,
    ChipCosts,
    ExecModule,
    MatchTarget,
    NetworkSimulator,
    Rewrites,
    Runtime,
    SharedMemory,
    Storage,
    hold_arguments,
    refuse_word,
    runtime_files,
    split_channels,
    split_rows,
)
from match_aie.simulation import ScratchpadSimulator
from match_aie.targets.gap9.beside import CORES, beside_of, priced_as
from match_aie.targets.gap9.cluster.module import SHORT, Cluster, Floats
from match_aie.targets.gap9.core import ControlCore, Isa
from match_aie.targets.gap9.facts import facts
from match_aie.targets.gap9.ne16.module import Ne16
from match_aie.targets.gap9.timing.banks import Rule
from match_aie.targets.gap9.timing.network import Gap9Timing

#: What the emitted project carries beside `SCRATCHPAD_FILES`.
FILES = (
    "include/ma_bfloat.h",
    "include/ma_cluster.h",
    "include/ma_cluster_tile.h",
    "include/ma_gap9.h",
    "include/ma_half.h",
    "include/ma_near.h",
    "include/ma_ne16.h",
    "include/ma_ne16_tile.h",
    "include/ma_simd.h",
    "emulation/ma_chip.h",
    "emulation/ma_ne16_host.c",
    "emulation/ma_ne16_host.h",
    "kernels/ma_conv16.c",
    "kernels/ma_conv2d.c",
    "kernels/ma_depthwise.c",
    "kernels/ma_elements.c",
    "kernels/ma_half.c",
    "kernels/ma_kernel.h",
    "kernels/ma_norm.c",
    "kernels/ma_permute.c",
    "kernels/ma_pool.c",
    "kernels/ma_product.c",
    "kernels/ma_real.c",
    "kernels/ma_recurrent.c",
    "kernels/ma_softmax.c",
)

#: How the Makefile builds for the chip.
RULES = "pmsis/gap9.mk"

#: The binding to the vendor's SDK, a program that runs the network there, builds for SDKs, and what
#: stands in for PMSIS where there is none.
VENDOR = (
    "pmsis/CMakeLists.txt",
    "pmsis/alone/alone.ld",
    "pmsis/alone/bsp/flash.h",
    "pmsis/alone/bsp/flash/hyperflash.h",
    "pmsis/alone/bsp/fs.h",
    "pmsis/alone/bsp/fs/readfs.h",
    "pmsis/alone/bsp/ram.h",
    "pmsis/alone/bsp/ram/hyperram.h",
    "pmsis/alone/ma_alone.c",
    "pmsis/alone/ma_alone.h",
    "pmsis/alone/ma_alone_registers.h",
    "pmsis/alone/ma_alone_rv32.c",
    "pmsis/alone/pmsis.h",
    "pmsis/app/ma_app.c",
    RULES,
    "pmsis/ma_gap9_pmsis.c",
    "pmsis/ma_l3_pmsis.c",
    "pmsis/ma_ne16_pmsis.c",
    "pmsis/ma_pmsis.h",
    "pmsis/pmsis.mk",
    "pmsis/sdk.config",
)


#: Of a fallback's function, as those of ResNet8's softmax: about 20 lines of 16 bytes, with what
#: they call of libm, from L2 in 6 cycles each (`fc_fetch_ico` 5, and one for the data:
#: soc_interco.py of pulp_open, gvsoc/gvsoc-pulp@a92764c).
CORE_CODE = 20 * 6.0

#: The control core's, by that of the cluster: one compiler makes both.
CORE_ISA: Mapping[InstructionSet, Isa] = {"xpulp": "rv32imfc", "rv32imc": "rv32imc"}

#: Which modules there are, beside the control core.
MODULES = ("ne16", "cluster")


def _refuse(
    modules: Sequence[str],
    sizes: Mapping[str, int | None],
    megahertz: float,
    words: Mapping[str, tuple[str, object]],
    cores: int,
) -> None:
    """Raise a TargetError where an option is none.

    Args:
        modules: that run layers.
        sizes: of memories, by name.
        megahertz: of all clocks.
        words: values by option, with the type whose literals they may be.
        cores: of the cluster.
    """
    strange = [name for name in modules if name not in MODULES]
    if strange:
        raise TargetError(f"GAP9 has no module {strange[0]!r}", hint="modules are ne16 and cluster")
    for what, size in sizes.items():
        if size is not None and size < 1:
            raise TargetError(
                f"GAP9 with {size} bytes of {what}",
                hint=f"give a positive number, or None for all of {what}",
            )
    for option, (word, known) in words.items():
        refuse_word(option, word, get_args(known))
    chosen = {option: word for option, (word, _) in words.items()}
    if chosen["floats"] in SHORT and chosen["instruction_set"] != "xpulp":
        raise TargetError(
            f"floats in {chosen['floats']} with cores of {chosen['instruction_set']}",
            hint='floats="float32", or the chip\'s cores: instruction_set="xpulp"',
        )
    if cores not in CORES:
        raise TargetError(f"GAP9 with {cores} cores", hint="9, the chip's, or 8, GVSoC's")
    if not megahertz > 0:
        raise TargetError(
            f"GAP9 at {megahertz} MHz", hint="give a positive clock; 260 is the default"
        )


class GAP9(MatchTarget, ChipCosts, SharedMemory, Rewrites):
    """GreenWaves' GAP9: NE16 accelerator, eight-core RISC-V cluster, control core.

    Attributes:
        l1_bytes: of L1 that tiles may take.
        l2_bytes: of L2 that a network's tensors and constants may take.
        frequency: of all clocks, in Hz.
    """

    name = "GAP9"
    activations = "unsigned"
    transposed = "convolutions"
    energy = facts().energy
    list_bytes = facts().memory.l1_list_bytes

    def __init__(
        self,
        l1_bytes: int | None = None,
        modules: Sequence[str] = ("ne16", "cluster"),
        frequency_mhz: float = 260.0,
        l2_bytes: int | None = None,
        handover: bool = True,
        beside: bool = True,
        floats: Floats = "core",
        instruction_set: InstructionSet = "xpulp",
        cores: int = 9,
        banks: Rule = "any",
    ) -> None:
        """Everything has a default.

        Args:
            l1_bytes: of L1 that tiles may use, stacks not counted; all that is usable (73,728
                bytes; with 18,432 for lists of tiles what MATCH leaves both) where None or more
                than that.
            modules: which of "ne16" and "cluster" run layers; the control core always does.
            frequency_mhz: of all clocks; 260 is what MATCH's paper uses.
            l2_bytes: of L2 for inputs, outputs, activations and constants together; constants
                beyond it are streamed from L3. What MATCH leaves a program (1,214,464 bytes)
                where None or more than that.
            handover: whether layers leave results in L1 for the next ones, and load constants.
            beside: whether layers of independent branches may run at the same time on NE16 and
                the cluster; only with `handover`.
            floats: who runs layers of float32: the control core; with "float32" the cluster, some;
                with "fp16" or "bf16" of these convolutions and dense layers with products of 16
                bits; with "int8" GRUs and LSTMs of quantised inputs too, with products of 8 bits.
            instruction_set: of all cores, as modelled and simulated: "xpulp", the chip's, with a
                compiler for it; or "rv32imc", what any RISC-V compiler makes, with soft floats.
            cores: of the cluster, as modelled and simulated: 9, the chip's, or 8, where the
                controller is one of the workers, to compare with GVSoC. The emitted C is for both.
            banks: of L1, who gets one that both units ask for: planned for "any" public rule,
                simulated as PULP's; or for "priority" (PULP's), "in_turn" (GVSoC's), "assumed".

        Raises:
            TargetError: there is no such module, size, clock, type, or its cores lack such floats.
        """
        hold_arguments(GAP9, {name: value for name, value in locals().items() if name != "self"})
        usable = facts().memory.l1_usable_bytes
        words: dict[str, tuple[str, object]] = {"floats": (floats, Floats), "banks": (banks, Rule)}
        words["instruction_set"] = (instruction_set, InstructionSet)
        _refuse(modules, {"L1": l1_bytes, "L2": l2_bytes}, frequency_mhz, words, cores)
        self._cores, self._banks, self._beside, self._floats = int(cores), banks, beside, floats
        self.l1_bytes = min(usable, l1_bytes or usable)
        roomy = facts().memory.l2_usable_bytes
        self.l2_bytes = min(roomy, l2_bytes or roomy)
        self.passes = (split_rows(self.l2_bytes), split_channels(self.l2_bytes, inputs=16))
        self._megahertz, self.frequency = frequency_mhz, frequency_mhz * 1e6
        self.shared_memory, self._instruction_set = "L1" if handover else "", instruction_set
        self.core = ControlCore(isa=CORE_ISA[instruction_set], code=CORE_CODE)
        self._names = tuple(name for name in MODULES if name in modules)
        company = beside_of(cores, banks, instruction_set) if beside else {}
        made: dict[str, ExecModule] = {
            "ne16": Ne16(self.l1_bytes, beside=company.get("ne16")),
            "cluster": Cluster(self.l1_bytes, company.get("cluster"), floats, instruction_set),
        }
        self._modules = tuple(made[name] for name in self._names)

    def modules(self) -> Sequence[ExecModule]:
        """NE16 and the cluster, as far as they were asked for."""
        return self._modules

    def build_profile(self) -> BuildProfile:
        """The host's emulation; the cluster's DMA moves bytes from and to any address.

        -O2: -O3 vectorises what stands for the chip's own vectors, 20 s of compiling for nothing.
        """
        return BuildProfile(flags=("-O2",), within=1)

    def storage(self) -> Storage:
        """L2; constants that do not fit are streamed from L3."""
        return Storage("L2", self.l2_bytes, "L3", "l2_bytes", facts().memory.l2_usable_bytes)

    def runtime(self) -> Runtime:
        """Headers, kernels, the emulation and the binding to PMSIS."""
        files = runtime_files("match_aie.targets.common", SCRATCHPAD_FILES)
        files |= runtime_files("match_aie.targets.gap9", FILES)
        vendor = runtime_files("match_aie.targets.gap9", VENDOR)
        headers = ("ma_near.h", "ma_beside.h", "ma_cluster_tile.h", "ma_ne16_tile.h")
        return Runtime(files, headers, entry="ma_network", vendor=vendor, rules=RULES)

    def simulator(self) -> NetworkSimulator:
        """Cycles of the clock `frequency`."""
        timing = Gap9Timing(
            self._megahertz * 1e6,
            instruction_set=self._instruction_set,
            cores=self._cores,
            banks=priced_as(self._banks),
        )
        return ScratchpadSimulator(timing, self.energy)

    def options(self) -> Mapping[str, object]:
        """Arguments that make an equal target."""
        return {
            "l1_bytes": self.l1_bytes,
            "modules": list(self._names),
            "frequency_mhz": self._megahertz,
            "l2_bytes": self.l2_bytes,
            "handover": bool(self.shared_memory),
            "beside": self._beside,
            "floats": self._floats,
            "instruction_set": self._instruction_set,
            "cores": self._cores,
            "banks": self._banks,
        }
