"""What NE16 runs, and why it refuses what it does not."""

from __future__ import annotations

from match_aie.hardware import Pattern, integer_patterns, weighted
from match_aie.workload import Workload

#: What stored integers clip to, by element type: NE16 knows no other bounds.
CLIPS = {"uint8": (0, 255), "int8": (-128, 127)}


def refuses(workload: Workload) -> str | None:
    """Why NE16 cannot run `workload`, in a sentence; None where it can."""
    for check in (_types, _clip, _filter, _stride, _padding, _channels):
        reason = check(workload)
        if reason:
            return reason
    return None


def _types(workload: Workload) -> str | None:
    x, weight, y = (workload.operand(name) for name in ("x", "weight", "y"))
    if x.dtype != "uint8":
        return f"its input is {x.dtype}; NE16 reads uint8 activations only"
    # A zero point of 8-bit weights makes int16 of them; `narrowed` looks at the values.
    if weight.dtype not in ("int8", "int16"):
        return f"its weights need {weight.dtype}; NE16 takes at most 8 bits"
    if y.dtype not in (*CLIPS, "int32"):
        return f"its output is {y.dtype}; NE16 stores uint8, int8 or int32"
    return None


def _clip(workload: Workload) -> str | None:
    tail, dtype = workload.tail, workload.output.dtype
    if tail is None or dtype == "int32":
        return None
    if (tail.lo, tail.hi) != CLIPS[dtype]:
        low, high = CLIPS[dtype]
        return f"it clips to {tail.lo} .. {tail.hi}; NE16 clips {dtype} to {low} .. {high}"
    return None


def _filter(workload: Workload) -> str | None:
    sizes, window = workload.sizes, workload.window
    rows, columns = sizes["FY"], sizes["FX"]
    if (rows, columns) not in ((3, 3), (1, 1)):
        return f"its filter is {rows}x{columns}; NE16 has 3x3 and 1x1"
    if window is not None and window.dilation != (1, 1) and rows == 3:
        return "its filter is dilated, which NE16 cannot do"
    if workload.depthwise and (rows, sizes["K"]) != (3, 1):
        return "depthwise filters of NE16 are 3x3, one per channel"
    if sizes["G"] > 1 and not workload.depthwise:
        return f"it has {sizes['G']} groups; NE16 has one, or one per channel"
    return None


def _stride(workload: Workload) -> str | None:
    window = workload.window
    if window is not None and window.stride not in ((1, 1), (2, 2)):
        return f"its stride is {window.stride}; NE16 has 1 and 2, both ways alike"
    return None


def _padding(workload: Workload) -> str | None:
    if workload.window is None or not any(workload.window.padding):
        return None
    if workload.sizes["FY"] == 1:
        return "it pads a 1x1 filter, which NE16 cannot do"
    if max(workload.window.padding) > 1:
        return f"it pads by {max(workload.window.padding)}; NE16's 3x3 filters take 1"
    x = workload.operand("x")
    if x.zero_point and min(x.shape[1:3]) < 2:
        return f"its padding means {x.zero_point}, and its image has a single line"
    return None


def _channels(workload: Workload) -> str | None:
    sizes, window = workload.sizes, workload.window
    outputs = sizes["G"] * sizes["K"]
    corners = window is not None and window.stride == (2, 2) and sizes["FY"] == 3
    if corners and workload.output.dtype != "int32" and outputs % 2:
        return f"it has {outputs} output channels; with stride 2 NE16 stores even numbers of bytes"
    return None


#: All of them, longest forms first.
PATTERNS: tuple[Pattern, ...] = (
    *weighted("conv2d", "conv2d", "nn.conv2d", refuses),
    *weighted("dense", "dense", "matmul", refuses),
    *integer_patterns("conv2d", "conv2d", refuses),
    *integer_patterns("dense", "dense", refuses),
)
