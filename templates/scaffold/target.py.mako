"""${name}: a chip with an array of multipliers for dense layers; its core runs the rest."""

from __future__ import annotations

from collections.abc import Sequence

from match_aie.cost_models.roofline import Roofline
from match_aie.hardware import (
    CostModel,
    ExecModule,
    Loop,
    MatchTarget,
    Memory,
    Pattern,
    weighted,
)
from match_aie.workload import Workload

#: Inputs that the array takes at a time.
LANES = 16


def refuses(workload: Workload) -> str | None:
    """Why the array cannot run a layer, in a sentence for users; None where it can."""
    inputs = workload.sizes["C"]
    if inputs % LANES:
        return f"it has {inputs} inputs, which is no multiple of {LANES}"
    return None


class DenseArray(ExecModule):
    """16x16 multipliers: outputs (K) along the columns, inputs (C) along the rows."""

    name = "dense_array"
    memories = (Memory("scratchpad", bytes=64 * 1024, bytes_per_cycle=16.0),)

    def patterns(self) -> Sequence[Pattern]:
        """Quantised dense layers, with and without bias and activation."""
        return weighted("dense", "dense", "matmul", refuses)

    def spatial(self, workload: Workload) -> Sequence[Loop]:
        """What the array does at once."""
        return [Loop(dim, min(LANES, workload.sizes[dim])) for dim in ("K", "C")]

    def cost_model(self, workload: Workload) -> CostModel:
        """ASSUMPTION: 256 products and 16 bytes a cycle, 30 cycles to start. Put in your chip's."""
        return Roofline(256.0, steps_per_cycle=16.0, bytes_per_cycle=16.0, overhead=30.0)

    def template(self, workload: Workload) -> str:
        """The C of a layer, in this package."""
        return "${package}:templates/dense.c.mako"


class ${cls}(MatchTarget):
    """The array beside a core."""

    name = "${name}"

    def modules(self) -> Sequence[ExecModule]:
        """The array; what it refuses becomes C for the core."""
        return [DenseArray()]
