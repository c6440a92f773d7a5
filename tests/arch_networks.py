"""Random quantised networks on every architecture of the CPU target, on this machine.

Where this processor lacks the instructions, only those are emulated (`tests/emulation`): everything
else is the code of that architecture.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

import match_aie as match
from match_aie.hardware import BuildProfile
from match_aie.targets.cpu import CPU
from match_aie.targets.cpu.machine import executes, machine
from match_aie.toolchain import LayerMismatch
from tests import emulation
from tests.random_networks import OPERATORS, random_network
from tests.shared import random_inputs

#: Those that emit different code.
ARCHS = (
    "portable",
    "x86-64-v3",
    "x86-64-v3+avxvnni",
    "x86-64-v4",
    "x86-64-v4+avx512vnni",
    "aarch64",
    "cortex-a72",
    "rv64gcv",
    "rv64gcv_zvl256b",
    "rv64gcv_zvl512b",
)
#: Products of constants on either side are what only some architectures take another way.
CHOSEN = (*OPERATORS, "known_matmul", "known_matmul")


class EmulatedCPU(CPU):
    """`CPU(arch)` whose projects any machine builds and runs."""

    def build_profile(self) -> BuildProfile:
        """The host's own compilers; what emulates the instructions instead of the flags."""
        own = super().build_profile()
        flags = tuple(flag for flag in own.flags if flag not in self.machine.flags)
        return replace(own, flags=(*flags, *emulation.flags(self.machine)), compilers=())


@dataclass(frozen=True)
class Outcome:
    """What came of one network.

    Attributes:
        arch: it was compiled for.
        seed: of the network.
        layers: that were compared with their references.
        emulated: whether instructions were emulated.
        mismatches: layers that differ; none where all is well.
    """

    arch: str
    seed: int
    layers: int
    emulated: bool
    mismatches: tuple[LayerMismatch, ...]


def check_network(
    arch: str,
    seed: int,
    folder: Path,
    depth: int = 3,
    emulated: bool | None = None,
    compiler: str | None = None,
) -> Outcome:
    """Compile the random network of `seed` for `arch`, run it here, and compare every layer.

    Args:
        arch: one of `ARCHS`.
        seed: of the network and of its inputs.
        folder: for the project; made anew.
        depth: layers at most.
        emulated: whether to emulate; None where this machine lacks the instructions.
        compiler: to build with; the first one found where it is None.

    Raises:
        MatchError: the network is refused, or cannot be built or run.
    """
    lacks = not executes(machine(arch)) if emulated is None else emulated
    made = EmulatedCPU(arch) if lacks else CPU(arch)
    net = match.compile(random_network(seed, depth, CHOSEN), made)
    feeds = random_inputs(net.inputs, np.random.default_rng(seed))
    result = net.write(folder).run(feeds, compiler=compiler)
    return Outcome(arch, seed, result.layers_checked, lacks, result.mismatches)
