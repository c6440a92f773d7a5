"""The kernel of a layer norm of 8-bit rows in integers (`match_aie.workload.fixed_norm`)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from match_aie.targets.aie_ml.kernels.call import Parameter
from match_aie.targets.aie_ml.kernels.counts import Counts
from match_aie.targets.aie_ml.kernels.lookup import TableCall, TableSpec
from match_aie.workload import Tail, norm_rows
from match_aie.workload.fixed_norm import normal_bits


@dataclass(frozen=True)
class NormSpec(TableSpec):
    """Rows of x less their mean, over their spread, times factors of their own, and addends."""

    @property
    def family(self) -> str:
        """Identifier that kernels with the same source share."""
        return f"norm_{self.a}_{self.dtype}"

    @property
    def template(self) -> str:
        """Its template, which reads the kernel under the name `k`."""
        return "aie/norm.hpp.mako"

    def counts(self, vectors: int) -> Counts:
        """Operations of rows of so many vectors together."""
        return Counts(load=8 * vectors, store=vectors, srs=3 * vectors, multiply=4 * vectors)


@dataclass(frozen=True)
class NormCall(TableCall):
    """A layer norm's function: buffers x and y, factors and addends of a row's elements.

    Attributes:
        columns: elements of a row, before it is filled up to whole vectors with 0.
        epsilon: what is added to a row's variance.
        tail: with the shift.
    """

    spec: NormSpec
    columns: int
    epsilon: int
    tail: Tail

    @property
    def template(self) -> str:
        """Its template, which reads it under the name `call`."""
        return "aie/norm_layer.cpp.mako"

    @property
    def width(self) -> int:
        """Elements of a row, in whole vectors."""
        return -(-self.columns // self.spec.lanes) * self.spec.lanes

    @property
    def normal_bits(self) -> int:
        """Of the fraction of what is left of an element."""
        return normal_bits(self.columns)

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """Factors and addends, filled up with 0."""
        names = ("multiplier", "int16"), ("bias", "int32")
        return tuple(Parameter(name, c_type, self.width) for name, c_type in names)

    def meaning(self, inputs: tuple[np.ndarray, ...], *values: np.ndarray) -> np.ndarray:
        """What it stores for whole rows; what it stores behind a row's elements nobody reads."""
        rows = inputs[0].reshape(-1, self.width)
        stored = np.zeros(rows.shape, self.spec.dtype)
        multiplier, bias = (each[: self.columns] for each in values)
        stored[:, : self.columns] = norm_rows(
            rows[:, : self.columns], multiplier, bias, self.epsilon, self.tail
        )
        return stored.reshape(-1)
