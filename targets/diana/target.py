"""The DIANA target."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

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
    hold_arguments,
    runtime_files,
)
from match_aie.simulation import ScratchpadSimulator
from match_aie.targets.diana.analog import AnalogArray
from match_aie.targets.diana.core import CoreModule
from match_aie.targets.diana.facts import FACTS
from match_aie.targets.diana.module import DigitalArray
from match_aie.targets.diana.timing import DianaTiming
from match_aie.targets.gap9.core import ControlCore

#: What the emitted project carries beside `SCRATCHPAD_FILES`.
FILES = (
    "include/ma_diana.h",
    "include/ma_diana_tile.h",
    "emulation/ma_chip.h",
    "emulation/ma_diana_host.c",
    "emulation/ma_diana_host.h",
    "emulation/ma_diana_analog_host.c",
)


class Diana(MatchTarget, ChipCosts, Rewrites):
    """DIANA's digital 16x16 array, its analog one if asked for, and its RISC-V core for the rest.

    Attributes:
        activation_bytes: of the array's memory for activations.
        weight_bytes: of its memory for weights.
        frequency: of the clock, in Hz.
        analog: whether layers may run on the analog array.
    """

    name = "Diana"
    transposed = "convolutions"
    core = ControlCore()

    def __init__(
        self,
        activation_bytes: int | None = None,
        weight_bytes: int | None = None,
        frequency_mhz: float = FACTS.frequency_hz / 1e6,
        analog: bool = False,
        conversion_cycles: float | None = FACTS.conversion_cycles,
    ) -> None:
        """Everything has a default.

        Args:
            activation_bytes: that tiles of activations may take; a multiple of 16. All 256 kB
                where None or more than that.
            weight_bytes: that tiles of weights may take; all 64 kB where None or more than that.
            frequency_mhz: of the clock; 260 is what MATCH's paper uses.
            analog: layers with ternary weights and inputs of 7 bits may run on the analog array,
                whose converter of 6 bits is part of their meaning and whose noise is not.
            conversion_cycles: of the analog array, for one input vector. Its facts do not say it.

        Raises:
            TargetError: there is no memory, or no clock, or nobody says what a conversion takes,
                or an argument is of another type.
        """
        hold_arguments(Diana, {name: value for name, value in locals().items() if name != "self"})
        sizes = activation_bytes, weight_bytes
        if any(size is not None and (size < 16 or size % 16) for size in sizes):
            raise TargetError(f"Diana with {sizes} bytes", hint="use positive multiples of 16")
        if not frequency_mhz > 0:
            raise TargetError(
                f"Diana at {frequency_mhz} MHz", hint="give a positive clock; 260 is the default"
            )
        self.activation_bytes = min(FACTS.activation_bytes, activation_bytes or 1 << 40)
        self.weight_bytes = min(FACTS.weight_bytes, weight_bytes or 1 << 40)
        self.analog, self.conversion_cycles = analog, conversion_cycles
        self._megahertz = frequency_mhz
        self.frequency = frequency_mhz * 1e6
        digital = DigitalArray(self.activation_bytes, self.weight_bytes)
        self._modules = (*self._analog(), digital, CoreModule())

    def _analog(self) -> tuple[ExecModule, ...]:
        """The analog array where it is asked for.

        Raises:
            TargetError: nobody says what a conversion takes.
        """
        cycles = self.conversion_cycles
        if not self.analog and cycles is None:
            return ()
        if not self.analog or cycles is None or not 0 < cycles < float("inf"):
            raise TargetError(
                f"Diana with analog={self.analog} and conversion_cycles={cycles}",
                hint="no source that we read says how many cycles the analog array takes for one "
                "input vector (conversion_cycles of its facts is None): give analog=True with a "
                "positive number",
            )
        return (AnalogArray(cycles, self.activation_bytes),)

    def modules(self) -> Sequence[ExecModule]:
        """The arrays first, then the core."""
        return self._modules

    def build_profile(self) -> BuildProfile:
        """The host's emulation, with memories of these sizes."""
        sizes = (
            f"-DMA_ACTIVATION_BYTES={self.activation_bytes}",
            f"-DMA_WEIGHT_BYTES={self.weight_bytes}",
            *((f"-DMA_CELL_BYTES={FACTS.cell_bytes}",) if self.analog else ()),
        )
        return BuildProfile(flags=("-O2", *sizes))

    def runtime(self) -> Runtime:
        """Headers and the emulation."""
        files = runtime_files("match_aie.targets.common", SCRATCHPAD_FILES)
        files |= runtime_files("match_aie.targets.diana", FILES)
        return Runtime(files, ("ma_diana_tile.h",), entry="ma_network")

    def simulator(self) -> NetworkSimulator:
        """Cycles of the clock `frequency`."""
        conversion = self.conversion_cycles or 0.0
        return ScratchpadSimulator(DianaTiming(self._megahertz * 1e6, conversion=conversion))

    def options(self) -> Mapping[str, object]:
        """Arguments that make an equal target."""
        return {
            "activation_bytes": self.activation_bytes,
            "weight_bytes": self.weight_bytes,
            "frequency_mhz": self._megahertz,
            "analog": self.analog,
            "conversion_cycles": self.conversion_cycles,
        }
