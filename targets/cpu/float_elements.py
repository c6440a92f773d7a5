"""Functions of single float elements, and sums and products of two tensors, along vectors.

Tensors are float32, or bfloat16, which a processor reads and stores by its bits
(`match_aie.workload.narrow`): it computes in float32 and rounds once, when it stores. A function of
bfloat16 is a table of all 65,536 values.
"""

from __future__ import annotations

from dataclasses import dataclass

from match_aie.targets.cpu.cores import Split, over
from match_aie.targets.cpu.float_kernel import literal
from match_aie.targets.cpu.machine import Machine
from match_aie.workload import (
    Activation,
    Kind,
    RealTail,
    Word,
    Workload,
    is_narrow,
)

#: Kinds that combine elements with those of other tensors in their place, or with nothing.
ELEMENTS: tuple[Kind, ...] = ("function", "add", "mul")

#: Vector operations per vector that is read from bfloat16 (made wide, shifted), and stored so,
#: counted in what gcc 12 makes of ma_bf16 for AVX2.
WIDENS, NARROWS = 2.0, 13.0

#: Stores and loads per vector of a row that lies in scratch between reading and computing, and
#: between computing and storing.
BETWEEN = 4.0

#: Cycles of a function per vector where nothing else is done meanwhile: its operations wait for
#: each other, more than vectors in flight hide. Measured on one Zen 4 core at 3.69 GHz (eight
#: lanes, gcc 12, x86-64-v3, numbers that the first cache holds, best of 200), assumed elsewhere.
ALONE: dict[Activation, float] = {
    "gelu": 34.0,
    "gelu_tanh": 19.0,
    "silu": 12.0,
    "tanh": 21.0,
    "sigmoid": 14.0,
}

#: Vector operations of what may stand behind a sum.
ENDINGS: dict[Activation, float] = {"relu": 2.0, "clip": 4.0}

#: Cycles per element that is looked up, of activations, which touch few of the table's lines;
#: measured there.
LOOKUP = 1.3


@dataclass(frozen=True)
class ElementKernel:
    """What the template prints.

    Attributes:
        operator: between two tensors; "" for a function of one.
        tail: the activation.
        loads: of every input, its name and the ending of `ma_load`'s name.
        stores: the ending of `ma_store`'s name.
        looks_up: whether results are entries of a table.
        split: over cores; None for one.
    """

    operator: str
    tail: RealTail
    loads: tuple[tuple[str, str], ...]
    stores: str = ""
    looks_up: bool = False
    split: Split | None = None

    def value(self, *names: str) -> str:
        """C expression of a result of these vectors."""
        joined = f" {self.operator} ".join(names)
        match self.tail.activation:
            case "identity":
                return joined
            case "clip":
                return f"ma_clip({joined}, {literal(self.tail.lo)}, {literal(self.tail.hi)})"
            case name:
                return f"ma_{name}({joined})"

    def over(self, dim: str, size: int | Word) -> tuple[str, str]:
        """C expressions of where `dim` begins, and what it stays below."""
        return over(self.split, dim, size)


def element_kernel(workload: Workload, split: Split | None = None) -> ElementKernel:
    """Of a layer of one of `ELEMENTS`."""
    assert workload.real is not None
    ending = "_bf16" if is_narrow(workload) else ""
    operator = {"add": "+", "mul": "*"}.get(workload.kind, "")
    loads = tuple((o.name, ending) for o in workload.inputs)
    looks_up = bool(ending) and workload.kind == "function"
    return ElementKernel(operator, workload.real, loads, ending, looks_up, split)


def element_cycles(machine: Machine, workload: Workload) -> float:
    """Cycles of a layer of one of `ELEMENTS` whose tensors are there."""
    assert workload.real is not None
    size, name = workload.output.size, workload.real.activation
    if workload.kind == "function" and is_narrow(workload):
        return size * LOOKUP
    vectors = -(-size // machine.lanes)
    if workload.kind == "function":
        return vectors * ALONE[name]
    each = 1.0 + ENDINGS.get(name, 0.0) + converting(workload)
    return vectors * each / machine.peaks.operations


def converting(workload: Workload) -> float:
    """Vector operations of each vector of the result that bfloat16 takes; 0 for float32."""
    if not is_narrow(workload):
        return 0.0
    return WIDENS * len(workload.inputs) + NARROWS + (0.0 if workload.kind in ELEMENTS else BETWEEN)
