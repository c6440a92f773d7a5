"""The kernel of a norm of 8-bit rows in integers (`match_aie.workload.fixed_norm`)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from match_aie.targets.aie_ml.kernels.call import Parameter
from match_aie.targets.aie_ml.kernels.counts import Counts
from match_aie.targets.aie_ml.kernels.lookup import FilledCall, TableSpec
from match_aie.workload import NormNumbers, Tail, norm_rows, normal_bits


@dataclass(frozen=True)
class NormSpec(TableSpec):
    """Rows of x less their mean, over their spread, times factors of their own, and addends.

    Attributes:
        rms: whether x has its zero point taken off instead of a mean.
    """

    rms: bool = False

    @property
    def family(self) -> str:
        """Identifier that kernels with the same source share."""
        return f"{'rms_' * self.rms}norm_{self.a}_{self.dtype}"

    @property
    def template(self) -> str:
        """Its template, which reads the kernel under the name `k`."""
        return "aie/norm.hpp.mako"

    def counts(self, vectors: int) -> Counts:
        """Operations of rows of so many vectors together."""
        return Counts(load=8 * vectors, store=vectors, srs=3 * vectors, multiply=4 * vectors)


@dataclass(frozen=True)
class NormCall(FilledCall):
    """A norm's function: buffers x and y, factors and addends of a row's elements.

    Attributes:
        numbers: what is added to a row's variance, and a zero point.
        tail: with the shift.
    """

    spec: NormSpec
    numbers: NormNumbers
    tail: Tail

    @property
    def template(self) -> str:
        """Its template, which reads it under the name `call`."""
        return "aie/norm_layer.cpp.mako"

    @property
    def normal_bits(self) -> int:
        """Of the fraction of what is left of an element."""
        return normal_bits(self.columns)

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """Factors and addends, filled up with 0."""
        names = ("multiplier", "int16"), ("bias", "int32")
        return tuple(Parameter(name, c_type, self.width) for name, c_type in names)

    def rows_of(self, x: np.ndarray, *values: np.ndarray) -> np.ndarray:
        """The norms of rows x [B, K]."""
        multiplier, bias = (each[: self.columns] for each in values)
        return norm_rows(x, multiplier, bias, self.numbers, self.tail)
