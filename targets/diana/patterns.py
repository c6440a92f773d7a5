"""What the array runs, and why it refuses what it does not."""

from __future__ import annotations

from match_aie.hardware import (
    Pattern,
    binary,
    integer_patterns,
    weighted,
)
from match_aie.targets.diana.facts import FACTS
from match_aie.workload import Workload


def refuses(workload: Workload) -> str | None:
    """Why the array cannot run `workload`, in a sentence; None where it can."""
    checks = (_types, _clip, _groups, refuses_filter, _shapes)
    return next((reason for check in checks if (reason := check(workload))), None)


def refuses_filter(workload: Workload) -> str | None:
    """Why neither array has such a filter, in a sentence; None where they do."""
    return _filter(workload) or _padding(workload)


def _types(workload: Workload) -> str | None:
    for operand in (*workload.data, workload.output):
        if operand.dtype != "int8":
            return f"{operand.name} is {operand.dtype}; the array reads and stores int8"
    if workload.kind != "add" and workload.operand("weight").dtype != "int8":
        return f"its weights are {workload.operand('weight').dtype}; the array takes int8"
    return None


def _clip(workload: Workload) -> str | None:
    tail = workload.tail
    if tail is None or (tail.lo not in (-128, 0) or tail.hi != 127):
        bounds = "not" if tail is None else f"to {tail.lo} .. {tail.hi}"
        return f"it clips {bounds}; the array clips to -128 .. 127 or, as a ReLU, to 0 .. 127"
    return None


def _groups(workload: Workload) -> str | None:
    d = workload.sizes
    if workload.kind == "conv2d" and d["G"] > 1 and (d["C"], d["K"]) != (1, 1):
        return f"{d['G']} groups of {d['C']} to {d['K']} channels; it takes one, or depthwise"
    return None


def _filter(workload: Workload) -> str | None:
    window, d = workload.window, workload.sizes
    if workload.kind != "conv2d" or window is None:
        return None
    if d["FY"] != d["FX"] or d["FY"] not in FACTS.filters:
        return f"its filter is {d['FY']}x{d['FX']}; the array has 1x1, 3x3, 5x5 and 7x7"
    if window.dilation != (1, 1) and d["FY"] > 1:
        return "its filter is dilated, which the array cannot do"
    if window.stride[0] != window.stride[1] or window.stride[0] not in FACTS.strides:
        return f"its stride is {window.stride}; the array has 1 and 2, both ways alike"
    return None


def _padding(workload: Workload) -> str | None:
    """A job has zeros on each side by itself: tiles at a border need that anyway.

    DORY (pulp-platform/dory, its layer template for DIANA) gives a job top, bottom and right apart.
    MATCH takes layers only that pad all sides alike; that left may differ is an ASSUMPTION.
    """
    window = workload.window
    if workload.kind != "conv2d" or window is None:
        return None
    border = (workload.sizes["FY"] - 1) // 2
    if max(window.padding) > border:
        return f"it pads {window.padding}; the array pads up to {border} a side with that filter"
    return None


def _shapes(workload: Workload) -> str | None:
    shapes = {operand.shape for operand in (*workload.data, workload.output)}
    if workload.kind == "add" and len(shapes) > 1:
        return "its inputs are broadcast; the array adds tensors of one shape"
    return None


#: All of them, longest forms first.
PATTERNS: tuple[Pattern, ...] = (
    *weighted("conv2d", "conv2d", "nn.conv2d", refuses),
    *weighted("dense", "dense", "matmul", refuses),
    *binary("add", "add", "add", refuses),
    *integer_patterns("conv2d", "conv2d", refuses),
    *integer_patterns("dense", "dense", refuses),
    *integer_patterns("add", "add", refuses),
)
