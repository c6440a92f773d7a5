"""Emitted projects on an emulated RISC-V core: built with GCC, run in Unicorn, counted.

On Debian: `apt install gcc-riscv64-unknown-elf picolibc-riscv64-unknown-elf`; from PyPI: unicorn,
pyelftools.
"""

import shutil
import subprocess
from collections import Counter
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import numpy as np

GCC = "riscv64-unknown-elf-gcc"
#: Instruction sets by name: what GCC is told. GAP9's control core is rv32imfc; GCC's libraries for
#: that calling convention come with `a`, which plain C does not use.
ISAS = {
    "rv32imc": ("-march=rv32imac", "-mabi=ilp32"),
    "rv32imfc": ("-march=rv32imafc", "-mabi=ilp32f"),
}
#: Where the program, its data, the caller's arrays and the stack are; and the address that the
#: network returns to.
PROGRAM, RAM, DATA, END, STOP = 0x10000, 0x2000000, 0x4000000, 0x8000000, 0x8000


def missing():
    """Why nothing can be run here, or None."""
    if not shutil.which(GCC):
        return f"no {GCC}"
    for module in ("unicorn", "elftools"):
        if find_spec(module) is None:
            return f"no Python package for {module}"
    return None


def build(folder, network, isa, *flags, optimise="-O2"):
    """The network's own C, without a target's emulation, as an ELF of instruction set `isa`."""
    folder = Path(folder)
    out = folder / f"{network}.{isa}.elf"
    sources = [f"src/{network}.c"]
    if (folder / f"src/{network}_weights.S").exists():
        sources.append(f"src/{network}_weights.S")
    command = [GCC, *ISAS[isa], "-specs=picolibc.specs", "-std=c11", optimise, "-ffp-contract=off"]
    command += ["-fno-strict-aliasing", "-fno-math-errno", "-nostartfiles", "-Iinclude", *flags]
    places = {"__flash": PROGRAM, "__flash_size": RAM - PROGRAM, "__ram": RAM}
    places["__ram_size"] = DATA - RAM
    command += [*sources, "-lm", f"-Wl,--no-relax,-e,{network}_run"]
    command += [f"-Wl,--defsym={name}={place:#x}" for name, place in places.items()]
    command += ["-o", str(out)]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return out


@dataclass(frozen=True)
class Counted:
    """What a run gave: outputs in order, and instructions, in all and by kind of division."""

    outputs: list
    instructions: int
    divisions: int


class Core:
    """A program in an emulated core."""

    def __init__(self, elf):
        """Load it; the network's entry is the symbol `<network>_run`."""
        from elftools.elf.elffile import ELFFile
        from unicorn import UC_ARCH_RISCV, UC_HOOK_BLOCK, UC_MODE_RISCV32, Uc

        self._core = Uc(UC_ARCH_RISCV, UC_MODE_RISCV32)
        self._core.mem_map(0, END)
        with Path(elf).open("rb") as file:
            program = ELFFile(file)
            self._entry = program.header["e_entry"]
            for segment in program.iter_segments():
                if segment["p_type"] == "PT_LOAD":
                    self._core.mem_write(segment["p_vaddr"], segment.data())
        self._blocks = Counter()
        self._core.hook_add(UC_HOOK_BLOCK, self._block)

    def _block(self, core, address, size, data):
        self._blocks[address, size] += 1

    def run(self, inputs, outputs):
        """Call the network on arrays; `outputs` are empty arrays of the right shape and type."""
        from unicorn import riscv_const as r

        self._blocks.clear()
        at = DATA
        tables = []
        for arrays in (inputs, outputs):
            places = []
            for array in arrays:
                places.append(at)
                self._core.mem_write(at, np.ascontiguousarray(array).tobytes())
                at += -(-array.nbytes // 64) * 64
            tables.append(places)
        self._core.mem_write(at, np.array([*tables[0], 0, *tables[1], 0], np.uint32).tobytes())
        registers = {
            r.UC_RISCV_REG_A0: at,
            r.UC_RISCV_REG_A1: at + 4 * len(tables[0]) + 4,
            r.UC_RISCV_REG_SP: END - 4096,
            r.UC_RISCV_REG_TP: END - 2048,  # errno of libm is somewhere there
            r.UC_RISCV_REG_RA: STOP,
            r.UC_RISCV_REG_MSTATUS: 0x6000,  # floating point is on
        }
        for register, value in registers.items():
            self._core.reg_write(register, value)
        self._core.emu_start(self._entry, STOP)
        assert self._core.reg_read(r.UC_RISCV_REG_A0) == 0
        found = [
            np.frombuffer(bytes(self._core.mem_read(place, a.nbytes)), a.dtype).reshape(a.shape)
            for place, a in zip(tables[1], outputs, strict=True)
        ]
        return Counted(found, *self._counts())

    def _counts(self):
        """(instructions, divisions) of all blocks that ran."""
        total = divisions = 0
        for (address, size), times in self._blocks.items():
            code = bytes(self._core.mem_read(address, size))
            number, divides = decode(code)
            total += times * number
            divisions += times * divides
        return total, divisions


def decode(code):
    """(instructions, divisions and roots among them, integer and float) of a stretch of code."""
    at = number = divisions = 0
    while at < len(code):
        low = code[at]
        if low & 3 != 3:
            at += 2
        else:
            word = int.from_bytes(code[at : at + 4], "little")
            opcode, high, funct3 = word & 0x7F, word >> 25, word >> 12 & 7
            integer = opcode == 0x33 and high == 1 and funct3 >= 4
            real = opcode == 0x53 and high in (0x0C, 0x2C)
            divisions += integer or real
            at += 4
        number += 1
    return number, divisions
