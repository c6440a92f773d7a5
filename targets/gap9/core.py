"""What operators cost on the control core, where no module claims them: counted, not guessed.

The numbers are instructions per element of emitted fallback C, compiled with GCC 12 at -O2 and
executed instruction by instruction (`tests/slow/test_gap9_core.py` counts them again), for two
instruction sets. GAP9's cores have a float32 unit (`facts.json`: rv32imfc), so "rv32imfc" is what
the target uses; "rv32imc", where every float32 operation is a call of libgcc, with
`instruction_set="rv32imc"`. Xpulp's hardware loops and post-increment accesses would lower the
counts; no compiler for them is at hand, so they are left out.

Cycles are the instructions, plus what divisions and square roots take beyond one cycle. Other
stalls (load-use, taken branches, L2 wait states) are not in them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal

from match_aie.hardware import REDUCTIONS, CoreCost, Operation

Isa = Literal["rv32imc", "rv32imfc"]

#: Cycles of a division or root beyond the instruction's own: 15 in all for float32, up to 35 for
#: integers by their bits (CV32E40P user manual; the float32 unit of GAP9 is not described).
DIVISION = 14.0

#: Operators that only move elements.
MOVES = frozenset(
    {"permute_dims", "concat", "strided_slice", "nn.pad", "tile", "repeat", "broadcast_to", "take"}
)


@dataclass(frozen=True)
class Counts:
    """Instructions of fallback C on one instruction set.

    Attributes:
        mac: per multiply-accumulate of a convolution or product in float32.
        averaged: per position of an average's window.
        window: per position of another pool's window.
        reduced: per element that a sum, mean or extremum reads (sums of nine terms and more,
            which the fallback adds side by side).
        moved: per element that an operator moves.
        element: per element of an operator that `outputs` does not name.
        outputs: (instructions, divisions) per element that an operator writes.
    """

    mac: float
    averaged: float
    window: float
    reduced: float
    moved: float
    element: float
    outputs: Mapping[str, tuple[float, float]] = field(default_factory=lambda: MappingProxyType({}))


COUNTS: Mapping[Isa, Counts] = MappingProxyType(
    {
        "rv32imfc": Counts(
            mac=9.0,
            averaged=20.5,
            window=23.5,
            reduced=2.3,
            moved=6.0,
            element=8.0,
            outputs=MappingProxyType(
                {
                    "quantize": (56.0, 1.0),
                    "dequantize": (8.0, 0.0),
                    "divide": (8.0, 1.0),
                    "sqrt": (6.0, 1.0),
                    "exp": (92.0, 1.0),
                    "log": (111.0, 1.0),
                    "sigmoid": (97.0, 2.0),
                    "tanh": (135.0, 2.0),
                    "erf": (140.0, 1.9),
                    "nn.softmax": (119.0, 2.0),
                }
            ),
        ),
        "rv32imc": Counts(
            mac=185.0,
            averaged=114.0,
            window=60.0,
            reduced=79.0,
            moved=6.0,
            element=99.0,
            outputs=MappingProxyType(
                {
                    "quantize": (484.0, 4.0),
                    "dequantize": (164.0, 0.0),
                    "divide": (111.0, 4.0),
                    "add": (82.0, 0.0),
                    "multiply": (116.0, 0.0),
                    "nn.relu": (31.0, 0.0),
                    "sqrt": (273.0, 0.0),
                    "exp": (1944.0, 4.0),
                    "log": (2348.0, 4.0),
                    "sigmoid": (2119.0, 8.0),
                    "tanh": (3467.0, 8.0),
                    "erf": (3754.0, 8.4),
                    "nn.softmax": (2573.0, 8.0),
                }
            ),
        ),
    }
)


@dataclass(frozen=True)
class ControlCore(CoreCost):
    """Cycles of fallback operators on a scalar RISC-V core.

    Attributes:
        isa: its instruction set.
        overhead: cycles of a call; measured functions take 5 to 100 instructions beside their
            elements.
        code: more of a call, to fetch what no cache holds of its code.
    """

    isa: Isa = "rv32imfc"
    overhead: float = 50.0
    code: float = 0.0

    def cycles(self, operation: Operation) -> float:
        """Instructions and divisions of `operation`, fused with nothing."""
        name, counts = operation.operator, COUNTS[self.isa]
        if operation.free:
            return 0.0
        if operation.macs:
            return self.overhead + self.code + counts.mac * operation.macs
        if operation.window is not None:
            position = counts.averaged if "avg" in name else counts.window
            return self.overhead + self.code + position * operation.output.size * operation.window
        if ("pool" in name or name in REDUCTIONS) and operation.inputs:
            return self.overhead + self.code + counts.reduced * operation.inputs[0].size
        each = counts.moved if name in MOVES else counts.element
        instructions, divisions = counts.outputs.get(name, (each, 0.0))
        each = instructions + DIVISION * divisions
        return self.overhead + self.code + each * operation.output.size
