"""Simulated cycles of recurrent layers on the cluster, which start a kernel or two every step."""

from __future__ import annotations

from match_aie.targets.gap9.timing.workers import (
    BARRIER,
    ENTER,
    FLOAT,
    FORK,
    PART,
    Ranges,
    contended,
    part,
    up,
)
from match_aie.workload import Workload

#: Instructions of the controller's loop over steps and kernels (`ma_fork_steps`).
LOOP = 30
#: To the nearest bfloat16: to an integer register and back, a shift, a bit, two sums, a mask.
ROUND = 7
#: A function: rounded argument; times steps, between two ends; floor; slope and offset; a line;
#: rounded result. Float operations wait for each other.
FUNCTION = ROUND + 1 + 4 + 5 + 4 + 4 + ROUND + 6 * FLOAT


def _gate() -> int:
    """Both sums of a gate: zero point, conversion and rounding, times a scale, to what is there."""
    product = 1 + ROUND + 3 * FLOAT + 3
    return 2 * product + 8


def _unit(workload: Workload, gates: int, functions: int, more: int) -> float:
    """A unit in one kernel: its sums, gates, functions, and what is `more`."""
    inputs, rest = divmod(workload.sizes["C"], 4)
    words = inputs + (1 if rest else 0) + up(workload.sizes["K"], 4)
    sums = words * contended(1 + 2 * gates, 1 + gates) + 5 * rest
    return 40 + sums + gates * _gate() + functions * FUNCTION + more


def _kernels(workload: Workload) -> list[float]:
    """Cycles of a unit in each kernel of a step."""
    if workload.kind == "lstm":
        # Cell and state: eight float operations, four roundings, a code, three stores.
        return [_unit(workload, 4, 5, 8 * FLOAT + 4 * ROUND + 10 + 3 + 3)]
    if workload.parameter("linear_before_reset"):
        # The state: seven float operations, three roundings, a code, three stores.
        return [_unit(workload, 3, 3, 7 * FLOAT + 3 * ROUND + 10 + 3 + 5)]
    gates = _unit(workload, 2, 2, 3 * FLOAT + ROUND + 10 + 2 + 6)
    states = _unit(workload, 1, 1, 5 * FLOAT + 2 * ROUND + 10 + 2)
    return [gates, states]


def recurrent_cycles(workload: Workload, ranges: Ranges, cores: int) -> list[float]:
    """All steps, each after all cores are done with the one before; starts but the first."""
    units = ranges["K"][1]
    shares = [part(units, core, cores) for core in range(cores)]
    kernels, steps = _kernels(workload), ranges["OY"][1]
    # The barrier of a step waits for the core with the most units.
    most = max(last - first for first, last in shares)
    waited = sum(ENTER + 34 + PART + most * each for each in kernels) * (steps - 1)
    starts = (steps * len(kernels) - 1) * (FORK + BARRIER + LOOP)
    last_step = [
        sum(ENTER + 34 + PART + (last - first) * each for each in kernels) for first, last in shares
    ]
    return [waited + starts + cycles for cycles in last_step]
