"""A chip with NE16 beside a core, for tests: importable in every process."""

from collections.abc import Sequence

from match_aie.hardware import SCRATCHPAD_FILES, ExecModule, MatchTarget, Runtime, runtime_files
from match_aie.targets.gap9.ne16.module import Ne16

FILES = (
    "include/ma_gap9.h",
    "include/ma_ne16.h",
    "include/ma_ne16_tile.h",
    "emulation/ma_chip.h",
    "emulation/ma_ne16_host.c",
    "emulation/ma_ne16_host.h",
)


class Ne16Chip(MatchTarget):
    """NE16 beside a core that runs what the fallback compiles."""

    name = "ne16_chip"

    def __init__(self, l1_bytes: int = 92_160):
        self.units = (Ne16(l1_bytes),)

    def modules(self) -> Sequence[ExecModule]:
        return self.units

    def runtime(self) -> Runtime:
        files = runtime_files("match_aie.targets.common", SCRATCHPAD_FILES)
        files |= runtime_files("match_aie.targets.gap9", FILES)
        return Runtime(files, ("ma_ne16_tile.h",), entry="ma_network")
