"""Loads and stores of the cluster's kernels: what the busiest core asks of L1 in a call.

Counted in the emitted kernels, compiled by GCC 12 at -O3, on an emulated core
(`benchmarks/gap9_accesses.py`), by what they do how often: least squares of random layers with
even numbers. Of the others these are 0 to 6 % off on average by kernel, of permutations 11, of
depthwise layers with Xpulp 0.3 to 2. All that a worker loads or stores lies in L1, its stack too.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from match_aie.cost_models.pulp_half import is_half
from match_aie.cost_models.pulp_plain import InstructionSet, kernel_of, parts
from match_aie.workload import Workload

#: Accesses an instruction of kernels that were not counted (of floats, 16 bits, rows, states):
#: 6 loads in the 14 instructions of PULP-NN's inner loop (arXiv:1908.11263), an assumption.
UNCOUNTED = 6 / 14

#: Accesses of each thing in `pulp_plain.parts`, by instruction set and kernel.
ACCESSES: Mapping[InstructionSet, Mapping[str, Mapping[str, float]]] = {
    "xpulp": {
        "conv2d": {
            "call": 141.4,
            "unit": 37.0,
            "block 2x4": 32.5,
            "step 2x4": 6.0,
            "block 2x1": 9.3,
            "step 2x1": 3.0,
            "block 1x4": 33.7,
            "step 1x4": 4.9,
            "block 1x1": 9.6,
            "step 1x1": 1.9,
            "pair": 51.5,
            "pair line": 1.5,
            "pair eight": 8.4,
            "cut": 67.3,
            "edge": 1.2,
            "pixel": 81.5,
        },
        "depthwise": {
            "call": 81.0,
            "unit": 9.8,
            "block": 4.5,
            "word": 9.0,
            "turn": 9.5,
            "bytes": 6.3,
            "channel": 17.8,
            "line": 17.8,
            "output": 0.2,
            "step": 2.3,
            "row": 0.2,
        },
        "depthwise, three columns": {
            "call": 79.5,
            "unit": 9.6,
            "block": 78.5,
            "word": 78.5,
            "turn": 9.2,
            "bytes": 6.0,
            "line": 6.2,
            "output": 1.1,
            "step": 2.8,
        },
        "depthwise, five columns": {
            "call": 119.4,
            "unit": 14.8,
            "block": 13.6,
            "word": 27.2,
            "turn": 8.6,
            "channel": 54.5,
            "line": 25.5,
            "step": 0.4,
        },
        "depthwise, five columns apart": {
            "call": 104.1,
            "unit": 8.2,
            "block": 13.6,
            "word": 27.2,
            "turn": 8.7,
            "channel": 54.3,
            "line": 11.9,
            "output": 0.1,
            "step": 1.1,
            "row": 0.1,
        },
        "dense": {
            "call": 70.3,
            "row": 12.9,
            "block 4": 16.5,
            "step 4": 5.0,
            "rest 4": 11.6,
            "step 1": 2.0,
            "rest 1": 6.0,
        },
        "max_pool2d": {"call": 35.2, "unit": 18.1, "block": 9.4, "place": 1.9, "byte": 1.3},
        "avg_pool2d": {
            "call": 33.2,
            "unit": 33.2,
            "block": 2.8,
            "line": 2.0,
            "place": 1.2,
            "channel": 11.0,
        },
        "add": {"call": 51.6, "row": 9.3, "four": 3.0},
        "mul": {"call": 44.0, "row": 13.0, "four": 3.0},
        "table": {"call": 14.0, "row": 14.0, "four": 6.0},
        "softmax narrow": {"call": 28.0, "row": 11.0, "four": 12.0, "element": 6.0},
        "softmax wide": {"call": 29.0, "row": 14.0, "four": 12.0, "element": 6.0},
        "layer_norm": {"call": 29.4, "row": 16.6, "element": 4.2},
        "matmul": {
            "call": 80.4,
            "unit": 28.7,
            "turn": 30.2,
            "block 2": 42.0,
            "step 2": 20.4,
            "block 1": 59.7,
            "column": 23.8,
            "column step": 2.0,
        },
        "permute": {
            "call": 67.4,
            "line": 3.8,
            "byte": 2.3,
            "turn": 4.4,
            "eight": 3.9,
            "strip": 37.0,
            "piece": 5.2,
            "weave": 11.0,
        },
    },
    "rv32imc": {
        "conv2d": {
            "call": 142.0,
            "unit": 48.0,
            "block 2x4": 49.7,
            "step 2x4": 35.2,
            "block 2x1": 18.4,
            "step 2x1": 3.3,
            "block 1x4": 45.1,
            "step 1x4": 9.2,
            "block 1x1": 6.1,
            "step 1x1": 2.2,
            "pair": 41.9,
            "pair line": 7.2,
            "pair eight": 7.0,
            "cut": 15.4,
            "pixel": 64.5,
        },
        "depthwise": {
            "call": 67.9,
            "unit": 3.6,
            "block": 7.9,
            "word": 26.0,
            "turn": 6.2,
            "channel": 31.7,
            "line": 26.3,
            "output": 13.1,
            "step": 2.2,
            "row": 4.1,
        },
        "dense": {
            "call": 73.5,
            "row": 15.8,
            "block 4": 34.1,
            "step 4": 10.0,
            "rest 4": 13.6,
            "block 1": 9.2,
            "step 1": 2.0,
            "rest 1": 5.7,
        },
        "max_pool2d": {
            "call": 36.8,
            "unit": 19.1,
            "block": 8.7,
            "line": 0.5,
            "place": 19.6,
            "byte": 2.8,
        },
        "avg_pool2d": {
            "call": 32.9,
            "unit": 32.9,
            "block": 3.1,
            "line": 2.0,
            "place": 1.2,
            "channel": 12.6,
        },
        "add": {"call": 47.0, "row": 9.0, "four": 9.0},
        "mul": {"call": 45.0, "row": 11.0, "four": 9.0},
        "table": {"call": 12.0, "row": 12.0, "four": 6.0},
        "softmax narrow": {"call": 31.6, "row": 11.5, "four": 13.9, "element": 6.1},
        "softmax wide": {"call": 31.0, "row": 15.0, "four": 12.0, "element": 6.0},
        "layer_norm": {"call": 29.4, "row": 16.6, "element": 4.2},
        "matmul": {
            "call": 67.4,
            "unit": 76.2,
            "turn": 31.2,
            "block 2": 64.3,
            "step 2": 58.4,
            "block 1": 46.3,
            "step 1": 26.7,
            "column": 31.8,
            "column step": 8.6,
        },
        "permute": {
            "call": 61.2,
            "line": 5.9,
            "byte": 2.3,
            "turn": 4.1,
            "eight": 3.9,
            "strip": 48.3,
            "piece": 11.8,
            "weave": 5.9,
        },
    },
}


def accesses_of(workload: Workload, instructions: InstructionSet) -> str:
    """Which of `ACCESSES` a layer's kernel makes: with Xpulp depthwise ones differ by columns."""
    name, window = kernel_of(workload), workload.window
    if name != "depthwise" or window is None or window.dilation[1] != 1:
        return name
    if instructions != "xpulp":
        return name
    width = workload.sizes["FX"]
    if width == 5 and 5 <= workload.sizes["FY"] <= 8:
        return f"depthwise, five columns{'' if window.stride[1] == 1 else ' apart'}"
    return "depthwise, three columns" if width == 3 and workload.sizes["FY"] <= 4 else name


def access_rate(workload: Workload, cycles: float, instructions: InstructionSet) -> float:
    """Accesses that each core makes a cycle, one at most.

    Args:
        workload: a layer that the cluster has a kernel for.
        cycles: of the busiest core, for all of the layer in one call.
        instructions: of the cores.
    """
    each = ACCESSES[instructions].get(accesses_of(workload, instructions))
    if each is None or workload.real is not None or is_half(workload):
        return UNCOUNTED
    tile = {dim: np.asarray(1) for dim in ("B", "G", "K", "C", "OY", "OX", "FY", "FX")}
    tile |= {dim: np.asarray(size) for dim, size in workload.dims}
    done = parts(workload, tile, instructions=instructions)
    return min(1.0, sum(each.get(name, 0.0) * float(n) for name, n in done.items()) / cycles)
