"""The CPU target."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from match_aie.errors import TargetError
from match_aie.hardware import (
    BuildProfile,
    BuiltFor,
    ExecModule,
    MatchTarget,
    Rewrites,
    Runtime,
    runtime_files,
)
from match_aie.targets.cpu.float_module import float_modules
from match_aie.targets.cpu.machine import NATIVE, PORTABLE, Machine, machine, with_caches
from match_aie.targets.cpu.module import (
    CPUModule,
    Int8Module,
    UntiledModule,
)
from match_aie.targets.cpu.vector_module import VectorModule
from match_aie.targets.cpu.winograd_module import Winograd2Module, Winograd4Module

#: What every network includes: whether this processor can run it.
GUARD = "ma_cpu_guard.h"
#: Headers that emitted layers include: what differs between processors, and float32 vectors.
HEADERS = ("ma_cpu.h", "ma_cpu_float.h")
#: What layers that are divided over cores call.
CORES_HEADER = "ma_cores.h"
#: More threads than any machine with caches as in the facts has cores.
MOST_CORES = 256


class CPU(MatchTarget, BuiltFor, Rewrites):
    """Any processor with a C11 compiler; this machine's own by default.

    Attributes:
        machine: what it is compiled for.
        cores: that a layer may be divided over.
    """

    name = "CPU"
    transposed = "convolutions"

    def __init__(
        self, arch: str = NATIVE, cores: int = 1, cache_bytes: Sequence[int] | None = None
    ) -> None:
        """Look up the facts about `arch`.

        Args:
            arch: "native", "portable", "x86-64-v3", "x86-64-v4", either with "+avxvnni" or
                "+avx512vnni", "aarch64", "rv64gcv" (also "_zvl256b", "_zvl512b"), "rv32imc".
            cores: that a layer may be divided over, the caller's own among them. With more than
                one the emitted code starts threads (POSIX); the results are the same bits.
            cache_bytes: sizes of the data caches, nearest first; this machine's own for "native",
                else those that the facts about `arch` state.

        Raises:
            TargetError: there are no facts about `arch`, or it has not so many cores.
        """
        facts = machine(arch)
        most = MOST_CORES if facts.lanes > 1 and facts.name != PORTABLE else 1
        if not isinstance(cores, int) or not 1 <= cores <= most:
            raise TargetError(
                f"layers cannot be divided over {cores} cores of {facts.name}",
                hint=f"cores=1{f' to {most}' if most > 1 else ''}",
            )
        self.machine: Machine = replace(facts, cores=cores)
        if cache_bytes is not None:
            self.machine = with_caches(self.machine, dict(enumerate(cache_bytes, start=1)))
        self.cores = cores
        self._modules = _modules(self.machine)

    def modules(self) -> Sequence[ExecModule]:
        """Of integer layers, and of float layers."""
        return self._modules

    def build_profile(self) -> BuildProfile:
        """The machine's flags, and compilers that take them."""
        if self.machine.name == PORTABLE:
            return BuildProfile(within=1)
        threads = ("-pthread", "-D_POSIX_C_SOURCE=200809L", f"-DMA_CORES={self.cores}")
        return BuildProfile(
            flags=("-O3", *self.machine.flags, *(threads if self.cores > 1 else ())),
            compilers=self.machine.compilers,
            within=1,  # vectors are loaded and stored at any address
        )

    def runtime(self) -> Runtime:
        """The headers, and the guard: does this machine have the features?"""
        if self.machine.name == PORTABLE:
            return Runtime()
        names = (*HEADERS, *((CORES_HEADER,) if self.cores > 1 else ()))
        paths = tuple(f"include/{name}" for name in (GUARD, *names))
        found = runtime_files("match_aie.targets.cpu", paths)
        return Runtime(found, (GUARD,), layer_headers=names, guard="ma_cpu_missing")

    def options(self) -> Mapping[str, object]:
        """Arguments that make an equal target on any machine: never "native"."""
        caches = [cache.bytes for cache in self.machine.caches]
        return {"arch": self.machine.name, "cores": self.cores, "cache_bytes": caches}

    def built_for(self) -> str:
        """The machine's name, and its cores where it uses more than one."""
        return self.machine.name + (f", {self.cores} cores" if self.cores > 1 else "")


def _modules(facts: Machine) -> tuple[ExecModule, ...]:
    """Modules of a machine, those of integer layers first; float modules join here."""
    if facts.name == PORTABLE:
        return (CPUModule(),)
    integers: tuple[ExecModule, ...]
    integers = (Int8Module(facts), UntiledModule(facts), VectorModule(facts))
    if facts.lanes > 1:
        integers += (Winograd2Module(facts), Winograd4Module(facts))
    return (*integers, *float_modules(facts))
