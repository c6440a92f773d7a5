"""The CPU target."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from match_aie.errors import TargetError
from match_aie.hardware import BuildProfile, ExecModule, MatchTarget, Runtime, runtime_files
from match_aie.targets.cpu.float_module import float_modules
from match_aie.targets.cpu.machine import NATIVE, PORTABLE, Machine, machine, with_caches
from match_aie.targets.cpu.module import (
    CPUModule,
    Int8Module,
    UntiledModule,
    VectorModule,
)

#: Headers that emitted code includes: what differs between processors, and float32 vectors.
HEADERS = ("ma_cpu.h", "ma_cpu_float.h")


class CPU(MatchTarget):
    """Any processor with a C11 compiler; this machine's own by default.

    Attributes:
        machine: what it is compiled for.
        cores: that run a layer; always 1.
    """

    name = "CPU"

    def __init__(
        self, arch: str = NATIVE, cores: int = 1, cache_bytes: Sequence[int] | None = None
    ) -> None:
        """Look up the facts about `arch`.

        Args:
            arch: "native", "portable", "x86-64-v3", "x86-64-v4", either with "+avxvnni" or
                "+avx512vnni", "aarch64", "rv64gcv" (also "_zvl256b", "_zvl512b"), "rv32imc".
            cores: that run a layer; layers are not split yet, so only 1 is taken.
            cache_bytes: sizes of the data caches, nearest first; this machine's own for "native",
                else those that the facts about `arch` state.

        Raises:
            TargetError: there are no facts about `arch`, or `cores` is not 1.
        """
        if cores != 1:
            raise TargetError(
                f"layers cannot be split over {cores} cores",
                hint="cores=1; run several networks at a time, each in a thread with its arena",
            )
        self.machine: Machine = machine(arch)
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
            return BuildProfile()
        return BuildProfile(
            flags=("-O3", *self.machine.flags),
            compilers=self.machine.compilers,
        )

    def runtime(self) -> Runtime:
        """The headers, and the guard: does this machine have the features?"""
        if self.machine.name == PORTABLE:
            return Runtime()
        paths = tuple(f"include/{name}" for name in HEADERS)
        found = runtime_files("match_aie.targets.cpu", paths)
        return Runtime(found, HEADERS, guard="ma_cpu_missing")

    def options(self) -> Mapping[str, object]:
        """Arguments that make an equal target on any machine: never "native"."""
        caches = [cache.bytes for cache in self.machine.caches]
        return {"arch": self.machine.name, "cores": self.cores, "cache_bytes": caches}

    def built_for(self) -> str:
        """The machine's name."""
        return self.machine.name


def _modules(facts: Machine) -> tuple[ExecModule, ...]:
    """Modules of a machine, those of integer layers first; float modules join here."""
    if facts.name == PORTABLE:
        return (CPUModule(),)
    integers = (Int8Module(facts), UntiledModule(facts), VectorModule(facts))
    return (*integers, *float_modules(facts))
