"""A layer as extraction gives it, and conversion changes it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from match_aie.hardware import Original
from match_aie.workload import Workload


@dataclass(frozen=True, eq=False)
class Extracted:
    """A layer: what it computes, on which values, giving which value.

    Attributes:
        workload: what it computes.
        constants: by operand name.
        inputs: names of the values it reads, as the workload's inputs.
        output: name of the value it gives.
        original: the same in the model's arithmetic, None where this is it.
    """

    workload: Workload
    constants: Mapping[str, np.ndarray]
    inputs: tuple[str, ...]
    output: str
    original: Original | None = None
