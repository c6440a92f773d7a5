"""Counted cycles of the cluster's kernels in plain rv32imc, as `benchmarks/gap9_kernels.py` prints.

GCC 12 at -O3, an emulated core, random layers; every second one is fitted by least squares. Of the
others these are 0 to 5 % off on average by kernel (float32 softmax 6 %), and 22 % at worst, where a
kernel does little. What takes nothing beside the rest is left out.
"""

from __future__ import annotations

from collections.abc import Mapping

#: Cycles of each thing in `parts`, by kernel.
PLAIN: Mapping[str, Mapping[str, float]] = {
    "conv2d": {
        "call": 717.8,
        "unit": 214.1,
        "block 2x4": 211.0,
        "step 2x4": 209.5,
        "block 2x1": 136.0,
        "step 2x1": 72.0,
        "pixel": 148.2,
        "line": 24.0,
        "eight": 43.6,
        "byte": 2.1,
    },
    "dense": {
        "call": 227.6,
        "row": 28.4,
        "block 4": 97.7,
        "step 4": 152.9,
        "rest 4": 182.0,
        "block 1": 68.1,
        "step 1": 46.9,
        "rest 1": 17.9,
    },
    "add": {
        "call": 202.7,
        "row": 30.3,
        "four": 71.1,
    },
    "softmax": {
        "call": 1406.1,
        "row": 356.9,
        "element": 1230.9,
    },
    "avg_pool2d": {
        "call": 338.7,
        "unit": 338.7,
        "block": 12.3,
        "line": 1.6,
        "place": 32.6,
        "channel": 49.1,
    },
    "permute": {
        "call": 623.0,
        "line": 28.0,
        "byte": 8.3,
        "turn": 149.5,
        "eight": 36.9,
        "strip": 0.1,
    },
    "depthwise": {
        "call": 250.2,
        "unit": 40.6,
        "block": 1521.6,
        "turn": 278.1,
        "output": 67.1,
        "step": 50.0,
        "row": 25.0,
    },
    "max_pool2d": {
        "call": 367.2,
        "unit": 348.5,
        "block": 124.7,
        "place": 68.2,
        "byte": 31.1,
    },
    "matmul": {
        "call": 446.0,
        "turn": 326.9,
        "block 2": 341.8,
        "step 2": 237.4,
        "step 1": 285.5,
        "column step": 75.4,
    },
    "gru": {
        "start": 782.8,
        "unit": 5338.0,
        "word": 110.7,
    },
    "gru before": {
        "call": 803.0,
        "start": 655.7,
        "unit": 5897.4,
        "word": 123.4,
    },
    "lstm": {
        "call": 430.8,
        "unit": 7435.7,
        "word": 152.4,
    },
}
