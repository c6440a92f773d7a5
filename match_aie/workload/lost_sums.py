"""What a layer loses whose partial sums wait in its results' type: measured against exact sums."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import floor, log2

import numpy as np

from match_aie.workload.reference import reference
from match_aie.workload.rounded_sums import with_exact_sums
from match_aie.workload.workload import Operand, Workload

Arrays = Mapping[str, np.ndarray]

#: Rows of x that are drawn where a layer has more: a loss is a matter of columns and numbers.
ROWS = 16

#: Bits of a bfloat16 number's fraction.
_FRACTION = 7


@dataclass(frozen=True)
class Lost:
    """Differences of results from those of exact sums, in steps.

    Steps are those of the integers; in bfloat16 those of the largest exact result.

    Attributes:
        mean: of their magnitudes.
        largest: of them.
        elements: that were compared.
    """

    mean: float
    largest: float
    elements: int


def lost_sums(
    workload: Workload, inputs: Sequence[np.ndarray], constants: Arrays, got: np.ndarray
) -> Lost:
    """The loss of what was computed.

    Args:
        workload: whose partial sums are rounded.
        inputs: as `reference` takes them.
        constants: likewise.
        got: its result.
    """
    exact = reference(with_exact_sums(workload), inputs, constants).astype(np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        off = np.abs(got.reshape(exact.shape).astype(np.float64) - exact) / _step(workload, exact)
    return Lost(float(off.mean()), float(off.max()), off.size)


def drawn_loss(workload: Workload, constants: Arrays) -> Lost:
    """The same of a drawn x: integers of its whole range, or floats of a normal distribution.

    Of at most `ROWS` rows; the same numbers every time.
    """
    few = _few_rows(workload)
    x = _drawn(few.inputs[0], np.random.default_rng(0))
    return lost_sums(few, [x], constants, reference(few, [x], constants))


def _step(workload: Workload, exact: np.ndarray) -> float:
    if workload.real is None:
        return 1.0
    finite = np.abs(exact[np.isfinite(exact)])
    most = float(finite.max(initial=0.0))
    return 2.0 ** (floor(log2(most)) - _FRACTION) if most > 0 else 1.0


def _few_rows(workload: Workload) -> Workload:
    """A dense workload of its first rows."""
    rows = min(ROWS, workload.sizes["B"])
    dims = tuple((name, rows if name == "B" else size) for name, size in workload.dims)
    ends = {workload.inputs[0].name, "y"}
    operands = tuple(
        replace(o, shape=(rows, *o.shape[1:])) if o.name in ends else o for o in workload.operands
    )
    return replace(workload, dims=dims, operands=operands)


def _drawn(operand: Operand, rng: np.random.Generator) -> np.ndarray:
    if operand.dtype == "float32":
        return rng.standard_normal(operand.shape).astype(np.float32)
    info = np.iinfo(operand.dtype)
    return rng.integers(info.min, info.max + 1, operand.shape).astype(operand.dtype)
