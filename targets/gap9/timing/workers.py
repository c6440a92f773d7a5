"""What the simulated cycles of all cluster kernels share: instructions, banks, who does what."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from match_aie.targets.gap9.facts import facts
from match_aie.workload import Workload

Ranges = Mapping[str, tuple[int, int]]

#: Cycles of a core's stall after a load whose value the next instruction needs, of a division (as
#: many as its divisor has leading zeros, and 2: GVSoC's public rv32m.hpp; divisors here have two to
#: five bits), of a float32 operation whose result is needed at once, and of a float32 division
#: (assumptions: the chip's FPU is not described).
LOAD_USE, DIVISION, FLOAT, FLOAT_DIVISION = 1, 31, 2, 15
#: A division at most (CV32E40P user manual).
LONG_DIVISION = 35
#: Event unit and cores need tens of cycles to fork and to meet at a barrier (F. Glaser et al.,
#: arXiv:2004.06662); both together take 32 with warm caches (GVSoC, of the half that is fitted).
FORK, BARRIER = 16.0, 16.0
#: What a core does in a kernel once: it saves registers, reads the structure, makes addresses.
#: Counted in the emitted kernels, compiled by GCC 12 at -O3 with an instruction in the place of
#: each of Xpulp's builtins (`benchmarks/gap9_kernels.py`), less the divisions below; by kernel.
ENTER = 110.0
ENTER_BY = {"conv2d": 450.0, "depthwise": 310.0, "dense": 215.0, "pool": 200.0}
ENTER_BY |= {"matmul": 350.0, "permute": 300.0}
#: `ma_part`, and `ma_divide`: four tries, two parts.
PART = 16
DIVIDE = 4 * 16 + 2 * PART
#: `ma_requantise` and the store: multiply, add and shift, clip, store. An output range from 0 on is
#: clipped by one instruction, others by two.
FINISH, CLIP = 4, 1
#: Loads of a channel's multiplier and offset.
CHANNEL = 2


def contended(instructions: float, accesses: float) -> float:
    """Cycles of a stretch of code on all cores at once, `accesses` of its instructions to L1.

    Accesses are taken to fall on banks at random: one collides with each of the other cores'
    accesses with probability (accesses / instructions) / banks, and then waits in half the cases.
    """
    others = facts().cores.workers - 1
    return instructions + accesses * others * (accesses / instructions) / (
        2 * facts().memory.l1_banks
    )


def finish(workload: Workload) -> int:
    """Instructions from a sum to the stored output, loads of factors not counted."""
    if workload.output.dtype == "int32":
        return 2
    return FINISH + CLIP * (workload.tail is not None and workload.tail.lo != 0)


def up(a: int, b: int) -> int:
    """`a / b`, rounded up."""
    return -(-a // b)


def part(total: int, index: int, parts: int) -> tuple[int, int]:
    """First and last index (exclusive) as `ma_part` gives them."""
    each = up(total, parts)
    first = min(total, index * each)
    return first, min(total, first + each)


@dataclass(frozen=True)
class Share:
    """What one core does: units [first, last) and of each blocks [first, last).

    Attributes:
        units: of work.
        blocks: of each unit.
        load: of the busiest core.
    """

    units: tuple[int, int]
    blocks: tuple[int, int]
    load: int


def divide(cores: int, units: int, blocks: int, per_unit: int, per_block: int) -> list[Share]:
    """Every core's share, as `ma_divide` decides.

    Args:
        cores: that share the work.
        units: of work, such as pixels.
        blocks: of each, such as four channels.
        per_unit: what a unit costs once.
        per_block: what a block of one costs.
    """
    loads = [
        up(units, cores >> s) * (per_unit + up(blocks, 1 << s) * per_block)
        for s in range(cores.bit_length())
    ]
    ways = loads.index(min(loads))
    return [
        Share(
            part(units, core >> ways, cores >> ways),
            part(blocks, core & ((1 << ways) - 1), 1 << ways),
            loads[ways],
        )
        for core in range(cores)
    ]


def copy_cycles(nbytes: int, misaligned: bool) -> float:
    """`ma_copy`: two words in four instructions, a word in three, a byte in three."""
    words, rest = divmod(nbytes, 4)
    moving = 4 * (words // 2) + (2 + LOAD_USE) * (words % 2)
    cycles = 6.0 + (2 + LOAD_USE) * rest
    if words:
        cycles += contended(moving, 2 * words) + (2 * words if misaligned else 0)
    return cycles
