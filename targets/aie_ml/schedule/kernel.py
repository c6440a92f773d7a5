"""What a kernel is, as far as its schedule goes: types, tiling, block, cascade, tail."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, get_args

from match_aie.errors import TargetError
from match_aie.targets.aie_ml.devices import Tiling

Position = Literal["single", "first", "middle", "last"]
#: How sums become results: rounded after a shift; after a product with one multiplier, of 32 or 16
#: bits, or one a column, likewise; or stored as they are, 32 bits wide.
Requantise = Literal["shift", "multiplier", "narrow", "channel", "narrow_channel", "none"]

#: Of these those with a multiplier for each column; and those whose multipliers have 16 bits.
BY_COLUMN, NARROW = ("channel", "narrow_channel"), ("narrow", "narrow_channel")

#: How a block's epilogue meets the next block. "overlapped": a second set of accumulators, both
#: software-pipelined together. "exposed": the next block's first product waits for the last store.
#: "flat": overlapped, and the reduction unrolled, so that no inner loop is set up per block.
Variant = Literal["overlapped", "exposed", "flat"]

#: What a step adds: a product of tiles; lane by lane products over the taps of a window, sums or
#: maxima over them; or, in a single step, two vectors times their factors.
Work = Literal["mmul", "multiply", "sum", "pool", "add"]

POSITIONS, REQUANTISE = get_args(Position), get_args(Requantise)
VARIANTS, WORKS = get_args(Variant), get_args(Work)

#: Bytes of an element.
ELEMENT_BYTES = {
    "int8": 1,
    "uint8": 1,
    "int16": 2,
    "uint16": 2,
    "bfloat16": 2,
    "bfp16": 2,
    "int32": 4,
    "float32": 4,
}


@dataclass(frozen=True)
class Kernel:
    """A dense kernel: rows x reduction x columns in blocks of accumulators.

    Attributes:
        a: element type of the activations.
        w: of the weights.
        out: of the result; of no meaning where a cascade takes the sums.
        tiling: the `aie::mmul` shape.
        rows: row tiles in a block.
        columns: column tiles in a block.
        position: in the cascade.
        bias: whether accumulators start with one (never behind a cascade).
        relu: whether negative results become 0.
        requantise: how sums become `out`.
        variant: how an epilogue meets the next block.
        weight_banks: banks over which the weights are spread, 1 or 2.
        resumes: whether accumulators start with 32-bit sums that an earlier call stored.
        rounded: whether these sums wait in the results' type instead.
        operation: what a step adds.
        gathered: whether tiles of the activations lie where a table says, not aligned.
        border_bias: whether a table says for every row which bias it starts from.
        row_bias: whether addends by rows join the bias.
        addends: whether there is an addend by column beside multipliers.
        high: whether results are clipped from above.
        adds: whether accumulators start with the results that y holds so far, as kernels of other
            tools do that are called for one part of the reduction after the other.
        grouped: whether words of a cascade come in two groups (`kernels.heads`).
        beside: whether numbers by column (bias, multipliers, addends) lie in the weights' bank.
        upright: whether activations lie with their rows along the reduction.
        turned: whether tiles of the weights are turned before they become blocks of floats.
    """

    a: str
    w: str
    out: str
    tiling: Tiling
    rows: int = 2
    columns: int = 2
    position: Position = "single"
    bias: bool = True
    relu: bool = True
    requantise: Requantise = "shift"
    variant: Variant = "overlapped"
    weight_banks: int = 1
    resumes: bool = False
    rounded: bool = False
    operation: Work = "mmul"
    gathered: bool = False
    border_bias: bool = False
    row_bias: bool = False
    addends: bool = False
    high: bool = False
    adds: bool = False
    grouped: bool = False
    beside: bool = False
    upright: bool = False
    turned: bool = False

    def __post_init__(self) -> None:
        """Refuse what no kernel is."""
        unknown = {self.a, self.w, self.out} - ELEMENT_BYTES.keys()
        if unknown:
            raise TargetError(f"kernel element types {sorted(unknown)} are not known")
        if min(self.rows, self.columns) < 1 or self.weight_banks not in (1, 2):
            raise TargetError(f"kernel block {self.rows}x{self.columns} is empty")
        for value, values in (
            (self.position, POSITIONS),
            (self.requantise, REQUANTISE),
            (self.variant, VARIANTS),
            (self.operation, WORKS),
        ):
            if value not in values:
                raise TargetError(f"kernel: {value!r} is none of {values}")
        if self.tiling.waits and self.variant != "overlapped" and self.operation == "mmul":
            raise TargetError(
                "kernel: tiles that fill registers have steps in a loop, and no other"
            )
        if self.resumes and (self.bias or self.cascade_in):
            raise TargetError("kernel: earlier sums start it, and a bias or a cascade too")
        if self.rounded and not self.resumes:
            raise TargetError("kernel: rounded sums of no earlier call")
        if self.adds and (self.starts_otherwise or self.variant != "exposed"):
            raise TargetError(
                "kernel: results are added to in other tools' kernels, without a bias"
            )
        if self.bias and self.cascade_in:
            raise TargetError(
                "kernel: bias behind a cascade", hint="add it in the first kernel of the chain"
            )

    @property
    def waits(self) -> bool:
        """Whether a block begins when the one before it has been stored."""
        return self.variant == "exposed" or self.tiling.waits

    @property
    def starts(self) -> bool:
        """Whether accumulators start with anything but zeros."""
        return self.adds or self.starts_otherwise

    @property
    def starts_otherwise(self) -> bool:
        """The same, without what y holds."""
        return self.bias or self.resumes or self.cascade_in or self.operation == "add"

    @property
    def cascade_in(self) -> bool:
        """Whether accumulators start with the sums of the tile before."""
        return self.position in ("middle", "last")

    @property
    def cascade_out(self) -> bool:
        """Whether sums go on to the next tile."""
        return self.position in ("first", "middle")

    @property
    def accumulator_bits(self) -> int:
        """Bits of one sum: the `mmul` shape's own; lane by lane, 64 for 16-bit products."""
        if self.operation == "mmul":
            return self.tiling.lane_bits
        wide = ELEMENT_BYTES[self.a] == 2 and ELEMENT_BYTES[self.w] == 2
        return 64 if wide and not self.floating else 32

    @property
    def floating(self) -> bool:
        """Whether products are of floats."""
        return self.a in ("bfloat16", "float32")

    @property
    def halved(self) -> bool:
        """Whether 32-bit weights are multiplied by their 16-bit halves (UG1583, "Emulated ...")."""
        return self.operation == "mmul" and self.w == "int32"

    @property
    def numbers_bank(self) -> str:
        """The bank that numbers by column are loaded from."""
        return "W" if self.beside else "S"

    @property
    def pair(self) -> tuple[str, str]:
        """Element types of the products."""
        return self.a, self.w

    def block(self, rows: int, columns: int) -> Kernel:
        """The same kernel with other blocks."""
        same = (rows, columns) == (self.rows, self.columns)
        return self if same else replace(self, rows=rows, columns=columns)
