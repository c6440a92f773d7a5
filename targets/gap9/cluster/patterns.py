"""What the cluster runs, as patterns of the canonical quantised graph, longest first."""

from __future__ import annotations

from match_aie.cost_models.pulp_half import is_half
from match_aie.hardware import (
    AVG_POOL_HALF_AWAY,
    LAYER_NORM,
    Any,
    Op,
    Pattern,
    binary,
    clipped,
    integer_patterns,
    real,
    tabulated,
    unary,
    weighted,
)
from match_aie.workload import RECURRENT, Workload, refuses_integer_recurrent

_BYTES = ("int8", "uint8")
#: Inputs of products that have a kernel of their own.
_HALVES = ("int16", "uint16")
#: Element types by operand, where they are not those of an activation.
_TYPES = {
    "weight": ("int8",),
    "bias": ("int32",),
    "scale": ("float32",),
    "multiplier": ("int32",),
    "offset": ("int32",),
    "table": ("float32",),
}
#: Those of kinds whose constants are of other types.
_OWN_TYPES: dict[str, dict[str, tuple[str, ...]]] = {
    "table": {"table": _BYTES},
    "layer_norm": {"weight": ("float32",), "bias": ("float32",)},
    "softmax": {"table": ("float32", "int32")},
}
_INT32_MAX = (1 << 31) - 1


def refuses(workload: Workload) -> str | None:
    """Why the cluster cannot run `workload`, in a sentence; None where it can."""
    if workload.kind in RECURRENT:
        return refuses_integer_recurrent(workload)
    for check in (_element_types, _groups, _shapes, _quantisation, _windows, _extent):
        reason = check(workload)
        if reason:
            return reason
    return None


def _element_types(workload: Workload) -> str | None:
    types = {**_TYPES, **_OWN_TYPES.get(workload.kind, {})}
    if is_half(workload):
        types |= {"x": _HALVES, "y": (*_BYTES, *_HALVES), "weight": ("int8", "int16")}
        if workload.tail is None:
            return "its sums of 16-bit inputs are not requantised"
    tailless = workload.tail is None and workload.kind not in ("permute", "table")
    for operand in workload.operands:
        allowed = types.get(operand.name, _BYTES)
        if operand.name == "x" and workload.kind == "quantize":
            allowed = ("float32",)
        if operand.name == "y" and tailless:
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
    if workload.kind == "matmul" and len(workload.inputs) != 2:
        return "one of its operands is constant, and it is no dense layer"
    if workload.kind not in ("add", "mul"):
        return None
    columns = {operand.shape[-1] for operand in (*workload.data, workload.output)}
    whole = [operand for operand in workload.data if operand.shape == workload.output.shape]
    if len(columns) > 1 or not whole:
        return "its inputs are broadcast along rows; the kernel repeats whole rows of one of them"
    return None


def _quantisation(workload: Workload) -> str | None:
    """Kinds that compute with real values need one scale per tensor."""
    on_integers = workload.tail is not None and workload.tail.rounding == "half_away"
    on_integers = on_integers or workload.fixed_point
    sums = ("conv2d", "dense", "matmul", "max_pool2d", "permute", "table")
    if workload.kind in sums or on_integers:
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
    factor = {"avg_pool2d": 1, "matmul": 4 * 255}.get(workload.kind, 128)
    largest = d["C"] * d["FY"] * d["FX"] * 255 * factor
    if is_half(workload):
        return None  # by its weights, when it is converted
    if workload.kind in ("conv2d", "dense", "matmul", "avg_pool2d") and largest > _INT32_MAX:
        return "a sum may leave the int32 range"
    return None


PATTERNS: tuple[Pattern, ...] = (
    *weighted("conv2d", "conv2d", "nn.conv2d", refuses),
    *weighted("dense", "dense", "matmul", refuses),
    *binary("add", "add", "add", refuses),
    *binary("mul", "mul", "multiply", refuses),
    *binary("matmul", "matmul", "matmul", refuses),
    *unary("avg_pool2d", "avg_pool2d", "nn.avg_pool2d", refuses),
    *unary("global_avg_pool2d", "avg_pool2d", "mean", refuses),
    *clipped("avg_pool2d_half_away", "avg_pool2d", Op(AVG_POOL_HALF_AWAY, Any("x")), refuses),
    *clipped("max_pool2d", "max_pool2d", Op("nn.max_pool2d", Any("x")), refuses),
    *unary("softmax", "softmax", "nn.softmax", refuses),
    *clipped("layer_norm", "layer_norm", LAYER_NORM, refuses),
    *clipped("quantize", "quantize", Op("quantize", Any("x")), refuses),
    Pattern("dequantize", "dequantize", Op("dequantize", Any("x")), refuses),
    Pattern("permute", "permute", Op("permute_dims", Any("x")), refuses),
    *integer_patterns("conv2d", "conv2d", refuses),
    *integer_patterns("dense", "dense", refuses),
    *integer_patterns("add", "add", refuses),
    *integer_patterns("mul", "mul", refuses),
    *tabulated("table", refuses),
)

#: GRU and LSTM of quantised inputs, with products of 8 bits.
RECURRENT_PATTERNS: tuple[Pattern, ...] = (
    Pattern("int8_gru", "gru", Op("onnx.GRU", real(Any("x"))), refuses),
    Pattern("int8_lstm", "lstm", Op("onnx.LSTM", real(Any("x"))), refuses),
)
