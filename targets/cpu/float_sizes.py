"""Which float layers take sizes from a run."""

from __future__ import annotations

from collections.abc import Mapping

from match_aie.targets.cpu.float_kernel import strides
from match_aie.workload import Workload

#: Loops whose sizes a run may give, by kind.
RUN_TIME: Mapping[str, tuple[str, ...]] = {
    "softmax": ("B", "K"),
    "layer_norm": ("B",),
    "rms_norm": ("B",),
    "attention": ("B", "OY", "OX"),
    "conv2d": ("B",),
    "avg_pool2d": ("B",),
    "max_pool2d": ("B",),
}


def refuses_rows(workload: Workload) -> str | None:
    """Why a run cannot give the sizes of `workload.run_time`; None where it can."""
    if workload.kind != "dense":
        return "a product of two activations has fixed sizes"
    if workload.run_time != ("B",):
        return "the columns or the reduction of a dense layer have fixed sizes"
    rows = ("x", "residual", "y")
    steps = [strides(o) for o in workload.operands if o.name in rows]
    if any(step.get("C", step.get("K")) != 1 for step in steps):
        return "rows whose number a run gives lie transposed"
    return None


def refuses_loops(workload: Workload) -> str | None:
    """The same of layers that are no products."""
    loops = RUN_TIME.get(workload.kind, ())
    fixed = [dim for dim in workload.run_time if dim not in loops]
    return f"{', '.join(fixed)} of a {workload.kind} have fixed sizes" if fixed else None
