"""The constants of a dense layer by an overlay (`overlay`), run by run of its columns."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from match_aie.targets.aie_ml.graph.constants import Numbers
from match_aie.targets.aie_ml.kernels.spec import KernelSpec

if TYPE_CHECKING:
    from match_aie.targets.aie_ml.graph.overlay import Overlaid


@dataclass(frozen=True, eq=False)
class OverlayNumbers(Numbers):
    """Constants of a layer by an overlay, whose kernels start from a bias where the overlay's do.

    Attributes:
        timed: how the layer runs.
    """

    timed: Overlaid

    @property
    def biased(self) -> bool:
        """As the mapping says: one of zeros where the layer has none."""
        return self.timed.mapping.layer.bias or super().biased

    def streamed(self, at: int, piece: range, spec: KernelSpec) -> np.ndarray:
        """Weights of all runs, one behind the other."""
        if self.timed.runs == 1:
            return super().streamed(at, piece, spec)
        runs = (self._run(number) for number in range(self.timed.runs))
        return np.concatenate([one.streamed(at, piece, spec) for one in runs])

    def _run(self, number: int) -> OverlayNumbers:
        """Those of the columns of one run."""
        wide, every = self.timed.mapping.layer.columns, self.timed.columns
        mine = slice(number * wide, min((number + 1) * wide, every))
        constants = {
            name: value[mine] if value.shape[:1] == (every,) else value
            for name, value in self.constants.items()
        }
        return OverlayNumbers(replace(self.timed, runs=1), self.workload, constants)
