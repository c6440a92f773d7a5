"""What the cluster runs, as patterns of the canonical quantised graph, longest first."""

from __future__ import annotations

from match_aie.hardware import (
    AVG_POOL_HALF_AWAY,
    Any,
    Op,
    Pattern,
    binary,
    clipped,
    integer_patterns,
    unary,
    weighted,
)
from match_aie.workload import Workload

_BYTES = ("int8", "uint8")
#: Element types by operand, where they are not those of an activation.
_TYPES = {
    "weight": ("int8",),
    "bias": ("int32",),
    "scale": ("float32",),
    "multiplier": ("int32",),
    "offset": ("int32",),
    "table": ("float32",),
}
_INT32_MAX = (1 << 31) - 1


def refuses(workload: Workload) -> str | None:
    """Why the cluster cannot run `workload`, in a sentence; None where it can."""
    for check in (_element_types, _groups, _shapes, _quantisation, _windows, _extent):
        reason = check(workload)
        if reason:
            return reason
    return None


def _element_types(workload: Workload) -> str | None:
    for operand in workload.operands:
        allowed = _TYPES.get(operand.name, _BYTES)
        if operand.name == "x" and workload.kind == "quantize":
            allowed = ("float32",)
        if operand.name == "y" and workload.tail is None and workload.kind != "permute":
            allowed = ("float32",) if workload.kind == "dequantize" else ("int32",)
        if operand.dtype not in allowed:
            return f"{operand.name} is {operand.dtype}; the kernel takes {' or '.join(allowed)}"
    return None


def _groups(workload: Workload) -> str | None:
    d = workload.sizes
    if workload.kind == "conv2d" and d["G"] > 1 and (d["C"] > 1 or d["K"] > 1):
        return f"{d['G']} groups of {d['C']} to {d['K']} channels; it takes one, or depthwise"
    return None


def _shapes(workload: Workload) -> str | None:
    shapes = {operand.shape for operand in (*workload.data, workload.output)}
    if workload.kind == "add" and len(shapes) > 1:
        return "its inputs are broadcast; the kernel adds tensors of one shape"
    return None


def _quantisation(workload: Workload) -> str | None:
    """Kinds that compute with real values need one scale per tensor."""
    on_integers = workload.tail is not None and workload.tail.rounding == "half_away"
    on_integers = on_integers or workload.fixed_point
    if workload.kind in ("conv2d", "dense", "max_pool2d", "permute") or on_integers:
        return None
    for operand in (*workload.data, workload.output):
        if operand.dtype != "float32" and operand.scale is None:
            return f"{operand.name} is quantised per channel; the kernel takes one scale a tensor"
    return None


def _windows(workload: Workload) -> str | None:
    """An average is over at least one position."""
    window, d = workload.window, workload.sizes
    if workload.kind != "avg_pool2d" or window is None:
        return None
    for axis, (out, filter_) in enumerate((("OY", "FY"), ("OX", "FX"))):
        size, pad = workload.operand("x").shape[1 + axis], window.padding[axis]
        step, apart = window.stride[axis], window.dilation[axis]
        for o in range(d[out]):
            at = (o * step - pad + f * apart for f in range(d[filter_]))
            if not any(0 <= position < size for position in at):
                return "an average is over no position: a window lies entirely in the padding"
    return None


def _extent(workload: Workload) -> str | None:
    """Indices and sums are int32."""
    for operand in workload.operands:
        if operand.nbytes > _INT32_MAX:
            return f"{operand.name} has {operand.nbytes} bytes, more than an int32 index reaches"
    d = workload.sizes
    largest = d["C"] * d["FY"] * d["FX"] * 255 * (1 if workload.kind == "avg_pool2d" else 128)
    if workload.kind in ("conv2d", "dense", "avg_pool2d") and largest > _INT32_MAX:
        return "a sum may leave the int32 range"
    return None


PATTERNS: tuple[Pattern, ...] = (
    *weighted("conv2d", "conv2d", "nn.conv2d", refuses),
    *weighted("dense", "dense", "matmul", refuses),
    *binary("add", "add", "add", refuses),
    *unary("avg_pool2d", "avg_pool2d", "nn.avg_pool2d", refuses),
    *unary("global_avg_pool2d", "avg_pool2d", "mean", refuses),
    *clipped("avg_pool2d_half_away", "avg_pool2d", Op(AVG_POOL_HALF_AWAY, Any("x")), refuses),
    *clipped("max_pool2d", "max_pool2d", Op("nn.max_pool2d", Any("x")), refuses),
    *unary("softmax", "softmax", "nn.softmax", refuses),
    *clipped("quantize", "quantize", Op("quantize", Any("x")), refuses),
    Pattern("dequantize", "dequantize", Op("dequantize", Any("x")), refuses),
    Pattern("permute", "permute", Op("permute_dims", Any("x")), refuses),
    *integer_patterns("conv2d", "conv2d", refuses),
    *integer_patterns("dense", "dense", refuses),
    *integer_patterns("add", "add", refuses),
)
