"""What GVSoC's public model of a cluster's core adds to a cycle an instruction; and its caches.

gvsoc/gvsoc-core@0148c68: a branch that is taken takes 2 cycles more, a jump 1, a value that is used
by the instruction after its load 1 (models/cpu/iss/include/timing_implem.hpp, `scoreboard`), the
upper half of a product 4, a division as many as its divisor has leading zeros, and 2
(models/cpu/iss/include/isa/rv32m.hpp). Ways, lines and replacement of caches are those of
models/cache/cache_impl.cpp.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise

LINE, WAYS = 16, 4
TAKEN, JUMP, LOAD_USE, UPPER = 2, 1, 1, 4
#: By a divisor of two bits, as threes are; emitted code divides by little else.
DIVISION = 32


@dataclass
class Cache:
    """Lines by set; a way is replaced at random, by a shift register of eight bits.

    Attributes:
        nbytes: of all lines.
        misses: so far.
    """

    nbytes: int
    misses: int = 0
    _sets: list[list[int]] = field(init=False)
    _register: int = 0

    def __post_init__(self) -> None:
        """Empty."""
        self._sets = [[-1] * WAYS for _ in range(self.nbytes // (LINE * WAYS))]

    def holds(self, line: int) -> bool:
        """Whether the line is there; it is from now on."""
        ways = self._sets[line % len(self._sets)]
        if line in ways:
            return True
        taps = sum(self._register >> bit & 1 for bit in (7, 3, 2, 1))
        self._register = (self._register << 1 | (taps + 1) % 2) & 0xFF
        ways[self._register >> 1 & WAYS - 1] = line
        self.misses += 1
        return False


@dataclass(frozen=True)
class Instruction:
    """What of an instruction decides its stalls: registers that it loads, and that it reads."""

    kind: str
    loads: int = 0
    reads: tuple[int, ...] = ()


@dataclass(frozen=True)
class Stalls:
    """Of a block: cycles in any case, and what its last instruction adds if code goes elsewhere."""

    always: int
    elsewhere: int


def stalls(code: bytes) -> Stalls:
    """Of the instructions of a block, rv32imc."""
    found = list(_decoded(code))
    always = sum(LOAD_USE for a, b in pairwise(found) if a.loads and a.loads in b.reads)
    always += sum({"upper": UPPER, "divide": DIVISION}.get(one.kind, 0) for one in found)
    return Stalls(always, {"branch": TAKEN, "jump": JUMP}.get(found[-1].kind, 0))


def accesses(code: bytes) -> int:
    """Loads and stores of the instructions of a block, rv32imc."""
    return sum(bool(one.loads) or one.kind == "store" for one in _decoded(code))


def _decoded(code: bytes) -> Iterator[Instruction]:
    at = 0
    while at < len(code):
        (half,) = struct.unpack_from("<H", code, at)
        if half & 3 == 3:
            yield _whole(*struct.unpack_from("<I", code, at))
            at += 4
        else:
            yield _short(half)
            at += 2


def _whole(word: int) -> Instruction:
    """An instruction of 32 bits."""
    code, to, one, two = word & 0x7F, word >> 7 & 31, word >> 15 & 31, word >> 20 & 31
    if code == 0x03:
        return Instruction("load", to, (one,))
    if code == 0x33 and word >> 25 == 1:
        kind = word >> 12 & 7
        named = "divide" if kind > 3 else "upper" if kind else "multiply"
        return Instruction(named, 0, (one, two))
    both = {0x23: "store", 0x63: "branch", 0x33: "compute"}
    if code in both:
        return Instruction(both[code], 0, (one, two))
    if code in (0x6F, 0x67):
        return Instruction("jump", 0, (one,) if code == 0x67 else ())
    return Instruction("compute", 0, (one,) if code == 0x13 else ())


def _short(half: int) -> Instruction:
    """An instruction of 16 bits."""
    quadrant, kind = half & 3, half >> 13
    to, two = half >> 7 & 31, half >> 2 & 31
    high, low = (half >> 7 & 7) + 8, (half >> 2 & 7) + 8
    if quadrant == 0:
        if kind == 2:
            return Instruction("load", low, (high,))
        return (
            Instruction("store", 0, (high, low)) if kind == 6 else Instruction("compute", 0, (2,))
        )
    if quadrant == 1:
        if kind in (1, 5):
            return Instruction("jump")
        if kind >= 6:
            return Instruction("branch", 0, (high,))
        if kind == 4:
            pair = (high, low) if half >> 10 & 3 == 3 else (high,)
            return Instruction("compute", 0, pair)
        return Instruction("compute", 0, (to,) if kind == 0 else ())
    if kind == 2:
        return Instruction("load", to, (2,))
    if kind == 4 and not two:
        return Instruction("jump", 0, (to,))
    if kind == 6:
        return Instruction("store", 0, (2, two))
    return Instruction("compute", 0, (to, two) if kind == 4 and half >> 12 & 1 else (two or to,))
