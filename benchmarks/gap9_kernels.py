"""Kernels of GAP9's cluster, compiled for plain rv32imc, counted on an emulated core.

    python benchmarks/gap9_kernels.py [--kinds KIND ...] [--tiles N]

Every kernel runs random layers on each of the eight workers, one after the other (GCC 12, -O3,
Unicorn). A worker's cycles are its instructions and what GVSoC's public model adds to them
(`gap9_core.py`), with 2 cycles for a line of code that its own 512 bytes lack, and the cores'
shared cache has; nobody else is at the banks of L1. What `cost_models/pulp_counts.py` has of each
kernel is least squares of the layers with even numbers; printed are the same anew, and how far they
are off these and those with odd numbers.
"""

from __future__ import annotations

import argparse
import ctypes
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gap9_layers
import numpy as np
from gap9_core import LINE, Cache, Stalls, stalls
from gap9_fetches import WORKER
from generated import ROOT

from match_aie.cost_models.pulp_plain import InstructionSet, parts
from match_aie.targets.gap9.timing.controller import Access
from match_aie.workload import Workload
from tests.cc.gap9 import cluster_harness as harness
from tests.riscv import GCC, ISAS, decode

KERNELS = ROOT / "targets" / "gap9" / "runtime"
CODE, DATA, STACK, STOP, END = 0x10000, 0x100000, 0x1F0000, 0x8000, 0x4000000
ARRAYS = 0x200000
WORKERS = 8

#: Kernels of a step, where a layer is many.
STEPS = {
    "walk_gru": ("ma_gru",),
    "walk_gru_before": ("ma_gru_gates", "ma_gru_states"),
    "walk_lstm": ("ma_lstm",),
}

#: Which core runs, and of how many.
CORE = """#include "ma_cluster.h"
int32_t core;
int32_t ma_core(void) { return core; }
int32_t ma_cores(void) { return 8; }
"""


@dataclass(frozen=True)
class Sample:
    """A tile, and cycles of the busiest worker."""

    workload: Workload
    tile: dict[str, int]
    cycles: float
    instructions: InstructionSet = "rv32imc"


def build(folder: Path, *flags: str) -> Path:
    """All kernels as an ELF."""
    (folder / "core.c").write_text(CORE)
    sources = [str(folder / "core.c"), *map(str, sorted((KERNELS / "kernels").glob("*.c")))]
    includes = [KERNELS / "include", KERNELS / "kernels", harness.COMMON]
    command = [GCC, *ISAS["rv32imc"], "-specs=picolibc.specs", "-std=gnu11", "-O3"]
    command += ["-ffp-contract=off", "-fno-strict-aliasing", "-nostartfiles", "-DMA_CHIP", *flags]
    command += [f"-I{path}" for path in includes]
    places = {"__flash": CODE, "__flash_size": DATA - CODE, "__ram": DATA}
    places["__ram_size"] = STACK - DATA
    command += [*sources, "-lm", "-Wl,--no-relax,-e,ma_core", "-o", str(folder / "kernels.elf")]
    command += [f"-Wl,--defsym={name}={place:#x}" for name, place in places.items()]
    command += ["-Wl,--unresolved-symbols=ignore-all,--no-gc-sections"]
    subprocess.run(command, check=True)
    return folder / "kernels.elf"


