"""What cost models and templates know of a processor core: vectors, caches, peaks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

#: How 8-bit products are summed in a lane of 32 bits: "dpbusd" (four of uint8 by int8), "sdot"
#: (four of int8 by int8), "madd" (two of int16), "plain" (one, widened).
Dot = Literal["dpbusd", "sdot", "madd", "plain"]


@dataclass(frozen=True)
class Cache:
    """A cache.

    Attributes:
        bytes: capacity.
        bytes_per_cycle: sustained, towards the next cache inward (level 1: to registers).
        latency: cycles from a load to its value; 0 where nothing is known of it.
        way: bytes after which addresses fall into the same set again; 0 where it is not known.
    """

    bytes: int
    bytes_per_cycle: float
    latency: float = 0.0
    way: int = 0


@dataclass(frozen=True)
class Peaks:
    """What one core issues per cycle at best.

    Attributes:
        dots: integer dot products of a whole vector (one `Dot` with its accumulate).
        fmas: float32 multiply-adds of a whole vector.
        operations: other vector operations.
        loads: of a whole vector, from the first cache.
        stores: of a whole vector.
        fma_latency: cycles from a multiply-add (or dot product) to one that needs its result.
        issue: instructions of any kind.
    """

    dots: float
    fmas: float
    operations: float
    loads: float
    stores: float
    fma_latency: float
    issue: float


@dataclass(frozen=True)
class Machine:
    """A core as templates and cost models see it.

    Attributes:
        name: what `CPU(arch=...)` takes.
        family: "x86-64", "aarch64", "riscv64", "riscv32", or "" for any.
        flags: of the C compiler, beside -O3.
        compilers: commands to try where the default compiler makes code for another family.
        features: what a processor must have to run the code; `ma_cpu.h` looks for them.
        vector_bytes: of a vector register; 4 where there are scalars only.
        vector_registers: architectural.
        dot: how 8-bit products are summed.
        caches: innermost first; at least one.
        memory_bytes_per_cycle: sustained, of main memory into the last cache.
        peaks: per cycle.
        cores: that a layer may be divided over.
        memory_latency: cycles from a load to its value from main memory; 0 where not known.
    """

    name: str
    family: str
    flags: tuple[str, ...]
    compilers: tuple[str, ...]
    features: tuple[str, ...]
    vector_bytes: int
    vector_registers: int
    dot: Dot
    caches: tuple[Cache, ...]
    memory_bytes_per_cycle: float
    peaks: Peaks
    cores: int = 1
    memory_latency: float = 0.0

    @property
    def lanes(self) -> int:
        """32-bit elements of a vector."""
        return self.vector_bytes // 4
