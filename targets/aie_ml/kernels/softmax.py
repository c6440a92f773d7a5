"""The kernel of a softmax of 8-bit rows in integers (`match_aie.workload.fixed_softmax`)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from match_aie.targets.aie_ml.kernels.call import Parameter
from match_aie.targets.aie_ml.kernels.lookup import (
    ENTRIES,
    FilledCall,
    TableSpec,
    entries_of,
)
from match_aie.workload import Tail, softmax_rows


@dataclass(frozen=True)
class SoftmaxSpec(TableSpec):
    """Rows of x by their largest element's distance, a table of exponentials, and their sum."""

    @property
    def family(self) -> str:
        """Identifier that kernels with the same source share."""
        return f"softmax_{self.a}_{self.dtype}"

    #: Its template, which reads the kernel under the name `k`.
    template = "aie/softmax.hpp.mako"


@dataclass(frozen=True)
class SoftmaxNumbers:
    """Numbers of one softmax.

    Attributes:
        multiplier: of the output's steps.
        tail: shift and zero point.
    """

    multiplier: int
    tail: Tail


@dataclass(frozen=True)
class SoftmaxCall(FilledCall):
    """A softmax's function: buffers x and y, the two arrays of the table.

    Attributes:
        numbers: of the layer.
    """

    spec: SoftmaxSpec
    numbers: SoftmaxNumbers

    #: Its template, which reads it under the name `call`.
    template = "aie/softmax_layer.cpp.mako"

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """Both arrays; that called w lies in a bank of its own."""
        return (Parameter("w", "int32", 2 * ENTRIES), Parameter("cd", "int32", 2 * ENTRIES))

    def rows_of(self, x: np.ndarray, *values: np.ndarray) -> np.ndarray:
        """The softmaxes of rows x [B, K]."""
        entries = entries_of(values[0], self.repeated)
        return softmax_rows(x, entries, self.numbers.multiplier, self.numbers.tail)
