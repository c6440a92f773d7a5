"""Element types, and how a core makes stored elements of its sums."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from match_aie.errors import TargetError
from match_aie.targets.aie_ml.kernels.numeric import ROUNDING_MODES, RoundingMode, SaturationMode

Form = Literal["shift", "tensor", "channel", "none"]
Addend = Literal["zero_point", "tensor", "channel"]

#: C++ names of element types. "bfp16" lies in memory as bfloat16: a core makes it blocks that share
#: an exponent, and x with it, when it multiplies (`match_aie.workload.block_float`).
C_TYPES = {
    "int8": "int8",
    "uint8": "uint8",
    "int16": "int16",
    "int32": "int32",
    "bfp16": "bfloat16",
    "bfloat16": "bfloat16",
    "float32": "float",
}
BYTES = {
    "int8": 1,
    "uint8": 1,
    "int16": 2,
    "int32": 4,
    "bfp16": 2,
    "bfloat16": 2,
    "float32": 4,
    "float": 4,
}


@dataclass(frozen=True)
class Requantise:
    """From an accumulator to a stored element: y = clip(srs(acc * multiplier + addend, shift)).

    Attributes:
        form: "shift" (multiplier 1; the zero point then travels in the bias), "tensor" (one
            multiplier), "channel" (one per column), "none" (the sum itself is stored).
        dtype: of what is stored.
        zero_point: added before rounding, in steps of the output.
        addend: what is added after a multiplication: the zero point shifted up, or int32 numbers,
            one or one per column, that hold zero points and the bias (fixed-point tails of
            `match_aie.workload.fixed` have such an "offset").
        narrow: whether multipliers have 16 bits, signed: products of 32 by 16 bits are two vector
            products, of 32 by 32 four.
        rounding: of the bits shifted out.
        saturation: where the result leaves the range of `dtype`.
        lo: least stored value, None where the type's own bound does.
        hi: greatest stored value, likewise.
    """

    form: Form
    dtype: str
    zero_point: int = 0
    rounding: RoundingMode = "conv_even"
    saturation: SaturationMode = "saturate"
    lo: int | None = None
    hi: int | None = None
    addend: Addend = "zero_point"
    narrow: bool = False

    def __post_init__(self) -> None:
        """Refuse combinations that no core computes."""
        if self.narrow and not self.scaled:
            raise TargetError(f"requantise form {self.form!r} has no narrow multiplier")
        if self.dtype not in C_TYPES:
            raise TargetError(f"no core stores {self.dtype!r}")
        if self.rounding not in ROUNDING_MODES:
            raise TargetError(f"no core rounds {self.rounding!r}")
        wide = self.dtype in ("int32", "float32", "bfloat16")
        if (self.form == "none") != wide:
            raise TargetError(f"requantise form {self.form!r} does not store {self.dtype}")
        if self.form == "none" and self.zero_point:
            raise TargetError("sums are stored without a zero point")
        if self.addend != "zero_point" and (not self.scaled or self.zero_point):
            raise TargetError("an addend follows a multiplication, and holds the zero point")

    @property
    def scaled(self) -> bool:
        """Whether the sum is multiplied before it is shifted."""
        return self.form in ("tensor", "channel")
