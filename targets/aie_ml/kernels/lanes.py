"""Kernels that work lane by lane and multiply no matrices: sums of activations, maximum pools."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from match_aie.errors import TargetError
from match_aie.targets.aie_ml.kernels.numeric import (
    RoundingMode,
    SaturationMode,
    round_shift,
    saturate,
    wrap,
)
from match_aie.targets.aie_ml.kernels.pairs import PairSpec
from match_aie.targets.aie_ml.kernels.spec import BYTES, C_TYPES


@dataclass(frozen=True)
class AddSpec(PairSpec):
    """y = clip(srs(a * a_factor + b * b_factor + offset)), lane by lane."""

    def __post_init__(self) -> None:
        """Refuse types that the kernel does not add."""
        if self.a not in ("int8", "uint8", "int16") or self.dtype not in ("int8", "uint8", "int16"):
            raise TargetError(f"no sum of {self.a} stored as {self.dtype}")

    @property
    def narrow(self) -> bool:
        """Whether inputs have 8 bits, widened before they are multiplied."""
        return BYTES[self.a] == 1

    @property
    def lanes(self) -> int:
        """Elements of a vector."""
        return 32 if self.narrow else 16

    @property
    def accumulator(self) -> str:
        """C++ tag: 8 bits times 16 leave room for two products and an offset in 32."""
        return "acc32" if self.narrow else "acc64"

    @property
    def family(self) -> str:
        """Identifier that kernels with the same source share."""
        return f"add_{self.named}"

    #: Its template, which reads the kernel under the name `k`.
    template = "aie/add.hpp.mako"


@dataclass(frozen=True)
class AddNumbers:
    """Numbers of one sum.

    Attributes:
        a_factor: of the first input, int16.
        b_factor: of the second, int16.
        offset: added before the shift, int32; zero points are folded in.
        shift: bits shifted out.
        rounding: of those.
        saturation: where the result leaves the output's range.
        lo: least stored value, where the kernel clips.
        hi: greatest, likewise.
    """

    a_factor: int
    b_factor: int
    offset: int
    shift: int
    rounding: RoundingMode = "conv_even"
    saturation: SaturationMode = "saturate"
    lo: int = 0
    hi: int = 0


def add_reference(spec: AddSpec, a: np.ndarray, b: np.ndarray, n: AddNumbers) -> np.ndarray:
    """What the kernel stores for arrays `a` and `b` of one shape."""
    sums = a.astype(np.int64) * n.a_factor + b.astype(np.int64) * n.b_factor + n.offset
    sums = wrap(sums, 32 if spec.narrow else 64)
    values = saturate(round_shift(sums, n.shift, n.rounding), spec.dtype, n.saturation)
    if spec.lo:
        values = np.maximum(values, values.dtype.type(n.lo))
    return np.minimum(values, values.dtype.type(n.hi)) if spec.hi else values


@dataclass(frozen=True)
class MaxPoolSpec:
    """Maximum over a window's taps on images [C/n][H'][s][W'/s][n], as for convolutions.

    Padding must be there already, with values that never win: 0 for unsigned elements.

    Attributes:
        dtype: element type.
        m: neighbouring output pixels of a tile.
        n: channels of a block.
        rows: tiles that are worked on at a time.
    """

    dtype: str
    m: int = 4
    n: int = 8
    rows: int = 4

    def __post_init__(self) -> None:
        """Refuse tiles that are no vector."""
        if self.dtype not in C_TYPES or self.m * self.n * BYTES[self.dtype] not in (16, 32, 64):
            raise TargetError(f"tiles of {self.m}x{self.n} {self.dtype} are no vector")

    @property
    def family(self) -> str:
        """Identifier that kernels with the same source share."""
        return f"max_pool_{self.dtype}_{self.m}x{self.n}_{self.rows}"

    #: Its template, which reads the kernel under the name `k`.
    template = "aie/max_pool.hpp.mako"

    #: C++ name of an element type.
    c_type = staticmethod(C_TYPES.__getitem__)
