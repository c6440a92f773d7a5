"""Counted cycles of the cluster's kernels in plain rv32imc, as `benchmarks/gap9_kernels.py` prints.

GCC 12 at -O3, an emulated core, 24 to 160 random layers a kernel; every second one is fitted by
least squares. Of the others these are 0.3 to 4 % off on average by kernel; averages of whole images
in fixed point 8 %, permutations 5 %; single layers, where a kernel does little, up to a half. Of
kernels that compute in floats (quantize, dequantize, averages in floats, all "real") fetches of
code were not in the count, and words not loaded whole. What takes nothing is left out.
"""

from __future__ import annotations

from collections.abc import Mapping

#: Cycles of each thing in `parts`, by kernel.
PLAIN: Mapping[str, Mapping[str, float]] = {
    "quantize": {
        "call": 87.6,
        "row": 87.6,
        "four": 2631.5,
    },
    "dequantize": {
        "call": 61.2,
        "row": 61.2,
        "four": 717.9,
    },
    "avg_pool2d float": {
        "call": 429.8,
        "unit": 260.5,
        "block": 256.5,
        "line": 18.3,
        "place": 1122.1,
        "byte": 277.0,
        "channel": 995.2,
    },
    "real conv2d": {
        "call": 4131.2,
        "place": 226.6,
    },
    "real depthwise": {
        "output": 29.1,
        "place": 262.3,
    },
    "real max_pool2d": {
        "call": 551.2,
        "unit": 264.9,
        "output": 63.1,
        "place": 76.0,
    },
    "real avg_pool2d": {
        "call": 566.8,
        "unit": 284.5,
        "output": 386.7,
        "place": 105.1,
    },
    "real add": {
        "call": 215.7,
        "unit": 215.7,
        "element": 198.6,
    },
    "real softmax": {
        "element": 2602.3,
    },
    "real layer_norm": {
        "call": 50.9,
        "row": 1405.0,
        "element": 839.9,
    },
    "dense": {
        "call": 310.7,
        "row": 13.2,
        "block 4": 112.1,
        "step 4": 96.9,
        "rest 4": 153.1,
        "block 1": 74.7,
        "step 1": 30.9,
        "rest 1": 6.4,
    },
    "add": {
        "call": 240.1,
        "row": 48.1,
        "four": 60.1,
    },
    "conv2d": {
        "call": 789.1,
        "unit": 175.2,
        "block 2x4": 213.4,
        "step 2x4": 163.0,
        "block 2x1": 56.0,
        "step 2x1": 50.6,
        "block 1x4": 189.8,
        "step 1x4": 95.6,
        "block 1x1": 33.7,
        "step 1x1": 32.5,
        "pair": 90.1,
        "pair line": 34.3,
        "pair eight": 12.7,
        "cut": 401.5,
        "edge": 209.3,
        "pixel": 807.0,
    },
    "avg_pool2d": {
        "call": 289.3,
        "unit": 289.3,
        "block": 7.8,
        "line": 15.0,
        "place": 18.4,
        "channel": 31.4,
    },
    "softmax": {
        "call": 2496.4,
        "row": 184.3,
        "element": 1221.3,
    },
    "softmax narrow": {
        "call": 109.1,
        "row": 198.2,
        "four": 122.5,
        "element": 54.0,
    },
    "softmax wide": {
        "call": 118.5,
        "row": 260.1,
        "four": 181.9,
        "element": 82.0,
    },
    "depthwise": {
        "call": 449.8,
        "unit": 104.0,
        "block": 617.0,
        "turn": 58.2,
        "bytes": 28.8,
        "line": 61.7,
        "output": 42.6,
        "step": 29.0,
        "row": 10.9,
    },
    "permute": {
        "call": 401.3,
        "line": 41.4,
        "byte": 3.5,
        "turn": 58.6,
        "eight": 8.6,
        "strip": 169.6,
        "piece": 69.6,
        "weave": 40.4,
    },
    "max_pool2d": {
        "call": 416.6,
        "unit": 294.0,
        "block": 92.6,
        "line": 10.0,
        "place": 55.7,
        "byte": 30.5,
    },
    "mul": {
        "call": 179.7,
        "row": 27.4,
        "four": 68.8,
    },
    "table": {
        "call": 55.8,
        "row": 55.8,
        "four": 27.1,
    },
    "layer_norm": {
        "call": 155.4,
        "row": 439.8,
        "element": 48.7,
    },
    "matmul": {
        "call": 510.3,
        "unit": 132.6,
        "turn": 177.6,
        "block 2": 355.4,
        "step 2": 211.9,
        "block 1": 494.0,
        "step 1": 109.2,
        "column": 134.1,
        "column step": 47.9,
    },
    "gru": {
        "call": 329.4,
        "start": 691.0,
        "unit": 5190.4,
        "word": 64.5,
    },
    "gru before": {
        "call": 1531.6,
        "start": 403.6,
        "unit": 5700.6,
        "word": 75.0,
    },
    "lstm": {
        "start": 198.3,
        "unit": 7160.4,
        "word": 96.6,
    },
    "avg_pool2d away": {
        "call": 379.8,
        "unit": 348.2,
        "block": 21.1,
        "place": 19.5,
        "byte": 16.7,
        "channel": 82.6,
    },
    "avg_pool2d whole": {
        "call": 387.7,
        "unit": 387.7,
        "block": 318.2,
        "place": 17.1,
        "channel": 1272.7,
    },
}