class Workers:
    """The kernels on an emulated core."""

    def __init__(self, elf: Path) -> None:
        """Load them."""
        from elftools.elf.elffile import ELFFile
        from unicorn import UC_ARCH_RISCV, UC_HOOK_BLOCK, UC_MODE_RISCV32, Uc

        self._core: Any = Uc(UC_ARCH_RISCV, UC_MODE_RISCV32)
        self._core.mem_map(0, END)
        with elf.open("rb") as file:
            program = ELFFile(file)
            for segment in program.iter_segments():
                if segment["p_type"] == "PT_LOAD":
                    self._core.mem_write(segment["p_vaddr"], segment.data())
            symbols = program.get_section_by_name(".symtab").iter_symbols()
            self._at = {symbol.name: symbol["st_value"] for symbol in symbols}
        self._known: dict[tuple[int, int], tuple[int, Stalls]] = {}
        self._cycles, self._last, self._end = 0.0, Stalls(0, 0), 0
        self._lines, self._line = Cache(WORKER), -1
        self._core.hook_add(UC_HOOK_BLOCK, self._block)

    def _block(self, core: Any, address: int, size: int, data: object) -> None:
        if address != self._end:
            self._cycles += self._last.elsewhere
        if (address, size) not in self._known:
            code = bytes(core.mem_read(address, size))
            self._known[address, size] = decode(code)[0], stalls(code)
        count, self._last = self._known[address, size]
        self._cycles += count + self._last.always
        self._end = address + size
        for line in range(address // LINE, (self._end - 1) // LINE + 1):
            if line != self._line and not self._lines.holds(line):
                self._cycles += Access().near
            self._line = line

    def cycles(self, name: str, core: int, tile: int) -> float:
        """Of one call of a kernel by one core."""
        from unicorn import riscv_const as r

        self._core.mem_write(self._at["core"], core.to_bytes(4, "little"))
        registers = {r.UC_RISCV_REG_A0: tile, r.UC_RISCV_REG_SP: STACK, r.UC_RISCV_REG_RA: STOP}
        for register, value in registers.items():
            self._core.reg_write(register, value)
        self._cycles, self._last, self._end = 0.0, Stalls(0, 0), self._at[name]
        self._core.emu_start(self._at[name], STOP)
        return self._cycles

    def busiest(self, case: harness.Case) -> float:
        """Cycles of the slowest of all workers."""
        name, tile = self._placed(case)
        kernels, steps = STEPS.get(name, (name,)), 1
        if name in STEPS:
            steps = case.workload.sizes["OY"]
        turns = (
            sum(self.cycles(kernel, core, tile) for kernel in kernels) for core in range(WORKERS)
        )
        return steps * max(turns)

    def _placed(self, case: harness.Case) -> tuple[str, int]:
        """The kernel's name, and where its structure is; arrays from `ARRAYS` on."""
        structure, pointers, arrays = harness.call(case)
        at, places = ARRAYS + 0x1000, {}
        for name in pointers:
            data = arrays.get(name, np.zeros(0, np.uint8)).tobytes()
            self._core.mem_write(at, data)
            places[name] = at
            at += -(-len(data) // 64) * 64 + 64
        self._core.mem_write(ARRAYS, _words(structure, places))
        return harness.kernel_name(case.workload), ARRAYS


def _words(structure: ctypes.Structure, places: dict[str, int]) -> bytes:
    """A kernel's structure as a core of 32 bits has it."""
    found = b""
    for name, kind in structure._fields_:
        value = places.get(name, 0) if kind is ctypes.c_void_p else getattr(structure, name)
        if kind is ctypes.c_int64:
            found += b"\0" * (-len(found) % 8)
        found += bytes((ctypes.c_uint32 if kind is ctypes.c_void_p else kind)(value))
    return found


#: Random layers of every kernel, and where random numbers begin.
TILES, SEED = 160, 7


def samples(kind: str, workers: Workers, count: int) -> list[Sample]:
    """Random tiles of a kernel, counted."""
    found = []
    for number in range(count):
        rng = np.random.default_rng([SEED, number])
        case = gap9_layers.random_case(kind, rng)
        tile = {dim: size for dim, (_, size) in case.ranges.items()}
        found.append(Sample(case.workload, tile, workers.busiest(case)))
    return found


def _matrix(found: Sequence[Sample]) -> tuple[list[str], np.ndarray]:
    """What was done how often, by sample, in relation to its cycles."""
    rows = [counts(sample) for sample in found]
    names = [name for name in rows[0] if any(row[name] for row in rows)]
    cycles = np.array([sample.cycles for sample in found])
    return names, np.array([[row[name] for name in names] for row in rows]) / cycles[:, None]


def counts(sample: Sample) -> dict[str, float]:
    """How often the busiest worker does what."""
    one = np.asarray(1)
    tile = {d: one for d in ("B", "G", "K", "C", "OY", "OX", "FY", "FX")}
    tile |= {dim: np.asarray(size) for dim, size in sample.tile.items()}
    found = parts(sample.workload, tile, WORKERS, sample.instructions)
    return {name: float(value) for name, value in found.items()}


def fitted(found: Sequence[Sample]) -> dict[str, float]:
    """Cycles of each part: least squares of relative errors, none below zero."""
    names, matrix = _matrix(found)
    left = list(range(len(names)))
    while True:
        values = np.linalg.lstsq(matrix[:, left], np.ones(len(matrix)), rcond=None)[0]
        if values.min(initial=0.0) >= 0:
            break
        left.remove(left[int(values.argmin())])
    answer = dict.fromkeys(names, 0.0)
    answer |= {names[at]: round(float(value), 1) for at, value in zip(left, values, strict=True)}
    return answer


def errors(each: dict[str, float], found: Sequence[Sample]) -> np.ndarray:
    """How far off, relative."""
    told = [sum(each.get(name, 0.0) * n for name, n in counts(sample).items()) for sample in found]
    return np.array(told) / [sample.cycles for sample in found] - 1


def main() -> None:
    """Print what every kernel's parts take, and how far that is off."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kinds", nargs="*", default=gap9_layers.KINDS)
    parser.add_argument("--tiles", type=int, default=TILES)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        workers = Workers(build(Path(folder)))
        for kind in options.kinds:
            found = samples(kind, workers, options.tiles)
            each = fitted(found[0::2])
            print(f"    {kind!r}: {each!r},")
            for name, half in (("fitted", found[0::2]), ("held back", found[1::2])):
                off = abs(100 * errors(each, half))
                print(f"    # {name}: {off.mean():.1f} % off, {off.max():.1f} at worst")


if __name__ == "__main__":
    main()
