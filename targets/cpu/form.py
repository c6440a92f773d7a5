"""Sums of products as the processor takes them: how data are multiplied, and what a layer sums."""

from __future__ import annotations

from dataclasses import dataclass

from match_aie.targets.cpu.columns import in_bytes
from match_aie.targets.cpu.machine import Dot, Machine
from match_aie.workload import Workload


@dataclass(frozen=True)
class Form:
    """How the processor takes data and weights.

    Attributes:
        dot: what sums products.
        group: products that are summed in a lane at once.
        element: type of prepared data.
        subtract: what is subtracted from an element of x to prepare it.
    """

    dot: Dot
    group: int
    element: str
    subtract: int

    @property
    def zero(self) -> int:
        """What the operand's zero point becomes."""
        return 0 if self.element == "int16" else -self.subtract


def form(machine: Machine, workload: Workload) -> Form:
    """The fastest exact way for `workload`."""
    x, dot = workload.operand("x"), machine.dot
    if dot in ("dpbusd", "sdot") and not in_bytes(workload):
        dot = "madd" if machine.family == "x86-64" else "plain"
    if dot == "dpbusd":
        return Form(dot, 4, "uint8", 0 if x.dtype == "uint8" else -128)
    if dot == "sdot":
        return Form(dot, 4, "int8", 128 if x.dtype == "uint8" else 0)
    return Form(dot, 2 if dot == "madd" else 1, "int16", x.zero_point)


def stored_zero(machine: Machine, workload: Workload) -> int:
    """What prepared data hold where x is its zero point: sums are too high by it times weights."""
    made = form(machine, workload)
    return 0 if made.element == "int16" else workload.operand("x").zero_point - made.subtract


@dataclass(frozen=True)
class Shape:
    """A layer as a product over an image, in elements of the workload's x and of prepared data.

    Attributes:
        pixel: loop dimension of the pixels of a row.
        line: loop dimension of rows; "" where there is one.
        outer: loop dimension of independent images; "" where there is one.
        pixels: in a row.
        lines: rows.
        groups: of channels.
        inputs: channels of a group.
        outputs: channels of a group.
        taps: filter rows, filter columns.
        run: products that lie next to each other in prepared data.
        runs: of them in a filter row.
    """

    pixel: str
    line: str
    outer: str
    pixels: int
    lines: int
    groups: int
    inputs: int
    outputs: int
    taps: tuple[int, int]
    run: int
    runs: int

    def padded_run(self, group: int) -> int:
        """`run`, rounded up to whole groups."""
        return -(-self.run // group) * group


def shape(workload: Workload) -> Shape:
    """The product behind a conv2d, dense or matmul."""
    d = workload.sizes
    if workload.kind == "dense":
        return Shape("B", "", "", d["B"], 1, 1, d["C"], d["K"], (1, 1), d["C"], 1)
    if workload.kind == "matmul":
        return Shape("OY", "", "B", d["OY"], 1, 1, d["C"], d["K"], (1, 1), d["C"], 1)
    assert workload.window is not None
    together = workload.window.dilation[1] == 1 or d["FX"] == 1
    return Shape(
        pixel="OX",
        line="OY",
        outer="B",
        pixels=d["OX"],
        lines=d["OY"],
        groups=d["G"],
        inputs=d["C"],
        outputs=d["K"],
        taps=(d["FY"], d["FX"]),
        run=d["C"] * d["FX"] if together else d["C"],
        runs=1 if together else d["FX"],
    )


def is_narrow(machine: Machine, workload: Workload) -> bool:
    """Whether an element of the second matrix is a byte where it is multiplied."""
    if workload.kind == "matmul":
        return form(machine, workload).element != "int16"
    return workload.operand("weight").dtype == "int8"


def is_flat(product: Shape) -> bool:
    """Whether rows of pixels follow each other without a gap."""
    return product.taps == (1, 1) and bool(product.line)


def steps_of(made: Form, product: Shape) -> int:
    """Steps of the inner loop for one sum."""
    return product.taps[0] * product.runs * product.padded_run(made.group) // made.group
