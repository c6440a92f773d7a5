"""Code that the cluster's workers wait for in kernels, where their caches are simulated.

GAP9's own caches are not published, so by default nothing is simulated: all code is there. Sizes
are of GVSoC's public model of pulp-open (pulp/chips/pulp_open/cluster.json,
gvsoc/gvsoc-pulp@a92764c): 512 bytes a worker, and the 2,048 that rows of
`tests/data/gvsoc_gap9_today.csv` are of; 4 KiB that all cores share hold a kernel as long as its
layer runs. Lines are counted (`benchmarks/gap9_workers.py`), nothing is fitted to cycles. Kernels
of floats, of 16 bits and recurrent ones were not counted, and fetch nothing here. Cycles of plain
rv32imc have refills of 512 bytes in them (`cost_models/pulp_counts.py`); there only a layer's first
lines are simulated, always.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from match_aie.cost_models.pulp_half import is_half
from match_aie.cost_models.pulp_plain import InstructionSet, kernel_of, parts
from match_aie.workload import Workload

Ranges = Mapping[str, tuple[int, int]]

#: Bytes of a worker's own cache that were counted.
SIZES = (512, 2048)


@dataclass(frozen=True)
class Fetches:
    """Lines of 16 bytes of a kernel.

    Attributes:
        lines: different ones, of a call.
        again: that its own cache lacks beside these, by size and by what the worker does.
    """

    lines: float
    again: Mapping[int, Mapping[str, float]]


#: By kernel. Of layers that are not fitted what a cache lacks is 2 to 21 % off on average, of
#: depthwise ones, which are three loops, 32 %.
LINES: Mapping[str, Fetches] = MappingProxyType(
    {
        "conv2d": Fetches(
            177,
            {
                512: {
                    "unit": 19.43,
                    "block 2x4": 0.68,
                    "step 2x4": 0.06,
                    "block 2x1": 1.72,
                    "cut": 126.08,
                    "edge": 12.87,
                },
                2048: {
                    "unit": 0.62,
                    "block 2x4": 0.19,
                    "step 2x4": 0.01,
                    "pair": 5.96,
                    "cut": 14.52,
                    "eight": 0.37,
                    "byte": 25.04,
                },
            },
        ),
        "depthwise": Fetches(
            133,
            {
                512: {"block": 2.37, "channel": 9.5, "output": 0.15, "row": 1.44},
                2048: {"call": 7.52, "word": 0.21, "line": 0.55, "row": 0.09},
            },
        ),
        "dense": Fetches(
            57,
            {
                512: {
                    "block 4": 0.67,
                    "step 4": 0.01,
                    "rest 4": 2.14,
                    "block 1": 0.15,
                    "rest 1": 0.31,
                },
                2048: {"rest 1": 0.08},
            },
        ),
        "max_pool2d": Fetches(57, {512: {"call": 10.83, "line": 0.2, "byte": 0.4}, 2048: {}}),
        "avg_pool2d": Fetches(80, {512: {"block": 0.09, "channel": 0.37}, 2048: {}}),
        "add": Fetches(44, {512: {"call": 3.1}, 2048: {}}),
        "mul": Fetches(41, {512: {"call": 2.43, "row": 0.03}, 2048: {"call": 0.07}}),
        "table": Fetches(29, {512: {"call": 0.5, "row": 0.5}, 2048: {}}),
        "softmax": Fetches(
            144,
            {
                512: {"call": 134.51, "row": 90.15, "element": 113.19},
                2048: {"call": 101.24, "row": 32.18, "element": 9.29},
            },
        ),
        "softmax narrow": Fetches(
            57, {512: {"row": 7.69, "element": 4.91}, 2048: {"four": 0.03, "element": 0.58}}
        ),
        "softmax wide": Fetches(
            78,
            {
                512: {"row": 20.83, "four": 0.01, "element": 7.26},
                2048: {"row": 2.37, "four": 0.01, "element": 0.97},
            },
        ),
        "layer_norm": Fetches(72, {512: {"row": 17.5, "element": 0.02}, 2048: {"row": 3.69}}),
        "matmul": Fetches(
            152,
            {
                512: {"block 2": 35.04, "step 2": 0.56, "block 1": 32.98, "column": 0.44},
                2048: {"unit": 7.14, "block 2": 0.56, "column": 0.82},
            },
        ),
        "permute": Fetches(
            47,
            {
                512: {"call": 3.29, "strip": 1.82, "piece": 0.58, "weave": 0.05},
                2048: {"call": 0.36, "line": 0.01, "strip": 0.27},
            },
        ),
    }
)


#: Lines of a call in plain rv32imc.
PLAIN_LINES: Mapping[str, float] = MappingProxyType(
    {
        "conv2d": 216,
        "depthwise": 150,
        "dense": 94,
        "max_pool2d": 82,
        "avg_pool2d": 81,
        "avg_pool2d away": 94,
        "avg_pool2d whole": 239,
        "add": 52,
        "mul": 42,
        "table": 28,
        "softmax": 145,
        "softmax narrow": 68,
        "softmax wide": 85,
        "layer_norm": 71,
        "matmul": 254,
        "permute": 47,
    }
)


def _of(workload: Workload) -> Fetches | None:
    if workload.real is not None or is_half(workload):
        return None
    return LINES.get(kernel_of(workload))


def first_lines(workload: Workload, instructions: InstructionSet) -> float:
    """Lines that come from L2 when the layer's kernel is called first."""
    if instructions == "rv32imc" and workload.real is None:
        return PLAIN_LINES.get(kernel_of(workload), 0.0)
    found = _of(workload)
    return found.lines if found else 0.0


def missed(workload: Workload, ranges: Ranges, size: int, cores: int) -> float:
    """Lines that the busiest worker's own cache lacks in a call.

    Args:
        workload: a layer of the cluster.
        ranges: (start, length) of every loop dimension that the call covers.
        size: of the cache, in bytes, one of `SIZES`.
        cores: that share the work; what they do is taken as of a power of two at most.
    """
    found = _of(workload)
    if found is None:
        return 0.0
    tile = {d: np.asarray(1) for d in ("B", "G", "K", "C", "OY", "OX", "FY", "FX")}
    tile |= {dim: np.asarray(length) for dim, (_, length) in ranges.items()}
    each = found.again[size]
    done = parts(workload, tile, 1 << (cores.bit_length() - 1), "xpulp")
    return found.lines + float(sum(each.get(name, 0.0) * n for name, n in done.items()))
