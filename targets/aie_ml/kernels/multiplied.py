"""The kernel of an element-wise product of two activations of 8 bits."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from match_aie.errors import TargetError
from match_aie.targets.aie_ml.kernels.numeric import RoundingMode, round_shift, saturate
from match_aie.targets.aie_ml.kernels.pairs import PairCall, PairSpec

#: Elements of a vector.
LANES = 32


@dataclass(frozen=True)
class MultipliedSpec(PairSpec):
    """y = clip(srs((a - a_zero) * (b - b_zero) * multiplier + offset, shift)), all of 8 bits."""

    def __post_init__(self) -> None:
        """Refuse types that the kernel does not multiply."""
        if {self.a, self.dtype} - {"int8", "uint8"}:
            raise TargetError(f"no product of {self.a} stored as {self.dtype}")

    @property
    def lanes(self) -> int:
        """Elements of a vector."""
        return LANES

    @property
    def family(self) -> str:
        """Identifier that kernels with the same source share."""
        return f"multiplied_{self.named}"

    #: Its template, which reads the kernel under the name `k`.
    template = "aie/multiplied.hpp.mako"


@dataclass(frozen=True)
class MultipliedNumbers:
    """Numbers of one product.

    Attributes:
        a_zero: zero point of the first input.
        b_zero: of the second.
        multiplier: int16.
        offset: added before the shift, int32; the output's zero point is in it.
        shift: bits shifted out.
        rounding: of those.
        lo: least stored value, where the kernel clips.
        hi: greatest, likewise.
    """

    a_zero: int
    b_zero: int
    multiplier: int
    offset: int
    shift: int
    rounding: RoundingMode = "conv_even"
    lo: int = 0
    hi: int = 0


def multiplied_reference(
    spec: MultipliedSpec, a: np.ndarray, b: np.ndarray, n: MultipliedNumbers
) -> np.ndarray:
    """What the kernel stores.

    Args:
        spec: of the kernel.
        a: stored integers.
        b: likewise, of the same shape.
        n: zero points, multiplier and shift.
    """
    products = (a.astype(np.int64) - n.a_zero) * (b.astype(np.int64) - n.b_zero)
    rounded = round_shift(products * n.multiplier + n.offset, n.shift, n.rounding)
    values = saturate(rounded, spec.dtype, "saturate")
    if spec.lo:
        values = np.maximum(values, values.dtype.type(n.lo))
    return np.minimum(values, values.dtype.type(n.hi)) if spec.hi else values


@dataclass(frozen=True)
class MultipliedCall(PairCall[MultipliedSpec, MultipliedNumbers]):
    """A product of two activations."""

    template = "aie/multiplied_layer.cpp.mako"

    def meaning(self, inputs: tuple[np.ndarray, ...], *values: np.ndarray) -> np.ndarray:
        """What it stores of elements of both; it has no parameters."""
        del values
        a, b = inputs
        return multiplied_reference(self.spec, a, b, self.numbers)
